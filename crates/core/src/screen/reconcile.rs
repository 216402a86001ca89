//! Takes over the screen that tmux shows.
//!
//! tmux and this emulator draw the output of a pane independently, and the user sees the screen of tmux. Where the two
//! differ, this one is corrected; cells that agree keep their ticks.

use super::cell::Cell;
use super::clusters::base_of;
use super::grid::Area;
use super::perform::Performer;
use super::{Position, Screen};
use crate::style::Style;

impl Screen {
    /// Follows tmux in its handling of a pending wrap: the cursor is beyond the last column, so erasing from it erases
    /// nothing and the wrap stays pending. In xterm it erases the last column and cancels the wrap.
    pub fn follow_tmux(&mut self) {
        self.follows_tmux = true;
    }

    /// Returns whether the cursor is beyond the last column, which occurs only in tmux.
    pub(super) fn is_beyond_end(&self) -> bool {
        self.follows_tmux && self.position.pending_wrap
    }

    /// Replaces each of the first rows whose text differs from the one in `rows`, which are text with SGR sequences.
    /// Returns the number of replaced rows. If `is_new`, the changed cells count as drawn now, otherwise as drawn with
    /// the rest of their row. Calls `observe` before drawn cells disappear.
    pub fn reconcile(
        &mut self,
        rows: &[&[u8]],
        is_new: bool,
        observe: Option<&mut dyn FnMut(&Screen)>,
    ) -> usize {
        let mut other = Screen::new(self.cols, self.rows, 0);
        // tmux sends line drawing characters by shifting to G1. Text that does not fit must stay on its row.
        other.feed(b"\x1b)0\x1b[?7l");
        for (i, row) in rows.iter().take(self.rows).enumerate() {
            other.feed(format!("\x1b[{};1H", i + 1).as_bytes());
            other.feed(row);
        }
        let mut performer = Performer::new(self, observe);
        let mut reconciled = 0;
        for row in 0..performer.screen.rows.min(rows.len()) {
            let text_of = |screen: &Screen| screen.row(row).text().trim_end().to_owned();
            if text_of(performer.screen) == text_of(&other) {
                continue;
            }
            reconciled += 1;
            let cols = 0..performer.screen.cols;
            performer.before_loss(&Area { rows: row..row + 1, cols });
            performer.screen.copy_row(row, &other, is_new);
        }
        reconciled
    }

    /// Copies the cells of a row that differ.
    fn copy_row(&mut self, row: usize, other: &Screen, is_new: bool) {
        let drawn = (0..self.cols).map(|col| self.grid().cell(row, col).tick).max();
        let tick = if is_new { self.tick } else { drawn.unwrap_or(self.tick) };
        for col in 0..self.cols {
            let from = other.grid().cell(row, col);
            // A spacer is written with its wide character.
            if from.glyph.is_spacer() {
                continue;
            }
            let glyph = match from.glyph.as_cluster() {
                Some(number) => {
                    let cluster = other.clusters.text(number);
                    match self.clusters.number(cluster) {
                        Some(number) => from.glyph.with_cluster(number),
                        None => from.glyph.with_char(base_of(cluster)),
                    }
                }
                None => from.glyph,
            };
            let style = Style { link: None, ..*other.styles.value(from.style) };
            let style = self.styles.number(&style);
            let old = self.grid().cell(row, col);
            if (old.glyph, old.style) != (glyph, style) {
                self.grid_mut().row_mut(row).write(col, Cell { glyph, style, tick });
            }
        }
        self.sweep_tables();
    }

    /// Moves the cursor to the position reported by tmux.
    pub fn set_cursor(&mut self, row: usize, col: usize) {
        let (row, col) = (row.min(self.rows - 1), col.min(self.cols - 1));
        if (self.position.row, self.position.col) != (row, col) {
            self.position = Position { row, col, pending_wrap: false };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_cells_are_replaced_and_the_rest_keeps_its_ticks() {
        let mut screen = Screen::new(10, 3, 0);
        screen.feed("same 世\r\nold one\r\nlast".as_bytes());
        screen.advance_tick();
        let tick = screen.tick();
        let rows: [&[u8]; 3] =
            ["same 世".as_bytes(), "new \x1b[31m世e\u{301}\x1b[m".as_bytes(), b"last"];
        let mut observed = Vec::new();
        let mut observe = |screen: &Screen| observed.push(screen.row(1).text().to_owned());
        let reconciled = screen.reconcile(&rows, true, Some(&mut observe));
        assert_eq!(reconciled, 1);
        assert_eq!(screen.row(1).text(), "new 世e\u{301}");
        assert!(observed.is_empty(), "cells that were observed before are not observed again");
        let drawn = |row: usize, col: usize| screen.grid().cell(row, col).tick >= tick;
        assert!(!drawn(0, 0) && !drawn(2, 0) && drawn(1, 0) && drawn(1, 5));
        assert!(!drawn(1, 3), "the space is unchanged");
        assert_eq!(screen.reconcile(&rows, true, None), 0);
    }

    #[test]
    fn a_corrected_cell_has_the_tick_of_its_row() {
        let mut screen = Screen::new(10, 3, 0);
        screen.feed(b"one\r\ntwo");
        screen.advance_tick();
        let tick = screen.tick();
        assert_eq!(screen.reconcile(&[b"ONE", b"two"], false, None), 1);
        assert_eq!((screen.row(0).text(), screen.row(1).text()), ("ONE", "two"));
        assert!(screen.grid().cell(0, 0).tick < tick);
    }

    #[test]
    fn newly_drawn_cells_are_observed_before_they_are_replaced() {
        let mut screen = Screen::new(10, 2, 0);
        screen.feed(b"flash");
        let mut observed = Vec::new();
        let mut observe = |screen: &Screen| observed.push(screen.row(0).text().to_owned());
        screen.reconcile(&[b"", b"x"], true, Some(&mut observe));
        assert_eq!(observed, ["flash"]);
        assert_eq!((screen.row(0).text(), screen.row(1).text()), ("", "x"));
    }

    #[test]
    fn erasing_from_beyond_the_end_erases_nothing_in_tmux() {
        for (erase, xterm) in [("\x1b[K", "abcd;"), ("\x1b[J", "abcd;"), ("\x1b[X", "abcd;")] {
            let shown = |follow: bool| {
                let mut screen = Screen::new(5, 3, 0);
                if follow {
                    screen.follow_tmux();
                }
                screen.feed(format!("\n\nrest\x1b[Habcde{erase};").as_bytes());
                [0, 1, 2].map(|row| screen.row(row).text().to_owned())
            };
            let rest = if erase == "\x1b[J" { "" } else { "rest" };
            assert_eq!(shown(false), [xterm, "", rest], "{erase:?}");
            assert_eq!(shown(true), ["abcde", ";", rest], "{erase:?}");
        }
    }
}
