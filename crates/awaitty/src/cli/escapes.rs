//! Escape sequences in the text of `awaitty send`, for characters that are hard to type in a shell.

/// The next step after an invalid escape.
const NEXT: &str = r"use \n, \r, \t, \e or \xHH, write \\ for a backslash, or add --literal to send the text unchanged";

/// Resolves the escapes in a text.
///
/// # Errors
/// The invalid escape and the next step.
pub(super) fn unescape(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at..];
        let (byte, length) = match escape[1..].chars().next() {
            Some('n') => (b'\n', 2),
            Some('r') => (b'\r', 2),
            Some('t') => (b'\t', 2),
            Some('e') => (0x1b, 2),
            Some('\\') => (b'\\', 2),
            Some('x') => match hex(escape) {
                Some(byte) => (byte, 4),
                None => {
                    let given: String = escape.chars().take(4).collect();
                    return Err(format!(
                        "{given} in the text lacks two hexadecimal digits: {NEXT}"
                    ));
                }
            },
            Some(other) => return Err(format!("\\{other} in the text is not an escape: {NEXT}")),
            None => return Err(format!("\\ at the end of the text is not an escape: {NEXT}")),
        };
        bytes.push(byte);
        rest = &escape[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let wrong = error.as_bytes()[at];
        format!(
            "\\x{wrong:02x} in the text makes it invalid UTF-8: write the character itself, or all of its bytes"
        )
    })
}

/// Returns the byte of an escape `\xHH`.
fn hex(escape: &str) -> Option<u8> {
    let digits = escape.get(2..4)?;
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        for (text, wanted) in [
            ("", ""),
            ("plain", "plain"),
            (r"a\nb\r\t", "a\nb\r\t"),
            (r"\e[A\x03", "\x1b[A\x03"),
            (r"\\n and \\\n", "\\n and \\\n"),
            (r"\xc3\xa9é\x7E", "éé~"),
        ] {
            assert_eq!(unescape(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn an_invalid_escape_is_reported_with_the_next_step() {
        for (text, named) in [
            (r"C:\dir", r"\d in"),
            (r"a\", r"\ at the end"),
            (r"\é", r"\é in"),
            (r"\x4", r"\x4 in"),
            (r"\x+1", r"\x+1 in"),
            (r"\x漢字", r"\x漢字 in"),
        ] {
            let wrong = unescape(text).unwrap_err();
            assert!(wrong.starts_with(named) && wrong.contains("--literal"), "{text}: {wrong}");
        }
        assert!(unescape(r"\xff").unwrap_err().starts_with(r"\xff in"));
    }
}
