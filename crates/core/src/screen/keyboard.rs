//! Keyboard protocols that a program can enable: kitty's and xterm's modifyOtherKeys.

use std::collections::VecDeque;

/// The maximum depth of each stack of flags. The oldest entry is dropped when it is full, as in kitty.
pub(crate) const STACK_MAX: usize = 16;

/// All flags that kitty's protocol defines.
const FLAGS: u16 = 0b1_1111;

/// The stack of kitty flags of one screen. The main and the alternate screen have separate stacks.
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

    /// Replaces the flags (1), sets some (2), or resets some (3).
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
