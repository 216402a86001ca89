//! What the program asked of the keyboard: kitty's protocol and xterm's modifyOtherKeys.

use std::collections::VecDeque;

/// Entries kept of each stack of flags; a program that pushes more loses its oldest, as in kitty.
pub(crate) const STACK_MAX: usize = 16;

/// The flags of kitty's protocol that are defined.
const FLAGS: u16 = 0b1_1111;

/// One screen's stack of kitty flags; the main and the alternate screen have one each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyboardFlags {
    pub(crate) current: u8,
    pub(crate) pushed: VecDeque<u8>,
}

impl KeyboardFlags {
    pub(crate) fn push(&mut self, flags: u16) {
        if self.pushed.len() == STACK_MAX {
            self.pushed.pop_front();
        }
        self.pushed.push_back(self.current);
        self.current = (flags & FLAGS) as u8;
    }

    pub(crate) fn pop(&mut self, n: usize) {
        for _ in 0..n.min(STACK_MAX + 1) {
            self.current = self.pushed.pop_back().unwrap_or(0);
        }
    }

    /// Sets all flags (1), sets some (2), or resets some (3).
    pub(crate) fn set(&mut self, flags: u16, how: u16) {
        let flags = (flags & FLAGS) as u8;
        match how {
            0 | 1 => self.current = flags,
            2 => self.current |= flags,
            3 => self.current &= !flags,
            _ => {}
        }
    }
}
