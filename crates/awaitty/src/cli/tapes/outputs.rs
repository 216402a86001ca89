//! `awaitty play`: runs a tape as a demo and writes its outputs.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::Frame;
use awaitty_test::TraceMode;
use awaitty_test::cast::CastReader;
use awaitty_test::replay::{Item, Replay};
use awaitty_test::runner::{self, Mode, RunOptions, Screenshot, markers};
use awaitty_test::tape::{Action, OutputFormat, ScreenshotFormat, Tape, WarningKind};
use serde_json::{Value, json};

use super::files::{self, LoadError};
use super::{look, report};
use crate::cli::{self, Waiting, exit};
use crate::record::{Format, Version, export};
use crate::render::Colors;
use crate::render::animation::{Animation, Look, Shot};

/// Options of `awaitty play`.
#[derive(Clone, Debug, clap::Args)]
pub struct PlayOptions {
    /// The tape.
    pub tape: PathBuf,
    /// A file to write instead of the outputs of the tape; may be given several times. Its extension is the format:
    /// .gif, .svg, .png, .cast, .txt or .html.
    #[arg(long, short, value_name = "FILE")]
    pub output: Vec<String>,
    /// Print the outputs as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A file that was written.
struct Written {
    path: String,
    bytes: u64,
}

/// Runs a tape as a demo and writes its outputs. Returns the exit status: 0, 1 if a step failed, 2 if the tape or an
/// argument has an error.
///
/// # Errors
/// If an output cannot be written.
pub fn play(options: &PlayOptions) -> io::Result<i32> {
    let parsed = files::parse(&options.tape);
    let prepared = parsed.and_then(|tape| {
        let outputs = outputs(&tape, options)
            .map_err(|message| vec![LoadError { path: None, position: None, message }])?;
        Ok((tape, outputs))
    });
    let (tape, outputs) = match prepared {
        Ok(prepared) => prepared,
        Err(errors) => {
            report::print_errors(&errors, options.json)?;
            return Ok(exit::USAGE);
        }
    };
    let (look, warnings) = look::look(&tape);
    warn(options, &tape, &warnings);
    let directory = tempfile::tempdir()?;
    let recording = directory.path().join("whole.cast");
    let mut progress = Waiting::default();
    progress.show(&format!("playing {}", options.tape.display()));
    let run_options = RunOptions {
        mode: Mode::Play,
        size: look::cells(&look),
        seed: None,
        trace: TraceMode::Off,
        trace_path: PathBuf::new(),
        recording: Some(recording.clone()),
    };
    let run = runner::run(&options.tape, &tape, &run_options);
    progress.clear();
    if let Some(failure) = &run.failure {
        report::print_failure(&options.tape, failure, options.json)?;
        return Ok(exit::ERROR);
    }
    let shown = directory.path().join("shown.cast");
    leave_out_hidden(&recording, &shown)?;
    let mut written = Vec::new();
    for (path, format) in outputs {
        progress.show(&format!("writing {path}"));
        write_output(&shown, &path, format, &look).map_err(|error| named(&path, &error))?;
        written.push(Written { bytes: std::fs::metadata(&path)?.len(), path });
    }
    for screenshot in run.screenshots {
        write_screenshot(&screenshot, &look).map_err(|error| named(&screenshot.path, &error))?;
        let path = screenshot.path;
        written.push(Written { bytes: std::fs::metadata(&path)?.len(), path });
    }
    progress.clear();
    print(&written, options.json)?;
    Ok(exit::MET)
}

/// Returns the files to write and their formats.
fn outputs(tape: &Tape, options: &PlayOptions) -> Result<Vec<(String, OutputFormat)>, String> {
    let mut outputs = Vec::new();
    for path in &options.output {
        let format = OutputFormat::of(path).filter(|format| is_supported(*format));
        let format = format.ok_or_else(|| {
            format!("--output {path}: end the name with .gif, .svg, .png, .cast, .txt or .html")
        })?;
        outputs.push((path.clone(), format));
    }
    if outputs.is_empty() {
        for command in tape.flat() {
            if let Action::Output { path, format } = &command.action
                && is_supported(*format)
            {
                outputs.push((path.clone(), *format));
            }
        }
    }
    let has_screenshot =
        tape.flat().any(|command| matches!(command.action, Action::Screenshot { .. }));
    match outputs.is_empty() && !has_screenshot {
        true => {
            Err("the tape has no output: add `Output demo.gif` to it, or give --output".to_owned())
        }
        false => Ok(outputs),
    }
}

fn is_supported(format: OutputFormat) -> bool {
    !matches!(format, OutputFormat::Mp4 | OutputFormat::Webm | OutputFormat::Frames)
}

fn warn(options: &PlayOptions, tape: &Tape, warnings: &[String]) {
    let path = &options.tape;
    for warning in &tape.warnings {
        let is_shown = match warning.kind {
            WarningKind::Looks | WarningKind::Place => true,
            // The outputs of the tape are not written if others are given.
            WarningKind::Output => options.output.is_empty(),
            _ => false,
        };
        if is_shown {
            crate::log(&format!(
                "{}:{}: warning: {}",
                path.display(),
                warning.position,
                warning.message
            ));
        }
    }
    for warning in warnings {
        crate::log(&format!("{}:{warning}", path.display()));
    }
}

/// Copies a recording without its hidden parts. Hidden output is printed at once when the demo is shown again, so that
/// the screen is right.
fn leave_out_hidden(from: &Path, to: &Path) -> io::Result<()> {
    let mut cast = CastReader::new(BufReader::new(File::open(from)?))?;
    let mut target = BufWriter::new(File::create(to)?);
    target.write_all(cast.line().as_bytes())?;
    // The time that was left out, the time of the last event that was written, and what was printed while hidden.
    let (mut hidden_since, mut cut, mut last) = (None, 0.0, 0.0);
    let (mut hidden, mut end) = (Vec::<(char, String)>::new(), 0.0);
    let mut write = |target: &mut BufWriter<File>, at: f64, kind: char, data: &str| {
        let after = (at - last).max(0.0);
        last = at.max(last);
        writeln!(target, "[{after:.6}, \"{kind}\", {}]", json!(data))
    };
    while let Some(event) = cast.next_event()? {
        let at = hidden_since.unwrap_or(event.at) - cut;
        match (event.kind, event.data.as_str()) {
            ('m', markers::HIDE) if hidden_since.is_none() => {
                // A pause before it is part of the demo.
                end = at;
                hidden_since = Some(event.at);
            }
            ('m', markers::SHOW) => {
                if let Some(since) = hidden_since.take() {
                    cut += event.at - since;
                }
                for (kind, data) in hidden.drain(..) {
                    write(&mut target, at, kind, &data)?;
                }
            }
            ('o' | 'r', _) if hidden_since.is_some() => hidden.push((event.kind, event.data)),
            ('o' | 'r', data) => write(&mut target, at, event.kind, data)?,
            // Keys, the steps of the trace and the exit are not part of a demo, but the time until then is.
            _ if hidden_since.is_none() => end = at,
            _ => {}
        }
    }
    write(&mut target, end, 'o', "")?;
    target.flush()
}

/// Creates a file and its directory.
fn create(path: &str) -> io::Result<BufWriter<File>> {
    if let Some(directory) = Path::new(path).parent() {
        std::fs::create_dir_all(directory)?;
    }
    Ok(BufWriter::new(File::create(path)?))
}

fn write_output(cast: &Path, path: &str, format: OutputFormat, look: &Look) -> io::Result<()> {
    let mut target = create(path)?;
    let recorded = BufReader::new(File::open(cast)?);
    match format {
        OutputFormat::Gif => animation(recorded, look)?.write_gif(&mut target)?,
        OutputFormat::Svg => animation(recorded, look)?.write_svg(&mut target)?,
        OutputFormat::Png => animation(recorded, look)?.write_png(&mut target)?,
        OutputFormat::Cast => {
            export(recorded, Format::Asciicast(Version::Three), &mut target)?;
        }
        OutputFormat::Text => drop(export(recorded, Format::Text, &mut target)?),
        OutputFormat::Html => drop(export(recorded, Format::Html, &mut target)?),
        OutputFormat::Mp4 | OutputFormat::Webm | OutputFormat::Frames => {}
    }
    target.flush()
}

/// Returns the screens of a recording over time.
fn animation(recorded: BufReader<File>, look: &Look) -> io::Result<Animation> {
    let mut animation = Animation::new(look.clone()).map_err(io::Error::other)?;
    let mut replay = Replay::new(recorded)?;
    let mut end = Duration::ZERO;
    while let Some(item) = replay.next() {
        match item? {
            Item::Frame(moment) => {
                let shot = Shot {
                    at: moment.at,
                    cursor: Some(moment.frame.cursor()),
                    frame: moment.frame,
                    colors: Colors::new(look.theme, replay.screen()),
                };
                end = end.max(shot.at);
                animation.push(shot).map_err(io::Error::other)?;
            }
            Item::Output { at, .. }
            | Item::Input { at, .. }
            | Item::Marker { at, .. }
            | Item::Exit { at, .. } => end = end.max(at),
        }
    }
    animation.set_end(end);
    Ok(animation)
}

fn write_screenshot(screenshot: &Screenshot, look: &Look) -> io::Result<()> {
    let Screenshot { path, format, frame } = screenshot;
    let mut target = create(path)?;
    match format {
        ScreenshotFormat::Text => target.write_all(frame.text().as_bytes())?,
        ScreenshotFormat::Png => still(frame, look)?.write_png(&mut target)?,
        ScreenshotFormat::Svg => still(frame, look)?.write_svg(&mut target)?,
    }
    target.flush()
}

fn still(frame: &Arc<Frame>, look: &Look) -> io::Result<Animation> {
    let look = Look { cursor_blink: false, ..look.clone() };
    let (cols, rows) = (frame.cols(), frame.rows().len());
    let colors = Colors::new(look.theme, &awaitty_core::Screen::new(cols, rows, 0));
    let mut animation = Animation::new(look).map_err(io::Error::other)?;
    let cursor = Some(frame.cursor());
    let shot = Shot { at: Duration::ZERO, frame: Arc::clone(frame), cursor, colors };
    animation.push(shot).map_err(io::Error::other)?;
    Ok(animation)
}

fn named(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

fn print(written: &[Written], as_json: bool) -> io::Result<()> {
    if as_json {
        let outputs: Vec<Value> = written
            .iter()
            .map(|Written { path, bytes }| json!({"path": path, "bytes": bytes}))
            .collect();
        return cli::write(format!("{}\n", json!({ "outputs": outputs })).as_bytes());
    }
    for Written { path, bytes } in written {
        cli::write(format!("wrote {path} ({} KB)\n", bytes.div_ceil(1000)).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "{\"version\":3,\"term\":{\"cols\":20,\"rows\":2},\"timestamp\":7,\"command\":\"sh\"}\n";

    /// Returns the events of a recording without its hidden parts.
    fn shown(events: &str) -> Vec<(f64, char, String)> {
        let directory = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
        std::fs::write(&from, format!("{HEADER}{events}")).unwrap();
        leave_out_hidden(&from, &to).unwrap();
        let mut cast = CastReader::new(BufReader::new(File::open(&to).unwrap())).unwrap();
        let mut events = Vec::new();
        while let Some(event) = cast.next_event().unwrap() {
            events.push((event.at, event.kind, event.data));
        }
        events
    }

    #[test]
    fn hidden_parts_take_no_time_and_their_output_is_shown_at_their_end() {
        let events = "[1, \"o\", \"a\"]\n[1, \"m\", \"tape hide\"]\n[5, \"o\", \"b\"]\n[5, \"i\", \"k\"]\n\
                      [1, \"m\", \"tape show\"]\n[1, \"o\", \"c\"]\n[1, \"m\", \"tape hide\"]\n[1, \"o\", \"d\"]\n";
        let wanted = [(1.0, 'o', "a"), (2.0, 'o', "b"), (3.0, 'o', "c"), (4.0, 'o', "")];
        let wanted = wanted.map(|(at, kind, data)| (at, kind, data.to_owned()));
        assert_eq!(shown(events), wanted);
    }

    #[test]
    fn a_screenshot_is_written_with_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/shot.txt").display().to_string();
        let frame = Arc::clone(awaitty_core::Session::new(Default::default(), 9, 2, 0).frame());
        let shot = Screenshot { path: path.clone(), format: ScreenshotFormat::Text, frame };
        write_screenshot(&shot, &Look::default()).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "");
    }

    #[test]
    fn a_demo_ends_after_its_last_visible_step() {
        let step = "[1, \"o\", \"a\"]\n[2, \"m\", \"step 1 end\"]\n";
        let end = |rest: &str| shown(&format!("{step}{rest}")).last().cloned();
        let hide = "[4, \"m\", \"tape hide\"]\n";
        assert_eq!(end(""), Some((3.0, 'o', String::new())));
        assert_eq!(end(hide), Some((7.0, 'o', String::new())), "a pause is visible");
        let hidden = format!("{hide}[8, \"m\", \"step 2 end\"]\n{hide}");
        assert_eq!(end(&hidden), Some((7.0, 'o', String::new())), "hidden steps take no time");
    }
}
