//! What a caller does with the mouse.

use awaitty_core::{Mouse, MouseAction};
use serde::Deserialize;

use crate::error::ToolError;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MouseItem {
    pub(super) mouse: MouseParam,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MouseParam {
    /// From 1.
    row: usize,
    /// From 1.
    col: usize,
    /// "click" (default), "press", "release" or "move".
    action: Option<String>,
    /// "left" (default), "middle", "right", "wheel_up", "wheel_down" or "none".
    button: Option<String>,
}

/// What is to be told of it.
pub(super) fn mouse(param: &MouseParam) -> Result<Vec<Mouse>, ToolError> {
    let button = match param.button.as_deref().unwrap_or("left") {
        "left" => 0,
        "middle" => 1,
        "right" => 2,
        "none" => 3,
        "wheel_up" => 64,
        "wheel_down" => 65,
        other => {
            return Err(ToolError::argument(format!(
                "mouse.button: {other:?} is not known: left, middle, right, wheel_up, wheel_down or none"
            )));
        }
    };
    let (Some(row), Some(col)) = (param.row.checked_sub(1), param.col.checked_sub(1)) else {
        return Err(ToolError::argument("mouse.row and mouse.col count from 1"));
    };
    let event = |action: MouseAction| Mouse { action, button, row, col };
    Ok(match param.action.as_deref().unwrap_or("click") {
        "press" => vec![event(MouseAction::Press)],
        "release" => vec![event(MouseAction::Release)],
        "move" => vec![event(MouseAction::Move)],
        "click" if button >= 64 => vec![event(MouseAction::Press)],
        "click" => vec![event(MouseAction::Press), event(MouseAction::Release)],
        other => {
            return Err(ToolError::argument(format!(
                "mouse.action: {other:?} is not known: click, press, release or move"
            )));
        }
    })
}
