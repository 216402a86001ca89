//! What can be asked of a screen.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::grid::Grid;
use super::modes::{Mode, MouseEncoding, MouseTracking};
use super::palette::Special;
use super::text::Blanks;
use super::{Event, Mark, Screen};
use crate::frames::Cursor;
use crate::lines::LineNumbers;
use crate::row::{Row, RowParts};
use crate::scrollback::Scrollback;
use crate::style::{LinkId, Style};
use crate::{Line, Tick};

impl Screen {
    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A visible row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Arc<Row> {
        self.rendered(self.grid(), row)
    }

    /// Tells whether a visible row goes on in the next one because it did not fit.
    pub(crate) fn is_row_wrapped(&self, row: usize) -> bool {
        self.grid().row(row).is_wrapped()
    }

    /// Appends the text of a visible row to `text` and returns how many blanks follow it.
    pub(crate) fn push_text(&self, row: usize, text: &mut String) -> Blanks {
        self.grid().row(row).push_text(&self.clusters, text)
    }

    /// A row of the main screen, whether or not it is shown.
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

    /// What stands on the main screen from a place up to the line of a mark.
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

    /// The line below so many others, each of which may be wrapped over several rows; `None` if the first is
    /// not on the screen any more.
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

    /// Keeps the ends of what is dropped from the scrollback from now on, from a line on.
    pub(crate) fn keep_leaving(&mut self, from: Line, chars_max: usize) {
        self.scrollback.keep_leaving(from, chars_max);
    }

    /// Ends [`keep_leaving`](Self::keep_leaving).
    pub(crate) fn forget_leaving(&mut self) {
        self.scrollback.forget_leaving();
    }

    /// Tells whether the first row goes on with the line that left the screen last.
    pub(crate) fn is_top_continued(&self) -> bool {
        self.main.row(0).is_continued() && !self.is_alternate
    }

    pub(crate) fn line_numbers(&self) -> &LineNumbers {
        &self.lines
    }

    /// The absolute number of a visible row.
    pub fn line(&self, row: usize) -> Line {
        self.lines.number(row)
    }

    /// The newest tick at which a cell of the row was drawn, or a later one: rows that are older
    /// than a tick hold no cell drawn since.
    pub fn row_tick(&self, row: usize) -> Tick {
        self.grid().row(row).tick()
    }

    /// Tells whether anything was drawn since the last look.
    pub(crate) fn has_drawn(&self) -> bool {
        (0..self.rows).any(|row| self.row_tick(row) >= self.tick)
    }

    /// When a cell was last drawn; tick 0 if it never was.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn tick_at(&self, row: usize, col: usize) -> Tick {
        self.grid().cell(row, col).tick
    }

    /// The tick that cells drawn now are stamped with.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Says that everything drawn so far was looked at.
    pub fn advance_tick(&mut self) {
        self.tick.0 += 1;
    }

    /// The screen's text: rows joined by line feeds, without blanks at the end of a row and without
    /// blank rows at the end.
    pub fn text(&self) -> String {
        let rows: Vec<Arc<Row>> = (0..self.rows).map(|row| self.row(row)).collect();
        crate::frames::join_rows(rows.iter().map(|row| row.text()))
    }

    /// The lines that left the screen.
    pub fn scrollback(&self) -> &Scrollback {
        &self.scrollback
    }

    /// The cursor.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            row: self.position.row,
            col: self.position.col,
            visible: self.modes.has(Mode::CursorVisible),
            shape: self.cursor_shape,
            blinking: self.modes.has(Mode::CursorBlink),
        }
    }

    /// Tells whether the alternate screen is shown.
    pub fn is_alternate(&self) -> bool {
        self.is_alternate
    }

    /// Tells whether the program is in the middle of a synchronized update (mode 2026).
    pub fn is_synchronized(&self) -> bool {
        self.modes.has(Mode::SynchronizedUpdate)
    }

    /// Ends a synchronized update that the program did not end.
    pub fn end_update(&mut self) {
        self.modes.set(Mode::SynchronizedUpdate, false);
    }

    /// Tells whether the input so far ends inside a sequence or a character.
    pub fn is_midway(&self) -> bool {
        self.parser.is_midway()
    }

    /// Tells whether the whole screen is inverted (DECSCNM).
    pub fn is_reverse(&self) -> bool {
        self.modes.has(Mode::ReverseScreen)
    }

    /// Tells whether the cursor keys send application sequences (DECCKM).
    pub fn has_application_cursor(&self) -> bool {
        self.modes.has(Mode::CursorKeys)
    }

    /// Tells whether the keypad sends application sequences.
    pub fn has_application_keypad(&self) -> bool {
        self.modes.has(Mode::ApplicationKeypad)
    }

    /// Tells whether the backspace key sends BS and not DEL (DECBKM).
    pub fn has_backspace_bs(&self) -> bool {
        self.modes.has(Mode::BackspaceSendsBs)
    }

    /// Tells whether Enter also sends a line feed (LNM).
    pub fn has_newline_mode(&self) -> bool {
        self.modes.has(Mode::LineFeedNewLine)
    }

    /// Tells whether pastes are to be bracketed.
    pub fn has_bracketed_paste(&self) -> bool {
        self.modes.has(Mode::BracketedPaste)
    }

    /// Tells whether the program wants to hear of focus.
    pub fn has_focus_reports(&self) -> bool {
        self.modes.has(Mode::Focus)
    }

    /// Which mouse events the program wants.
    pub fn mouse_tracking(&self) -> MouseTracking {
        self.mouse_tracking
    }

    /// How it wants them.
    pub fn mouse_encoding(&self) -> MouseEncoding {
        self.mouse_encoding
    }

    /// The flags of kitty's keyboard protocol in force.
    pub fn keyboard_flags(&self) -> u8 {
        self.keyboard[self.screen_index()].current
    }

    /// xterm's modifyOtherKeys in force: 0, 1 or 2.
    pub fn modify_other_keys(&self) -> u8 {
        self.modify_other_keys
    }

    /// The window's title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The directory that the program says it is in (OSC 7). Any program can say so.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// The address of a hyperlink, if it is one of the newest.
    pub fn link(&self, id: LinkId) -> Option<&str> {
        self.links.uri(id)
    }

    /// Tells whether a person does not see text of that style: it is concealed, or as good as of the colour
    /// behind it.
    pub fn conceals(&self, style: &Style) -> bool {
        self.palette.conceals(style)
    }

    /// The colours of the palette that the program has set, as red, green and blue.
    pub fn chosen_palette(&self) -> impl Iterator<Item = (u8, (u8, u8, u8))> + '_ {
        self.palette.indexed.iter().map(|(&index, &color)| (index, color))
    }

    /// The foreground, the background and the cursor's colour, where the program has set them.
    pub fn chosen_colors(&self) -> [Option<(u8, u8, u8)>; 3] {
        [Special::Foreground, Special::Background, Special::Cursor]
            .map(|which| self.palette.special.get(&which).copied())
    }

    /// Takes what is to be sent to the program in reply to its questions.
    pub fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    /// Takes what happened since the last time, and how many events had no room.
    pub fn take_events(&mut self) -> (Vec<Event>, u64) {
        (std::mem::take(&mut self.events).into(), std::mem::take(&mut self.events_lost))
    }

    /// The kinds of sequences that were ignored because they are not known, and how often.
    pub fn unknown(&self) -> &BTreeMap<String, u64> {
        &self.unknown
    }
}
