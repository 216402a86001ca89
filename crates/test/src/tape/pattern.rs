//! Regular expressions of a tape, which are checked when the tape is parsed.

use awaitty_terminal::core::Pattern;

/// A regular expression that compiles as a pattern of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regex {
    text: String,
}

/// The error for text that is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RegexError {
    /// The problem with its position and the next step.
    pub message: String,
    /// The offset of the problem in bytes.
    pub offset: usize,
}

impl Regex {
    /// Checks a regular expression. Slashes may be written `\/`, as between the slashes of a tape.
    ///
    /// # Errors
    /// If it is invalid or too large for a wait.
    pub fn new(text: &str) -> Result<Regex, RegexError> {
        if let Err(error) = Pattern::new(text, "") {
            return Err(RegexError { message: error.to_string(), offset: error_offset(text) });
        }
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match (c, (c == '\\').then(|| chars.next()).flatten()) {
                ('\n', _) => plain.push_str(r"\n"),
                ('\r', _) => plain.push_str(r"\r"),
                (_, Some('/')) => plain.push('/'),
                (_, Some(escaped)) => plain.extend([c, escaped]),
                (_, None) => plain.push(c),
            }
        }
        Ok(Regex { text: plain })
    }

    /// Returns the expression, without the slashes around it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Returns the offset of a syntax error; 0 if only the size is wrong.
fn error_offset(text: &str) -> usize {
    match regex_syntax::ParserBuilder::new().multi_line(true).build().parse(text) {
        Err(regex_syntax::Error::Parse(error)) => error.span().start.offset,
        Err(regex_syntax::Error::Translate(error)) => error.span().start.offset,
        _ => 0,
    }
}
