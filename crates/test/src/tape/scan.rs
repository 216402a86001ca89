//! Scans a tape: characters with their positions, and the lexical elements of the grammar.

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The offset in bytes.
    pub(super) at: usize,
    /// The line, from 1.
    pub(super) line: usize,
    /// The column in characters, from 1.
    pub(super) column: usize,
}

/// Reads the text of a tape from its start to its end.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    mark: Mark,
}

/// Returns whether a character separates words inside a line.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

/// Returns whether a character starts a word; `.` does, because paths do not need quotes.
fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '.' || c == '_'
}

fn continues_word(c: char) -> bool {
    starts_word(c) || c.is_ascii_digit() || matches!(c, '-' | '/' | '%')
}

/// Returns whether a character is a quote of texts.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Scanner<'t> {
        let mut scanner = Scanner { text, mark: Mark { at: 0, line: 1, column: 1 } };
        // A byte order mark has no column.
        if text.starts_with('\u{feff}') {
            scanner.mark.at = '\u{feff}'.len_utf8();
        }
        scanner
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// Goes back to an earlier place.
    pub(super) fn reset(&mut self, mark: Mark) {
        self.mark = mark;
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.mark.at..]
    }

    /// Returns the text from an earlier place to here.
    pub(super) fn since(&self, mark: Mark) -> &'t str {
        &self.text[mark.at..self.mark.at]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.mark.at += c.len_utf8();
        if c == '\n' {
            self.mark.line += 1;
            self.mark.column = 1;
        } else {
            self.mark.column += 1;
        }
        Some(c)
    }

    /// Advances over a character if it is the next one.
    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.bump();
        }
        found
    }

    /// Advances while a condition holds and returns the characters.
    pub(super) fn take_while(&mut self, holds: impl Fn(char) -> bool) -> &'t str {
        let start = self.mark;
        while self.peek().is_some_and(&holds) {
            self.bump();
        }
        self.since(start)
    }

    /// Advances to a byte offset, or to the end of the character that contains it.
    pub(super) fn advance_to(&mut self, at: usize) {
        while self.mark.at < at && self.bump().is_some() {}
    }

    pub(super) fn skip_blanks(&mut self) {
        self.take_while(is_blank);
    }

    /// Advances to the next command: over blanks, line ends and comments. Returns false at the end of the text.
    pub(super) fn skip_to_command(&mut self) -> bool {
        loop {
            self.take_while(|c| is_blank(c) || c == '\n');
            match self.peek() {
                None => return false,
                Some('#') => self.skip_line(),
                Some(_) => return true,
            }
        }
    }

    /// Advances to the end of the line.
    pub(super) fn skip_line(&mut self) {
        self.take_while(|c| c != '\n');
    }

    /// Returns whether the line has nothing more than blanks and a comment.
    pub(super) fn is_line_end(&self) -> bool {
        let rest = self.rest().trim_start_matches(is_blank);
        rest.is_empty() || rest.starts_with(['\n', '#'])
    }

    /// Advances over blanks to the next value. Stays at the end of the line if there is none.
    pub(super) fn skip_to_value(&mut self) {
        if !self.is_line_end() {
            self.skip_blanks();
        }
    }

    /// Reads a bare word, such as the name of a command.
    pub(super) fn word(&mut self) -> Option<&'t str> {
        self.peek().filter(|&c| starts_word(c))?;
        Some(self.take_while(continues_word))
    }

    /// Reads a bare path: everything up to a blank, a quote or a comment.
    pub(super) fn path(&mut self) -> Option<&'t str> {
        let ends = |c: char| c.is_whitespace() || c == '#' || is_quote(c);
        Some(self.take_while(|c| !ends(c))).filter(|path| !path.is_empty())
    }

    /// Reads a number: digits and points.
    pub(super) fn number(&mut self) -> Option<&'t str> {
        let digits = self.rest().strip_prefix('.').unwrap_or(self.rest());
        digits.chars().next().filter(char::is_ascii_digit)?;
        Some(self.take_while(|c| c.is_ascii_digit() || c == '.'))
    }

    /// Reads the characters that a person sees as one value, for an error.
    pub(super) fn chunk(&mut self) -> &'t str {
        let start = self.mark;
        self.bump();
        self.take_while(|c| !c.is_whitespace() && c != '#');
        self.since(start)
    }

    /// Reads up to a closing delimiter in the line, and over it. Returns `None` if there is none, at the end of the
    /// line. A backslash keeps a delimiter only if `escapes`.
    pub(super) fn delimited(&mut self, end: char, escapes: bool) -> Option<&'t str> {
        let start = self.mark;
        while let Some(c) = self.peek().filter(|&c| c != '\n' && c != '\r') {
            if c == end {
                let inside = self.since(start);
                self.bump();
                return Some(inside);
            }
            self.bump();
            if escapes && c == '\\' && self.peek().is_some_and(|c| c != '\n' && c != '\r') {
                self.bump();
            }
        }
        None
    }
}
