//! How many columns a character takes: as `wcwidth` has it, because that is what programs assume.

use std::sync::OnceLock;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Code points in the table; what lies beyond the basic plane is looked up each time.
const TABLE: usize = 0x1_0000;

/// Two bits for each character of the basic plane.
static WIDTHS: OnceLock<Box<[u8]>> = OnceLock::new();

/// The columns that `c` takes: 0, 1 or 2.
pub(crate) fn char_width(c: char) -> usize {
    let code = c as usize;
    if code < 0x300 {
        // The soft hyphen is shown, as it is in xterm and by wcwidth.
        return 1;
    }
    if code >= TABLE {
        return lookup(c);
    }
    let widths = WIDTHS.get_or_init(|| {
        let width = |code: u32| char::from_u32(code).map_or(1, lookup) as u8;
        let four = |first: u32| (0..4).fold(0, |byte, i| byte | width(first + i) << (2 * i));
        (0..TABLE as u32 / 4).map(|i| four(4 * i)).collect()
    });
    usize::from(widths[code / 4] >> (2 * (code % 4)) & 3)
}

fn lookup(c: char) -> usize {
    // None is a control; those that come here as characters are shown.
    c.width().unwrap_or(1).min(2)
}

/// The columns that a grapheme cluster takes: 1 or 2.
pub(crate) fn cluster_width(text: &str) -> usize {
    text.width().clamp(1, 2)
}
