//! Character widths in columns. They are those of `wcwidth`, because programs assume these.

use std::sync::OnceLock;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The number of code points in the table: the basic plane. All others are looked up each time.
const TABLE: usize = 0x1_0000;

/// Two bits per character of the basic plane.
static WIDTHS: OnceLock<Box<[u8]>> = OnceLock::new();

/// Returns the width of `c`: 0, 1 or 2.
pub(crate) fn char_width(c: char) -> usize {
    let code = c as usize;
    if code < 0x300 {
        // The soft hyphen is visible in xterm and in `wcwidth`.
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
    // `None` means a control character. Those that are printed take one column.
    c.width().unwrap_or(1).min(2)
}

/// Returns the width of a grapheme cluster: 1 or 2.
pub(crate) fn cluster_width(text: &str) -> usize {
    text.width().clamp(1, 2)
}
