//! The result of a wait: its fields and its summary as text.

use std::fmt::Write;

use awaitty_core::{Condition, Finding, Frame, Match, Outcome, WaitEnded};
use schemars::JsonSchema;
use serde::Serialize;

use super::command_output::CommandSummary;
use super::exit::ExitOutput;
use super::pending::Retry;
use super::screen_output::{ChangeOutput, SelectionOutput};
use super::state::StateOutput;
use super::wait_for_channel::ChannelOutput;
use crate::text;

/// The maximum length of a match, and of each of its groups, in characters.
const MATCH_CHARS: usize = 1_000;

/// The maximum number of groups of a match.
const MATCH_GROUPS: usize = 10;

/// A match of a pattern.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct MatchOutput {
    /// The text that matched.
    text: String,
    /// Its absolute line.
    line: u64,
    /// Its row on the screen, from 1, if it is visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<usize>,
    /// The texts of the groups.
    groups: Vec<Option<String>>,
}

impl From<&Match> for MatchOutput {
    fn from(found: &Match) -> MatchOutput {
        let shorten =
            |part: &str| text::cut(text::visible(part), MATCH_CHARS, "read_output has the lines");
        MatchOutput {
            text: shorten(&found.text),
            line: found.line.0,
            row: found.row.map(|row| row + 1),
            groups: found
                .groups
                .iter()
                .take(MATCH_GROUPS)
                .map(|group| group.as_deref().map(shorten))
                .collect(),
        }
    }
}

/// A row and its text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RowOutput {
    /// From 1.
    row: usize,
    /// Its text.
    text: String,
}

/// The result of a wait. Fields that do not apply are left out.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct WaitOutput {
    /// `met`, `timeout`, `exited`, `closed`, `pending` or `asks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<&'static str>,
    /// The condition that held, if there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) met_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<bool>,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    matched: Option<MatchOutput>,
    /// The match was drawn since the anchor.
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh: Option<bool>,
    /// The match is still on the screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    visible: Option<bool>,
    /// The pattern is on the screen, but was not drawn since the anchor.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_match: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// The likely reason why the wait was not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    style_changed: Option<bool>,
    /// Time since the last change of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_change_ms: Option<u64>,
    /// The rows that kept changing: what to `ignore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changing_rows: Option<Vec<RowOutput>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<bool>,
    /// The screen was quiet, but the program is busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    busy: Option<bool>,
    /// At a prompt, or waiting for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<bool>,
    /// The command has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished: Option<bool>,
    #[serde(flatten)]
    pub(crate) command: CommandSummary,
    #[serde(flatten)]
    pub(crate) state: StateOutput,
    #[serde(flatten)]
    pub(crate) exit: ExitOutput,
    #[serde(flatten)]
    pub(super) channel: ChannelOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<bool>,
    #[serde(flatten)]
    pub(crate) again: Retry,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elapsed_ms: Option<u64>,
    /// The number of the frame: pass it as `since` to see later changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) screen_text: Option<String>,
    /// The number of rows that the screen scrolled up before `changes` apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scrolled: Option<isize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Vec<ChangeOutput>>,
    /// Highlighted spans, such as the selected entry of a menu.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) selection: Vec<SelectionOutput>,
    /// The last lines of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_lines: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history_truncated: Option<bool>,
}

/// Returns a summary of a result in one line, with notes below it.
pub(crate) fn summary(output: &WaitOutput) -> String {
    let mut text = output.outcome.unwrap_or("sent").to_owned();
    if let Some(name) = output.met_by {
        let _ = write!(text, " met_by={name}");
    }
    let flags = [
        ("found", output.found),
        ("visible", output.visible),
        ("stale_match", output.stale_match),
        ("gone", output.gone),
        ("changed", output.changed),
        ("stable", output.stable),
        ("style_changed", output.style_changed),
        ("settled", output.settled),
        ("busy", output.busy),
        ("ready", output.ready),
        ("finished", output.finished),
        ("exited", output.exit.exited),
    ];
    for (name, value) in flags.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        let _ = write!(text, " {name}={value}");
    }
    if let Some(found) = output.matched.as_ref().filter(|_| output.found == Some(true)) {
        let _ = write!(text, " match={:?} line={}", found.text, found.line);
    }
    text += &output.channel.words();
    text += &output.command.words();
    text += &output.exit.words();
    text += &output.state.words();
    if let Some(rows) = output.changing_rows.as_ref().filter(|rows| !rows.is_empty()) {
        let rows: Vec<String> = rows.iter().map(|row| row.row.to_string()).collect();
        let _ = write!(text, " changing_rows={}", rows.join(","));
    }
    let _ = write!(text, " after {} ms", output.elapsed_ms.unwrap_or(0));
    for note in [&output.hint, &output.why].into_iter().flatten() {
        let _ = write!(text, "\n{note}");
    }
    text
}

impl From<&WaitEnded> for WaitOutput {
    fn from(ended: &WaitEnded) -> WaitOutput {
        let closed = ended.outcome == Outcome::Closed;
        let mut output = WaitOutput {
            outcome: Some(match ended.outcome {
                Outcome::Met if matches!(ended.condition, Condition::Asks(_)) => "asks",
                Outcome::Met => "met",
                Outcome::Timeout => "timeout",
                Outcome::Exited => "exited",
                Outcome::Closed => "closed",
            }),
            exit: ended.exit.into(),
            closed: closed.then_some(true),
            elapsed_ms: Some(ended.elapsed.as_millis() as u64),
            seq: Some(ended.frame.seq().0),
            history_truncated: ended.history_truncated.then_some(true),
            ..WaitOutput::default()
        };
        if closed {
            output.exit.exited = Some(true);
        }
        output.add_finding(ended);
        output
    }
}

impl WaitOutput {
    /// Returns the result of a wait that has not ended.
    pub(crate) fn running() -> WaitOutput {
        WaitOutput { outcome: Some("running"), ..WaitOutput::default() }
    }

    /// Returns the result of a call that did not wait.
    pub(crate) fn at(frame: &Frame) -> WaitOutput {
        WaitOutput::at_seq(frame.seq().0)
    }

    /// Returns the result of a call that did not wait, by the number of the frame.
    pub(crate) fn at_seq(seq: u64) -> WaitOutput {
        WaitOutput { seq: Some(seq), ..WaitOutput::default() }
    }

    /// Adds the finding of a wait.
    pub(super) fn add_finding(&mut self, ended: &WaitEnded) {
        match &ended.finding {
            Finding::Text { found, fresh, visible, in_newer_frame } => {
                let met = ended.outcome == Outcome::Met;
                self.found = Some(met);
                if met {
                    self.matched = found.as_ref().map(MatchOutput::from);
                    self.fresh = Some(*fresh);
                    self.visible = Some(*visible);
                } else if found.is_some() {
                    self.stale_match = Some(true);
                    let since = if *in_newer_frame { "frame" } else { "screen" };
                    self.hint = Some(format!(
                        "the text is on the screen, but the program did not draw it since the anchor: \
                         since {since:?} accepts it"
                    ));
                }
            }
            Finding::Gone(found) => {
                // The condition is that there is no match.
                self.found = Some(found.is_none());
                self.gone = Some(found.is_none());
                self.matched = found.as_ref().map(MatchOutput::from);
            }
            Finding::Change { changed, stable, style_changed, last_change, busy_rows } => {
                self.changed = Some(*changed);
                self.stable = Some(*stable);
                self.style_changed = Some(*style_changed);
                self.last_change_ms = last_change.map(|ago| ago.as_millis() as u64);
                let row = |&row: &usize| {
                    let text = ended.frame.rows().get(row).map_or("", |row| row.text());
                    RowOutput { row: row + 1, text: text::visible(text) }
                };
                if !stable {
                    self.changing_rows = Some(busy_rows.iter().map(row).collect());
                }
            }
            Finding::Settled { settled, changed, busy } => {
                self.busy = busy.then_some(true);
                self.settled = Some(*settled);
                self.changed = Some(*changed);
            }
            Finding::Command => {
                let asks = matches!(ended.condition, Condition::Asks(_));
                self.finished = Some(ended.outcome == Outcome::Met && !asks);
            }
            Finding::Ready(ready) => self.ready = Some(ready.is_some()),
            Finding::Exit => {
                self.exit.exited = Some(ended.exit.is_some() || self.closed == Some(true))
            }
        }
    }
}
