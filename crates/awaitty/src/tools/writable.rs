//! Checks that a caller may type into a terminal, resize or close it: the operator's policy allows it, no person has
//! control, and a tmux pane is neither awaitty's own nor in copy mode.

use super::Context;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;
use awaitty_terminal::rules::Rules as _;

/// Checks that input may be typed into a terminal and reaches its program.
pub(super) async fn ensure_writable(
    context: &Context,
    entry: &Entry,
    force: bool,
    leave_copy_mode: bool,
) -> Result<(), ToolError> {
    context.sessions.policy().check_typing(&entry.names())?;
    let Some((server, pane)) = &entry.pane else { return Ok(()) };
    if server.is_own(pane) && !force {
        return Err(ToolError::new(
            "denied",
            format!(
                "{} is the pane that awaitty itself runs in: force: true types into it nevertheless",
                entry.id
            ),
        ));
    }
    let mut info = server.pane(pane).await?;
    if info.is_in_mode && leave_copy_mode {
        info = server.leave_mode(pane).await?;
    }
    if info.is_in_mode {
        return Err(ToolError::new(
            "denied",
            format!(
                "{} is in copy mode or another tmux mode, so its program would not receive the input: \
                 leave_copy_mode: true leaves the mode first. Nothing was sent",
                entry.id
            ),
        ));
    }
    Ok(())
}

/// Checks that the policy allows changes to a terminal, and that no person has control.
pub(super) async fn ensure_not_controlled(
    context: &Context,
    entry: &Entry,
) -> Result<(), ToolError> {
    context.sessions.policy().check_typing(&entry.names())?;
    entry.check_control().await
}
