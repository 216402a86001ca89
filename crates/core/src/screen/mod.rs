//! The terminal emulator: takes bytes, produces rows, cursor, modes, title, replies and events.
//!
//! It behaves like xterm. No existing library records when each cell was drawn or reports a cell before it disappears,
//! so it is our own (docs/decisions/0001). The parts:
//!
//! - `parser`: splits bytes into actions; must not know the meaning of sequences.
//! - `perform` and the files that it calls: execute the actions, one file per family of sequences.
//! - `grid`, `cell`: the cells and how they move; must not know any sequence.

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
mod keyboard;
mod links;
mod modes;
mod osc;
mod palette;
mod parser;
mod perform;
mod print;
mod reconcile;
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
pub use echo::{ECHO_MAX, EchoSource};
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

/// The maximum number of columns. No display is wider, and the limit bounds the cost that a program can cause.
pub const COLS_MAX: usize = 1000;

/// The maximum number of rows, for the same reasons.
pub const ROWS_MAX: usize = 500;

/// The maximum size of the reply buffer in bytes. Replies that do not fit are dropped.
pub const REPLIES_MAX: usize = 64 * 1024;

/// The maximum length in characters of a title, a notification or a directory.
pub const TITLE_MAX: usize = 1024;

/// The base cost of any action, in cells. The cells that the action touches are added to it.
const ACTION_WORK: usize = 8;

/// The maximum depth of the title stack.
const TITLE_STACK_MAX: usize = 16;

/// A cursor position, and whether the next character wraps to the next row first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    row: usize,
    col: usize,
    pending_wrap: bool,
}

/// The attributes of newly written cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pen {
    style: Style,
    /// The number of the style in the table of styles.
    number: u32,
    /// DECSCA: new cells are protected from selective erase.
    protected: bool,
}

/// The state that DECSC saves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SavedCursor {
    position: Position,
    style: Style,
    protected: bool,
    charsets: Charsets,
    origin: bool,
}

/// A terminal's screen. The [crate documentation](crate) explains its use.
#[derive(Clone, Debug)]
pub struct Screen {
    parser: Parser,
    cols: usize,
    rows: usize,
    main: Grid,
    /// Created at the first switch to the alternate screen.
    alternate: Option<Grid>,
    is_alternate: bool,
    scrollback: Scrollback,
    lines: LineNumbers,
    tick: Tick,

    position: Position,
    /// The cursor of the main screen. Valid only while the alternate screen is shown.
    main_position: Position,
    pen: Pen,
    charsets: Charsets,
    /// One per screen, the main screen's first.
    saved: [SavedCursor; 2],
    /// The scrolling area. Its columns are the whole row unless DECLRMM is set.
    margins: Area,
    modes: Modes,
    saved_modes: BTreeMap<u16, bool>,
    tabs: Vec<bool>,
    cursor_shape: CursorShape,
    mouse_tracking: MouseTracking,
    mouse_encoding: MouseEncoding,
    /// One per screen, like `saved`.
    keyboard: [KeyboardFlags; 2],
    modify_other_keys: u8,
    /// DECSACE: attribute changes apply to the rectangle instead of the text between its corners.
    rectangular_attrs: bool,
    /// S8C1T: replies use 8-bit controls.
    eight_bit: bool,
    /// See [`Screen::follow_tmux`].
    follows_tmux: bool,
    /// See [`Screen::set_answers_checksums`].
    answers_checksums: bool,
    /// The last action's character if that action printed one. REP repeats it, and the next character may join its
    /// cluster.
    last_printed: Option<char>,

    title: String,
    title_stack: VecDeque<String>,
    cwd: Option<String>,
    palette: Palette,
    styles: Interner<Style>,
    clusters: Clusters,
    links: Links,

    /// The input whose echo is expected.
    echo: Option<Box<Echo>>,
    replies: Vec<u8>,
    events: VecDeque<Event>,
    events_lost: u64,
    /// A shell mark was received. Feeding stops after it, so that the caller can examine the screen at the mark.
    mark_received: bool,
    unknown: BTreeMap<String, u64>,
    /// The work done since the limit was last set, and that limit. See [`Screen::limit_work`].
    work: u64,
    work_max: u64,
    /// A buffer for a row that is moved to the scrollback, reused to avoid allocations.
    parts: RowParts,
    /// A buffer for cells that are about to be written to a row, reused to avoid allocations.
    cells: Vec<Cell>,
}

impl Screen {
    /// Creates a blank screen with a scrollback of at most `scrollback` lines. Clamps the size to
    /// between 1x1 and [`COLS_MAX`]x[`ROWS_MAX`].
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
            saved: [SavedCursor::default(); 2],
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
            last_printed: None,
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
            mark_received: false,
            unknown: BTreeMap::new(),
            work: 0,
            work_max: u64::MAX,
            follows_tmux: false,
            answers_checksums: false,
            parts: RowParts::default(),
            cells: Vec::new(),
        }
    }

    /// Feeds output of the program.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.feed_update(&mut bytes, None);
        }
    }

    /// Like [`feed`](Self::feed), but calls `observe` before a cell that was drawn since the last observation is
    /// erased, overwritten or scrolled away. Each observation advances the [tick](Self::tick), so that later drawing is
    /// newer than everything observed.
    pub fn feed_observed(&mut self, mut bytes: &[u8], observe: &mut dyn FnMut(&Screen)) {
        while !bytes.is_empty() {
            self.feed_update(&mut bytes, Some(observe));
        }
    }

    /// Feeds bytes until a synchronized update starts or ends, a shell mark is received, or the work limit is reached.
    /// Leaves the remaining bytes in `bytes`. The screen is complete at the start and the end of an update.
    pub fn feed_update(&mut self, bytes: &mut &[u8], observe: Option<&mut dyn FnMut(&Screen)>) {
        // Moved out of `self` so that its strings can be borrowed while the screen changes.
        let mut parser = std::mem::take(&mut self.parser);
        let mut performer = Performer::new(self, observe);
        let updating = performer.screen.is_synchronized();
        while let Some(action) = parser.next(bytes) {
            performer.screen.add_work(ACTION_WORK);
            performer.perform(action, &parser);
            let mark_received = std::mem::take(&mut performer.screen.mark_received);
            let screen = &*performer.screen;
            if mark_received || screen.is_synchronized() != updating || screen.work_left() == 0 {
                break;
            }
        }
        self.parser = parser;
    }

    /// Limits the work of the following calls of [`feed_update`](Self::feed_update). A unit is about one cell read or
    /// written. A limit in bytes would not bound the time, because a few bytes can change every cell. The sequence that
    /// reaches the limit is completed.
    pub fn limit_work(&mut self, units: u64) {
        (self.work, self.work_max) = (0, units);
    }

    /// Returns the work left before the limit.
    pub fn work_left(&self) -> u64 {
        self.work_max.saturating_sub(self.work)
    }

    #[inline]
    fn add_work(&mut self, units: usize) {
        self.work = self.work.saturating_add(units as u64);
    }

    /// Announces input that is about to be sent, so that its echo is recognised; see `echo.rs`. Does nothing on the
    /// alternate screen: a full-screen program draws input deliberately.
    pub fn expect_echo(&mut self, text: &str, source: EchoSource) {
        if self.is_alternate || source == EchoSource::None {
            self.echo = None;
            return;
        }
        let bracketed = self.has_bracketed_paste();
        let open = self.echo.take().filter(|echo| echo.is_line_open());
        let Position { row, col, .. } = self.position;
        let cursor = EchoCell::new(self.line(row), col, 1);
        let mut echo = open.unwrap_or_else(|| Box::new(Echo::new(source, bracketed, cursor)));
        echo.extend(text);
        self.echo = Some(echo);
    }

    /// Notes that the program now reads keys instead of lines, as a line editor does.
    pub fn note_line_editor(&mut self) {
        let bracketed = self.has_bracketed_paste();
        if let Some(echo) = &mut self.echo {
            echo.start_editor(bracketed);
        }
    }

    /// Returns whether characters printed now may be echo.
    #[inline]
    fn has_echo(&self) -> bool {
        let bracketed = self.has_bracketed_paste();
        self.echo.as_ref().is_some_and(|echo| !self.is_alternate && !echo.is_idle(bracketed))
    }

    /// Returns the tick for a character that is drawn now: [`Tick::ECHO`] if it is echo.
    fn tick_for(&mut self, row: usize, col: usize, c: char, width: usize) -> Tick {
        let bracketed = self.has_bracketed_paste();
        let cell = EchoCell::new(self.line(row), col, width);
        let Some(echo) = &mut self.echo else { return self.tick };
        let mut release = Vec::new();
        let claimed = echo.claims(cell, c, bracketed, &mut release);
        for cell in release {
            self.mark_drawn(cell);
        }
        if claimed { Tick::ECHO } else { self.tick }
    }

    /// Marks a cell that was mistaken for echo as drawn now.
    fn mark_drawn(&mut self, cell: EchoCell) {
        let row = (0..self.rows).find(|&row| self.lines.number(row) == cell.line);
        if let Some(row) = row.filter(|_| cell.col < self.cols) {
            let old = self.grid().cell(row, cell.col);
            if old.tick == Tick::ECHO && !old.glyph.is_blank() {
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

    fn whole_area(&self) -> Area {
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

    /// Removes unused styles and clusters from the tables when the tables are full.
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

    /// Removes unused clusters from the table.
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

/// Returns tab stops at every eighth column.
fn default_tabs(cols: usize) -> Vec<bool> {
    (0..cols).map(|col| col > 0 && col % 8 == 0).collect()
}
