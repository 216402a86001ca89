//! `submit`: text and then Enter, each when the program is ready for it, and proof of what came of it.
//!
//! Programs that take pasted text often drop an Enter that arrives in the same read, and agents then wait for
//! an answer that never comes. So Enter is a write of its own, after the text was read and seen.

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

/// How long the screen is quiet when the text has arrived.
const QUIET: Duration = Duration::from_millis(50);

/// How long a program has to show the text, and to react to Enter.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a reaction is looked for that leaves the screen as it is.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Characters at the end of the text by which it is known again.
const SEEN_BY: usize = 20;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submitted {
    /// The program took it.
    Yes,
    /// The text did not show up; Enter was not sent.
    NotEchoed,
    /// The program read Enter, and all is as before.
    Swallowed,
    /// The program did not read Enter.
    NoReaction,
    /// The session was closed before it was known.
    Closed,
}

impl Submitted {
    pub(super) fn word(self) -> &'static str {
        match self {
            Submitted::Yes => "submitted",
            Submitted::NotEchoed => "not_echoed",
            Submitted::Swallowed => "swallowed",
            Submitted::NoReaction => "no_reaction",
            Submitted::Closed => "closed",
        }
    }

    /// What to do next.
    pub(super) fn hint(self) -> Option<&'static str> {
        match self {
            Submitted::Yes | Submitted::Closed => None,
            Submitted::NotEchoed => Some(
                "the text did not appear on the screen, so Enter was not sent: if the program reads it unseen, \
                 send the key \"enter\", and for a password use secret",
            ),
            Submitted::Swallowed => Some(
                "the program read Enter and the text is still where it was: another key may submit it",
            ),
            Submitted::NoReaction => Some(
                "the program does not read its input: the text waits for it, wait or stop the program",
            ),
        }
    }
}

/// What a reaction is told by.
#[derive(Clone, Debug)]
struct Before {
    frame: Arc<Frame>,
    state: Modes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Modes {
    command: Option<u64>,
    is_canonical: bool,
    bracketed: bool,
    alternate: bool,
    foreground: Option<i32>,
}

/// Types the text, sees it arrive, presses Enter and sees what comes of it.
pub(super) async fn submit(
    context: &Context,
    entry: &Arc<Entry>,
    text: &str,
) -> Result<(Sent, Submitted), ToolError> {
    let text = text.trim_end_matches(['\r', '\n']).to_owned();
    let items = if text.is_empty() { Vec::new() } else { vec![Item::Pasted(text.clone())] };
    let of_call = context.clone();
    let typed = entry.handle.call(move |driver| -> Result<_, ToolError> {
        let before = Arc::clone(driver.session().frame());
        let sent =
            if items.is_empty() { Sent::nothing(&before) } else { send(&of_call, driver, &items)? };
        Ok((sent, before))
    });
    let (mut sent, before) = typed.await.ok_or_else(ToolError::gone)??;
    if !text.is_empty() {
        match is_seen(entry, &text, &before).await? {
            Some(true) => {}
            Some(false) => return Ok((sent, Submitted::NotEchoed)),
            None => return Ok((sent, Submitted::Closed)),
        }
    }
    let of_call = context.clone();
    let entered = entry.handle.call(move |driver| -> Result<_, ToolError> {
        let before = Before::of(driver);
        let sent = send(&of_call, driver, &[Item::Typed("\r".to_owned())])?;
        Ok((before, sent.bytes))
    });
    let (before, bytes) = entered.await.ok_or_else(ToolError::gone)??;
    sent.bytes += bytes;
    Ok((sent, reaction(entry, before).await?))
}

/// Waits until the text is on the screen and the screen is quiet; `None` if the session is closed before.
async fn is_seen(
    entry: &Arc<Entry>,
    text: &str,
    before: &Arc<Frame>,
) -> Result<Option<bool>, ToolError> {
    let deadline = Instant::now() + PATIENCE;
    let end: Vec<char> = text.chars().rev().filter(|c| !c.is_whitespace()).take(SEEN_BY).collect();
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

/// Waits for the end of a wait; `None` if that is because the session is closed, after which all waits end at once.
async fn ended(
    entry: &Arc<Entry>,
    spec: Spec,
    timeout: Duration,
) -> Result<Option<WaitEnded>, ToolError> {
    let ended =
        start_spec(entry, spec, timeout).await?.ended().await.ok_or_else(ToolError::gone)?;
    Ok(Some(ended).filter(|ended| ended.outcome != Outcome::Closed))
}

/// Waits until the screen changes after a frame; tells whether it did before the deadline, or nothing if the session is
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

/// Waits for what comes of Enter.
async fn reaction(entry: &Arc<Entry>, before: Before) -> Result<Submitted, ToolError> {
    let deadline = Instant::now() + PATIENCE;
    let before = Arc::new(before);
    let mut seq = before.frame.seq();
    loop {
        let then = Arc::clone(&before);
        let found = entry.handle.call(move |driver| then.reaction(driver)).await;
        let (has_reacted, has_read) = found.ok_or_else(ToolError::gone)?;
        if has_reacted {
            return Ok(Submitted::Yes);
        }
        if Instant::now() >= deadline {
            return Ok(if has_read { Submitted::Swallowed } else { Submitted::NoReaction });
        }
        let next = (Instant::now() + LOOK_AGAIN).min(deadline);
        if wait_for_change(entry, &mut seq, next).await?.is_none() {
            return Ok(Submitted::Closed);
        }
    }
}

impl Before {
    fn of(driver: &Driver) -> Before {
        let session = driver.session();
        let state = Modes {
            command: session.last_command().map(|command| command.id.0),
            is_canonical: driver.is_canonical(),
            bracketed: session.screen().has_bracketed_paste(),
            alternate: session.screen().is_alternate(),
            foreground: driver.foreground().map(|found| found.pid),
        };
        Before { frame: Arc::clone(session.frame()), state }
    }

    /// Tells whether the program has done something since, and whether it has read its input.
    fn reaction(&self, driver: &Driver) -> (bool, bool) {
        if driver.session().exit().is_some() {
            return (true, true);
        }
        let has_read = !driver.has_unread_input();
        let now = Before::of(driver);
        // A line that was handed over was taken.
        let has_taken = self.state.is_canonical;
        let says_more = news(&self.frame) != news(&now.frame);
        (has_read && (has_taken || says_more || self.state != now.state), has_read)
    }
}

/// The rows that say something, and how often. A frame that grows around the same text says nothing new.
fn news(frame: &Frame) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    for row in frame.rows() {
        let is_frame = |c: char| {
            c.is_whitespace() || ('\u{2500}'..='\u{259f}').contains(&c) || "|+-".contains(c)
        };
        let text = row.text().trim_matches(is_frame);
        if !text.is_empty() {
            *rows.entry(text.to_owned()).or_default() += 1;
        }
    }
    rows
}
