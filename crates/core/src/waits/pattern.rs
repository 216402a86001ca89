//! A pattern of a caller: a compiled regular expression of bounded size, and properties of its possible matches.

use std::fmt;

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::ast;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Maximum length of a pattern in bytes.
pub const PATTERN_MAX: usize = 4 * 1024;

/// Maximum size of a compiled pattern in bytes, against patterns such as `a{1000}{1000}`.
pub const PATTERN_COMPILED_MAX: usize = 1 << 20;

/// Flags of JavaScript that have no meaning here. They are accepted because callers send them.
const FLAGS_IGNORED: &str = "gyud";

/// The error for an invalid pattern or flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// The pattern is invalid. The text names the problem and its position in bytes.
    Pattern(String),
    /// A flag is unknown.
    Flags(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::Pattern(text) | PatternError::Flags(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for PatternError {}

/// A compiled pattern. `^` and `$` match at the ends of rows.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    text: String,
    flags: String,
    source: String,
    crosses_rows: bool,
    matches_blanks: bool,
}

impl Pattern {
    /// Compiles a pattern with flags, any of `i m s x U`.
    ///
    /// # Errors
    /// If the pattern or a flag is invalid, or the pattern is too large. The text names the next step.
    pub fn new(pattern: &str, flags: &str) -> Result<Pattern, PatternError> {
        Pattern::limited(pattern, flags, PATTERN_MAX, PATTERN_COMPILED_MAX)
    }

    /// Like [`new`](Self::new), for a pattern of at most `max` bytes, and `compiled_max` once compiled.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn limited(
        pattern: &str,
        flags: &str,
        max: usize,
        compiled_max: usize,
    ) -> Result<Pattern, PatternError> {
        if pattern.len() > max {
            return Err(PatternError::Pattern(format!(
                "the pattern has {} bytes, and {max} are allowed: wait for a shorter part of it",
                pattern.len()
            )));
        }
        let known = |flag: char| "imsxU".contains(flag) || FLAGS_IGNORED.contains(flag);
        if let Some(flag) = flags.chars().find(|&flag| !known(flag)) {
            return Err(PatternError::Flags(format!(
                "the flag {flag:?} in {flags:?} is not known: use any of i, m, s, x, U"
            )));
        }
        let has = |flag: char| flags.contains(flag);
        let hir = ParserBuilder::new()
            .case_insensitive(has('i'))
            .multi_line(true)
            .dot_matches_new_line(has('s'))
            .ignore_whitespace(has('x'))
            .swap_greed(has('U'))
            .build()
            .parse(pattern)
            .map_err(|error| PatternError::Pattern(explain(pattern, &error)))?;
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(has('i'))
            .multi_line(true)
            .dot_matches_new_line(has('s'))
            .ignore_whitespace(has('x'))
            .swap_greed(has('U'))
            .size_limit(compiled_max)
            .build()
            .map_err(|error| PatternError::Pattern(explain_size(&error, compiled_max)))?;
        let source = format!("({flags}){pattern}");
        let (text, flags) = (pattern.to_owned(), flags.to_owned());
        let matches_blanks = matches_char(&hir, ' ');
        Ok(Pattern { regex, text, flags, source, crosses_rows: crosses_rows(&hir), matches_blanks })
    }

    /// Returns the pattern as it was passed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the flags as they were passed.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// Returns the compiled pattern.
    pub(crate) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Returns the key of the pattern: equal patterns have equal keys.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether a match can depend on more than one row.
    pub(crate) fn crosses_rows(&self) -> bool {
        self.crosses_rows
    }

    /// Returns whether a match can hold a space. Without one, blanks at the end of a row add no match.
    pub(crate) fn matches_blanks(&self) -> bool {
        self.matches_blanks
    }

    /// Returns the byte of a text at which its first match starts.
    pub fn find(&self, text: &str) -> Option<usize> {
        self.regex.find(text).map(|found| found.start())
    }

    /// Returns whether it matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// Returns the error message for a pattern, with the position and, for an unsupported feature, the alternative.
fn explain(pattern: &str, error: &regex_syntax::Error) -> String {
    let (what, at) = match error {
        regex_syntax::Error::Parse(error) => {
            let what = match error.kind() {
                ast::ErrorKind::UnsupportedLookAround => {
                    "look-ahead and look-behind are not supported, because matching is linear in time: \
                     match the text around it too, and use a group for the part you want"
                        .to_owned()
                }
                ast::ErrorKind::UnsupportedBackreference => {
                    "backreferences are not supported, because matching is linear in time: \
                     wait for a simpler pattern, and compare the groups yourself"
                        .to_owned()
                }
                kind => kind.to_string(),
            };
            (what, error.span().start.offset)
        }
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        _ => (error.to_string(), 0),
    };
    let shown: String = pattern.chars().take(80).collect();
    format!("the pattern {shown:?} is wrong at byte {at}: {what}")
}

fn explain_size(error: &regex::Error, max: usize) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => format!(
            "the pattern is too large once compiled ({max} bytes are allowed): \
             make its counted repetitions smaller"
        ),
        other => other.to_string(),
    }
}

/// Returns whether a match can hold a line feed, or depends on the start or the end of the whole text.
fn crosses_rows(hir: &Hir) -> bool {
    let looks = hir.properties().look_set();
    looks.contains(Look::Start) || looks.contains(Look::End) || matches_char(hir, '\n')
}

/// Returns whether a match can hold an ASCII character.
fn matches_char(hir: &Hir, c: char) -> bool {
    let byte = c as u8;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&byte),
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().any(|range| range.start() <= c && c <= range.end())
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().any(|range| range.start() <= byte && byte <= range.end())
        }
        HirKind::Repetition(repetition) => matches_char(&repetition.sub, c),
        HirKind::Capture(capture) => matches_char(&capture.sub, c),
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            all.iter().any(|hir| matches_char(hir, c))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_cross_rows_are_detected() {
        let crosses =
            |pattern: &str, flags: &str| Pattern::new(pattern, flags).map(|p| p.crosses_rows());
        for pattern in ["abc", "^a.*b$", "a+|b?", r"\d+%", r"\bfoo\b", "[a-z ]"] {
            assert_eq!(crosses(pattern, ""), Ok(false), "{pattern}");
        }
        for pattern in [r"a\nb", r"a\sb", "[^a]", r"\Aabc", r"x\z", "(?s)a.b", r"\W"] {
            assert_eq!(crosses(pattern, ""), Ok(true), "{pattern}");
        }
        assert_eq!(crosses("a.b", "s"), Ok(true));
    }

    #[test]
    fn errors_name_the_position_and_the_fix() {
        let error = |pattern: &str, flags: &str| {
            Pattern::new(pattern, flags).map(|_| ()).expect_err("it is invalid").to_string()
        };
        assert!(error("a(b", "").contains("byte 1: unclosed group"), "{}", error("a(b", ""));
        assert!(error("(?=a)", "").contains("look-ahead"));
        assert!(error(r"(a)\1", "").contains("backreferences"));
        assert!(error("a", "iq").contains("the flag 'q' in \"iq\""));
        assert!(error("(?:a{1000}){1000}", "").contains("too large"));
        assert!(Pattern::new("a", "gimsxuydU").is_ok());
    }

    #[test]
    fn patterns_at_the_limit_and_past_it() {
        assert!(Pattern::new(&"a".repeat(PATTERN_MAX), "").is_ok());
        let error = Pattern::new(&"a".repeat(PATTERN_MAX + 1), "").map(|_| ());
        assert!(error.expect_err("too long").to_string().contains("4097 bytes"));
    }
}
