//! Mouse input, at a cell or at a text on the screen.

use std::sync::Arc;

use awaitty_core::{Mouse, MouseAction, Pattern, Screen, Selection, spans_on_screen};
use serde::Deserialize;

use super::params::pattern;
use crate::export::{Place, Pointer, escape};
use crate::text;
use awaitty_terminal::ToolError;

/// The maximum number of matches that an error names.
const PLACES_MAX: usize = 10;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MouseItem {
    pub(super) mouse: MouseParam,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MouseParam {
    /// From 1.
    row: Option<usize>,
    /// From 1.
    col: Option<usize>,
    /// Instead of both: a regex; the middle of its only match on the screen.
    text: Option<String>,
    /// "click" (default), "press", "release" or "move".
    action: Option<String>,
    /// "left" (default), "middle", "right", "wheel_up", "wheel_down" or "none"; of "move" the default is "none".
    button: Option<String>,
}

/// The place of the mouse pointer.
#[derive(Clone, Debug)]
enum MousePlace {
    /// A cell, counted from 0.
    Cell { row: usize, col: usize },
    /// The only match of a pattern.
    Text(Arc<Pattern>),
}

/// A checked mouse input. A text is searched when it is sent.
#[derive(Clone, Debug)]
pub(super) struct MouseInput {
    place: MousePlace,
    button: u8,
    actions: Vec<MouseAction>,
}

impl MouseInput {
    /// Checks a parameter.
    pub(super) fn new(param: &MouseParam) -> Result<MouseInput, ToolError> {
        let is_move = param.action.as_deref() == Some("move");
        // A move without a button is not a drag.
        let button = match param.button.as_deref().unwrap_or(if is_move { "none" } else { "left" })
        {
            "left" => 0,
            "middle" => 1,
            "right" => 2,
            "none" => 3,
            "wheel_up" => 64,
            "wheel_down" => 65,
            other => {
                return Err(ToolError::argument(format!(
                    "mouse.button: {other:?} is invalid: use left, middle, right, wheel_up, wheel_down or none"
                )));
            }
        };
        let actions = match param.action.as_deref().unwrap_or("click") {
            "press" => vec![MouseAction::Press],
            "release" => vec![MouseAction::Release],
            "move" => vec![MouseAction::Move],
            "click" if button >= 64 => vec![MouseAction::Press],
            "click" => vec![MouseAction::Press, MouseAction::Release],
            other => {
                return Err(ToolError::argument(format!(
                    "mouse.action: {other:?} is invalid: use click, press, release or move"
                )));
            }
        };
        Ok(MouseInput { place: MousePlace::new(param)?, button, actions })
    }

    /// Returns the use of the mouse as the log of the session has it.
    pub(super) fn pointer(&self, screen: &Screen) -> Pointer {
        let place = match &self.place {
            MousePlace::Text(pattern) => Place::Text(pattern.text().to_owned()),
            MousePlace::Cell { row, col } => {
                Place::Cell { row: row + 1, col: col + 1, pattern: text_at(*row, *col, screen) }
            }
        };
        let button = match self.button {
            0 => "left",
            1 => "middle",
            2 => "right",
            64 => "wheel_up",
            65 => "wheel_down",
            _ => "none",
        };
        let action = match self.actions[..] {
            [MouseAction::Press] => "press",
            [MouseAction::Release] => "release",
            [MouseAction::Move] => "move",
            _ => "click",
        };
        Pointer { place, button, action }
    }

    /// Returns the events for the current screen.
    pub(super) fn events(&self, screen: &Screen) -> Result<Vec<Mouse>, ToolError> {
        let (row, col) = match &self.place {
            MousePlace::Cell { row, col } => (*row, *col),
            MousePlace::Text(pattern) => find(pattern, screen)?,
        };
        let event = |&action: &MouseAction| Mouse { action, button: self.button, row, col };
        Ok(self.actions.iter().map(event).collect())
    }
}

impl MousePlace {
    fn new(param: &MouseParam) -> Result<MousePlace, ToolError> {
        match (param.row, param.col, &param.text) {
            (None, None, Some(text)) => Ok(MousePlace::Text(pattern(text, None)?)),
            (_, _, Some(_)) => Err(ToolError::argument(
                "mouse.text: it cannot be combined with row and col: leave out one of them",
            )),
            (Some(row), Some(col), None) => match (row.checked_sub(1), col.checked_sub(1)) {
                (Some(row), Some(col)) => Ok(MousePlace::Cell { row, col }),
                _ => Err(ToolError::argument(
                    "mouse: row and col start at 1, so 0 is not on the screen",
                )),
            },
            (_, _, None) => Err(ToolError::argument(
                "mouse: give row and col, or text: a regex that matches once on the screen",
            )),
        }
    }
}

/// Returns a pattern whose only match on the screen contains a cell: that of the word, or of the words around it.
fn text_at(row: usize, col: usize, screen: &Screen) -> Option<String> {
    let is_here = |span: &Selection| span.row == row && (span.from..span.to).contains(&col);
    [r"\w+", r"\S+", r"\S+(?: \S+)*"].into_iter().find_map(|part| {
        let parts = spans_on_screen(&Pattern::new(part, "").ok()?, screen);
        let found = escape(&parts.into_iter().find(is_here)?.text);
        let matches = spans_on_screen(&Pattern::new(&found, "").ok()?, screen);
        (matches.len() == 1).then_some(found)
    })
}

/// Returns the cell in the middle of the only match on the screen.
fn find(pattern: &Arc<Pattern>, screen: &Screen) -> Result<(usize, usize), ToolError> {
    let found = spans_on_screen(pattern, screen);
    match &found[..] {
        [only] => Ok((only.row, (only.from + only.to - 1) / 2)),
        [] => Err(ToolError::argument(format!(
            "mouse.text: {:?} matches nothing on the screen, so nothing was sent: check the screen with snapshot",
            pattern.text()
        ))),
        all => {
            let describe = |span: &Selection| {
                let Selection { row, from, text, .. } = span;
                format!("row {} col {} {:?}", row + 1, from + 1, text::line(text))
            };
            let mut places: Vec<String> = all.iter().take(PLACES_MAX).map(describe).collect();
            if all.len() > PLACES_MAX {
                places.push(format!("and {} more", all.len() - PLACES_MAX));
            }
            Err(ToolError::new(
                "ambiguous",
                format!(
                    "mouse.text: {:?} matches {} times, so nothing was sent: {}. Make it match once, or give row and col",
                    pattern.text(),
                    all.len(),
                    places.join("; ")
                ),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use awaitty_core::encode_mouse;
    use serde_json::json;

    use super::*;

    /// Returns the bytes of a click on a screen that reports all motion, or the code of the error.
    fn bytes(printed: &str, mouse: serde_json::Value) -> Result<String, &'static str> {
        let mut screen = Screen::new(40, 5, 0);
        screen.feed(b"\x1b[?1003h\x1b[?1006h\x1b[?1016h");
        screen.feed(printed.as_bytes());
        let param: MouseParam = serde_json::from_value(mouse).unwrap();
        let events = MouseInput::new(&param).and_then(|input| input.events(&screen));
        let events = events.map_err(|error| error.code)?;
        let bytes = events.into_iter().flat_map(|event| encode_mouse(event, &screen));
        Ok(String::from_utf8(bytes.collect()).unwrap())
    }

    #[test]
    fn a_move_without_a_button_is_not_a_drag() {
        let at = |action: &str, button: Option<&str>| {
            bytes("", json!({"row": 2, "col": 3, "action": action, "button": button}))
        };
        assert_eq!(at("move", None), Ok("\x1b[<35;3;2M".to_owned()));
        assert_eq!(at("move", Some("left")), Ok("\x1b[<32;3;2M".to_owned()));
        assert_eq!(at("click", None), Ok("\x1b[<0;3;2M\x1b[<0;3;2m".to_owned()));
    }

    #[test]
    fn a_click_on_a_cell_is_logged_with_the_text_there() {
        let mut screen = Screen::new(40, 5, 0);
        screen.feed(b"yes no\r\n[ OK ] yes you");
        let at = |row, col| text_at(row, col, &screen);
        assert_eq!(at(0, 4).as_deref(), Some("no"));
        assert_eq!(at(1, 0).as_deref(), Some(r"\["));
        assert_eq!(at(1, 2).as_deref(), Some("OK"));
        assert_eq!(at(1, 7).as_deref(), Some(r"\[ OK \] yes you"), "`yes` occurs twice");
        assert_eq!(at(3, 3), None);
    }

    #[test]
    fn the_middle_of_the_only_match_is_clicked() {
        let click = |printed: &str, text: &str| bytes(printed, json!({"text": text}));
        let ok = "< No >\r\n世界 [ OK ]";
        assert_eq!(click(ok, r"\[ OK \]"), Ok("\x1b[<0;8;2M\x1b[<0;8;2m".to_owned()));
        assert_eq!(click(ok, "Cancel"), Err("bad_argument"));
        assert_eq!(click("OK OK", "OK"), Err("ambiguous"));
        let both = json!({"text": "OK", "row": 1, "col": 1});
        assert_eq!(bytes(ok, both), Err("bad_argument"));
        assert_eq!(bytes(ok, json!({"row": 1})), Err("bad_argument"));
        let many = "a ".repeat(PLACES_MAX + 1);
        let mut screen = Screen::new(40, 5, 0);
        screen.feed(many.as_bytes());
        let error = find(&pattern("a", None).unwrap(), &screen).unwrap_err();
        assert!(error.message.contains("; and 1 more"), "{}", error.message);
        assert_eq!(error.message.matches("row 1 col").count(), PLACES_MAX);
    }
}
