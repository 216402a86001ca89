//! Tests of animations: decoded GIFs are compared with pictures of the whole screen.

mod frames;
mod limits;
mod svg;
mod window;

use std::io::Cursor as Bytes;
use std::sync::Arc;
use std::time::Duration;

use ::gif::{DecodeOptions, DisposalMethod};
use awaitty_core::{Session, Time};

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
