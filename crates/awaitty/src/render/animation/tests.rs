//! Tests of animations: decoded GIFs are compared with pictures of the whole screen.

use std::io::Cursor as Bytes;
use std::sync::Arc;
use std::time::Duration;

use ::gif::{DecodeOptions, DisposalMethod};
use awaitty_core::{Session, Time};
use proptest::prelude::*;

use super::*;
use crate::render::{self, Font, Options, Rgb, Theme};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Replays outputs at times in milliseconds; a text such as `\0resize 20 5` changes the size.
fn shots(cols: usize, rows: usize, parts: &[(u64, &str)]) -> Vec<Shot> {
    let mut session = Session::new(Time::default(), cols, rows, 0);
    let shot = |&(at, printed): &(u64, &str)| {
        let now = Time(ms(at));
        if let Some(size) = printed.strip_prefix("\0resize ") {
            let (cols, rows) = size.split_once(' ').unwrap();
            session.resize(now, cols.parse().unwrap(), rows.parse().unwrap());
        }
        session.handle_output(now, printed.as_bytes());
        session.handle_drained(now);
        Shot {
            at: ms(at),
            frame: Arc::clone(session.frame()),
            cursor: Some(session.screen().cursor()),
            colors: Colors::new(Theme::Light, session.screen()),
        }
    };
    parts.iter().map(shot).collect()
}

fn animation(look: Look, shots: &[Shot]) -> Animation {
    let mut animation = Animation::new(look).unwrap();
    shots.iter().for_each(|shot| animation.push(shot.clone()).unwrap());
    animation
}

/// Returns a look with the padding of a screenshot, for comparisons with [`render::png`].
fn plain() -> Look {
    Look { padding: 5, ..Look::default() }
}

/// A frame of a GIF.
struct Decoded {
    delay: u16,
    /// Left, top, width and height.
    area: (usize, usize, usize, usize),
    /// Pixels of the area that are not transparent.
    drawn: usize,
    /// What a player shows.
    picture: Vec<Rgb>,
}

struct DecodedGif {
    palette: Vec<Rgb>,
    frames: Vec<Decoded>,
}

impl DecodedGif {
    fn new(bytes: &[u8]) -> DecodedGif {
        let mut options = DecodeOptions::new();
        options.set_color_output(::gif::ColorOutput::Indexed);
        let mut decoder = options.read_info(Bytes::new(bytes)).unwrap();
        assert_eq!(decoder.repeat(), ::gif::Repeat::Infinite);
        let palette: Vec<Rgb> = decoder.global_palette().unwrap().as_chunks().0.to_vec();
        let width = usize::from(decoder.width());
        let mut picture = vec![[1, 2, 3]; width * usize::from(decoder.height())];
        let mut frames = Vec::new();
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            assert_eq!((frame.dispose, &frame.palette), (DisposalMethod::Keep, &None));
            let [left, top, columns, rows] =
                [frame.left, frame.top, frame.width, frame.height].map(usize::from);
            let mut drawn = 0;
            for (i, &index) in frame.buffer.iter().enumerate() {
                if Some(index) != frame.transparent {
                    let at = (top + i / columns) * width + left + i % columns;
                    picture[at] = palette[usize::from(index)];
                    drawn += 1;
                }
            }
            let (delay, area, picture) = (frame.delay, (left, top, columns, rows), picture.clone());
            frames.push(Decoded { delay, area, drawn, picture });
        }
        DecodedGif { palette, frames }
    }

    fn of(animation: &Animation) -> DecodedGif {
        DecodedGif::new(&gif_of(animation))
    }

    fn delays(&self) -> Vec<u16> {
        self.frames.iter().map(|frame| frame.delay).collect()
    }

    /// Returns the picture at a time in hundredths of a second.
    fn at(&self, hundredths: u64) -> &[Rgb] {
        let mut end = 0;
        let shown = self.frames.iter().find(|frame| {
            end += u64::from(frame.delay);
            hundredths < end
        });
        &shown.unwrap_or(self.frames.last().unwrap()).picture
    }

    /// Returns the pixels in the nearest colours of the palette.
    fn nearest(&self, pixels: &[Rgb]) -> Vec<Rgb> {
        let mut known = std::collections::HashMap::new();
        let nearest = |color: &Rgb| {
            *known.entry(*color).or_insert_with(|| {
                let difference = |other: &&Rgb| -> i64 {
                    let channel = |i: usize| {
                        (i64::from(color[i]) - i64::from(other[i])).pow(2) * [2, 4, 3][i]
                    };
                    (0..3).map(channel).sum()
                };
                *self.palette.iter().min_by_key(difference).unwrap()
            })
        };
        pixels.iter().map(nearest).collect()
    }
}

fn gif_of(animation: &Animation) -> Vec<u8> {
    let mut bytes = Vec::new();
    animation.write_gif(&mut bytes).unwrap();
    bytes
}

fn svg_of(animation: &Animation) -> String {
    let mut bytes = Vec::new();
    animation.write_svg(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn pixels_of_png(bytes: &[u8]) -> (usize, Vec<Rgb>) {
    let mut reader = png::Decoder::new(Bytes::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width as usize, pixels.as_chunks().0.to_vec())
}

fn last_picture(animation: &Animation) -> (usize, Vec<Rgb>) {
    let mut bytes = Vec::new();
    animation.write_png(&mut bytes).unwrap();
    pixels_of_png(&bytes)
}

/// Returns the screenshot of a shot.
fn screenshot(shot: &Shot) -> Vec<Rgb> {
    let options = Options {
        scale: 1.0,
        cursor: shot.cursor,
        colors: shot.colors.clone().with_theme(Theme::Dark),
        font: Font::default(),
    };
    pixels_of_png(&render::png(&shot.frame, &options).unwrap().bytes).1
}

const SESSION: [(u64, &str); 8] = [
    (0, "\x1b[31mred\x1b[m plain \x1b[1;3;44mbold italic\x1b[m\r\n"),
    (100, "┌──┐ ╔══╗ 世界 🚀 e\u{301} ÅÇj|\r\n"),
    (133, "\x1b[7minverse\x1b[m \x1b[4:3mcurly\x1b[m \x1b[38;2;9;99;199mrgb\x1b[m"),
    (200, "\x1b[1;1H"),
    (260, "\x1b[4 q\x1b[2;12H"),
    (300, "\x1b[6;1H▁▂▃▄▅▆▇█\x1b[0K\x1b[?25l"),
    (400, "\x1b[?5h"),
    (500, "\x1b[?5l\x1b]11;#223344\x07\x1b[H\x1b[2Jend"),
];

#[test]
fn each_gif_frame_is_the_screenshot_of_its_shot() {
    let shots = shots(24, 6, &SESSION);
    let animation = animation(plain(), &shots);
    let gif = DecodedGif::of(&animation);
    assert_eq!(gif.delays(), [10, 3, 7, 6, 4, 10, 10, 2]);
    for (shot, frame) in shots.iter().zip(&gif.frames) {
        let expected = gif.nearest(&screenshot(shot));
        assert!(frame.picture == expected, "the frame at {:?}", shot.at);
    }
    assert_eq!(last_picture(&animation).1, screenshot(shots.last().unwrap()));
}

#[test]
fn a_frame_is_the_rectangle_that_changed() {
    let parts =
        [(0, "\x1b[?25lone\r\ntwo\r\nthree"), (100, "\x1b[2;2HX"), (200, "\x1b[HY\x1b[3;5HZ")];
    let gif = DecodedGif::of(&animation(plain(), &shots(20, 4, &parts)));
    let ((cell_width, cell_height), padding) = (Look::default().cell(), 5);
    let (left, top, width, height) = gif.frames[1].area;
    let cell = (padding + cell_width, padding + cell_height);
    assert!(left >= cell.0 && left + width <= cell.0 + cell_width, "{left} {width}");
    assert!(top >= cell.1 && top + height <= cell.1 + cell_height, "{top} {height}");
    let far = &gif.frames[2];
    assert!(far.area.2 > cell_width * 3 && far.area.3 > cell_height * 2, "{:?}", far.area);
    assert!(far.drawn <= 2 * cell_width * cell_height, "{} of both cells", far.drawn);
}

#[test]
fn a_shot_that_looks_the_same_is_no_frame() {
    let parts =
        [(0, "\x1b[?25la"), (100, "\ra"), (200, "\x1b]0;title\x07"), (300, "b"), (400, "\x1b[K")];
    let gif = DecodedGif::of(&animation(plain(), &shots(20, 2, &parts)));
    assert_eq!(gif.delays(), [30, 10]);
    // Both texts are invisible, although their styles differ.
    let parts = [(0, "\x1b[?25l\x1b[8ma"), (100, "\x1b[1G\x1b[8mb"), (200, "\x1b[mc")];
    let gif = DecodedGif::of(&animation(plain(), &shots(20, 2, &parts)));
    assert_eq!(gif.delays(), [20, 2]);
}

#[test]
fn rounded_delays_add_up_to_the_duration() {
    let parts: Vec<(u64, String)> = (0..30).map(|i| (i * 333 / 10, format!("{i}"))).collect();
    let parts: Vec<(u64, &str)> = parts.iter().map(|(at, text)| (*at, text.as_str())).collect();
    let mut animation = animation(plain(), &shots(70, 1, &parts));
    animation.set_end(ms(1239));
    let delays = DecodedGif::of(&animation).delays();
    assert_eq!(delays.len(), 30);
    assert_eq!(delays.iter().map(|delay| u64::from(*delay)).sum::<u64>(), 124);
    assert!(delays[..29].iter().all(|delay| [3, 4].contains(delay)), "{delays:?}");
}

#[test]
fn a_long_rest_is_several_frames() {
    for (end, expected) in
        [(650_000, &[65_000][..]), (650_010, &[65_000, 1]), (1_300_000, &[65_000; 2])]
    {
        let mut animation = animation(plain(), &shots(4, 1, &[(0, "a")]));
        animation.set_end(ms(end));
        let gif = DecodedGif::of(&animation);
        assert_eq!(gif.delays(), expected);
        assert!(gif.frames.iter().all(|frame| frame.picture == gif.frames[0].picture));
    }
}

#[test]
fn a_fast_change_waits_for_the_next_frame() {
    let parts = [(0, "a"), (5, "b"), (19, "c"), (39, "d"), (59, "e"), (61, "f"), (200, "g")];
    let all = shots(8, 1, &parts);
    let gif = DecodedGif::of(&animation(plain(), &all));
    assert_eq!(gif.delays(), [2, 2, 2, 2, 12, 2]);
    let visible: Vec<&Shot> = [0, 2, 3, 4, 5, 6].map(|i| &all[i]).into();
    for (frame, shot) in gif.frames.iter().zip(visible) {
        assert!(frame.picture == gif.nearest(&screenshot(shot)), "{:?}", shot.at);
    }
    let slow = DecodedGif::of(&animation(Look { framerate: 10.0, ..plain() }, &all));
    assert_eq!(slow.delays(), [10, 10, 10]);
    let fast = DecodedGif::of(&animation(Look { framerate: 1000.0, ..plain() }, &all));
    assert_eq!(fast.delays(), gif.delays());
}

#[test]
fn the_speed_scales_times() {
    let all = shots(8, 1, &[(0, "a"), (100, "b"), (300, "c")]);
    for (playback_speed, expected) in [(2.0, [5, 10, 10]), (0.5, [20, 40, 40])] {
        let mut animation = animation(Look { playback_speed, ..plain() }, &all);
        animation.set_end(ms(500));
        assert_eq!(DecodedGif::of(&animation).delays(), expected);
    }
}

#[test]
fn the_loop_starts_at_its_offset() {
    let all = shots(8, 1, &[(0, "a"), (100, "b"), (300, "c")]);
    let mut straight = animation(plain(), &all);
    straight.set_end(ms(400));
    let straight = DecodedGif::of(&straight);
    for (loop_offset, first, delays) in [
        (0.2, 0, [10, 20, 10]),
        (0.25, 1, [20, 10, 10]),
        (0.8, 2, [10, 10, 20]),
        (1.0, 2, [10, 10, 20]),
    ] {
        let mut rotated = animation(Look { loop_offset, ..plain() }, &all);
        rotated.set_end(ms(400));
        let rotated = DecodedGif::of(&rotated);
        assert_eq!(rotated.delays(), delays, "{loop_offset}");
        for (i, frame) in rotated.frames.iter().enumerate() {
            assert!(frame.picture == straight.frames[(first + i) % 3].picture, "{loop_offset} {i}");
        }
    }
}

#[test]
fn a_cursor_blinks_while_the_screen_rests() {
    let all = shots(8, 1, &[(0, "a"), (1200, "b\x1b[?25l")]);
    let mut animation = animation(Look { cursor_blink: true, ..plain() }, &all);
    animation.set_end(ms(5000));
    let gif = DecodedGif::of(&animation);
    assert_eq!(gif.delays(), [53, 53, 14, 380]);
    assert!(gif.frames[0].picture == gif.frames[2].picture);
    let without = Shot { cursor: None, ..all[0].clone() };
    assert!(gif.frames[1].picture == gif.nearest(&screenshot(&without)));
}

#[test]
fn the_picture_is_as_large_as_the_largest_screen() {
    let parts = [(0, "small"), (100, "\0resize 20 4"), (200, "\r\nlarge"), (300, "\0resize 5 2")];
    let all = shots(10, 2, &parts);
    let animation = animation(plain(), &all);
    let gif = DecodedGif::of(&animation);
    let (cell_width, cell_height) = Look::default().cell();
    assert_eq!(animation.size(), (20 * cell_width + 10, 4 * cell_height + 10));
    // What is outside a smaller screen has the colour of the background.
    let background = Theme::Dark.colors().background;
    let width = animation.size().0;
    let inside = 5 * cell_width + 5;
    let last = &gif.frames.last().unwrap().picture;
    let is_blank = |(i, pixel): (usize, &Rgb)| {
        let (x, y) = (i % width, i / width);
        x < inside && y < 2 * cell_height + 5 || *pixel == background
    };
    assert!(last.iter().enumerate().all(is_blank));
    let middle = all.iter().position(|shot| shot.at == ms(200)).unwrap();
    assert!(gif.at(20) == gif.nearest(&screenshot(&all[middle])));
}

#[test]
fn the_colours_of_the_theme_are_exact_among_many() {
    let mut printed = String::from("\x1b[?25l");
    for i in 0..2000 {
        printed += &format!("\x1b[38;2;{};{};{}mx", i % 256, i * 7 % 256, i / 8);
    }
    for i in 0..8 {
        printed += &format!("\x1b[{}m \x1b[{}m \x1b[m", 40 + i, 100 + i);
    }
    let animation = animation(plain(), &shots(80, 30, &[(0, &printed)]));
    let gif = DecodedGif::of(&animation);
    let theme = Theme::Dark.colors();
    for color in theme.basic.iter().chain([&theme.background]) {
        assert!(gif.palette.contains(color), "{color:?}");
    }
    let (_, exact) = last_picture(&animation);
    let differences = exact
        .iter()
        .zip(&gif.frames[0].picture)
        .map(|(a, b)| (0..3).map(|i| u64::from(a[i].abs_diff(b[i]))).sum::<u64>());
    let mean = differences.sum::<u64>() as f64 / exact.len() as f64;
    assert!(mean < 6.0, "the mean difference is {mean}");
}

#[test]
fn the_same_screens_give_the_same_bytes() {
    let look = Look { bar: Some(WindowBar::Rings), border_radius: 9, margin: 7, ..plain() };
    let all = shots(24, 6, &SESSION);
    let [a, b] = [(); 2].map(|()| animation(look.clone(), &all));
    assert!(gif_of(&a) == gif_of(&b));
    assert!(svg_of(&a) == svg_of(&b));
    assert!(last_picture(&a) == last_picture(&b));
}

#[test]
fn a_window_has_corners_a_bar_and_a_margin() {
    for (bar, is_right) in [(WindowBar::Colorful, false), (WindowBar::ColorfulRight, true)] {
        let look = Look {
            bar: Some(bar),
            bar_size: 30,
            margin: 10,
            margin_fill: [200, 100, 0],
            border_radius: 8,
            ..plain()
        };
        let cell = look.cell();
        let all = shots(20, 2, &[(0, "abc"), (100, "d")]);
        let animation = animation(look, &all);
        assert_eq!(animation.size(), (20 * cell.0 + 10 + 20, 2 * cell.1 + 10 + 20 + 30));
        let (width, picture) = last_picture(&animation);
        let at = |x: usize, y: usize| picture[y * width + x];
        let background = Theme::Dark.colors().background;
        let height = animation.size().1;
        for (x, y) in [(0, 0), (9, 40), (10, 10), (width - 11, height - 11), (width - 11, 10)] {
            assert_eq!(at(x, y), [200, 100, 0], "{x} {y}");
        }
        for (x, y) in [(10, 20), (18, 10), (width - 11, 40)] {
            assert_eq!(at(x, y), background, "{x} {y}");
        }
        let red = if is_right { width - 10 - 15 } else { 10 + 15 };
        assert_eq!(at(red, 25), [0xff, 0x5f, 0x57]);
        let screen = screenshot(&all[1]);
        let row = |y: usize| &picture[(40 + y) * width + 10..][..20 * cell.0 + 10];
        assert!((0..30).all(|y| row(y) == &screen[y * row(y).len()..][..row(y).len()]));
        let gif = DecodedGif::of(&animation);
        assert!(gif.frames[1].picture == gif.nearest(&picture));
    }
}

#[test]
fn a_corner_hides_the_cells_under_it() {
    let look = Look { padding: 0, border_radius: 12, margin_fill: [9, 9, 9], ..plain() };
    let all = shots(10, 2, &[(0, "\x1b[41m\x1b[2J"), (100, "\x1b[42m\x1b[2J")]);
    let animation = animation(look, &all);
    let gif = DecodedGif::of(&animation);
    let (_, picture) = last_picture(&animation);
    assert_eq!(picture[0], [9, 9, 9]);
    assert!(gif.frames[1].picture == gif.nearest(&picture));
}

#[test]
fn cells_fill_the_size_that_was_asked_for() {
    let look = Look {
        size: Some((640, 480)),
        margin: 10,
        bar: Some(WindowBar::Rings),
        letter_spacing: 2.0,
        line_height: 1.5,
        ..Look::default()
    };
    let (cols, rows) = look.cells_within(640, 480);
    let blank = animation(look.clone(), &shots(cols, rows, &[(0, "")]));
    assert_eq!(blank.size(), (640, 480));
    let wider = animation(look.clone(), &shots(cols + 1, rows + 1, &[(0, "")])).size();
    assert!(wider.0 > 640 && wider.1 > 480, "{wider:?}");
    assert_eq!(look.cell(), (11, 27));
    assert_eq!(look.cells_within(1, 1), (1, 1));
}

#[test]
fn values_out_of_range_are_refused() {
    let default = Look::default;
    let cases: [(Look, &str); 12] = [
        (Look { font_size: 3.9, ..default() }, "font_size: 3.9 is not between 4 and 200"),
        (Look { font_size: f32::NAN, ..default() }, "font_size: NaN"),
        (Look { letter_spacing: 200.5, ..default() }, "letter_spacing: 200.5"),
        (Look { line_height: 0.0, ..default() }, "line_height: 0"),
        (Look { framerate: 0.0, ..default() }, "framerate: 0"),
        (Look { playback_speed: 0.0, ..default() }, "playback_speed: 0"),
        (Look { loop_offset: 1.1, ..default() }, "loop_offset: 1.1"),
        (Look { padding: EDGE_MAX + 1, ..default() }, "padding: 4097 is more than 4096"),
        (Look { margin: EDGE_MAX + 1, ..default() }, "margin: 4097"),
        (Look { border_radius: EDGE_MAX + 1, ..default() }, "border_radius: 4097"),
        (Look { bar_size: EDGE_MAX + 1, ..default() }, "bar_size: 4097"),
        (
            Look { size: Some((65_536, 9)), ..default() },
            "65536x42 pixels, but the limits are 65535",
        ),
    ];
    for (look, expected) in cases {
        let error = Animation::new(look).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    for look in [
        Look { font_size: 4.0, loop_offset: 1.0, border_radius: EDGE_MAX, ..default() },
        Look { bar: Some(WindowBar::Rings), bar_size: EDGE_MAX, ..default() },
        Look { size: Some((65_535, 60)), framerate: 0.1, ..default() },
    ] {
        assert!(Animation::new(look).is_ok());
    }
}

#[test]
fn an_animation_without_screens_is_refused() {
    let mut empty = Animation::new(Look::default()).unwrap();
    empty.set_end(ms(100));
    assert!(empty.is_empty());
    for result in
        [empty.write_gif(Vec::new()), empty.write_svg(Vec::new()), empty.write_png(Vec::new())]
    {
        assert!(result.unwrap_err().to_string().contains("has no screen: add one"));
    }
}

/// Pushes with limits, and returns the first error.
fn pushed(limits: Limits, all: &[Shot]) -> Result<Animation, String> {
    let mut animation = Animation::new(plain())?;
    animation.limits = limits;
    all.iter().try_for_each(|shot| animation.push(shot.clone()))?;
    Ok(animation)
}

#[test]
fn the_drawn_pixels_have_a_limit() {
    // The first screen draws 3 rows, the second one, and the third one, which is replaced.
    let all = shots(10, 3, &[(0, "\x1b[?25la\r\nb"), (100, "c"), (110, "\x1b[1;1Hd"), (115, "e")]);
    let row = 10 * Look::default().cell().0 * Look::default().cell().1;
    assert!(pushed(Limits { pixels: 5 * row, ..LIMITS }, &all).is_ok());
    let error = pushed(Limits { pixels: 5 * row - 1, ..LIMITS }, &all).unwrap_err();
    assert!(
        error.contains(&format!("{} pixels in 3 frames, but the limit is", 5 * row)),
        "{error}"
    );
    assert!(error.contains("lower the framerate (now 50), the font_size (now 15)"), "{error}");
}

#[test]
fn the_memory_has_a_limit() {
    let all = shots(10, 3, &[(0, "a"), (100, "b"), (200, "c")]);
    let bytes = |count: usize| pushed(LIMITS, &all[..count]).unwrap().timeline.bytes();
    assert!(bytes(1) < bytes(2) && bytes(2) < bytes(3));
    assert!(pushed(Limits { bytes: bytes(3), ..LIMITS }, &all).is_ok());
    let error = pushed(Limits { bytes: bytes(3) - 1, ..LIMITS }, &all).unwrap_err();
    assert!(error.contains("bytes for 3 frames of 4 different rows"), "{error}");
    // Shots that are replaced or look the same take nothing.
    let again: Vec<Shot> = (0..100).map(|_| all[2].clone()).chain([all[2].clone()]).collect();
    let repeated = pushed(LIMITS, &[&all[..], &again].concat()).unwrap();
    assert_eq!(repeated.timeline.bytes(), bytes(3));
}

#[test]
fn the_frames_have_a_limit() {
    let all = shots(10, 1, &[(0, "a"), (100, "b"), (200, "c")]);
    let mut animation = pushed(Limits { steps: 3, ..LIMITS }, &all).unwrap();
    assert!(animation.write_gif(Vec::new()).is_ok());
    animation.limits.steps = 2;
    let error = animation.write_gif(Vec::new()).unwrap_err().to_string();
    assert!(error.contains("more than 2 frames: lower the framerate (now 50), or"), "{error}");
    animation.limits.steps = 3;
    animation.look.cursor_blink = true;
    animation.set_end(Duration::MAX);
    let error = animation.write_svg(Vec::new()).unwrap_err().to_string();
    assert!(error.contains("more than 3 frames") && error.contains("cursor_blink"), "{error}");
}

#[test]
fn a_recording_has_a_longest_duration() {
    let last = |at: Duration| Shot { at, ..shots(10, 1, &[(0, "a")]).remove(0) };
    assert!(pushed(LIMITS, &[last(timeline::LENGTH_MAX)]).is_ok());
    let error = pushed(LIMITS, &[last(timeline::LENGTH_MAX + ms(1000))]).unwrap_err();
    assert!(error.contains("at: 2592001 s is later than 2592000 s"), "{error}");
}

#[test]
fn a_picture_has_a_largest_size() {
    let (cell_width, _) = Look::default().cell();
    let fits = (65_535 - 10) / cell_width;
    let shot = |cols: usize, rows: usize| shots(cols, rows, &[(0, "")]);
    assert!(fits > 1000, "a row of the widest terminal fits");
    let error = pushed(LIMITS, &shot(1000, 500)).unwrap_err();
    assert!(error.contains("1000x500 cells with font_size 15 give a picture of 9010x"), "{error}");
    assert!(error.contains("lower the font size"), "{error}");
}

#[test]
fn svg_has_text_and_no_script() {
    let hostile = "</style><script>alert(1)</script> two  blanks, &amp; \u{202e}x \x1b]8;;javascript:x\x07link";
    let svg = svg_of(&animation(plain(), &shots(90, 2, &[(0, hostile), (500, "\r\nmore")])));
    assert!(
        svg.contains(">&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt; two</text>"),
        "{svg}"
    );
    assert!(!svg.contains("<script") && !svg.contains("javascript") && !svg.contains('\u{202e}'));
    assert_eq!(svg.matches("</style>").count(), 1);
    assert!(svg.contains(">more</text>"), "{svg}");
    let forbidden = svg_of(&animation(plain(), &shots(9, 1, &[(0, "a\u{fffe}\u{ffff}b")])));
    assert!(!forbidden.contains(['\u{fffe}', '\u{ffff}']), "XML forbids these: {forbidden}");
}

#[test]
fn svg_animates_only_rows_that_change() {
    let parts = [(0, "\x1b[?25lstays\r\na"), (100, "\rb"), (200, "\ra"), (300, "\rc")];
    let mut animation = animation(plain(), &shots(20, 3, &parts));
    animation.set_end(ms(400));
    let svg = svg_of(&animation);
    let width = animation.size().0;
    let expected = format!(
        ".r1{{animation:r1 0.400s steps(1,end) infinite}}\n@keyframes r1{{0%{{transform:translate(0,0)}}\
         25%{{transform:translate(-{width}px,0)}}50%{{transform:translate(0,0)}}\
         75%{{transform:translate(-{}px,0)}}}}",
        2 * width
    );
    assert!(svg.contains(&expected), "{svg}");
    assert_eq!(svg.matches("@keyframes").count(), 1);
    assert_eq!(svg.matches("<text").count(), 4, "one for each distinct content");
}

#[test]
fn svg_shares_equal_rows_and_draws_the_cursor_over_them() {
    let line = "the same text";
    let parts = [(0, line), (100, "\r\n"), (200, line), (300, "\x1b[2;1H"), (400, "\x1b[?5h")];
    let svg = svg_of(&animation(plain(), &shots(20, 2, &parts)));
    // In each of the two colours once, and the letter under the cursor.
    assert_eq!(svg.matches(&format!(">{line}</text>")).count(), 2, "{svg}");
    assert_eq!(svg.matches(">t</text>").count(), 2, "{svg}");
    let uses = svg.matches("<use href=\"#c0\"/>").count();
    assert!(uses >= 3 && svg.contains("<g id=\"c0\">"), "{uses} {svg}");
    assert!(svg.contains("@keyframes b{0%{fill:#16181d}"), "{svg}");
}

#[test]
fn svg_joins_words_and_lines() {
    let printed = "\x1b[?25la few  words or \x1b[1mbold\x1b[m\r\n├──────┼───┤ → 世界";
    let svg = svg_of(&animation(plain(), &shots(30, 2, &[(0, printed)])));
    assert!(
        svg.contains(">a few</text>")
            && svg.contains(">words or</text>")
            && svg.contains(">bold</text>"),
        "{svg}"
    );
    assert!(svg.contains("font-weight:bold"), "{svg}");
    for width in [6 * 9, 3 * 9] {
        assert!(svg.contains(&format!("y=\"8\" width=\"{width}\" height=\"1\"")), "{width} {svg}");
    }
    assert!(!svg.contains("> </text>"), "{svg}");
    assert_eq!(svg.matches("spacingAndGlyphs").count(), 3, "wide characters are stretched: {svg}");
}

/// A piece of output: text, styles, movements, erasing, colours and sizes.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z世─é ]{1,12}",
        (30..48_u8).prop_map(|n| format!("\x1b[{n}m")),
        (0..10_u8).prop_map(|n| format!("\x1b[{n}m")),
        (1..8_u8, 1..24_u8).prop_map(|(row, col)| format!("\x1b[{row};{col}H")),
        (0..3_u8).prop_map(|n| format!("\x1b[{n}J")),
        (0..6_u8).prop_map(|n| format!("\x1b[{n} q")),
        Just("\r\n".to_owned()),
        Just("\x1b[?25l".to_owned()),
        Just("\x1b[?25h".to_owned()),
        Just("\x1b[?5h".to_owned()),
        Just("\x1b[?5l".to_owned()),
        any::<u8>().prop_map(|n| format!("\x1b]11;#{n:02x}0040\x07")),
        (4..24_u8, 2..6_u8).prop_map(|(cols, rows)| format!("\0resize {cols} {rows}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn frames_up_to_a_time_give_the_picture_of_that_time(
        parts in proptest::collection::vec((1..90_u64, piece()), 1..14),
        radius in 0..20_usize,
        padding in 0..9_usize,
        loop_offset in 0.0..1.0_f32,
        cursor_blink in any::<bool>(),
    ) {
        let mut at = 0;
        let timed: Vec<(u64, &str)> = parts
            .iter()
            .map(|(after, printed)| { at += after * 11; (at, printed.as_str()) })
            .collect();
        let look = Look {
            padding,
            border_radius: radius,
            loop_offset,
            cursor_blink,
            bar: Some(WindowBar::RingsRight),
            ..Look::default()
        };
        let animation = animation(look, &shots(16, 4, &timed));
        let gif = DecodedGif::of(&animation);
        let faces = animation.look.font.faces();
        let (steps, end) = animation.steps().unwrap();
        for step in steps {
            let at = ((step.at.as_millis() + 5) / 10) as u64;
            let picture = animation.drawer(&faces).picture(step.screen, step.has_cursor);
            prop_assert!(gif.at(at) == gif.nearest(picture.pixels.as_chunks().0), "at {:?}", step.at);
        }
        let sum: u64 = gif.delays().iter().map(|delay| u64::from(*delay)).sum();
        prop_assert_eq!(sum, ((end.as_millis() + 5) / 10) as u64);
    }
}
