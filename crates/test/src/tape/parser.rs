//! The parser: commands one after another, with all errors of a tape.

use std::io;
use std::sync::Arc;

use super::command::{
    Action, Command, Expectation, OutputFormat, Position, ScreenshotFormat, Scroll, Tape,
    TapeError, WaitScope,
};
use super::scan::{Mark, Scanner, is_quote};
use super::{check, suggest};

/// Maximum bytes of a tape: hours of typing. A larger file is not a tape.
pub const TAPE_MAX: usize = 1 << 20;

/// Maximum number of `Source` commands in a tape: with [`TAPE_MAX`] it bounds the memory of a tape.
pub const SOURCES_MAX: usize = 64;

/// Maximum number of errors: more of them means that the file is not a tape.
pub const ERRORS_MAX: usize = 1000;

/// Maximum characters of a value in an error: half a line.
const VALUE_MAX: usize = 60;

/// Returns the text of a sourced tape.
pub(super) type Load<'t> = &'t dyn Fn(&str) -> io::Result<String>;

/// The result of a part of the parser. After an error it goes on at the next command in the line.
pub(super) type Parsed<T> = Result<T, TapeError>;

/// Parses a tape. `load` returns the text of a tape that a `Source` command names.
///
/// # Errors
/// Returns all errors of the tape and of its sources, in order.
pub fn parse(
    text: &str,
    load: &dyn Fn(&str) -> io::Result<String>,
) -> Result<Tape, Vec<TapeError>> {
    let mut parser = Parser::new(text, None, Some(load));
    let commands = parser.commands();
    let mut errors = parser.errors;
    errors.extend(check::misuses(&commands));
    errors.sort_by(|a, b| a.position.cmp(&b.position));
    if errors.is_empty() {
        let mut tape = Tape { commands, warnings: Vec::new() };
        tape.warnings = check::warnings(&tape);
        return Ok(tape);
    }
    Err(errors)
}

/// The state of the parser of one tape.
pub(super) struct Parser<'t> {
    pub(super) scan: Scanner<'t>,
    file: Option<Arc<str>>,
    /// `None` inside a sourced tape.
    load: Option<Load<'t>>,
    sources: usize,
    errors: Vec<TapeError>,
}

/// Returns the start of a value.
pub(super) fn shorten(value: &str) -> String {
    let mut short: String = value.chars().take(VALUE_MAX).collect();
    if short.len() < value.len() {
        short.push('…');
    }
    short
}

/// Returns a value in quotes for an error. A text of the tape has them already.
pub(super) fn show(value: &str) -> String {
    let mut shown = String::new();
    for c in shorten(value).chars() {
        match c.is_control() {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    if shown.starts_with(is_quote) { shown } else { format!("\"{shown}\"") }
}

impl TapeError {
    /// Sets the next step.
    pub(super) fn hint(self, suggestion: impl Into<String>) -> TapeError {
        TapeError { suggestion: Some(suggestion.into()), ..self }
    }
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, file: Option<Arc<str>>, load: Option<Load<'t>>) -> Parser<'t> {
        Parser { scan: Scanner::new(text), file, load, sources: 0, errors: Vec::new() }
    }

    fn position(&self, mark: Mark) -> Position {
        Position { file: self.file.clone(), line: mark.line, column: mark.column }
    }

    /// Returns an error about the value at a place.
    pub(super) fn error(&self, mark: Mark, value: &str, message: impl Into<String>) -> TapeError {
        let (position, value) = (self.position(mark), shorten(value));
        TapeError { position, value, message: message.into(), suggestion: None }
    }

    /// Adds an error after which the command is parsed further.
    pub(super) fn report(&mut self, error: TapeError) {
        self.errors.push(error);
    }

    /// Returns the error that a command has no value of the right kind at the current place.
    pub(super) fn missing(&mut self, command: &str, what: &str, example: &str) -> TapeError {
        self.scan.skip_to_value();
        let mark = self.scan.mark();
        let value = self.next_value();
        self.scan.reset(mark);
        let message = match value {
            "" => format!("`{command}` needs {what}"),
            _ => format!("`{command}` needs {what}, not {}", show(value)),
        };
        self.error(mark, value, message).hint(format!("write `{example}`"))
    }

    /// Reads what a person sees as the next value: a text in quotes, or everything up to a blank.
    fn next_value(&mut self) -> &'t str {
        if self.scan.is_line_end() {
            return "";
        }
        let start = self.scan.mark();
        if let Some(quote) = self.scan.peek().filter(|&c| is_quote(c)) {
            self.scan.bump();
            if self.scan.delimited(quote, false).is_some() {
                return self.scan.since(start);
            }
            self.scan.reset(start);
        }
        self.scan.chunk()
    }

    /// Parses all commands.
    fn commands(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        let text = self.scan.rest();
        if text.len() > TAPE_MAX {
            let message = format!("the tape has {} bytes, and {TAPE_MAX} are allowed", text.len());
            let error = self.error(self.scan.mark(), "", message).hint("split it");
            self.errors.push(error);
            return commands;
        }
        let first = self.scan.mark();
        while self.scan.skip_to_command() {
            let start = self.scan.mark();
            match self.command() {
                Ok(action) => {
                    let source = self.scan.since(start).trim_end().to_owned();
                    commands.push(Command { action, position: self.position(start), source });
                }
                Err(_) if self.errors.len() >= ERRORS_MAX => {
                    let message = format!("the tape has more than {ERRORS_MAX} errors");
                    let error = self.error(start, "", message).hint("correct the others first");
                    self.errors.push(error);
                    return commands;
                }
                Err(error) => {
                    self.errors.push(error);
                    self.recover();
                }
            }
        }
        if commands.is_empty() && self.errors.is_empty() {
            let error = self.error(first, "", "the tape has no command");
            self.errors.push(error.hint("write one, such as `Type \"ls\" Enter`"));
        }
        commands
    }

    /// Advances to the next command in the line, or to the end of the line.
    fn recover(&mut self) {
        while !self.scan.is_line_end() {
            self.scan.skip_blanks();
            match self.scan.peek() {
                Some(delimiter @ ('"' | '\'' | '`' | '/')) => {
                    self.scan.bump();
                    self.scan.delimited(delimiter, delimiter == '/');
                }
                _ if self.scan.clone().word().is_some_and(suggest::is_command) => return,
                _ => {
                    self.scan.bump();
                    let ends = |c: char| c.is_whitespace() || matches!(c, '#' | '"' | '\'' | '`');
                    self.scan.take_while(|c| !ends(c));
                }
            }
        }
    }

    fn command(&mut self) -> Parsed<Action> {
        let start = self.scan.mark();
        let Some(word) = self.scan.word() else { return Err(self.not_a_command(start)) };
        if let Some(press) = self.press(word)? {
            return Ok(press);
        }
        Ok(match word {
            "Output" => self.output()?,
            "Require" => Action::Require(self.path(word, "a program", "Require vim")?),
            "Set" => self.set()?,
            "Env" => self.env("Env")?,
            "Type" => {
                let speed = self.speed(word)?;
                Action::Type { text: self.texts(word, "Type \"text\"")?, speed }
            }
            "ScrollUp" => self.scroll(word, Scroll::Up)?,
            "ScrollDown" => self.scroll(word, Scroll::Down)?,
            "Sleep" => Action::Sleep(self.time(word, "Sleep 500ms")?),
            "Wait" => self.wait()?,
            "Hide" => Action::Hide,
            "Show" => Action::Show,
            "Screenshot" => self.screenshot()?,
            "Copy" => Action::Copy(self.texts(word, "Copy \"text\"")?),
            "Paste" => Action::Paste,
            "Source" => self.source()?,
            "Expect" => self.expect()?,
            "Settle" => {
                let timeout = self.timeout(word)?;
                Action::Settle { quiet: self.positive_time(word, "Settle 300ms")?, timeout }
            }
            "Run" => {
                let any_status = self.scan.eat('!');
                let timeout = self.timeout(word)?;
                Action::Run { command: self.texts(word, "Run \"make\"")?, any_status, timeout }
            }
            "Screen" => self.screen()?,
            "Click" => {
                let timeout = self.timeout(word)?;
                Action::Click { pattern: self.pattern(word, "Click /OK/")?, timeout }
            }
            "Resize" => self.resize()?,
            _ => {
                self.scan.reset(start);
                let word = self.scan.chunk();
                let message = format!("the command {} is not known", show(word));
                let error = self.error(start, word, message);
                return Err(
                    error.hint(suggest::command(word).unwrap_or_else(suggest::all_commands))
                );
            }
        })
    }

    fn not_a_command(&mut self, start: Mark) -> TapeError {
        let value = self.next_value();
        let suggestion = match value.chars().next() {
            Some('"' | '\'' | '`') => "text belongs after a command, such as `Type \"text\"`",
            Some('/') => "a pattern belongs after a command, such as `Expect /text/`",
            Some('0'..='9') => "a number belongs after a command, such as `Enter 2`",
            Some('@') => "a time belongs directly after a command, such as `Type@50ms \"text\"`",
            Some('+') => "`+` belongs after `Ctrl`, `Alt`, `Shift` or `Wait`",
            Some('\\') => "texts have no escapes: write a text with \" as '…' or `…`",
            _ => "write a command, such as `Type \"text\"`",
        };
        // The part after a text or a first character may be a command.
        if !value.starts_with(is_quote) {
            self.scan.reset(start);
            self.scan.bump();
        }
        self.error(start, value, format!("{} is not a command", show(value))).hint(suggestion)
    }

    fn scroll(&mut self, word: &str, direction: Scroll) -> Parsed<Action> {
        let speed = self.speed(word)?;
        Ok(Action::Scroll { direction, count: self.count(word)?, speed })
    }

    fn output(&mut self) -> Parsed<Action> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let path = self.path("Output", "a file", "Output demo.gif")?;
        let format = OutputFormat::of(&path).ok_or_else(|| {
            let message = format!("the format of the output {} is not known", show(&path));
            let known = "use .gif, .svg, .png, .cast, .txt, .ascii or .html";
            self.error(start, &path, message).hint(known)
        })?;
        Ok(Action::Output { path, format })
    }

    fn screenshot(&mut self) -> Parsed<Action> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let path = self.path("Screenshot", "a file", "Screenshot screen.png")?;
        let format = match extension(&path).as_deref() {
            Some("png") => ScreenshotFormat::Png,
            Some("svg") => ScreenshotFormat::Svg,
            Some("txt" | "ascii") => ScreenshotFormat::Text,
            _ => {
                let message = format!("the format of the screenshot {} is not known", show(&path));
                return Err(self.error(start, &path, message).hint("use .png, .svg or .txt"));
            }
        };
        Ok(Action::Screenshot { path, format })
    }

    fn wait(&mut self) -> Parsed<Action> {
        let mut scope = WaitScope::Line;
        if self.eat_value('+') {
            self.scan.skip_to_value();
            let start = self.scan.mark();
            scope = match self.scan.word() {
                Some("Line") => WaitScope::Line,
                Some("Screen") => WaitScope::Screen,
                _ => {
                    self.scan.reset(start);
                    return Err(self.missing("Wait+", "`Line` or `Screen`", "Wait+Screen /text/"));
                }
            };
        }
        let timeout = self.timeout("Wait")?;
        self.scan.skip_to_value();
        let has_pattern = matches!(self.scan.peek(), Some('/' | '"' | '\'' | '`'));
        let pattern = match has_pattern {
            true => Some(self.any_pattern("Wait", "Wait /text/")?),
            false => None,
        };
        Ok(Action::Wait { scope, timeout, pattern })
    }

    fn expect(&mut self) -> Parsed<Action> {
        if self.scan.peek() == Some('+') {
            let error = self.error(self.scan.mark(), "+", "`Expect` has no `+`");
            return Err(error.hint("write `Expect Gone /text/` or `Expect /text/`"));
        }
        let timeout = self.timeout("Expect")?;
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let expectation = match self.scan.word() {
            None => Expectation::Text(self.pattern("Expect", "Expect /text/")?),
            Some("Gone") => Expectation::Gone(self.pattern("Expect Gone", "Expect Gone /text/")?),
            Some("Selected") => {
                Expectation::Selected(self.pattern("Expect Selected", "Expect Selected /text/")?)
            }
            Some("Title") => {
                Expectation::Title(self.pattern("Expect Title", "Expect Title /text/")?)
            }
            Some("Frame") => {
                Expectation::Frame(self.pattern("Expect Frame", "Expect Frame /text/")?)
            }
            Some("Exit") => {
                let range = 0..=u32::from(u8::MAX);
                let status = self.integer("Expect Exit", range, "Expect Exit 0")?;
                Expectation::Exit(u8::try_from(status).expect("the range is that of a byte"))
            }
            Some(word) if suggest::is_command(word) => {
                self.scan.reset(start);
                return Err(self.missing("Expect", "a pattern", "Expect /text/"));
            }
            Some(word) => {
                let message = format!("the expectation {} is not known", show(word));
                let names = ["Gone", "Selected", "Title", "Frame", "Exit"];
                let error = self.error(start, word, message);
                return Err(error.hint(suggest::nearest(word, names.into_iter()).unwrap_or_else(
                    || "write `Expect /text/`, or Gone, Selected, Title, Frame or Exit".to_owned(),
                )));
            }
        };
        Ok(Action::Expect { expectation, timeout })
    }

    fn screen(&mut self) -> Parsed<Action> {
        let timeout = self.timeout("Screen")?;
        let name = self.screen_name()?;
        let mut masks = Vec::new();
        while self.eat_word("Mask") {
            masks.push(self.pattern("Mask", "Screen \"menu\" Mask /\\d+/")?);
        }
        Ok(Action::Screen { name, masks, timeout })
    }

    fn resize(&mut self) -> Parsed<Action> {
        let columns = self.columns("Resize", "Resize 100 30")?;
        let rows = self.rows("Resize", "Resize 100 30")?;
        Ok(Action::Resize { columns, rows })
    }

    fn source(&mut self) -> Parsed<Action> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let path = self.path("Source", "a tape", "Source other.tape")?;
        let shown = show(&path);
        let error = |message: String| self.error(start, &path, message);
        if extension(&path).as_deref() != Some("tape") {
            let error = error(format!("the source {shown} is not a .tape file"));
            return Err(error.hint("write `Source other.tape`"));
        }
        let Some(load) = self.load else {
            let error = error(format!("the source {shown} is inside a sourced tape"));
            return Err(error.hint("source it from the main tape"));
        };
        if self.sources == SOURCES_MAX {
            let error = error(format!("the tape has more than {SOURCES_MAX} sources"));
            return Err(error.hint("join some of them"));
        }
        self.sources += 1;
        let text = match load(&path) {
            Ok(text) => text,
            Err(cause) => {
                let error =
                    self.error(start, &path, format!("the source {shown} cannot be read: {cause}"));
                return Err(error.hint("correct the path"));
            }
        };
        let mut parser = Parser::new(&text, Some(Arc::from(path.as_str())), None);
        let mut commands = parser.commands();
        self.errors.append(&mut parser.errors);
        // The outputs of a sourced tape would replace those of the main tape.
        commands.retain(|command| !matches!(command.action, Action::Output { .. }));
        Ok(Action::Source { path, commands })
    }
}

impl OutputFormat {
    /// Returns the format of a file by its extension, or `None` if it is not known.
    pub fn of(path: &str) -> Option<OutputFormat> {
        Some(match extension(path).as_deref() {
            Some("gif") => OutputFormat::Gif,
            Some("svg") => OutputFormat::Svg,
            Some("png") => OutputFormat::Png,
            Some("cast") => OutputFormat::Cast,
            Some("txt" | "ascii" | "test") => OutputFormat::Text,
            Some("html") => OutputFormat::Html,
            Some("mp4") => OutputFormat::Mp4,
            Some("webm") => OutputFormat::Webm,
            None if path.ends_with('/') => OutputFormat::Frames,
            _ => return None,
        })
    }
}

/// Returns the extension of a path in lower case, without the dot. A name such as `.gif` is an extension, as in VHS.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    Some(extension.to_ascii_lowercase())
}
