//! `submit`: text and then Enter, each when the program is ready for it, with a check of the program's reaction.
//!
//! Programs that accept pasted text often drop an Enter that arrives in the same read. So Enter is a separate write,
//! after the text was read and appeared on the screen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Frame, Outcome, Seq, Since, Spec, Styles, WaitEnded};
use tokio::time::Instant;

use super::Context;
use super::send_input::{Item, Sent, send};
use super::wait_for_command::start_spec;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::Driver;

/// The time without changes after which the text has been drawn.
const QUIET: Duration = Duration::from_millis(50);

/// The time a program has to show the text, and to react to Enter.
const REACTION_MAX: Duration = Duration::from_secs(2);

/// The interval between checks for a reaction that does not change the screen.
const REACTION_POLL: Duration = Duration::from_millis(50);

/// The number of characters at the end of the text that are searched on the screen.
const SEARCHED_CHARS: usize = 20;

/// The result of a submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmitResult {
    /// The program took the text.
    Taken,
    /// The text did not appear on the screen; Enter was not sent.
    NotEchoed,
    /// The program read Enter, and nothing changed.
    Swallowed,
    /// The program did not read Enter.
    NoReaction,
    /// The session was closed before the result was known.
    Closed,
}

impl SubmitResult {
    pub(super) fn word(self) -> &'static str {
        match self {
            SubmitResult::Taken => "submitted",
            SubmitResult::NotEchoed => "not_echoed",
            SubmitResult::Swallowed => "swallowed",
            SubmitResult::NoReaction => "no_reaction",
            SubmitResult::Closed => "closed",
        }
    }

    /// Returns the next step for the caller.
    pub(super) fn hint(self) -> Option<&'static str> {
        match self {
            SubmitResult::Taken | SubmitResult::Closed => None,
            SubmitResult::NotEchoed => Some(
                "the text did not appear on the screen, so Enter was not sent: if the program does not echo input, \
                 send the key \"enter\"; for a password use secret",
            ),
            SubmitResult::Swallowed => Some(
                "the program read Enter, but the text is still there: another key may submit it",
            ),
            SubmitResult::NoReaction => Some(
                "the program does not read its input, so the text is still queued: wait for the program, or stop it",
            ),
        }
    }
}

/// The state of a terminal, to detect a reaction.
#[derive(Clone, Debug)]
struct TerminalState {
    frame: Arc<Frame>,
    modes: Modes,
}

/// The parts of the state besides the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Modes {
    command: Option<u64>,
    is_canonical: bool,
    bracketed: bool,
    alternate: bool,
    foreground: Option<i32>,
}

/// Types the text, waits until it appears, presses Enter and waits for a reaction.
pub(super) async fn submit(
    context: &Context,
    entry: &Arc<Entry>,
    text: &str,
) -> Result<(Sent, SubmitResult), ToolError> {
    let text = text.trim_end_matches(['\r', '\n']).to_owned();
    let items = if text.is_empty() { Vec::new() } else { vec![Item::Pasted(text.clone())] };
    let (of_call, at) = (context.clone(), Arc::clone(entry));
    let typed = entry.handle.call(move |driver| -> Result<_, ToolError> {
        let before = Arc::clone(driver.session().frame());
        let sent = if items.is_empty() {
            Sent::nothing(&before)
        } else {
            send(&of_call, &at, driver, &items)?
        };
        Ok((sent, before))
    });
    let (mut sent, before) = typed.await.ok_or_else(ToolError::gone)??;
    if !text.is_empty() {
        match has_appeared(entry, &text, &before).await? {
            Some(true) => {}
            Some(false) => return Ok((sent, SubmitResult::NotEchoed)),
            None => return Ok((sent, SubmitResult::Closed)),
        }
    }
    let (of_call, at) = (context.clone(), Arc::clone(entry));
    let entered = entry.handle.call(move |driver| -> Result<_, ToolError> {
        let before = TerminalState::of(driver);
        let sent = send(&of_call, &at, driver, &[Item::Typed("\r".to_owned())])?;
        Ok((before, sent.bytes))
    });
    let (before, bytes) = entered.await.ok_or_else(ToolError::gone)??;
    sent.bytes += bytes;
    Ok((sent, reaction(entry, before).await?))
}

/// Waits until the text is on the screen and the screen is quiet; `None` if the session is closed.
async fn has_appeared(
    entry: &Arc<Entry>,
    text: &str,
    before: &Arc<Frame>,
) -> Result<Option<bool>, ToolError> {
    let deadline = Instant::now() + REACTION_MAX;
    let end = text.chars().rev().filter(|c| !c.is_whitespace());
    let end: Vec<char> = end.take(SEARCHED_CHARS).collect();
    let end: String = end.into_iter().rev().collect();
    let count = |frame: &Frame| {
        let shown: String = frame.text().chars().filter(|c| !c.is_whitespace()).collect();
        shown.matches(&end).count()
    };
    let mut seq = before.seq();
    loop {
        let settled =
            Spec { condition: Condition::Settled(QUIET), since: Since::Input, deadline: None };
        let left = deadline.saturating_duration_since(Instant::now());
        let Some(ended) = ended(entry, settled, left).await? else { return Ok(None) };
        let has_grown = count(&ended.frame) > count(before);
        let is_shortened = ended.frame.seq() != before.seq() && text.contains('\n');
        if has_grown || is_shortened && ended.frame.text() != before.text() {
            return Ok(Some(true));
        }
        if ended.exit.is_some() {
            return Ok(Some(false));
        }
        match wait_for_change(entry, &mut seq, deadline).await? {
            Some(true) => {}
            other => return Ok(other),
        }
    }
}

/// Runs a wait; `None` if the session is closed, because further waits would end immediately.
async fn ended(
    entry: &Arc<Entry>,
    spec: Spec,
    timeout: Duration,
) -> Result<Option<WaitEnded>, ToolError> {
    let ended =
        start_spec(entry, spec, timeout).await?.ended().await.ok_or_else(ToolError::gone)?;
    Ok(Some(ended).filter(|ended| ended.outcome != Outcome::Closed))
}

/// Waits until the screen changes after a frame. Returns whether it did before the deadline; `None` if the session is
/// closed.
async fn wait_for_change(
    entry: &Arc<Entry>,
    seq: &mut Seq,
    deadline: Instant,
) -> Result<Option<bool>, ToolError> {
    let condition =
        Condition::Change { stable: Duration::ZERO, styles: Styles::All, ignore: Vec::new() };
    let spec = Spec { condition, since: Since::Frame(*seq), deadline: None };
    let left = deadline.saturating_duration_since(Instant::now());
    let Some(ended) = ended(entry, spec, left).await? else { return Ok(None) };
    let has_changed = ended.frame.seq() > *seq;
    *seq = ended.frame.seq();
    Ok(Some(has_changed && Instant::now() < deadline))
}

/// Waits for a reaction to Enter.
async fn reaction(entry: &Arc<Entry>, before: TerminalState) -> Result<SubmitResult, ToolError> {
    let deadline = Instant::now() + REACTION_MAX;
    let before = Arc::new(before);
    let mut seq = before.frame.seq();
    loop {
        let state = Arc::clone(&before);
        let found = entry.handle.call(move |driver| state.reaction(driver)).await;
        let (has_reacted, has_read) = found.ok_or_else(ToolError::gone)?;
        if has_reacted {
            return Ok(SubmitResult::Taken);
        }
        if Instant::now() >= deadline {
            return Ok(if has_read { SubmitResult::Swallowed } else { SubmitResult::NoReaction });
        }
        let next = (Instant::now() + REACTION_POLL).min(deadline);
        if wait_for_change(entry, &mut seq, next).await?.is_none() {
            return Ok(SubmitResult::Closed);
        }
    }
}

impl TerminalState {
    fn of(driver: &Driver) -> TerminalState {
        let session = driver.session();
        let modes = Modes {
            command: session.last_command().map(|command| command.id.0),
            is_canonical: driver.is_canonical(),
            bracketed: session.screen().has_bracketed_paste(),
            alternate: session.screen().is_alternate(),
            foreground: driver.foreground().map(|found| found.pid),
        };
        TerminalState { frame: Arc::clone(session.frame()), modes }
    }

    /// Returns whether the program has reacted since this state, and whether it has read its input.
    fn reaction(&self, driver: &Driver) -> (bool, bool) {
        if driver.session().exit().is_some() {
            return (true, true);
        }
        let has_read = !driver.has_unread_input();
        let now = TerminalState::of(driver);
        // In canonical mode a read line was taken.
        let has_taken = self.modes.is_canonical;
        let has_new_text = row_texts(&self.frame) != row_texts(&now.frame);
        (has_read && (has_taken || has_new_text || self.modes != now.modes), has_read)
    }
}

/// Returns the texts of the rows with their counts, without box-drawing characters: a border that grows around the same
/// text is no reaction.
fn row_texts(frame: &Frame) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    for row in frame.rows() {
        let is_border = |c: char| {
            c.is_whitespace() || ('\u{2500}'..='\u{259f}').contains(&c) || "|+-".contains(c)
        };
        let text = row.text().trim_matches(is_border);
        if !text.is_empty() {
            *rows.entry(text.to_owned()).or_default() += 1;
        }
    }
    rows
}
