//! Writes commands in their canonical form, which parses to the same commands.

use std::fmt;
use std::time::Duration;

use super::command::{
    Action, Command, Expectation, KeyPress, Scroll, Setting, Tape, TapeKey, WaitScope,
};
use super::pattern::Regex;
use super::theme::Theme;
use super::{keys, settings};

impl fmt::Display for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.commands.iter().try_for_each(|command| writeln!(f, "{command}"))
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.action.fmt(f)
    }
}

impl fmt::Display for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("/")?;
        let mut chars = self.as_str().chars();
        while let Some(c) = chars.next() {
            match c {
                '/' => f.write_str("\\/")?,
                '\\' => {
                    f.write_str("\\")?;
                    chars.next().map_or(Ok(()), |escaped| write!(f, "{escaped}"))?;
                }
                _ => write!(f, "{c}")?,
            }
        }
        f.write_str("/")
    }
}

impl fmt::Display for TapeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TapeKey::Char(c) => write!(f, "{c}"),
            TapeKey::Function(number) => write!(f, "F{number}"),
            key => {
                let name = keys::NAMED.iter().find(|(_, named)| named == key).map(|(name, _)| name);
                f.write_str(name.expect("the table has all other keys"))
            }
        }
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (held, name) in [self.ctrl, self.alt, self.shift].into_iter().zip(keys::MODIFIERS) {
            if held {
                write!(f, "{name}+")?;
            }
        }
        self.key.fmt(f)
    }
}

/// A time: `500ms`, or seconds if it is not a whole number of milliseconds.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.as_secs(), self.0.subsec_nanos());
        match nanos {
            0 => write!(f, "{seconds}s"),
            _ if nanos % 1_000_000 == 0 => write!(f, "{}ms", self.0.as_millis()),
            _ => write!(f, "{seconds}.{nanos:09}s"),
        }
    }
}

/// An optional `@500ms`.
struct At(Option<Duration>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |time| write!(f, "@{}", Time(time)))
    }
}

/// A count, left out if it is 1.
struct Count(u32);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 1 { Ok(()) } else { write!(f, " {}", self.0) }
    }
}

/// Texts in quotes. A text with all three quotes becomes several, which the parser joins with spaces.
struct Quoted<'t>(&'t str);

/// Returns a quote that a text does not contain.
fn quote(text: &str) -> Option<char> {
    ['"', '\'', '`'].into_iter().find(|quote| !text.contains(*quote))
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        loop {
            // The longest start of the rest that ends before a space and has a quote left.
            let mut ends = rest.match_indices(' ').map(|(at, _)| at).chain([rest.len()]);
            let end = ends.rfind(|end| quote(&rest[..*end]).is_some());
            let part = &rest[..end.unwrap_or(rest.len())];
            let quote = quote(part).unwrap_or('"');
            write!(f, "{quote}{part}{quote}")?;
            rest = match rest[part.len()..].strip_prefix(' ') {
                Some(rest) => rest,
                None => return Ok(()),
            };
            f.write_str(" ")?;
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.name())?;
        match self {
            Setting::Shell(text) | Setting::FontFamily(text) | Setting::MarginFill(text) => {
                Quoted(text).fmt(f)
            }
            Setting::Columns(number) | Setting::Rows(number) => number.fmt(f),
            Setting::Width(number)
            | Setting::Height(number)
            | Setting::FontSize(number)
            | Setting::Framerate(number)
            | Setting::Padding(number)
            | Setting::Margin(number)
            | Setting::BorderRadius(number)
            | Setting::WindowBarSize(number) => number.fmt(f),
            Setting::TypingSpeed(time) | Setting::WaitTimeout(time) => Time(*time).fmt(f),
            Setting::WaitPattern(pattern) => pattern.fmt(f),
            Setting::Theme(Theme::Named(name)) => Quoted(name).fmt(f),
            Setting::Theme(Theme::Colors(colors)) => f.write_str(&colors.to_json()),
            Setting::LetterSpacing(number)
            | Setting::LineHeight(number)
            | Setting::PlaybackSpeed(number) => number.fmt(f),
            Setting::LoopOffset(percent) => write!(f, "{percent}%"),
            Setting::WindowBar(bar) => {
                let named = settings::WINDOW_BARS.iter().find(|(_, named)| Some(*named) == *bar);
                f.write_str(named.map_or("\"\"", |(name, _)| name))
            }
            Setting::CursorBlink(blinks) => blinks.fmt(f),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Output { path, .. } => write!(f, "Output {}", Quoted(path)),
            Action::Require(program) => write!(f, "Require {}", Quoted(program)),
            Action::Set(setting) => write!(f, "Set {setting}"),
            Action::Env { name, value } => write!(f, "Env {} {}", Quoted(name), Quoted(value)),
            Action::Type { text, speed } => write!(f, "Type{} {}", At(*speed), Quoted(text)),
            Action::Press { key, count, speed } => {
                write!(f, "{key}{}{}", At(*speed), Count(*count))
            }
            Action::Scroll { direction, count, speed } => {
                let name = match direction {
                    Scroll::Up => "ScrollUp",
                    Scroll::Down => "ScrollDown",
                };
                write!(f, "{name}{}{}", At(*speed), Count(*count))
            }
            Action::Sleep(time) => write!(f, "Sleep {}", Time(*time)),
            Action::Wait { scope, timeout, pattern } => {
                let scope = match scope {
                    WaitScope::Line => "",
                    WaitScope::Screen => "+Screen",
                };
                write!(f, "Wait{scope}{}", At(*timeout))?;
                pattern.as_ref().map_or(Ok(()), |pattern| write!(f, " {pattern}"))
            }
            Action::Hide => f.write_str("Hide"),
            Action::Show => f.write_str("Show"),
            Action::Screenshot { path, .. } => write!(f, "Screenshot {}", Quoted(path)),
            Action::Copy(text) => write!(f, "Copy {}", Quoted(text)),
            Action::Paste => f.write_str("Paste"),
            Action::Source { path, .. } => write!(f, "Source {}", Quoted(path)),
            Action::Expect { expectation, timeout } => {
                write!(f, "Expect{} {expectation}", At(*timeout))
            }
            Action::Settle { quiet, timeout } => {
                write!(f, "Settle{} {}", At(*timeout), Time(*quiet))
            }
            Action::Run { command, any_status, timeout } => {
                let any = if *any_status { "!" } else { "" };
                write!(f, "Run{any}{} {}", At(*timeout), Quoted(command))
            }
            Action::Screen { name, masks, timeout } => {
                write!(f, "Screen{} {}", At(*timeout), Quoted(name))?;
                masks.iter().try_for_each(|mask| write!(f, " Mask {mask}"))
            }
            Action::Click { pattern, timeout } => write!(f, "Click{} {pattern}", At(*timeout)),
            Action::Resize { columns, rows } => write!(f, "Resize {columns} {rows}"),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Text(pattern) => pattern.fmt(f),
            Expectation::Gone(pattern) => write!(f, "Gone {pattern}"),
            Expectation::Selected(pattern) => write!(f, "Selected {pattern}"),
            Expectation::Title(pattern) => write!(f, "Title {pattern}"),
            Expectation::Frame(pattern) => write!(f, "Frame {pattern}"),
            Expectation::Exit(status) => write!(f, "Exit {status}"),
        }
    }
}
