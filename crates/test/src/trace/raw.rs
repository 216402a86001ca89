//! Packs the output and the input of a recording into blocks, with secrets masked.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use serde_json::json;

use super::mask::{MASK, Mask, Places, sequences};
use super::micros;
use super::pack::pack;

/// The size of a block in bytes before it is packed. The page unpacks a block when bytes of it are shown.
const BLOCK_BYTES: usize = 512 << 10;

/// Bytes at the end of a block that are kept back, because a value may continue in the next one: many times the
/// longest value, with the escape sequences and redrawn rows between its characters.
const OVERLAP_BYTES: usize = 64 << 10;

/// An event that is not packed yet.
#[derive(Debug)]
struct Pending {
    at: Duration,
    is_input: bool,
    text: String,
    /// The ticks at which its output was drawn.
    ticks: RangeInclusive<u64>,
    /// Whether a value in it was masked.
    is_masked: bool,
}

/// A block of events.
#[derive(Debug)]
pub(super) struct RawBlock {
    /// The times of its first and its last event.
    pub(super) times: (Duration, Duration),
    /// The packed data.
    pub(super) packed: String,
}

/// Writes events into blocks.
#[derive(Debug)]
pub(super) struct Raw<'m> {
    mask: &'m Mask,
    places: &'m Places,
    pending: Vec<Pending>,
    pending_bytes: usize,
    /// Ticks of output in which a value was found and masked.
    masked_ticks: BTreeSet<u64>,
    /// The blocks that are complete; `None` once they are left out.
    pub(super) blocks: Option<Vec<RawBlock>>,
    /// The size of the blocks in bytes.
    pub(super) bytes: usize,
}

impl<'m> Raw<'m> {
    pub(super) fn new(mask: &'m Mask, places: &'m Places) -> Raw<'m> {
        Raw {
            mask,
            places,
            pending: Vec::new(),
            pending_bytes: 0,
            masked_ticks: BTreeSet::new(),
            blocks: Some(Vec::new()),
            bytes: 0,
        }
    }

    /// Adds output that was drawn in a range of ticks.
    pub(super) fn output(&mut self, at: Duration, text: String, ticks: RangeInclusive<u64>) {
        self.push(Pending { at, is_input: false, text, ticks, is_masked: false });
    }

    /// Adds input.
    pub(super) fn input(&mut self, at: Duration, text: String) {
        self.push(Pending { at, is_input: true, text, ticks: 0..=0, is_masked: false });
    }

    /// Leaves out all events.
    pub(super) fn leave_out(&mut self) {
        self.blocks = None;
        self.bytes = 0;
        self.pending = Vec::new();
    }

    /// Packs the rest.
    pub(super) fn finish(&mut self) {
        self.end_block(0);
    }

    fn push(&mut self, event: Pending) {
        if self.blocks.is_none() {
            return;
        }
        self.pending_bytes += event.text.len();
        self.pending.push(event);
        if self.pending_bytes >= BLOCK_BYTES + OVERLAP_BYTES {
            self.end_block(OVERLAP_BYTES);
        }
    }

    /// Packs the pending events except those in the last `kept` bytes.
    fn end_block(&mut self, kept: usize) {
        self.mask_events(false);
        self.mask_events(true);
        let mut rest = 0;
        let is_kept = |event: &&Pending| {
            rest += event.text.len();
            rest <= kept
        };
        let left = self.pending.iter().rev().take_while(is_kept).count();
        let events: Vec<Pending> = self.pending.drain(..self.pending.len() - left).collect();
        self.pending_bytes = self.pending.iter().map(|event| event.text.len()).sum();
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        let times = (first.at, last.at);
        let codes: Vec<String> = events
            .into_iter()
            .map(|event| {
                let kind = if event.is_input { "i" } else { "o" };
                json!([micros(event.at), kind, self.final_text(event)]).to_string()
            })
            .collect();
        let packed = pack(format!("[{}]", codes.join(",")).as_bytes());
        self.bytes += packed.len();
        if let Some(blocks) = &mut self.blocks {
            blocks.push(RawBlock { times, packed });
        }
    }

    /// Masks the values in the pending output or input, also those that continue in the next event.
    fn mask_events(&mut self, is_input: bool) {
        if self.mask.is_empty() {
            return;
        }
        let events = || self.pending.iter().filter(|event| event.is_input == is_input);
        let text: String = events().map(|event| event.text.as_str()).collect();
        let found = self.mask.find_in_output(&text);
        let mut start = 0;
        for event in self.pending.iter_mut().filter(|event| event.is_input == is_input) {
            let range = start..start + event.text.len();
            start = range.end;
            let first = found.partition_point(|value| value.end <= range.start);
            let values = found[first..].iter().take_while(|value| value.start < range.end);
            let values: Vec<&Range<usize>> = values.collect();
            if !values.is_empty() {
                event.text = without_values(&text, &range, &values);
                event.is_masked = true;
                self.masked_ticks.extend(event.ticks.clone());
            }
        }
        self.pending_bytes = self.pending.iter().map(|event| event.text.len()).sum();
    }

    /// Returns the text of an event for the page. If it drew a value on the screen that is not found in the output,
    /// because other text is between its characters, all of its text is masked.
    fn final_text(&self, event: Pending) -> String {
        let draws = !event.is_input && self.places.were_drawn(event.ticks.clone());
        let is_found = || event.ticks.clone().any(|tick| self.masked_ticks.contains(&tick));
        if event.is_masked || !draws || is_found() {
            return event.text;
        }
        let (mut text, mut end) = (String::new(), 0);
        for sequence in sequences(&event.text) {
            text += if sequence.start > end { MASK } else { "" };
            // A string sequence may contain text.
            let is_short = event.text[sequence.clone()].starts_with("\x1b[");
            text += if is_short { &event.text[sequence.clone()] } else { "" };
            end = sequence.end;
        }
        text + if event.text.len() > end { MASK } else { "" }
    }
}

/// Returns a part of a text with the values masked. A value that starts before the part was masked there.
fn without_values(text: &str, part: &Range<usize>, values: &[&Range<usize>]) -> String {
    let (mut masked, mut end) = (String::new(), part.start);
    for value in values {
        if value.start >= part.start {
            masked += &text[end..value.start];
            masked += MASK;
        }
        end = value.end.min(part.end);
    }
    masked + &text[end..part.end]
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const SECRET: &str = "hunter2-S3cr3t";

    fn texts(blocks: &[RawBlock]) -> String {
        let unpacked = blocks.iter().map(|block| {
            let bytes = STANDARD.decode(&block.packed).unwrap();
            let bytes = miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap();
            let events: Vec<(u64, String, String)> = serde_json::from_slice(&bytes).unwrap();
            events.into_iter().map(|(_, _, text)| text).collect::<String>()
        });
        unpacked.collect()
    }

    #[test]
    fn a_value_at_the_edge_of_a_block_is_masked() {
        let (mask, places) = (Mask::new(&[SECRET.to_owned()]), Places::default());
        let (start, end) = SECRET.split_at(5);
        for missing in 0..=SECRET.len() {
            let mut raw = Raw::new(&mask, &places);
            let before = BLOCK_BYTES + OVERLAP_BYTES - missing;
            let events = [&"x".repeat(before - 9), "123456789", start, end, "y"];
            for text in events {
                raw.output(Duration::ZERO, text.to_owned(), 0..=0);
            }
            raw.finish();
            let blocks = raw.blocks.unwrap();
            assert_eq!(blocks.len(), 2, "{missing}");
            let text = texts(&blocks);
            assert!(text.ends_with("123456789•••y"), "{missing}: {}", &text[before - 9..]);
        }
    }

    #[test]
    fn events_that_are_left_out_take_no_room() {
        let (mask, places) = (Mask::default(), Places::default());
        let mut raw = Raw::new(&mask, &places);
        raw.output(Duration::ZERO, "x".repeat(BLOCK_BYTES + OVERLAP_BYTES), 0..=0);
        assert!(raw.bytes > 0);
        raw.leave_out();
        raw.input(Duration::ZERO, "y".to_owned());
        raw.finish();
        assert_eq!((raw.bytes, raw.pending.len(), raw.blocks.is_none()), (0, 0, true));
    }
}
