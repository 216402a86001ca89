//! Regular expressions of a tape, which are checked when the tape is parsed.

/// A regular expression that compiles as a pattern of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regex {
    text: String,
}

impl Regex {
    /// Returns the expression, without slashes.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
