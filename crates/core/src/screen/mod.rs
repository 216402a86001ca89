//! The emulator: bytes in; rows, cursor, modes, title, replies and events out.
//!
//! It behaves as xterm does, and it is its own because no other one knows when a cell was drawn or
//! lets anybody look before a cell disappears (docs/decisions/0001). The parts:
//!
//! - `parser`: bytes into actions, nothing of their meaning;
//! - `perform` and below: what each action does, one file a family;
//! - `grid`, `cell`: the cells and how they move, nothing of any sequence.

mod cell;
mod charset;
mod clusters;
mod csi;
mod cursor;
mod dump;
mod echo;
mod edit;
mod event;
mod grid;
mod heal;
mod keyboard;
mod links;
mod modes;
mod osc;
mod palette;
mod parser;
mod perform;
mod print;
mod rect;
mod report;
mod reset;
mod resize;
mod sequence;
mod sgr;
mod switch;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod width;

use std::collections::{BTreeMap, VecDeque};

use crate::Tick;
use crate::intern::Interner;
use crate::lines::LineNumbers;
use crate::row::RowParts;
use crate::scrollback::Scrollback;
use crate::style::Style;

use cell::Cell;
use charset::Charsets;
pub use clusters::CLUSTERS_MAX;
use clusters::Clusters;
pub use echo::{ECHO_MAX, EchoBy};
use echo::{Echo, EchoCell};
pub use event::{EVENTS_MAX, Event, MARK_MAX, Mark, UNKNOWN_MAX};
use grid::{Area, Grid};
use keyboard::KeyboardFlags;
pub use links::LINKS_MAX;
use links::Links;
pub use modes::{CursorShape, MouseEncoding, MouseTracking};
use modes::{Mode, Modes};
use palette::Palette;
pub(crate) use palette::{default_rgb, nearest_basic};
use parser::Parser;
use perform::Performer;
pub use text::{COL_MARKS_MAX, ROW_MARKS_MIN};

/// The most columns a screen can have. No display is wider, and it bounds what a program can cost.
pub const COLS_MAX: usize = 1000;

/// The most rows a screen can have, for the same reasons.
pub const ROWS_MAX: usize = 500;

/// Bytes of replies kept until they are taken. A program that asks and never reads gets no more.
pub const REPLIES_MAX: usize = 64 * 1024;

/// Characters kept of a title, a notification or a directory.
pub const TITLE_MAX: usize = 1024;

/// The work of any action, in cells, besides the cells that it touches.
const ACTION_WORK: usize = 8;

/// Titles that can be pushed.
const TITLE_STACK_MAX: usize = 16;

/// A position and whether the next character goes to the next row first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    row: usize,
    col: usize,
    pending_wrap: bool,
}

/// What new cells look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pen {
    style: Style,
    /// The style's number in the table.
    number: u32,
    /// Cells are protected from selective erase (DECSCA).
    protected: bool,
}

/// What DECSC keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Saved {
    position: Position,
    style: Style,
    protected: bool,
    charsets: Charsets,
    origin: bool,
}

/// A terminal's screen. See the [crate's text](crate) for how it is used.
#[derive(Clone, Debug)]
pub struct Screen {
    parser: Parser,
    cols: usize,
    rows: usize,
    main: Grid,
    /// Made when it is first switched to.
    alternate: Option<Grid>,
    is_alternate: bool,
    scrollback: Scrollback,
    lines: LineNumbers,
    tick: Tick,

    position: Position,
    /// Where the cursor was when the main screen was left; only meant while it is.
    main_position: Position,
    pen: Pen,
    charsets: Charsets,
    /// By screen: the main one's first.
    saved: [Saved; 2],
    /// The scrolling area; its columns are the whole row unless DECLRMM is set.
    margins: Area,
    modes: Modes,
    saved_modes: BTreeMap<u16, bool>,
    tabs: Vec<bool>,
    cursor_shape: CursorShape,
    mouse_tracking: MouseTracking,
    mouse_encoding: MouseEncoding,
    /// By screen, like `saved`.
    keyboard: [KeyboardFlags; 2],
    modify_other_keys: u8,
    /// DECSACE: attribute changes apply to the rectangle and not to the text between its corners.
    rectangular_attrs: bool,
    /// Replies use 8-bit controls (S8C1T).
    eight_bit: bool,
    /// See [`Screen::follow_tmux`].
    follows_tmux: bool,
    /// See [`Screen::set_answers_checksums`].
    answers_checksums: bool,
    /// What was just printed, if nothing else came since: REP repeats it, and what comes next may
    /// be part of its cluster.
    printed: Option<char>,

    title: String,
    title_stack: VecDeque<String>,
    cwd: Option<String>,
    palette: Palette,
    styles: Interner<Style>,
    clusters: Clusters,
    links: Links,

    /// What was typed, while its echo may come.
    echo: Option<Box<Echo>>,
    replies: Vec<u8>,
    events: VecDeque<Event>,
    events_lost: u64,
    /// A shell's mark came: whoever feeds may want to look before anything follows it.
    mark_came: bool,
    unknown: BTreeMap<String, u64>,
    /// The work that was done since it was last limited, and the limit. See [`Screen::limit_work`].
    work: u64,
    work_max: u64,
    /// The parts of a row on its way to the scrollback; kept to save allocations.
    parts: RowParts,
    /// Cells on their way to a row; kept for the same reason.
    cells: Vec<Cell>,
}

impl Screen {
    /// A blank screen that keeps at most `scrollback` lines that left it. A size beyond
    /// [`COLS_MAX`] and [`ROWS_MAX`], or of nothing, is brought within.
    pub fn new(cols: usize, rows: usize, scrollback: usize) -> Screen {
        let (cols, rows) = (cols.clamp(1, COLS_MAX), rows.clamp(1, ROWS_MAX));
        Screen {
            parser: Parser::default(),
            cols,
            rows,
            main: Grid::new(cols, rows),
            alternate: None,
            is_alternate: false,
            scrollback: Scrollback::new(scrollback),
            lines: LineNumbers::default(),
            tick: Tick(1),
            position: Position::default(),
            main_position: Position::default(),
            pen: Pen::default(),
            charsets: Charsets::default(),
            saved: [Saved::default(); 2],
            margins: Area { rows: 0..rows, cols: 0..cols },
            modes: Modes::default(),
            saved_modes: BTreeMap::new(),
            tabs: default_tabs(cols),
            cursor_shape: CursorShape::default(),
            mouse_tracking: MouseTracking::default(),
            mouse_encoding: MouseEncoding::default(),
            keyboard: Default::default(),
            modify_other_keys: 0,
            rectangular_attrs: false,
            eight_bit: false,
            printed: None,
            title: String::new(),
            title_stack: VecDeque::new(),
            cwd: None,
            palette: Palette::default(),
            styles: Interner::default(),
            clusters: Clusters::default(),
            links: Links::default(),
            echo: None,
            replies: Vec::new(),
            events: VecDeque::new(),
            events_lost: 0,
            mark_came: false,
            unknown: BTreeMap::new(),
            work: 0,
            work_max: u64::MAX,
            follows_tmux: false,
            answers_checksums: false,
            parts: RowParts::default(),
            cells: Vec::new(),
        }
    }

    /// Feeds bytes that the program printed.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.feed_update(&mut bytes, None);
        }
    }

    /// As [`feed`](Self::feed), and calls `look` before a cell that was drawn since the last look
    /// is erased, overwritten or scrolled away. What a look has seen is older than what is drawn
    /// after it: the [tick](Self::tick) goes up by one.
    pub fn feed_watched(&mut self, mut bytes: &[u8], look: &mut dyn FnMut(&Screen)) {
        while !bytes.is_empty() {
            self.feed_update(&mut bytes, Some(look));
        }
    }

    /// Feeds bytes up to the beginning or the end of a synchronized update if there is one among them,
    /// moments at which the screen is complete, to a shell's mark, or until the limit of work is reached; the rest stays
    /// in `bytes`.
    pub fn feed_update(&mut self, bytes: &mut &[u8], look: Option<&mut dyn FnMut(&Screen)>) {
        // The parser is apart from the rest while it lasts, so that its strings can be borrowed.
        let mut parser = std::mem::take(&mut self.parser);
        let mut performer = Performer::new(self, look);
        let updating = performer.screen.is_synchronized();
        while let Some(action) = parser.next(bytes) {
            performer.screen.add_work(ACTION_WORK);
            performer.perform(action, &parser);
            let mark_came = std::mem::take(&mut performer.screen.mark_came);
            let screen = &*performer.screen;
            if mark_came || screen.is_synchronized() != updating || screen.work_left() == 0 {
                break;
            }
        }
        self.parser = parser;
    }

    /// Limits the work of the calls of [`feed_update`](Self::feed_update) that follow. A unit is about one cell that is
    /// read or written. A few bytes can change every cell of the screen, so a limit of bytes does not limit time. The
    /// sequence that reaches the limit is completed.
    pub fn limit_work(&mut self, units: u64) {
        (self.work, self.work_max) = (0, units);
    }

    /// Returns how much work is left of the limit.
    pub fn work_left(&self) -> u64 {
        self.work_max.saturating_sub(self.work)
    }

    #[inline]
    fn add_work(&mut self, units: usize) {
        self.work = self.work.saturating_add(units as u64);
    }

    /// Says what is about to be typed, so that its echo is known as such; see `echo.rs`. On the
    /// alternate screen nothing is: a full-screen program shows what was typed because it means to.
    pub fn expect_echo(&mut self, text: &str, by: EchoBy) {
        if self.is_alternate || by == EchoBy::Nobody {
            self.echo = None;
            return;
        }
        let bracketed = self.has_bracketed_paste();
        let open = self.echo.take().filter(|echo| echo.is_open());
        let Position { row, col, .. } = self.position;
        let cursor = EchoCell::new(self.line(row), col, 1);
        let mut echo = open.unwrap_or_else(|| Box::new(Echo::new(by, bracketed, cursor)));
        echo.extend(text);
        self.echo = Some(echo);
    }

    /// Says that the program has begun to read keys and not lines, as a line editor does.
    pub fn line_editor_begins(&mut self) {
        let bracketed = self.has_bracketed_paste();
        if let Some(echo) = &mut self.echo {
            echo.editor_begins(bracketed);
        }
    }

    /// Tells whether what is printed now may be echo.
    #[inline]
    fn has_echo(&self) -> bool {
        let bracketed = self.has_bracketed_paste();
        self.echo.as_ref().is_some_and(|echo| !self.is_alternate && !echo.is_idle(bracketed))
    }

    /// The tick for a character that is drawn now: none if it is echo.
    fn tick_for(&mut self, row: usize, col: usize, c: char, width: usize) -> Tick {
        let bracketed = self.has_bracketed_paste();
        let cell = EchoCell::new(self.line(row), col, width);
        let Some(echo) = &mut self.echo else { return self.tick };
        let mut release = Vec::new();
        let claimed = echo.claims(cell, c, bracketed, &mut release);
        for cell in release {
            self.give_back(cell);
        }
        if claimed { Tick(0) } else { self.tick }
    }

    /// A cell was not echo after all: it counts as drawn now.
    fn give_back(&mut self, cell: EchoCell) {
        let row = (0..self.rows).find(|&row| self.lines.number(row) == cell.line);
        if let Some(row) = row.filter(|_| cell.col < self.cols) {
            let old = self.grid().cell(row, cell.col);
            if old.tick == Tick(0) && !old.glyph.is_blank() {
                let tick = self.tick;
                self.grid_mut().row_mut(row).update(cell.col, Cell { tick, ..old });
            }
        }
    }

    fn grid(&self) -> &Grid {
        match &self.alternate {
            Some(alternate) if self.is_alternate => alternate,
            _ => &self.main,
        }
    }

    fn grid_mut(&mut self) -> &mut Grid {
        match &mut self.alternate {
            Some(alternate) if self.is_alternate => alternate,
            _ => &mut self.main,
        }
    }

    fn screen_index(&self) -> usize {
        usize::from(self.is_alternate)
    }

    fn everything(&self) -> Area {
        Area { rows: 0..self.rows, cols: 0..self.cols }
    }

    #[inline]
    fn set_pen(&mut self, style: Style) {
        if self.styles.is_full() {
            self.sweep_tables();
        }
        self.pen.style = style;
        self.pen.number = self.styles.number(&style);
    }

    /// Forgets the styles and clusters that no cell uses any more, when there are many.
    fn sweep_tables(&mut self) {
        if self.styles.is_full() {
            let mut used = vec![false; self.styles.len()];
            self.add_work(2 * self.rows * self.cols);
            self.renumber(|cell| used[cell.style as usize] = true);
            used[self.pen.number as usize] = true;
            let moved = self.styles.sweep(&used);
            self.pen.number = moved[self.pen.number as usize];
            self.renumber(|cell| cell.style = moved[cell.style as usize]);
            self.scrollback.forget_style_numbers();
        }
        if self.clusters.is_sweep_due(self.rows * self.cols) {
            self.sweep_clusters();
        }
    }

    /// Forgets the clusters that no cell uses any more.
    fn sweep_clusters(&mut self) {
        let mut used = vec![false; self.clusters.len()];
        self.add_work(2 * self.rows * self.cols);
        self.renumber(|cell| {
            if let Some(number) = cell.glyph.as_cluster() {
                used[number as usize] = true;
            }
        });
        let moved = self.clusters.sweep(&used);
        self.renumber(|cell| {
            if let Some(number) = cell.glyph.as_cluster() {
                cell.glyph = cell.glyph.with_cluster(moved[number as usize]);
            }
        });
    }

    fn renumber(&mut self, mut change: impl FnMut(&mut Cell)) {
        self.main.renumber(&mut change);
        if let Some(alternate) = &mut self.alternate {
            alternate.renumber(&mut change);
        }
    }
}

/// A stop every eight columns.
fn default_tabs(cols: usize) -> Vec<bool> {
    (0..cols).map(|col| col > 0 && col % 8 == 0).collect()
}
