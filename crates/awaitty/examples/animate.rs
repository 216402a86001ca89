//! Converts a recording to an animation: `animate RECORDING.cast TARGET.gif|svg|png [LOOK…]`, with a look such as
//! `bar=colorful padding=20 margin=40 fill=6b50ff radius=8 font=22 speed=2 offset=0.5 blink fps=30 light`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use awaitty::render::animation::{Animation, Look, Shot, WindowBar};
use awaitty::render::{Colors, Theme};
use awaitty_core::{Session, Time};
use awaitty_test::cast::CastReader;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, target, look @ ..] = arguments.as_slice() else {
        return Err(io::Error::other("usage: animate RECORDING.cast TARGET.gif|svg|png [LOOK…]"));
    };
    let look = look_of(look).map_err(io::Error::other)?;
    let (animation, seconds) = read(source, look)?;
    let started = now();
    let mut file = BufWriter::new(File::create(target)?);
    match target.rsplit('.').next() {
        Some("gif") => animation.write_gif(&mut file)?,
        Some("svg") => animation.write_svg(&mut file)?,
        Some("png") => animation.write_png(&mut file)?,
        _ => {
            return Err(io::Error::other(format!(
                "{target}: end the name with .gif, .svg or .png"
            )));
        }
    }
    file.flush()?;
    let taken = started.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(target)?.len();
    let (width, height) = animation.size();
    writeln!(
        io::stderr(),
        "{target}: {width}x{height} pixels, {bytes} bytes, {seconds:.1} s of recording in {taken:.2} s: {:.0} times \
         real time",
        seconds / taken
    )
}

#[expect(clippy::disallowed_methods, reason = "it measures its own speed")]
fn now() -> Instant {
    Instant::now()
}

/// Replays a recording. Returns its duration, too.
fn read(source: &str, look: Look) -> io::Result<(Animation, f64)> {
    let mut cast = CastReader::new(BufReader::new(File::open(source)?))?;
    let mut session = Session::new(Time::default(), cast.header.cols, cast.header.rows, 0);
    let mut animation = Animation::new(look).map_err(io::Error::other)?;
    while let Some(event) = cast.next_event()? {
        let at = Duration::from_secs_f64(event.at.max(0.0));
        if event.kind == 'o' {
            session.handle_output(Time(at), event.data.as_bytes());
            session.handle_drained(Time(at));
        } else if let Some((cols, rows)) = event.size() {
            session.resize(Time(at), cols, rows);
        }
        let shot = Shot {
            at,
            frame: Arc::clone(session.frame()),
            cursor: Some(session.screen().cursor()),
            colors: Colors::new(Theme::default(), session.screen()),
        };
        animation.push(shot).map_err(io::Error::other)?;
    }
    animation.set_end(Duration::from_secs_f64(cast.seconds()));
    Ok((animation, cast.seconds()))
}

fn look_of(words: &[String]) -> Result<Look, String> {
    let mut look = Look::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<f32>().map_err(|error| format!("{word}: {error}"));
        match name {
            "bar" => look.bar = Some(bar_of(value)?),
            "padding" => look.padding = number()? as usize,
            "margin" => look.margin = number()? as usize,
            "radius" => look.border_radius = number()? as usize,
            "font" => look.font_size = number()?,
            "spacing" => look.letter_spacing = number()?,
            "line" => look.line_height = number()?,
            "speed" => look.playback_speed = number()?,
            "offset" => look.loop_offset = number()?,
            "fps" => look.framerate = number()?,
            "blink" => look.cursor_blink = true,
            "light" => look.theme = Theme::Light,
            "fill" => {
                let color = u32::from_str_radix(value, 16);
                let [_, rgb @ ..] =
                    color.map_err(|error| format!("{word}: {error}"))?.to_be_bytes();
                look.margin_fill = rgb;
            }
            _ => return Err(format!("{word}: an unknown part of a look")),
        }
    }
    Ok(look)
}

fn bar_of(name: &str) -> Result<WindowBar, String> {
    Ok(match name {
        "colorful" => WindowBar::Colorful,
        "colorful-right" => WindowBar::ColorfulRight,
        "rings" => WindowBar::Rings,
        "rings-right" => WindowBar::RingsRight,
        other => return Err(format!("bar: {other:?} is not a kind of bar")),
    })
}
