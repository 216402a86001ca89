//! The lines that scrolled off the screen, as UTF-8 text and runs, indexed by absolute line number.
//!
//! Lines are packed into blocks, so that a line costs little more than its text: no cells, and no allocation per line.
//! A block is freed when its last line is dropped. Nothing here depends on the width of the screen, so a change of
//! columns does not affect it.
//!
//! The format of a packed line: its number relative to the block's first, flags, `end`, the text, and then, each only
//! if there are any, shapes, style runs, tick runs and the written columns. Numbers are LEB128.

use std::collections::VecDeque;

use crate::row::{Row, RowParts, Shape, Span};
use crate::shell::Clip;
use crate::style::Style;
use crate::{Line, Tick};

/// The number of lines per block. It is small enough that freeing a block late wastes little memory, and large enough
/// that the overhead of a block is negligible.
const BLOCK_LINES: usize = 256;

/// The size in bytes at which a block is closed early, so that a few very long lines do not keep their memory for long.
const BLOCK_BYTES: usize = 256 * 1024;

const WRAPPED: u8 = 1;
const SHAPES: u8 = 1 << 1;
const STYLES: u8 = 1 << 2;
/// The program wrote blanks after the text.
const BLANKS: u8 = 1 << 3;

#[derive(Clone, Debug)]
struct Block {
    first: Line,
    bytes: Vec<u8>,
    /// The offset of each line in `bytes`.
    offsets: Vec<u32>,
    styles: Vec<Style>,
}

/// The lines that scrolled off the screen, oldest first.
#[derive(Clone, Debug)]
pub struct Scrollback {
    blocks: VecDeque<Block>,
    /// The number of lines of the first block that were dropped.
    dropped: usize,
    len: usize,
    lines_max: usize,
    /// For each of the screen's style numbers, its index in the last block's styles plus one, or 0.
    style_indices: Vec<u32>,
    /// Records the dropped lines while their text is needed.
    dropped_text: Option<Box<DroppedText>>,
}

/// The text of the lines dropped since the recording started.
#[derive(Clone, Debug)]
struct DroppedText {
    from: Line,
    clip: Clip,
}

impl Scrollback {
    /// Creates an empty scrollback of at most `lines_max` lines.
    pub(crate) fn new(lines_max: usize) -> Scrollback {
        Scrollback {
            blocks: VecDeque::new(),
            dropped: 0,
            len: 0,
            lines_max,
            style_indices: Vec::new(),
            dropped_text: None,
        }
    }

    /// Starts recording the start and the end of the text that is dropped, from the line `from` on. Replaces a previous
    /// recording.
    pub(crate) fn record_dropped(&mut self, from: Line, chars_max: usize) {
        self.dropped_text = Some(Box::new(DroppedText { from, clip: Clip::new(chars_max) }));
    }

    /// Stops recording dropped lines.
    pub(crate) fn stop_recording_dropped(&mut self) {
        self.dropped_text = None;
    }

    /// Returns the recorded text, if the recording started at the line `from`.
    pub(crate) fn recorded_text(&self, from: Line) -> Option<Clip> {
        self.dropped_text
            .as_ref()
            .filter(|dropped_text| dropped_text.from == from)
            .map(|dropped_text| dropped_text.clip.clone())
    }

    /// Returns whether pushed lines are stored or recorded.
    pub(crate) fn needs_lines(&self) -> bool {
        self.lines_max > 0 || self.dropped_text.is_some()
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the maximum number of lines.
    pub fn lines_max(&self) -> usize {
        self.lines_max
    }

    /// Returns the number of the oldest line.
    pub fn first(&self) -> Option<Line> {
        (self.len > 0).then(|| self.line_at(0))
    }

    /// Returns the number of the newest line.
    pub fn last(&self) -> Option<Line> {
        (self.len > 0).then(|| self.line_at(self.len - 1))
    }

    /// Returns whether the newest line continues on the screen.
    pub fn is_last_wrapped(&self) -> bool {
        self.len > 0 && self.packed(self.len - 1).1.wrapped()
    }

    /// Returns the memory that the lines take, in bytes.
    pub fn memory(&self) -> usize {
        let block = |block: &Block| {
            size_of::<Block>()
                + block.bytes.capacity()
                + block.offsets.capacity() * size_of::<u32>()
                + block.styles.capacity() * size_of::<Style>()
        };
        self.blocks.iter().map(block).sum()
    }

    /// Returns the line at index `i`, counted from the oldest, with its number.
    pub fn get(&self, i: usize) -> Option<(Line, Row)> {
        (i < self.len).then(|| {
            let (block, packed) = self.packed(i);
            packed.unpack(block)
        })
    }

    /// Returns the text of the line at index `i`, counted from the oldest, with its number.
    pub fn text(&self, i: usize) -> Option<(Line, &str)> {
        (i < self.len).then(|| {
            let (block, mut packed) = self.packed(i);
            let number = Line(block.first.0 + packed.number());
            packed.byte();
            packed.number();
            (number, packed.text())
        })
    }

    /// Returns the index, counted from the oldest, of the first line whose number is at least `line`.
    pub fn position(&self, line: Line) -> usize {
        let (mut from, mut to) = (0, self.len);
        while from < to {
            let middle = (from + to) / 2;
            if self.line_at(middle) < line { from = middle + 1 } else { to = middle }
        }
        from
    }

    /// Adds a line. Drops the oldest line if there are too many.
    pub(crate) fn push(&mut self, line: Line, parts: &RowParts, style: impl Fn(u32) -> Style) {
        if self.lines_max == 0 {
            if let Some(dropped_text) = &mut self.dropped_text {
                let row = Row::new(parts, |_| Style::default());
                dropped_text.push(line, &row);
            }
            return;
        }
        let full =
            |block: &Block| block.offsets.len() >= BLOCK_LINES || block.bytes.len() >= BLOCK_BYTES;
        if self.blocks.back().is_none_or(full) {
            if let Some(block) = self.blocks.back_mut() {
                block.bytes.shrink_to_fit();
                block.styles.shrink_to_fit();
            }
            self.blocks.push_back(Block::new(line));
            self.forget_style_numbers();
        }
        if let Some(block) = self.blocks.back_mut() {
            block.pack(line, parts, &mut self.style_indices, style);
        }
        self.len += 1;
        if self.len > self.lines_max {
            self.drop_oldest();
        }
    }

    /// Removes and returns the newest line.
    pub(crate) fn pop(&mut self) -> Option<(Line, Row)> {
        let newest = self.get(self.len.checked_sub(1)?)?;
        let block = self.blocks.back_mut()?;
        let offset = block.offsets.pop()?;
        block.bytes.truncate(offset as usize);
        self.len -= 1;
        let dropped = if self.blocks.len() == 1 { self.dropped } else { 0 };
        if self.blocks.back()?.offsets.len() == dropped {
            self.blocks.pop_back();
            self.forget_style_numbers();
            if self.blocks.is_empty() {
                self.dropped = 0;
            }
        }
        Some(newest)
    }

    /// Invalidates the mapping of style numbers, after the screen renumbered its styles.
    pub(crate) fn forget_style_numbers(&mut self) {
        self.style_indices.clear();
    }

    /// Removes all lines.
    pub(crate) fn clear(&mut self) {
        let mut dropped_text = self.dropped_text.take();
        if let Some(dropped_text) = &mut dropped_text {
            dropped_text.clip.clear();
        }
        *self = Scrollback { dropped_text, ..Scrollback::new(self.lines_max) };
    }

    fn drop_oldest(&mut self) {
        if let Some(mut dropped_text) = self.dropped_text.take() {
            let (block, packed) = self.packed(0);
            if packed.wrapped() {
                let (line, row) = self.packed(0).1.unpack(block);
                dropped_text.push(line, &row);
            } else if let Some((_, text)) =
                self.text(0).filter(|(line, _)| *line >= dropped_text.from)
            {
                // The common case, and much cheaper than unpacking the row.
                dropped_text.clip.push_row(text, 0, false);
            }
            self.dropped_text = Some(dropped_text);
        }
        self.dropped += 1;
        self.len -= 1;
        if self.blocks.front().is_some_and(|block| block.offsets.len() == self.dropped) {
            self.blocks.pop_front();
            self.dropped = 0;
        }
    }

    fn packed(&self, i: usize) -> (&Block, PackedLine<'_>) {
        // Blocks may be closed early, so the block cannot be computed. There are few blocks to walk.
        let mut i = i + self.dropped;
        for block in &self.blocks {
            if i < block.offsets.len() {
                return (block, PackedLine(&block.bytes[block.offsets[i] as usize..]));
            }
            i -= block.offsets.len();
        }
        unreachable!("the position was checked against the length");
    }

    fn line_at(&self, i: usize) -> Line {
        let (block, mut packed) = self.packed(i);
        Line(block.first.0 + packed.number())
    }
}

impl DroppedText {
    fn push(&mut self, line: Line, row: &Row) {
        if line >= self.from {
            let blanks = row.end().saturating_sub(row.width());
            self.clip.push_row(row.text(), blanks, row.is_wrapped());
        }
    }
}

impl Block {
    fn new(first: Line) -> Block {
        Block {
            first,
            bytes: Vec::new(),
            offsets: Vec::with_capacity(BLOCK_LINES),
            styles: Vec::new(),
        }
    }

    fn pack(
        &mut self,
        line: Line,
        parts: &RowParts,
        indices: &mut Vec<u32>,
        style: impl Fn(u32) -> Style,
    ) {
        self.offsets.push(self.bytes.len() as u32);
        let flags = if parts.wrapped { WRAPPED } else { 0 }
            | if parts.shapes.is_empty() { 0 } else { SHAPES }
            | if parts.styles.is_empty() { 0 } else { STYLES }
            | if parts.written > parts.end { BLANKS } else { 0 };
        push_number(&mut self.bytes, line.0 - self.first.0);
        self.bytes.push(flags);
        push_number(&mut self.bytes, u64::from(parts.end));
        push_number(&mut self.bytes, parts.text.len() as u64);
        self.bytes.extend_from_slice(parts.text.as_bytes());
        if !parts.shapes.is_empty() {
            push_number(&mut self.bytes, parts.shapes.len() as u64);
            for shape in &parts.shapes {
                push_number(&mut self.bytes, u64::from(shape.cells));
                self.bytes.push(shape.bytes << 1 | u8::from(shape.wide));
            }
        }
        if !parts.styles.is_empty() {
            push_number(&mut self.bytes, parts.styles.len() as u64);
            for span in &parts.styles {
                let number = span.value as usize;
                if indices.len() <= number {
                    indices.resize(number + 1, 0);
                }
                if indices[number] == 0 {
                    self.styles.push(style(span.value));
                    indices[number] = self.styles.len() as u32;
                }
                push_span(&mut self.bytes, span.from, span.to, u64::from(indices[number] - 1));
            }
        }
        push_number(&mut self.bytes, parts.ticks.len() as u64);
        for span in &parts.ticks {
            push_span(&mut self.bytes, span.from, span.to, span.value.0);
        }
        if parts.written > parts.end {
            push_number(&mut self.bytes, u64::from(parts.written));
        }
    }
}

/// The unread rest of a packed line.
struct PackedLine<'b>(&'b [u8]);

impl<'b> PackedLine<'b> {
    fn byte(&mut self) -> u8 {
        let byte = self.0[0];
        self.0 = &self.0[1..];
        byte
    }

    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return number;
            }
        }
    }

    fn text(&mut self) -> &'b str {
        let len = self.number() as usize;
        let (text, rest) = self.0.split_at(len);
        self.0 = rest;
        std::str::from_utf8(text).expect("packed text is valid UTF-8")
    }

    fn span<T>(&mut self, value: impl Fn(u64) -> T) -> Span<T> {
        let (from, len, number) = (self.number() as u16, self.number() as u16, self.number());
        Span { from, to: from + len, value: value(number) }
    }

    fn wrapped(mut self) -> bool {
        self.number();
        self.byte() & WRAPPED != 0
    }

    fn unpack(mut self, block: &Block) -> (Line, Row) {
        let line = Line(block.first.0 + self.number());
        let flags = self.byte();
        let mut row = Row::default();
        row.wrapped = flags & WRAPPED != 0;
        row.end = self.number() as u16;
        row.text = self.text().into();
        if flags & SHAPES != 0 {
            row.shapes = (0..self.number()).map(|_| self.shape()).collect();
        }
        if flags & STYLES != 0 {
            let style = |number: u64| block.styles[number as usize];
            row.styles = (0..self.number()).map(|_| self.span(style)).collect();
        }
        row.ticks = (0..self.number()).map(|_| self.span(Tick)).collect();
        row.written = if flags & BLANKS != 0 { self.number() as u16 } else { row.end };
        row.compute_hash();
        (line, row)
    }

    fn shape(&mut self) -> Shape {
        let cells = self.number() as u16;
        let byte = self.byte();
        Shape { cells, bytes: byte >> 1, wide: byte & 1 == 1 }
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn push_span(bytes: &mut Vec<u8>, from: u16, to: u16, value: u64) {
    push_number(bytes, u64::from(from));
    push_number(bytes, u64::from(to - from));
    push_number(bytes, value);
}
