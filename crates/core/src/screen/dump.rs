//! Serialises the screen to bytes that reproduce it on another terminal, for viewers that connect later.

use super::cell::Cell;
use super::charset::Charsets;
use super::grid::{Grid, GridRow};
use super::keyboard::KeyboardFlags;
use super::modes::{Mode, Modes};
use super::report::sgr_text;
use super::width::char_width;
use super::{Position, SavedCursor, Screen, default_tabs};
use crate::style::Style;

impl Screen {
    /// Returns bytes that give a fresh screen of the same size the same text, styles, cursor, modes, title and
    /// settings. Ticks, line numbers, scrollback and incomplete sequences are not included.
    pub fn dump(&self) -> Vec<u8> {
        let mut out = Dump { screen: self, text: String::new(), style: Style::default() };
        out.settings();
        out.saved_cursor(0);
        out.grid(&self.main);
        let (saved, keyboard) = (self.saved[1], &self.keyboard[1]);
        let is_alternate_used =
            saved != SavedCursor::default() || *keyboard != KeyboardFlags::default();
        if self.alternate.is_some() || is_alternate_used {
            out.text.push_str("\x1b[?47h");
            out.saved_cursor(1);
            if let Some(alternate) = &self.alternate {
                out.grid(alternate);
            }
            out.keyboard(keyboard);
            // The second form also discards the cells.
            out.push(if self.alternate.is_some() { "\x1b[?47l" } else { "\x1b[?1047l" });
        }
        out.keyboard(&self.keyboard[0]);
        if self.is_alternate {
            out.text.push_str("\x1b[?47h");
        }
        out.modes();
        out.cursor();
        out.text.into_bytes()
    }
}

struct Dump<'s> {
    screen: &'s Screen,
    text: String,
    /// The style of the receiver's pen.
    style: Style,
}

impl Dump<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn go_to(&mut self, row: usize, col: usize) {
        self.push(&format!("\x1b[{};{}H", row + 1, col + 1));
    }

    fn style(&mut self, style: Style) {
        if style.link != self.style.link {
            let link = style.link.and_then(|id| Some((id, self.screen.links.uri(id)?)));
            let (id, uri) = link.map_or(("", ""), |(id, uri)| (self.screen.links.id(id), uri));
            let id = if id.is_empty() { String::new() } else { format!("id={id}") };
            self.push(&format!("\x1b]8;{id};{uri}\x1b\\"));
        }
        if (Style { link: None, ..style }) != (Style { link: None, ..self.style }) {
            self.push(&format!("\x1b[{}m", sgr_text(&style)));
        }
        self.style = style;
    }

    /// Writes the settings that both screens share.
    fn settings(&mut self) {
        let s = self.screen;
        if s.modes.has(Mode::Columns) {
            // First, because it clears the screen.
            self.push("\x1b[?40h\x1b[?3h\x1b[?40l");
        }
        for (index, (r, g, b)) in &s.palette.indexed {
            self.push(&format!("\x1b]4;{index};rgb:{r:02x}/{g:02x}/{b:02x}\x1b\\"));
        }
        for (which, (r, g, b)) in &s.palette.special {
            let number = *which as u32;
            self.push(&format!("\x1b]{number};rgb:{r:02x}/{g:02x}/{b:02x}\x1b\\"));
        }
        for title in &s.title_stack {
            self.push(&format!("\x1b]2;{title}\x1b\\\x1b[22;0t"));
        }
        self.push(&format!("\x1b]2;{}\x1b\\", s.title));
        if s.tabs != default_tabs(s.cols) {
            self.push("\x1b[3g");
            for col in (0..s.cols).filter(|&col| s.tabs[col]) {
                self.push(&format!("\x1b[{}G\x1bH", col + 1));
            }
        }
        if let Some(number) = s.mouse_tracking.number() {
            self.push(&format!("\x1b[?{number}h"));
        }
        if let Some(number) = s.mouse_encoding.number() {
            self.push(&format!("\x1b[?{number}h"));
        }
        self.push(&format!("\x1b[{} q\x1b[>4;{}m", s.cursor_style(), s.modify_other_keys));
        if s.eight_bit {
            self.push("\x1b G");
        }
        if s.rectangular_attrs {
            self.push("\x1b[2*x");
        }
    }

    /// Restores the saved cursor. Must come before the content, because it writes cells.
    fn saved_cursor(&mut self, index: usize) {
        let saved = self.screen.saved[index];
        if saved == SavedCursor::default() {
            return;
        }
        let Position { row, col, pending_wrap } = saved.position;
        let is_at_margin = pending_wrap && col + 1 < self.screen.cols;
        if is_at_margin {
            // The cursor was saved at a right margin.
            self.push(&format!("\x1b[?69h\x1b[1;{}s", col + 1));
        }
        if saved.origin {
            self.push("\x1b[?6h");
        }
        self.go_to(row, col);
        if pending_wrap {
            self.push("x");
        }
        self.pen(saved.style, saved.protected, &saved.charsets);
        self.push("\x1b7");
        self.pen(Style::default(), false, &Charsets::default());
        // Printing the character consumes a pending single shift.
        self.push("\x1b[?6l\x1b[?69l\x1b[Hx\x1b[2J");
    }

    fn pen(&mut self, style: Style, protected: bool, charsets: &Charsets) {
        self.style(style);
        self.protected(protected);
        for (set, charset) in "()*+".chars().zip(charsets.sets) {
            self.push(&format!("\x1b{set}{}", char::from(charset.final_byte())));
        }
        self.push(["\x0f", "\x0e", "\x1bn", "\x1bo"][charsets.active]);
        match charsets.single {
            Some(2) => self.push("\x1bN"),
            Some(_) => self.push("\x1bO"),
            None => {}
        }
    }

    fn protected(&mut self, on: bool) {
        self.push(if on { "\x1b[1\"q" } else { "\x1b[0\"q" });
    }

    /// Writes the cells of a screen row by row. A wrapped row is reproduced by writing past its end.
    fn grid(&mut self, grid: &Grid) {
        let mut wrapped = false;
        for (index, row) in grid.rows().enumerate() {
            let cells = row.cells();
            if !wrapped {
                self.go_to(index, 0);
            } else if cells[0].glyph.is_blank() {
                // Something must be written to wrap to this row; it is erased again.
                self.push("x");
                self.go_to(index, 0);
                self.style(*self.screen.styles.value(cells[0].style));
                self.push("\x1b[X");
            }
            self.row(index, row);
            wrapped = row.is_wrapped();
        }
        self.protected(false);
        self.style(Style::default());
    }

    fn row(&mut self, index: usize, row: &GridRow) {
        let mut skipped = false;
        let mut protected = false;
        for (col, &cell) in row.cells().iter().enumerate() {
            if cell.is_invisible() || cell.glyph.is_spacer() {
                skipped |= !cell.glyph.is_spacer();
                continue;
            }
            if std::mem::take(&mut skipped) {
                self.go_to(index, col);
            }
            if cell.glyph.is_protected() != protected {
                protected = cell.glyph.is_protected();
                self.protected(protected);
            }
            self.style(*self.screen.styles.value(cell.style));
            if cell.glyph.is_blank() {
                self.push("\x1b[X");
                skipped = true;
            } else {
                self.glyph(cell);
            }
        }
        if protected {
            self.protected(false);
        }
        let last = row.cells()[row.cells().len() - 1];
        if row.is_wrapped() && last.glyph.is_blank() {
            // A wide character did not fit here and was wrapped.
            self.style(*self.screen.styles.value(last.style));
            self.go_to(index, row.cells().len() - 1);
            self.push("\u{4e16}");
            self.go_to(index + 1, 0);
            self.style(Style::default());
            self.push("\x1b[2X");
            // The next row continues from its first column, as after a wrap.
        }
    }

    fn glyph(&mut self, cell: Cell) {
        let text = self.screen.glyph_text(cell.glyph);
        let mut chars = text.chars();
        let width = 1 + usize::from(cell.glyph.is_wide());
        let plain = chars.next().is_none_or(|c| c.is_ascii() || char_width(c) == width)
            && chars.all(|c| char_width(c) == 0);
        if plain {
            self.push(&text);
        } else {
            self.push(&format!("\x1b[?2027h{text}\x1b[?2027l"));
        }
    }

    fn keyboard(&mut self, flags: &KeyboardFlags) {
        let mut all = flags.pushed.iter().chain([&flags.current]);
        if let Some(first) = all.next() {
            self.push(&format!("\x1b[={first}u"));
        }
        for flags in all {
            self.push(&format!("\x1b[>{flags}u"));
        }
    }

    /// Sets the modes and the margins. Margins move the cursor, so the cursor follows later.
    fn modes(&mut self) {
        let s = self.screen;
        for (number, mode) in Mode::all_dec() {
            let on = s.modes.has(mode);
            let is_set_elsewhere = mode == Mode::Columns || MODES_SET_LAST.contains(&mode);
            if on != Modes::default().has(mode) && !is_set_elsewhere {
                self.push(&format!("\x1b[?{number}{}", if on { 'h' } else { 'l' }));
            }
        }
        let (rows, cols) = (&s.margins.rows, &s.margins.cols);
        if *rows != (0..s.rows) {
            self.push(&format!("\x1b[{};{}r", rows.start + 1, rows.end));
        }
        if *cols != (0..s.cols) {
            self.push(&format!("\x1b[{};{}s", cols.start + 1, cols.end));
        }
    }

    /// Restores the cursor, the pen, and the modes that would affect how both are written.
    fn cursor(&mut self) {
        let s = self.screen;
        let Position { row, col, pending_wrap } = s.position;
        let (top, left) = s.address();
        self.go_to(top, left);
        if pending_wrap {
            // Writing the cell again makes the wrap pending. A blank cell is erased again with DECERA, the only erase
            // that keeps the wrap pending.
            let cell = s.grid().cell(row, col);
            if cell.glyph.is_spacer() {
                self.push("\x1b[D");
            }
            let cell = s.grid().cell(row, col - usize::from(cell.glyph.is_spacer()));
            self.style(*s.styles.value(cell.style));
            self.protected(cell.glyph.is_protected());
            if cell.glyph.is_blank() {
                let (top, left) = (top + 1, left + 1);
                self.push(&format!("x\x1b[{top};{left};{top};{left}$z"));
            } else {
                self.glyph(cell);
            }
        }
        self.pen(s.pen.style, s.pen.protected, &s.charsets);
        for (number, mode) in Mode::all_ansi() {
            let on = s.modes.has(mode);
            if on != Modes::default().has(mode) {
                self.push(&format!("\x1b[{number}{}", if on { 'h' } else { 'l' }));
            }
        }
        for (number, mode) in Mode::all_dec() {
            if MODES_SET_LAST.contains(&mode) && s.modes.has(mode) {
                self.push(&format!("\x1b[?{number}h"));
            }
        }
    }
}

/// The modes that affect how text is written or when it is shown, and are therefore set last.
const MODES_SET_LAST: [Mode; 2] = [Mode::GraphemeClusters, Mode::SynchronizedUpdate];
