//! Packs the frames of a replay into blocks of row deltas, and leaves out frames if the page would become too large.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use awaitty_terminal::core::{CursorShape, Frame, Row};
use awaitty_terminal::text::visible;
use serde_json::{Value, json};

use super::mask::{Mask, Places};
use super::pack::pack;
use super::rows::Tables;
use crate::replay::{ChosenColors, Moment, REPLAY_INTERVAL};

/// The size of a block in bytes before it is packed. The page unpacks a block when a frame of it is shown, and each
/// starts with a whole screen.
const BLOCK_BYTES: usize = 512 << 10;

/// The part of the room that a thinner selection of frames may fill, because each frame then differs from the one
/// before it in more rows.
const FILL: f64 = 0.9;

/// The selection of frames that the page has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Keep {
    /// All frames.
    All,
    /// Those at the start and the end of steps, and others at this interval.
    Interval(Duration),
    /// Those at the start and the end of the failed step, and the last one.
    Failed,
    /// None.
    Nothing,
}

impl Keep {
    /// Returns the next smaller selection, after `fitting` frames have filled the page, for a recording that takes
    /// `duration`. `None` if there is none.
    pub(super) fn smaller(self, fitting: usize, duration: Duration) -> Option<Keep> {
        let spread = duration.as_secs_f64() / (fitting.max(1) as f64 * FILL);
        let interval = match self {
            Keep::All => REPLAY_INTERVAL * 2,
            Keep::Interval(interval) if interval >= duration => return Some(Keep::Failed),
            Keep::Interval(interval) => interval * 2,
            Keep::Failed => return Some(Keep::Nothing),
            Keep::Nothing => return None,
        };
        Some(Keep::Interval(interval.max(Duration::from_secs_f64(spread)).min(duration)))
    }
}

/// A block of frames.
#[derive(Debug)]
pub(super) struct Block {
    /// The number of its first frame.
    pub(super) first: usize,
    /// The packed data.
    pub(super) packed: String,
}

/// The frame that was written last.
#[derive(Debug)]
struct Written {
    moment: Moment,
    masked: HashMap<usize, BTreeSet<usize>>,
    /// The numbers of its rows in the tables of the current block.
    rows: Vec<usize>,
}

/// Writes frames into blocks.
#[derive(Debug)]
pub(super) struct Frames<'m> {
    mask: &'m Mask,
    places: &'m Places,
    keep: Keep,
    tables: Tables,
    /// The frames of the current block, as JSON.
    current: Vec<String>,
    current_bytes: usize,
    last: Option<Written>,
    /// The newest frame, if it was left out so far.
    pending: Option<Moment>,
    /// The blocks that are complete.
    pub(super) blocks: Vec<Block>,
    /// The time of each frame.
    pub(super) times: Vec<Duration>,
    /// The size of the blocks in bytes.
    pub(super) bytes: usize,
}

impl<'m> Frames<'m> {
    pub(super) fn new(mask: &'m Mask, places: &'m Places, keep: Keep) -> Frames<'m> {
        Frames {
            mask,
            places,
            keep,
            tables: Tables::default(),
            current: Vec::new(),
            current_bytes: 0,
            last: None,
            pending: None,
            blocks: Vec::new(),
            times: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds a frame, which may be left out.
    pub(super) fn add(&mut self, moment: Moment) {
        let is_kept = match self.keep {
            Keep::All => true,
            Keep::Interval(interval) => {
                self.times.last().is_none_or(|last| moment.at.saturating_sub(*last) >= interval)
            }
            Keep::Failed | Keep::Nothing => false,
        };
        if is_kept {
            self.write(moment);
        } else {
            self.pending = Some(moment);
        }
    }

    /// Returns the number of the newest frame; `None` if it was left out. Called at the start or end of a step, at
    /// which frames are kept.
    pub(super) fn at_step(&mut self, has_failed: bool) -> Option<usize> {
        let is_kept = match self.keep {
            Keep::Nothing => false,
            Keep::Failed => has_failed,
            _ => true,
        };
        if is_kept && let Some(moment) = self.pending.take() {
            self.write(moment);
        }
        if self.pending.is_some() { None } else { self.times.len().checked_sub(1) }
    }

    /// Writes the last frame and completes the last block.
    pub(super) fn finish(&mut self) {
        self.at_step(true);
        self.end_block();
    }

    fn write(&mut self, moment: Moment) {
        self.pending = None;
        let masked = match self.mask.is_empty() {
            true => HashMap::new(),
            false => self.places.masked(self.mask, &moment.frame),
        };
        let frame = &moment.frame;
        let before = self.last.as_ref();
        let rows: Vec<usize> = frame
            .rows()
            .iter()
            .enumerate()
            .map(|(i, row)| {
                let same = before.filter(|last| last.has(i, row, &masked, &moment.colors));
                match same {
                    Some(last) => last.rows[i],
                    None => self.tables.row(row, masked.get(&i), &moment.colors),
                }
            })
            .collect();
        let code = frame_code(before, &moment, &rows, self.mask);
        self.current_bytes += code.len() + 1;
        self.current.push(code);
        self.times.push(moment.at);
        self.last = Some(Written { moment, masked, rows });
        if self.tables.bytes + self.current_bytes >= BLOCK_BYTES {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        if self.current.is_empty() {
            return;
        }
        let first = self.times.len() - self.current.len();
        let Tables { styles, rows, .. } = std::mem::take(&mut self.tables);
        let frames = std::mem::take(&mut self.current);
        let [styles, rows, frames] = [styles, rows, frames].map(|parts| parts.join(","));
        let data = format!("{{\"styles\":[{styles}],\"rows\":[{rows}],\"frames\":[{frames}]}}");
        let packed = pack(data.as_bytes());
        self.bytes += packed.len();
        self.blocks.push(Block { first, packed });
        self.current_bytes = 0;
        self.last = None;
    }
}

impl Written {
    /// Returns whether its row has the same content.
    fn has(
        &self,
        at: usize,
        row: &Arc<Row>,
        masked: &HashMap<usize, BTreeSet<usize>>,
        colors: &Arc<ChosenColors>,
    ) -> bool {
        let old = self.moment.frame.rows().get(at);
        old.is_some_and(|old| Arc::ptr_eq(old, row) || old.looks_like(row))
            && self.masked.get(&at) == masked.get(&at)
            && self.moment.colors == *colors
    }
}

/// Returns a frame as JSON: row and column of the cursor, flags, the changed rows with their numbers, and what else
/// changed.
fn frame_code(before: Option<&Written>, moment: &Moment, rows: &[usize], mask: &Mask) -> String {
    let frame = &moment.frame;
    let cursor = frame.cursor();
    let flags = u8::from(cursor.visible)
        | u8::from(cursor.shape == CursorShape::Underline) << 1
        | u8::from(cursor.shape == CursorShape::Bar) << 2
        | u8::from(frame.is_reverse()) << 3;
    let size = |frame: &Frame| (frame.cols(), frame.rows().len());
    let same_size = before.filter(|last| size(&last.moment.frame) == size(frame));
    let mut changes = Vec::new();
    for (i, number) in rows.iter().enumerate() {
        if same_size.is_none_or(|last| last.rows[i] != *number) {
            changes.extend([i, *number]);
        }
    }
    let mut rest = serde_json::Map::new();
    if same_size.is_none() {
        rest.insert("size".to_owned(), json!(size(frame)));
    }
    if before.is_none_or(|last| last.moment.title != moment.title) {
        rest.insert("title".to_owned(), json!(visible(&mask.text(&moment.title))));
    }
    if before.is_none_or(|last| last.moment.colors != moment.colors) {
        rest.insert("colors".to_owned(), json!(moment.colors.special));
    }
    let mut code = json!([cursor.row, cursor.col, flags, changes]);
    if let Value::Array(parts) = &mut code
        && !rest.is_empty()
    {
        parts.push(Value::Object(rest));
    }
    code.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_become_smaller_until_nothing_is_left() {
        let duration = Duration::from_secs(600);
        let mut keep = Keep::All;
        let mut last = Duration::ZERO;
        let mut kinds = 0;
        while let Some(smaller) = keep.smaller(9_000, duration) {
            if let Keep::Interval(interval) = smaller {
                assert!(interval >= last * 2 || interval == duration, "{interval:?}");
                last = interval;
            }
            keep = smaller;
            kinds += 1;
        }
        assert_eq!(keep, Keep::Nothing);
        assert!(kinds < 25, "{kinds}");
        let first = Keep::All.smaller(9_000, duration);
        assert_eq!(first, Some(Keep::Interval(Duration::from_secs_f64(600.0 / 8_100.0))));
        let zero = Keep::Interval(Duration::ZERO);
        assert_eq!(Keep::All.smaller(0, Duration::ZERO), Some(zero));
        assert_eq!(zero.smaller(0, Duration::ZERO), Some(Keep::Failed));
    }
}
