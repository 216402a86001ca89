//! Who has the keyboard: whoever calls, or a person who has taken control. And who looks on.

use std::collections::VecDeque;

use awaitty_core::{Command, CommandId, Cursor, MouseEncoding, MouseTracking, Screen, Seq, Time};
use tokio::sync::watch;

use super::{Driver, Part, SendError};

/// Commands of a terminal that are told of to whoever looks on.
const TIMELINE_MAX: usize = 200;

/// A person who has control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Which of those who look on.
    pub viewer: String,
    /// The channel that is signalled when it is given back.
    pub channel: String,
    /// How often it was before.
    pub count: u64,
    /// The frame when a person took control from the agents.
    pub from: Seq,
}

/// From which frame to which a person had control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPeriod {
    /// The frame before.
    pub from: Seq,
    /// The frame when it was given back.
    pub to: Seq,
}

/// Who has the keyboard.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    control: Option<Control>,
    /// The last time a person had control, and whether an agent has typed since.
    had: Option<(ControlPeriod, bool)>,
}

/// What somebody who looks on can see change: the frame, and what is no change of the screen: the cursor, and how keys
/// are to be told.
pub type ViewState = (Seq, Cursor, KeyModes);

/// How a program wants to be told of keys and of the mouse: cursor keys and keypad as applications have them, brackets around
/// what is pasted, the focus.
pub type KeyModes = ([bool; 4], MouseTracking, MouseEncoding);

/// How a screen's program wants to be told.
pub fn key_modes(screen: &Screen) -> KeyModes {
    let switches = [
        screen.has_application_cursor(),
        screen.has_application_keypad(),
        screen.has_bracketed_paste(),
        screen.has_focus_reports(),
    ];
    (switches, screen.mouse_tracking(), screen.mouse_encoding())
}

/// A command, as those who look on are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    id: CommandId,
    /// What was run.
    pub text: String,
    /// When it began.
    pub started: Time,
    /// When it ended, if it has.
    pub ended: Option<Time>,
    /// Its status, if it told one.
    pub status: Option<i32>,
}

impl From<&Command> for TimelineEntry {
    fn from(command: &Command) -> TimelineEntry {
        let Command { id, started, ended, status, .. } = *command;
        TimelineEntry { id, text: command.text.clone(), started, ended, status }
    }
}

/// The commands that have begun, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline(VecDeque<TimelineEntry>);

impl Driver {
    /// Gives the keyboard to a person, at once; says since which frame one has it. What an agent has sent and the program
    /// has not taken is not typed any more, nor the rest of a command that the shell has not begun.
    pub fn take_control(&mut self, viewer: &str, channel: &str, count: u64) -> Seq {
        if self.keyboard.control.is_none() {
            self.input.clear();
            self.write_some();
            if let Some(id) = self.session.last_command().map(|command| command.id) {
                self.give_up(id);
                drop(self.take_rest(id));
            }
        }
        let now = self.session.frame().seq();
        let from = self.keyboard.control.as_ref().map_or(now, |control| control.from);
        let (viewer, channel) = (viewer.to_owned(), channel.to_owned());
        self.keyboard.control = Some(Control { viewer, channel, count, from });
        // Whoever types is told how.
        self.view.send_modify(|_| {});
        from
    }

    /// Gives the keyboard back, if that person has it; says from when to when people had it.
    pub fn give_back(&mut self, viewer: &str) -> Option<ControlPeriod> {
        let control = self.keyboard.control.take_if(|control| control.viewer == viewer)?;
        // An agent that has not typed since is told of both times as of one.
        let from = match self.keyboard.had {
            Some((had, false)) => had.from,
            _ => control.from,
        };
        let had = ControlPeriod { from, to: self.session.frame().seq() };
        self.keyboard.had = Some((had, false));
        self.view.send_modify(|_| {});
        Some(had)
    }

    /// The person who has control.
    pub fn control(&self) -> Option<&Control> {
        self.keyboard.control.as_ref()
    }

    /// Tells whether that person has control.
    pub fn is_controlled_by(&self, viewer: &str) -> bool {
        self.control().is_some_and(|control| control.viewer == viewer)
    }

    /// When a person had control, until an agent has typed twice since: the first time it is told of it.
    pub fn last_control_period(&self) -> Option<ControlPeriod> {
        self.keyboard.had.map(|(had, _)| had)
    }

    /// Sends what a caller types, unless a person has control; see [`Driver::send_as_person`].
    ///
    /// # Errors
    /// If it cannot be sent; nothing has changed then.
    pub fn send(&mut self, bytes: &[u8], text: &str) -> Result<usize, SendError> {
        self.send_parts(vec![Part::text(bytes)], text)
    }

    /// Sends parts of input, each keystroke once the program is at rest again.
    ///
    /// # Errors
    /// If they cannot be sent; nothing has changed then.
    pub fn send_parts(&mut self, parts: Vec<Part>, text: &str) -> Result<usize, SendError> {
        if let Some(control) = &self.keyboard.control {
            return Err(SendError::HumanHasControl(control.clone()));
        }
        let sent = self.type_in(parts, text)?;
        self.keyboard.had = match self.keyboard.had {
            Some((had, false)) => Some((had, true)),
            _ => None,
        };
        Ok(sent)
    }

    /// ProbeSchedule on: hears of each frame, and of each move of the cursor.
    pub fn subscribe_view(&self) -> watch::Receiver<ViewState> {
        self.view.subscribe()
    }

    /// Tells those who look on.
    pub(super) fn notify_viewers(&self) {
        if self.view.receiver_count() == 0 {
            return;
        }
        let screen = self.session.screen();
        let now = (self.session.frame().seq(), screen.cursor(), key_modes(screen));
        self.view.send_if_modified(|shown| std::mem::replace(shown, now) != now);
    }

    /// The newest commands that have begun, oldest first.
    pub fn timeline(&self) -> impl Iterator<Item = &TimelineEntry> {
        self.timeline.0.iter()
    }

    /// Takes down which commands have begun and ended.
    pub(super) fn note_commands(&mut self) {
        let Some(last) = self.session.last_command() else { return };
        let timeline = &mut self.timeline.0;
        for past in timeline.iter_mut().rev().take_while(|past| past.id <= last.id) {
            if past.ended.is_some() {
                break;
            }
            if let Some(command) = self.session.command(past.id) {
                *past = TimelineEntry::from(command);
            }
        }
        let known = timeline.back().map_or(0, |past| past.id.0);
        for id in known + 1..=last.id.0 {
            let Some(command) = self.session.command(CommandId(id)) else { continue };
            if !command.ran {
                // It may still begin; those after it wait for it, so that the order stays.
                if command.is_over() {
                    continue;
                }
                break;
            }
            if timeline.len() == TIMELINE_MAX {
                timeline.pop_front();
            }
            timeline.push_back(TimelineEntry::from(command));
        }
    }
}
