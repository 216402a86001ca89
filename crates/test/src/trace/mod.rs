//! Traces: one HTML file per test with its steps, frames and waits.
//!
//! ```text
//!  recording ─► Replay ─┬─ frames ─► Frames: rows that changed, in packed blocks ─┐
//!                       ├─ output, input ─► Raw: packed blocks ───────────────────┼─► page
//!                       └─ markers ─► Timeline: times and frames of steps ────────┘
//! ```
//!
//! The page must not exceed [`PAGE_MAX`]. If it would, the raw output is left out, then frames between steps. Secrets
//! need two replays: the first finds where their values are visible, because a value that is typed character by
//! character is recognized only when it is complete.

mod frames;
mod mask;
mod pack;
mod page;
mod raw;
mod rows;
mod step;
mod timeline;

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use step::{Kind, Place, Step, Verdict};

use crate::replay::{Item, Replay};
use frames::{Frames, Keep};
use mask::Places;
pub(crate) use mask::{MASK, Mask};
use raw::Raw;
use timeline::Timeline;

/// The maximum size of a page in bytes: what CI services store and browsers open without delay.
pub const PAGE_MAX: usize = 10_000_000;

/// A test, as its trace shows it.
#[derive(Clone)]
pub struct Trace {
    /// The name of the test.
    pub title: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The recording of the session, with a marker at the start and at the end of each step.
    pub recording: PathBuf,
    /// The values that the page must not contain. Values without a visible character are ignored.
    pub secrets: Vec<String>,
}

/// Leaves out the secrets.
impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Trace");
        fields.field("title", &self.title).field("steps", &self.steps);
        fields.field("recording", &self.recording).finish_non_exhaustive()
    }
}

/// Writes the page of a trace.
///
/// # Errors
/// If the recording cannot be read or the page cannot be written. The message contains the path.
pub fn write(path: &Path, trace: &Trace) -> io::Result<()> {
    std::fs::write(path, render(trace)?).map_err(|error| named(path, &error))
}

/// Returns the page of a trace.
///
/// # Errors
/// If the recording cannot be read. The message contains its path.
pub fn render(trace: &Trace) -> io::Result<String> {
    page_within(trace, PAGE_MAX)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn open(trace: &Trace) -> io::Result<Replay<BufReader<File>>> {
    Replay::new(BufReader::new(File::open(&trace.recording)?))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the page of a trace in at most `limit` bytes.
fn page_within(trace: &Trace, limit: usize) -> io::Result<String> {
    let mask = Mask::new(&trace.secrets);
    let build = || {
        let places = places(trace, &mask)?;
        let mut keep = Keep::All;
        loop {
            match attempt(trace, &mask, &places, keep, limit)? {
                Ok(page) => return Ok(page),
                Err(smaller) => keep = smaller,
            }
        }
    };
    build().map_err(|error| named(&trace.recording, &error))
}

/// Returns the places at which the values of secrets are visible at any time.
fn places(trace: &Trace, mask: &Mask) -> io::Result<Places> {
    let mut places = Places::default();
    if mask.is_empty() {
        return Ok(places);
    }
    for item in open(trace)? {
        if let Item::Frame(moment) = item? {
            places.add(mask, &moment.frame);
        }
    }
    Ok(places)
}

/// Builds the page from a selection of frames. Returns a smaller selection if it is too large.
fn attempt(
    trace: &Trace,
    mask: &Mask,
    places: &Places,
    keep: Keep,
    limit: usize,
) -> io::Result<Result<String, Keep>> {
    let mut replay = open(trace)?;
    let mut frames = Frames::new(mask, places, keep);
    let mut raw = Raw::new(mask, places);
    let mut timeline = Timeline::new(trace, replay.header(), mask);
    let mut tick = replay.screen().tick().0;
    let too_large = |frames: &Frames<'_>, fitting: usize, duration: Duration| {
        let smaller = keep.smaller(fitting, duration);
        smaller.ok_or_else(|| {
            let texts = limit.saturating_sub(frames.bytes);
            io::Error::other(format!("the texts of the page need more than {texts} bytes"))
        })
    };
    while let Some(item) = replay.next() {
        match item? {
            Item::Frame(moment) => {
                frames.add(moment);
                tick = replay.screen().tick().0;
            }
            Item::Output { at, text } => {
                let drawn = tick..=replay.screen().tick().0;
                tick = *drawn.end();
                timeline.end_at(at);
                raw.output(at, text, drawn);
            }
            Item::Input { at, text } => {
                timeline.input(at, &text);
                raw.input(at, text);
            }
            Item::Marker { at, label } => {
                timeline.marker(at, &label, |has_failed| frames.at_step(has_failed));
            }
            Item::Exit { at, status } => timeline.exit(at, status),
        }
        if frames.bytes > limit {
            let duration = replay.skip_to_end()?;
            return too_large(&frames, frames.times.len(), duration).map(Err);
        }
        if frames.bytes + raw.bytes > limit {
            raw.leave_out();
        }
    }
    if keep != Keep::Nothing {
        frames.finish();
    }
    raw.finish();
    timeline.finish(frames.times.len().checked_sub(1));
    let mut page = page::page(&timeline, &frames, raw.blocks.as_deref(), keep, limit);
    if page.len() > limit && raw.blocks.is_some() {
        raw.leave_out();
        page = page::page(&timeline, &frames, None, keep, limit);
    }
    if page.len() <= limit {
        return Ok(Ok(page));
    }
    let fitting = frames.times.len() * limit / page.len();
    too_large(&frames, fitting, timeline.duration).map(Err)
}

#[cfg(test)]
mod tests;
