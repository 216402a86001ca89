//! The values of commands: texts, numbers, times, patterns and paths.

use std::ops::RangeInclusive;
use std::time::Duration;

use awaitty_terminal::core::{COLS_MAX, ROWS_MAX};

use super::command::Action;
use super::parser::{Parsed, Parser, shorten, show};
use super::pattern::Regex;
use super::scan::{Mark, is_quote};
use super::suggest;

/// Maximum repetitions of a key. More of them are a slip: they take minutes, at any typing speed.
pub const COUNT_MAX: u32 = 10_000;

/// Maximum time of a command: that of a wait.
pub const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum characters in the name of a golden: part of a file name, which has at most 255 bytes.
pub const SCREEN_NAME_MAX: usize = 100;

impl<'t> Parser<'t> {
    /// Advances over a character and the blanks before it, if it is the next value.
    pub(super) fn eat_value(&mut self, wanted: char) -> bool {
        let start = self.scan.mark();
        self.scan.skip_to_value();
        let found = self.scan.eat(wanted);
        if !found {
            self.scan.reset(start);
        }
        found
    }

    /// Advances over a word and the blanks before it, if it is the next value.
    pub(super) fn eat_word(&mut self, wanted: &str) -> bool {
        let start = self.scan.mark();
        self.scan.skip_to_value();
        let found = self.scan.word() == Some(wanted);
        if !found {
            self.scan.reset(start);
        }
        found
    }

    /// Parses an optional `@50ms`.
    pub(super) fn speed(&mut self, command: &str) -> Parsed<Option<Duration>> {
        match self.eat_value('@') {
            true => self.time(&format!("{command}@"), &format!("{command}@500ms")).map(Some),
            false => Ok(None),
        }
    }

    /// Parses an optional `@5s` that is more than 0.
    pub(super) fn timeout(&mut self, command: &str) -> Parsed<Option<Duration>> {
        match self.eat_value('@') {
            true => self.positive_time(&format!("{command}@"), &format!("{command}@5s")).map(Some),
            false => Ok(None),
        }
    }

    /// Parses a time of more than 0.
    pub(super) fn positive_time(&mut self, command: &str, example: &str) -> Parsed<Duration> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let time = self.time(command, example)?;
        if time.is_zero() {
            let value = self.scan.since(start);
            let message = format!("the time {} of `{command}` must be more than 0", show(value));
            return Err(self.error(start, value, message).hint(format!("write `{example}`")));
        }
        Ok(time)
    }

    /// Parses a time: `500ms`, `1.5s`, `2m`, or `2` for seconds.
    pub(super) fn time(&mut self, command: &str, example: &str) -> Parsed<Duration> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let Some(number) = self.scan.number() else {
            return Err(self.missing(command, "a time", example));
        };
        let end = self.scan.mark();
        self.scan.skip_blanks();
        let unit = self.scan.clone().word();
        let seconds = match unit {
            Some("ms") => Some(0.001),
            Some("s") => Some(1.0),
            Some("m") => Some(60.0),
            _ => None,
        };
        match (seconds, unit) {
            (Some(_), _) => {
                self.scan.word();
            }
            (None, Some(unit)) if self.scan.mark() == end && !suggest::is_command(unit) => {
                let message = format!("the unit {} is not known", show(unit));
                let error = self.error(end, unit, message).hint("times are in ms, s or m");
                self.scan.word();
                return Err(error);
            }
            (None, _) => self.scan.reset(end),
        }
        let value = self.scan.since(start);
        let Some(number) = parse_number(number) else {
            let message = format!("{} is not a time", show(value));
            return Err(self.error(start, value, message).hint(format!("write `{example}`")));
        };
        let time = Duration::try_from_secs_f64(number * seconds.unwrap_or(1.0));
        time.ok().filter(|time| *time <= TIME_MAX).ok_or_else(|| {
            let message = format!("the time {} is more than 24 hours", show(value));
            self.error(start, value, message).hint(format!("write `{example}`"))
        })
    }

    /// Parses an optional count of repetitions.
    pub(super) fn count(&mut self, command: &str) -> Parsed<u32> {
        let start = self.scan.mark();
        self.scan.skip_to_value();
        if self.scan.clone().number().is_none() {
            self.scan.reset(start);
            return Ok(1);
        }
        self.integer(command, 1..=COUNT_MAX, &format!("{command} 2"))
    }

    /// Parses a whole number in a range.
    pub(super) fn integer(
        &mut self,
        command: &str,
        range: RangeInclusive<u32>,
        example: &str,
    ) -> Parsed<u32> {
        let (start, text) = self.number(command, example)?;
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (min, max) = (range.start(), range.end());
            let message = format!("the value {} of `{command}` is not valid", show(text));
            let suggestion = format!("write a whole number from {min} to {max}");
            self.error(start, text, message).hint(suggestion)
        })
    }

    /// Parses a number up to a maximum; more than 0 if `positive`.
    pub(super) fn decimal(
        &mut self,
        command: &str,
        positive: bool,
        max: f64,
        example: &str,
    ) -> Parsed<f64> {
        let (start, text) = self.number(command, example)?;
        let fits = |number: &f64| *number <= max && (*number > 0.0 || !positive);
        parse_number(text).filter(fits).ok_or_else(|| {
            let min = if positive { "above 0" } else { "from 0" };
            let message = format!("the value {} of `{command}` is not valid", show(text));
            self.error(start, text, message).hint(format!("write a number {min}, up to {max}"))
        })
    }

    /// Reads a number without a unit.
    fn number(&mut self, command: &str, example: &str) -> Parsed<(Mark, &'t str)> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let Some(text) = self.scan.number() else {
            return Err(self.missing(command, "a number", example));
        };
        let unit = self.scan.clone().word();
        if unit.is_some_and(|unit| !suggest::is_command(unit)) {
            self.scan.word();
            let value = self.scan.since(start);
            let message = format!("the value {} of `{command}` is not a number", show(value));
            return Err(self.error(start, value, message).hint(format!("write `{example}`")));
        }
        Ok((start, text))
    }

    /// Parses the columns of a terminal.
    pub(super) fn columns(&mut self, command: &str, example: &str) -> Parsed<u16> {
        self.size(command, COLS_MAX, example)
    }

    /// Parses the rows of a terminal.
    pub(super) fn rows(&mut self, command: &str, example: &str) -> Parsed<u16> {
        self.size(command, ROWS_MAX, example)
    }

    fn size(&mut self, command: &str, max: usize, example: &str) -> Parsed<u16> {
        let max = u32::try_from(max).expect("a terminal has less than 2^32 columns");
        let number = self.integer(command, 1..=max, example)?;
        Ok(u16::try_from(number).expect("a terminal has less than 2^16 columns"))
    }

    /// Parses one or more texts of a command that types them with spaces in between.
    pub(super) fn texts(&mut self, command: &str, example: &str) -> Parsed<String> {
        let (mut joined, mut after_quote): (Option<String>, bool) = (None, false);
        loop {
            let end = self.scan.mark();
            self.scan.skip_to_value();
            let start = self.scan.mark();
            let text = match self.quoted()? {
                Some(text) => {
                    after_quote = true;
                    text
                }
                None => match self.scan.word().filter(|word| !suggest::is_command(word)) {
                    Some(word) if joined.is_some() => self.later_word(start, word, after_quote)?,
                    Some(word) => word,
                    None => {
                        self.scan.reset(end);
                        return joined.ok_or_else(|| self.missing(command, "a text", example));
                    }
                },
            };
            match &mut joined {
                Some(joined) => joined.extend([" ", text]),
                None => joined = Some(text.to_owned()),
            }
        }
    }

    /// Checks a word after a text: `Type "ls" Entr` is a wrong command, although VHS types it.
    fn later_word(&self, start: Mark, word: &'t str, after_quote: bool) -> Parsed<&'t str> {
        let is_capital = word.starts_with(|c: char| c.is_ascii_uppercase());
        let is_slip = is_capital || after_quote && suggest::is_command_in_other_case(word);
        match suggest::command(word).filter(|_| is_slip) {
            Some(suggestion) => {
                let word = show(word);
                let message = format!("{word} after a text is neither a command nor in quotes");
                Err(self.error(start, &word, message).hint(suggestion))
            }
            None => Ok(word),
        }
    }

    /// Parses a text in quotes, if there is one.
    pub(super) fn quoted(&mut self) -> Parsed<Option<&'t str>> {
        let start = self.scan.mark();
        let Some(quote) = self.scan.peek().filter(|&c| is_quote(c)) else { return Ok(None) };
        self.scan.bump();
        let Some(text) = self.scan.delimited(quote, false) else {
            let value = self.scan.since(start);
            let error = self.error(start, value, format!("the text has no closing {quote}"));
            return Err(error.hint("a text ends in its line"));
        };
        if text.contains('\0') {
            let error = self.error(start, "\0", "the text contains a NUL");
            return Err(error.hint("press `Ctrl+@` to type one"));
        }
        let continues = |c: char| !c.is_whitespace() && c != '#';
        if text.ends_with('\\') && self.scan.peek().is_some_and(continues) {
            let error = self.error(start, text, "a backslash does not escape a quote");
            self.scan.skip_line();
            return Err(error.hint("write a text with \" as '…' or `…`"));
        }
        Ok(Some(text))
    }

    /// Parses a text: in quotes, or one word.
    pub(super) fn text(&mut self, command: &str, what: &str, example: &str) -> Parsed<String> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        if let Some(text) = self.quoted()? {
            return Ok(text.to_owned());
        }
        let Some(word) = self.scan.word().filter(|word| !suggest::is_command(word)) else {
            self.scan.reset(start);
            return Err(self.missing(command, what, example));
        };
        let end = self.scan.mark();
        self.scan.skip_to_value();
        let next = self.scan.clone().word();
        let goes_on =
            |next: &str| suggest::is_command(next) || command == "Screen" && next == "Mask";
        if !self.scan.is_line_end() && !next.is_some_and(goes_on) {
            self.scan.chunk();
            let value = self.scan.since(start);
            let message = format!("the value {} of `{command}` has no quotes", show(value));
            return Err(self.error(start, value, message).hint(format!("write `{example}`")));
        }
        self.scan.reset(end);
        Ok(word.to_owned())
    }

    /// Parses a path or the name of a program: in quotes, or up to a blank.
    pub(super) fn path(&mut self, command: &str, what: &str, example: &str) -> Parsed<String> {
        self.scan.skip_to_value();
        let path = match self.quoted()? {
            Some(path) => Some(path),
            None => self.scan.path().filter(|path| !path.contains('\0')),
        };
        match path.filter(|path| !path.is_empty()) {
            Some(path) => Ok(path.to_owned()),
            None => Err(self.missing(command, what, example)),
        }
    }

    /// Parses a pattern that matches some text.
    pub(super) fn pattern(&mut self, command: &str, example: &str) -> Parsed<Regex> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let pattern = self.any_pattern(command, example)?;
        if pattern.as_str().is_empty() {
            let error = self.error(start, "//", "an empty pattern matches every screen");
            return Err(error.hint(format!("write `{example}`")));
        }
        Ok(pattern)
    }

    /// Parses a pattern.
    pub(super) fn any_pattern(&mut self, command: &str, example: &str) -> Parsed<Regex> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        if !self.scan.eat('/') {
            let error = self.missing(command, "a pattern between slashes", example);
            return match self.quoted()? {
                Some(text) if !text.is_empty() && !text.contains('/') => {
                    Err(error.hint(format!("write `{command} /{}/`", shorten(text))))
                }
                _ => Err(error),
            };
        }
        let inside = self.scan.mark();
        let Some(text) = self.scan.delimited('/', true) else {
            let value = self.scan.since(start);
            let error = self.error(start, value, "the pattern has no closing /");
            return Err(error.hint("write a / inside a pattern as \\/"));
        };
        let end = self.scan.mark();
        if self.scan.peek().is_some_and(char::is_alphanumeric) {
            let flags = self.scan.chunk();
            let message = format!("{} after a pattern is not a command", show(flags));
            let error = self.error(end, flags, message);
            return Err(error.hint("write flags inside the pattern, such as `/(?i)text/`"));
        }
        self.regex(inside, end, text)
    }

    /// Compiles the pattern between two places.
    pub(super) fn regex(&mut self, inside: Mark, end: Mark, text: &str) -> Parsed<Regex> {
        Regex::new(text).map_err(|error| {
            self.scan.reset(inside);
            self.scan.advance_to(inside.at + error.offset);
            let mark = self.scan.mark();
            self.scan.reset(end);
            self.error(mark, text, error.message)
        })
    }

    /// Parses the name of a golden.
    pub(super) fn screen_name(&mut self) -> Parsed<String> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let name = self.text("Screen", "a name", "Screen \"menu\"")?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let starts = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.len() > SCREEN_NAME_MAX {
            let message =
                format!("the name of the screen has more than {SCREEN_NAME_MAX} characters");
            return Err(self.error(start, &name, message).hint("shorten it"));
        }
        if !name.starts_with(starts) || !name.chars().all(allowed) {
            let fixed: String = name.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
            let fixed = match fixed.trim_start_matches(|c| !starts(c)) {
                "" => "menu",
                fixed => fixed,
            };
            let message = format!("the name {} of the screen is not a file name", show(&name));
            let suggestion = format!("write `Screen \"{}\"`", shorten(fixed));
            return Err(self.error(start, &name, message).hint(suggestion));
        }
        Ok(name)
    }

    /// Parses the name and the value of a variable.
    pub(super) fn env(&mut self, command: &str) -> Parsed<Action> {
        let example = format!("{command} NAME \"value\"");
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let name = match self.quoted()? {
            Some(name) => name,
            None => self.scan.word().unwrap_or_default(),
        };
        if name.is_empty() {
            return Err(self.missing(command, "a name and a value", &example));
        }
        if name.contains('=') {
            let message = format!("the name {} of a variable contains `=`", show(name));
            return Err(self.error(start, name, message).hint(format!("write `{example}`")));
        }
        let value = self.text(command, "a value", &format!("{command} {name} \"value\""))?;
        Ok(Action::Env { name: name.to_owned(), value })
    }
}

/// Parses digits with at most one point.
fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}
