//! Whether something may be done to a terminal: not while a person has control, and nothing may be typed into our own
//! pane of tmux, or into tmux's copy mode.

use crate::error::ToolError;
use crate::sessions::Entry;

/// Looks whether what is typed into a pane reaches its program.
pub(super) async fn typable(
    entry: &Entry,
    force: bool,
    leave_copy_mode: bool,
) -> Result<(), ToolError> {
    let Some((server, pane)) = &entry.pane else { return Ok(()) };
    if server.is_own(pane) && !force {
        return Err(ToolError::new(
            "denied",
            format!(
                "{} is the pane that awaitty itself runs in: force: true types there all the same",
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
                "{} is in copy mode, or another of tmux's own, and the program would not get it: leave_copy_mode: true \
                 leaves it first. Nothing was sent",
                entry.id
            ),
        ));
    }
    Ok(())
}

/// Looks whether a terminal is the callers', and not a person's who has taken control. What is typed is looked at when it
/// is sent.
pub(super) async fn not_controlled(entry: &Entry) -> Result<(), ToolError> {
    entry.check_control().await
}
