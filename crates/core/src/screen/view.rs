//! Read access to the screen.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::grid::Grid;
use super::modes::{Mode, MouseEncoding, MouseTracking};
use super::palette::SpecialColor;
use super::text::Blanks;
use super::{Event, Mark, Screen};
use crate::frames::Cursor;
use crate::lines::LineNumbers;
use crate::row::{Row, RowParts};
use crate::scrollback::Scrollback;
use crate::style::{LinkId, Style};
use crate::{Line, Tick};

impl Screen {
    /// Returns the number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns a visible row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Arc<Row> {
        self.rendered(self.grid(), row)
    }

    /// Returns whether a visible row continues in the next one because its text did not fit.
    pub(crate) fn is_row_wrapped(&self, row: usize) -> bool {
        self.grid().row(row).is_wrapped()
    }

    /// Appends the text of a visible row to `text`. Returns the number of blanks after it.
    pub(crate) fn push_text(&self, row: usize, text: &mut String) -> Blanks {
        self.grid().row(row).push_text(&self.clusters, text)
    }

    /// Returns a row of the main screen, even while the alternate screen is shown.
    pub(crate) fn main_row(&self, row: usize) -> Arc<Row> {
        self.rendered(&self.main, row)
    }

    fn rendered(&self, grid: &Grid, row: usize) -> Arc<Row> {
        grid.rendered(row, |cells| {
            let mut parts = RowParts::default();
            cells.render(&self.clusters, &mut parts);
            Arc::new(Row::new(&parts, |number| *self.styles.value(number)))
        })
    }

    /// Returns the text of the main screen from a position up to the line of a mark.
    pub(crate) fn text_between(&self, (line, col): (Line, usize), mark: &Mark) -> String {
        let within = |row: &usize| (line..mark.line).contains(&self.line(*row));
        let mut text = String::new();
        for row in (0..self.rows).filter(within) {
            let from = if self.line(row) == line { col } else { 0 };
            let row = self.main_row(row);
            text.push_str(row.slice(from, usize::MAX));
            if !row.is_wrapped() {
                text.push('\n');
            }
        }
        text.trim().to_owned()
    }

    /// Returns the number of the line `lines` lines below `first`. A line may be wrapped over several rows. Returns
    /// `None` if `first` is no longer on the screen.
    pub(crate) fn line_below(&self, first: Line, lines: usize) -> Option<Line> {
        let mut row = (0..self.rows).find(|&row| self.line(row) == first)?;
        for _ in 0..lines {
            while row < self.rows && self.main_row(row).is_wrapped() {
                row += 1;
            }
            row += 1;
        }
        (row < self.rows).then(|| self.line(row))
    }

    /// Starts recording the start and the end of the text dropped from the scrollback, from the line `from` on.
    pub(crate) fn record_dropped(&mut self, from: Line, chars_max: usize) {
        self.scrollback.record_dropped(from, chars_max);
    }

    /// Stops recording dropped lines.
    pub(crate) fn stop_recording_dropped(&mut self) {
        self.scrollback.stop_recording_dropped();
    }

    /// Returns whether the first row continues the last line of the scrollback.
    pub(crate) fn is_top_continued(&self) -> bool {
        self.main.row(0).is_continued() && !self.is_alternate
    }

    pub(crate) fn line_numbers(&self) -> &LineNumbers {
        &self.lines
    }

    /// Returns the absolute line number of a visible row.
    pub fn line(&self, row: usize) -> Line {
        self.lines.number(row)
    }

    /// Returns a tick that is not older than any cell of the row. If it is older than some tick, no cell of the row was
    /// drawn since that one.
    pub fn row_tick(&self, row: usize) -> Tick {
        self.grid().row(row).tick()
    }

    /// Returns whether cells were drawn since the last observation.
    pub(crate) fn has_unobserved_cells(&self) -> bool {
        (0..self.rows).any(|row| self.row_tick(row) >= self.tick)
    }

    /// Returns the tick at which a cell was last drawn, or [`Tick::NEVER`].
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn tick_at(&self, row: usize, col: usize) -> Tick {
        self.grid().cell(row, col).tick
    }

    /// Returns the tick of cells drawn now.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Marks everything drawn so far as observed.
    pub fn advance_tick(&mut self) {
        self.tick.0 += 1;
    }

    /// Returns the screen's text: rows joined by line feeds, without trailing blanks and blank rows at the end.
    pub fn text(&self) -> String {
        let rows: Vec<Arc<Row>> = (0..self.rows).map(|row| self.row(row)).collect();
        crate::frames::join_rows(rows.iter().map(|row| row.text()))
    }

    /// Returns the lines that scrolled off the screen.
    pub fn scrollback(&self) -> &Scrollback {
        &self.scrollback
    }

    /// Returns the cursor.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            row: self.position.row,
            col: self.position.col,
            visible: self.modes.has(Mode::CursorVisible),
            shape: self.cursor_shape,
            blinking: self.modes.has(Mode::CursorBlink),
        }
    }

    /// Returns whether the alternate screen is shown.
    pub fn is_alternate(&self) -> bool {
        self.is_alternate
    }

    /// Returns whether a synchronized update (mode 2026) is in progress.
    pub fn is_synchronized(&self) -> bool {
        self.modes.has(Mode::SynchronizedUpdate)
    }

    /// Ends a synchronized update on behalf of the program.
    pub fn end_update(&mut self) {
        self.modes.set(Mode::SynchronizedUpdate, false);
    }

    /// Returns whether the input so far ends inside a sequence or a character.
    pub fn is_mid_sequence(&self) -> bool {
        self.parser.is_mid_sequence()
    }

    /// Returns whether the whole screen is inverted (DECSCNM).
    pub fn is_reverse(&self) -> bool {
        self.modes.has(Mode::ReverseScreen)
    }

    /// Returns whether the cursor keys send application sequences (DECCKM).
    pub fn has_application_cursor(&self) -> bool {
        self.modes.has(Mode::CursorKeys)
    }

    /// Returns whether the keypad sends application sequences.
    pub fn has_application_keypad(&self) -> bool {
        self.modes.has(Mode::ApplicationKeypad)
    }

    /// Returns whether the backspace key sends BS instead of DEL (DECBKM).
    pub fn has_backspace_bs(&self) -> bool {
        self.modes.has(Mode::BackspaceSendsBs)
    }

    /// Returns whether Enter also sends a line feed (LNM).
    pub fn has_newline_mode(&self) -> bool {
        self.modes.has(Mode::LineFeedNewLine)
    }

    /// Returns whether pastes must be bracketed.
    pub fn has_bracketed_paste(&self) -> bool {
        self.modes.has(Mode::BracketedPaste)
    }

    /// Returns whether the program requests focus reports.
    pub fn has_focus_reports(&self) -> bool {
        self.modes.has(Mode::Focus)
    }

    /// Returns the mouse events that the program requests.
    pub fn mouse_tracking(&self) -> MouseTracking {
        self.mouse_tracking
    }

    /// Returns the encoding of mouse events that the program requests.
    pub fn mouse_encoding(&self) -> MouseEncoding {
        self.mouse_encoding
    }

    /// Returns the active flags of kitty's keyboard protocol.
    pub fn keyboard_flags(&self) -> u8 {
        self.keyboard[self.screen_index()].current
    }

    /// Returns the active level of xterm's modifyOtherKeys: 0, 1 or 2.
    pub fn modify_other_keys(&self) -> u8 {
        self.modify_other_keys
    }

    /// Returns the window title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the directory reported by OSC 7. Any program can send it.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Returns the URI of a hyperlink, or `None` if it is unknown or too old.
    pub fn link(&self, id: LinkId) -> Option<&str> {
        self.links.uri(id)
    }

    /// Returns whether text in that style is invisible: concealed, or nearly in the colour of its background.
    pub fn conceals(&self, style: &Style) -> bool {
        self.palette.conceals(style)
    }

    /// Returns the palette colours that the program set, as index and RGB value.
    pub fn chosen_palette(&self) -> impl Iterator<Item = (u8, (u8, u8, u8))> + '_ {
        self.palette.indexed.iter().map(|(&index, &color)| (index, color))
    }

    /// Returns the foreground, background and cursor colours, as far as the program set them.
    pub fn chosen_colors(&self) -> [Option<(u8, u8, u8)>; 3] {
        [SpecialColor::Foreground, SpecialColor::Background, SpecialColor::Cursor]
            .map(|which| self.palette.special.get(&which).copied())
    }

    /// Takes the queued replies, which must be sent to the program.
    pub fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    /// Takes the queued events, and the number of events that were dropped because the queue was full.
    pub fn take_events(&mut self) -> (Vec<Event>, u64) {
        (std::mem::take(&mut self.events).into(), std::mem::take(&mut self.events_lost))
    }

    /// Returns the number of ignored unknown sequences, by kind.
    pub fn unknown(&self) -> &BTreeMap<String, u64> {
        &self.unknown
    }
}
