//! What a test expects of a terminal.
//!
//! Rows and columns count from 1, as in reports, goldens and tapes.

use std::fmt;
use std::time::Duration;

use awaitty_terminal::core::Since;

use crate::style::Style;

/// The time for which the screen must be unchanged in [`settled`].
pub const SETTLED: Duration = Duration::from_millis(300);

/// Something that a test expects of a terminal; see [`Terminal::expect`](crate::Terminal::expect).
#[derive(Clone, Debug)]
#[must_use = "an expectation does nothing until `expect` waits for it"]
pub struct Expectation {
    pub(crate) what: What,
    pub(crate) since: Since,
    pub(crate) within: Option<Duration>,
    pub(crate) nth: Option<usize>,
}

/// The kind of an expectation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Text(String),
    Gone(String),
    Selected(String),
    Title(String),
    CursorRow(String),
    Cursor { row: usize, col: usize },
    Styled(String, Style),
    Exit(i32),
    Settled(Duration),
    Ready,
}

fn new(what: What) -> Expectation {
    Expectation { what, since: Since::Input, within: None, nth: None }
}

/// Expects text that matches a regular expression, drawn since the last input. The echo of the input does not count.
///
/// `^` and `$` match at the ends of rows. A program that redraws only the cells that change leaves a text in place that
/// two of its screens share; [`in_frame`](Expectation::in_frame) accepts it.
pub fn text(regex: impl Into<String>) -> Expectation {
    new(What::Text(regex.into()))
}

/// Expects that no text on the screen matches a regular expression. If none matched before the input either, the
/// program must have come to rest, so that text that has not appeared yet does not count as gone.
pub fn gone(regex: impl Into<String>) -> Expectation {
    new(What::Gone(regex.into()))
}

/// Expects a highlighted span that matches a regular expression, such as the current entry of a menu: text that is
/// inverse or has its own background, unlike the rows above and below it.
pub fn selected(regex: impl Into<String>) -> Expectation {
    new(What::Selected(regex.into()))
}

/// Expects a title of the window that matches a regular expression.
pub fn title(regex: impl Into<String>) -> Expectation {
    new(What::Title(regex.into()))
}

/// Expects that the row of the cursor matches a regular expression, such as the prompt of a shell. The row is tried as
/// it is, with the blank at the end of a prompt, and without blanks at its end.
pub fn cursor_row(regex: impl Into<String>) -> Expectation {
    new(What::CursorRow(regex.into()))
}

/// Expects the cursor in a row and column, from 1, while the program is at rest.
pub fn cursor(row: usize, col: usize) -> Expectation {
    new(What::Cursor { row, col })
}

/// Expects text in one row that matches a regular expression and has a style in all of its cells except blanks.
pub fn styled(regex: impl Into<String>, style: Style) -> Expectation {
    new(What::Styled(regex.into(), style))
}

/// Expects that the program exits with a status.
pub fn exit(code: i32) -> Expectation {
    new(What::Exit(code))
}

/// Expects that the program has read its input, is not busy, and the text has been unchanged for [`SETTLED`].
pub fn settled() -> Expectation {
    new(What::Settled(SETTLED))
}

/// Expects that a shell is at its prompt, or that the program has reacted to its input and waits for more.
pub fn ready() -> Expectation {
    new(What::Ready)
}

impl Expectation {
    /// Accepts text that the program did not draw again, if it is in a frame that is newer than the last input and
    /// differs from the one before by more than the echo. For [`text`] only; others judge whole frames anyway.
    pub fn in_frame(self) -> Expectation {
        Expectation { since: Since::InputFrame, ..self }
    }

    /// Accepts any visible text, also from before the last input. For [`text`] only.
    pub fn on_screen(self) -> Expectation {
        Expectation { since: Since::Screen, ..self }
    }

    /// Sets the timeout. Default: that of the [`Builder`](crate::Builder).
    pub fn within(self, timeout: Duration) -> Expectation {
        Expectation { within: Some(timeout), ..self }
    }

    /// Chooses one of several matches, from 0, in the order of the rows. For
    /// [`Terminal::click`](crate::Terminal::click) only.
    pub fn nth(self, nth: usize) -> Expectation {
        Expectation { nth: Some(nth), ..self }
    }

    /// Describes what a wait looks for, such as `text /Main menu/ drawn since the last input`.
    pub(crate) fn words(&self) -> String {
        match &self.what {
            What::Text(regex) => {
                let since = match self.since {
                    Since::InputFrame => "in a frame since the last input",
                    Since::Screen => "on the screen",
                    Since::Input | Since::Now | Since::Frame(_) => "drawn since the last input",
                };
                format!("text /{regex}/ {since}")
            }
            What::Gone(regex) => format!("no text /{regex}/ on the screen"),
            What::Selected(regex) => format!("a selection /{regex}/"),
            What::Title(regex) => format!("a title /{regex}/"),
            What::CursorRow(regex) => format!("text /{regex}/ in the row of the cursor"),
            What::Cursor { row, col } => format!("the cursor at row {row}, column {col}"),
            What::Styled(regex, style) => format!("text /{regex}/ with {style}"),
            What::Exit(code) => format!("an exit with status {code}"),
            What::Settled(quiet) => {
                format!("a program that is not busy and a screen unchanged for {quiet:?}")
            }
            What::Ready => "a program that waits for input".to_owned(),
        }
    }
}

/// Writes the expectation as the test calls it.
impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Text(regex) => write!(f, "text({regex:?})")?,
            What::Gone(regex) => write!(f, "gone({regex:?})")?,
            What::Selected(regex) => write!(f, "selected({regex:?})")?,
            What::Title(regex) => write!(f, "title({regex:?})")?,
            What::CursorRow(regex) => write!(f, "cursor_row({regex:?})")?,
            What::Cursor { row, col } => write!(f, "cursor({row}, {col})")?,
            What::Styled(regex, style) => write!(f, "styled({regex:?}, {style})")?,
            What::Exit(code) => write!(f, "exit({code})")?,
            What::Settled(_) => f.write_str("settled()")?,
            What::Ready => f.write_str("ready()")?,
        }
        match self.since {
            Since::InputFrame => f.write_str(".in_frame()")?,
            Since::Screen => f.write_str(".on_screen()")?,
            Since::Input | Since::Now | Since::Frame(_) => {}
        }
        if let Some(nth) = self.nth {
            write!(f, ".nth({nth})")?;
        }
        if let Some(within) = self.within {
            write!(f, ".within({within:?})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_shown_as_it_is_written() {
        let all = [
            text(r"\d+").in_frame().within(Duration::from_secs(2)),
            gone("Loading").on_screen(),
            selected("Two").nth(1),
            title("vim"),
            cursor(3, 5),
            styled("error", Style::new().bold()),
            exit(0),
            settled(),
            ready(),
        ];
        let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
        let expected = [
            r#"text("\\d+").in_frame().within(2s)"#,
            r#"gone("Loading").on_screen()"#,
            r#"selected("Two").nth(1)"#,
            r#"title("vim")"#,
            "cursor(3, 5)",
            r#"styled("error", Style::new().bold())"#,
            "exit(0)",
            "settled()",
            "ready()",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_expectation_names_what_it_looks_for() {
        assert_eq!(text("a").words(), "text /a/ drawn since the last input");
        assert_eq!(text("a").in_frame().words(), "text /a/ in a frame since the last input");
        assert_eq!(text("a").on_screen().words(), "text /a/ on the screen");
        assert_eq!(cursor(1, 2).words(), "the cursor at row 1, column 2");
        assert_eq!(exit(3).words(), "an exit with status 3");
    }
}
