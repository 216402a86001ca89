//! The dispatch table of control sequences.

use super::keyboard::KeyboardFlags;
use super::modes::{CursorShape, Mode};
use super::perform::Performer;
use super::sequence::Sequence;
use super::{Position, Screen, TITLE_STACK_MAX, default_tabs};

impl Performer<'_, '_> {
    /// Executes a control sequence.
    pub(super) fn csi(&mut self, sequence: &Sequence) {
        let known = match (sequence.private_marker, sequence.intermediates()) {
            // Tested first because coloured output consists mostly of SGR.
            (0, []) if sequence.final_byte == b'm' => {
                return self.screen.select_graphic_rendition(sequence);
            }
            (0, []) => self.csi_plain(sequence),
            (b'?', []) => self.csi_private(sequence),
            (0, [b'$']) => self.csi_rectangle(sequence),
            (private, intermediates) => {
                self.screen.csi_keeping_cells(private, intermediates, sequence)
            }
        };
        if !known && !self.csi_changing_cells(sequence) {
            self.screen.count_unknown_csi(sequence);
        }
    }

    fn csi_plain(&mut self, sequence: &Sequence) -> bool {
        let n = sequence.value_or(0, 1);
        let Position { row, col, .. } = self.screen.position;
        match sequence.final_byte {
            b'@' => self.insert_chars(n),
            b'A' => self.screen.move_up(n),
            b'B' => self.screen.move_down(n),
            b'C' => self.screen.move_right(n),
            b'D' => self.screen.move_left(n),
            b'E' => {
                self.screen.move_down(n);
                self.screen.carriage_return();
            }
            b'F' => {
                self.screen.move_up(n);
                self.screen.carriage_return();
            }
            b'G' | b'`' => {
                let (row, _) = self.screen.address();
                self.screen.move_to_address(row, n - 1);
            }
            b'H' | b'f' => self.screen.move_to_address(n - 1, sequence.value_or(1, 1) - 1),
            b'I' => self.screen.tab_forward(n),
            b'J' => self.erase_in_display(sequence.value(0), false),
            b'K' => self.erase_in_line(sequence.value(0), false),
            b'L' => self.insert_lines(n),
            b'M' => self.delete_lines(n),
            b'P' => self.delete_chars(n),
            b'S' => self.scroll_up(n),
            b'T' | b'^' if sequence.len() == 1 => self.scroll_down(n),
            b'X' => self.erase_chars(n),
            b'Z' => self.screen.tab_backward(n),
            b'a' => {
                let (row, col) = self.screen.address();
                self.screen.move_to_address(row, col + n);
            }
            b'b' => self.repeat(n),
            b'd' => {
                let (_, col) = self.screen.address();
                self.screen.move_to_address(n - 1, col);
            }
            b'e' => {
                let (row, col) = self.screen.address();
                self.screen.move_to_address(row + n, col);
            }
            b'g' => match sequence.value(0) {
                0 => self.screen.tabs[col] = false,
                3 => self.screen.tabs.fill(false),
                _ => {}
            },
            b'h' => self.screen.set_ansi_modes(sequence, true),
            b'l' => self.screen.set_ansi_modes(sequence, false),
            b'r' => self.screen.set_vertical_margins(sequence),
            b's' if self.screen.modes.has(Mode::LeftRightMargins) => {
                self.screen.set_horizontal_margins(sequence);
            }
            b's' => self.screen.save_cursor(),
            b'u' => self.screen.restore_cursor(),
            b'c' if sequence.value(0) == 0 => self.screen.report_device_attributes(),
            b'n' => self.screen.report_status(sequence.value(0)),
            b't' => self.screen.window_operation(sequence),
            b'x' => self.screen.report_parameters(sequence.value(0)),
            // Keyboard LEDs and media copy have no effect.
            b'q' | b'i' => {}
            _ => return false,
        }
        debug_assert!(self.screen.position.row < self.screen.rows, "moved from row {row}");
        true
    }

    fn csi_private(&mut self, sequence: &Sequence) -> bool {
        match sequence.final_byte {
            b'J' => self.erase_in_display(sequence.value(0), true),
            b'K' => self.erase_in_line(sequence.value(0), true),
            b'h' => self.set_private_modes(sequence, true),
            b'l' => self.set_private_modes(sequence, false),
            b'r' => self.restore_modes(sequence),
            b's' => self.screen.save_modes(sequence),
            b'W' if sequence.value(0) == 5 => self.screen.tabs = default_tabs(self.screen.cols),
            b'n' => self.screen.report_private_status(sequence.value(0)),
            b'u' => self.screen.report_keyboard_flags(),
            b'm' if sequence.value(0) == 4 => self.screen.report_modify_other_keys(),
            // Media copy and sixel queries are not supported.
            b'i' | b'S' => {}
            _ => return false,
        }
        true
    }

    fn csi_rectangle(&mut self, sequence: &Sequence) -> bool {
        match sequence.final_byte {
            b'p' => self.screen.report_ansi_mode(sequence.value(0)),
            b'r' => self.change_attributes(sequence, false),
            b't' => self.change_attributes(sequence, true),
            b'v' => self.copy_rectangle(sequence),
            b'x' => self.fill_rectangle(sequence),
            b'z' => self.erase_rectangle(sequence, false),
            b'{' => self.erase_rectangle(sequence, true),
            _ => return false,
        }
        true
    }

    /// Executes the sequences with other intermediates that change cells.
    fn csi_changing_cells(&mut self, sequence: &Sequence) -> bool {
        let n = sequence.value_or(0, 1);
        let col = self.screen.position.col;
        match (sequence.private_marker, sequence.intermediates(), sequence.final_byte) {
            (0, [b' '], b'@') => self.scroll_sideways(n, true),
            (0, [b' '], b'A') => self.scroll_sideways(n, false),
            (0, [b'\''], b'}') => self.insert_columns(col, n),
            (0, [b'\''], b'~') => self.delete_columns(col, n),
            (0, [b'!'], b'p') => self.screen.soft_reset(),
            (0, [b'"'], b'p') => {
                self.screen.soft_reset();
                self.screen.eight_bit = sequence.value(0) > 61 && sequence.value(1) != 1;
            }
            _ => return false,
        }
        true
    }
}

impl Screen {
    /// Executes the sequences with a private marker or intermediates that change no cells.
    fn csi_keeping_cells(
        &mut self,
        private: u8,
        intermediates: &[u8],
        sequence: &Sequence,
    ) -> bool {
        let value = sequence.value(0);
        match (private, intermediates, sequence.final_byte) {
            (b'?', [b'$'], b'p') => self.report_private_mode(value),
            (b'>', [], b'c') if value == 0 => self.report_secondary_attributes(),
            (b'=', [], b'c') if value == 0 => self.report_tertiary_attributes(),
            (b'>', [], b'q') if value == 0 => self.report_version(),
            (b'>', [], b'm') => self.set_modify_other_keys(sequence),
            (b'>', [], b'n') => self.modify_other_keys = 0,
            (b'>', [], b'u') => self.keyboard_mut().push(value),
            (b'<', [], b'u') => self.keyboard_mut().pop(sequence.value_or(0, 1)),
            (b'=', [], b'u') => self.keyboard_mut().set(value, sequence.value(1)),
            (0, [b' '], b'q') => self.set_cursor_style(value),
            (0, [b'"'], b'q') => self.pen.protected = value == 1,
            (0, [b'*'], b'x') => self.rectangular_attrs = value == 2,
            (0, [b'*'], b'y') if self.answers_checksums => self.report_checksum(sequence),
            // Title modes, pointer modes, locators, bell volumes and status line settings have no effect.
            (b'>', [], b't' | b'T' | b'p') | (0, [b'\''], b'w' | b'{' | b'z' | b'|') => {}
            (0, [b' '], b't' | b'u') | (0, [b'$'], b'}' | b'~') | (0, [b'*'], b'|') => {}
            _ => return false,
        }
        true
    }

    fn keyboard_mut(&mut self) -> &mut KeyboardFlags {
        let index = self.screen_index();
        &mut self.keyboard[index]
    }

    fn set_modify_other_keys(&mut self, sequence: &Sequence) {
        match sequence.value(0) {
            4 => self.modify_other_keys = sequence.value(1).min(2) as u8,
            // XTMODKEYS without parameters resets all key modifier options.
            0 if !sequence.is_given(0) => self.modify_other_keys = 0,
            _ => {}
        }
    }

    fn set_cursor_style(&mut self, style: u16) {
        self.cursor_shape = match style {
            0..=2 => CursorShape::Block,
            3 | 4 => CursorShape::Underline,
            5 | 6 => CursorShape::Bar,
            _ => return,
        };
        self.modes.set(Mode::CursorBlink, style % 2 == 1);
    }

    /// DECSTBM.
    fn set_vertical_margins(&mut self, sequence: &Sequence) {
        let top = sequence.value_or(0, 1) - 1;
        let end = sequence.value_or(1, self.rows as u16).min(self.rows);
        if top + 1 < end {
            self.margins.rows = top..end;
            self.move_to_address(0, 0);
        }
    }

    /// DECSLRM.
    fn set_horizontal_margins(&mut self, sequence: &Sequence) {
        let left = sequence.value_or(0, 1) - 1;
        let end = sequence.value_or(1, self.cols as u16).min(self.cols);
        if left + 1 < end {
            self.margins.cols = left..end;
            self.move_to_address(0, 0);
        }
    }

    /// XTWINOPS: the title stack and reports. Requests to move or resize the window are ignored.
    fn window_operation(&mut self, sequence: &Sequence) {
        let icon_only = sequence.value(1) == 1;
        match sequence.value(0) {
            22 if !icon_only => {
                if self.title_stack.len() == TITLE_STACK_MAX {
                    self.title_stack.pop_front();
                }
                self.title_stack.push_back(self.title.clone());
            }
            23 if !icon_only => {
                if let Some(title) = self.title_stack.pop_back() {
                    self.title = title;
                }
            }
            operation => self.report_window(operation),
        }
    }

    fn count_unknown_csi(&mut self, sequence: &Sequence) {
        let mut name = "CSI ".to_owned();
        if sequence.private_marker != 0 {
            name.push(char::from(sequence.private_marker));
        }
        name.extend(sequence.intermediates().iter().map(|&byte| char::from(byte)));
        name.push(char::from(sequence.final_byte));
        self.count_unknown(name);
    }
}
