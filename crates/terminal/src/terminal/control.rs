//! Control of the keyboard by a person, and the state and the command timeline that viewers see.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use awaitty_core::{Command, CommandId, Cursor, MouseEncoding, MouseTracking, Screen, Seq, Time};
use tokio::sync::watch;

use super::{Driver, Part, SendError};

/// The maximum number of commands in the timeline that viewers see.
const TIMELINE_MAX: usize = 200;

/// The control of a terminal by a person. Agents cannot type meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// The viewer ID of the person.
    pub viewer: String,
    /// The channel that is signalled when the person gives control back.
    pub channel: String,
    /// The number of signals of that channel when the person took control.
    pub count: u64,
    /// The newest frame when a person took control from the agents.
    pub from: Seq,
}

/// A period in which people had control, given by its first and last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPeriod {
    /// The newest frame when a person took control.
    pub from: Seq,
    /// The newest frame when control was given back.
    pub to: Seq,
}

/// The state of the control of a terminal.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    control: Option<Control>,
    /// The last period of control, and whether an agent has typed since.
    last_period: Option<(ControlPeriod, bool)>,
}

/// The state whose changes wake viewers, with a hash of the title. A move of the cursor, and a change of the key modes
/// or of the title, make no new frame.
pub type ViewState = (Seq, Cursor, KeyModes, u64);

/// The modes that decide which bytes keys and the mouse send: application cursor keys, application keypad, bracketed
/// paste and focus reports, then the mouse modes.
pub type KeyModes = ([bool; 4], MouseTracking, MouseEncoding);

/// Returns the key modes of a screen.
pub fn key_modes(screen: &Screen) -> KeyModes {
    let switches = [
        screen.has_application_cursor(),
        screen.has_application_keypad(),
        screen.has_bracketed_paste(),
        screen.has_focus_reports(),
    ];
    (switches, screen.mouse_tracking(), screen.mouse_encoding())
}

/// A command in the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    id: CommandId,
    /// The text of the command.
    pub text: String,
    /// The time at which it started.
    pub started: Time,
    /// The time at which it ended; `None` while it runs.
    pub ended: Option<Time>,
    /// The exit status, if the shell reported one.
    pub status: Option<i32>,
}

impl From<&Command> for TimelineEntry {
    fn from(command: &Command) -> TimelineEntry {
        let Command { id, started, ended, status, .. } = *command;
        TimelineEntry { id, text: command.text.clone(), started, ended, status }
    }
}

/// The newest commands that have started, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline(VecDeque<TimelineEntry>);

impl Driver {
    /// Gives control to a person at once, and returns the newest frame at that time. Drops input of agents that was not
    /// written yet, and the rest of a command that the shell has not started.
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
        // Wakes the viewers, so that they show who has control.
        self.view.send_modify(|_| {});
        from
    }

    /// Gives control back to the agents if that person has it, and returns the period of control.
    pub fn give_back(&mut self, viewer: &str) -> Option<ControlPeriod> {
        let control = self.keyboard.control.take_if(|control| control.viewer == viewer)?;
        // Two periods without input of an agent in between are reported as one.
        let from = match self.keyboard.last_period {
            Some((period, false)) => period.from,
            _ => control.from,
        };
        let period = ControlPeriod { from, to: self.session.frame().seq() };
        self.keyboard.last_period = Some((period, false));
        self.view.send_modify(|_| {});
        Some(period)
    }

    /// Returns the control by a person, if a person has it.
    pub fn control(&self) -> Option<&Control> {
        self.keyboard.control.as_ref()
    }

    /// Returns whether that person has control.
    pub fn is_controlled_by(&self, viewer: &str) -> bool {
        self.control().is_some_and(|control| control.viewer == viewer)
    }

    /// Returns the last period of control. The first input of an agent after it still reports it in its result; the
    /// second one clears it.
    pub fn last_control_period(&self) -> Option<ControlPeriod> {
        self.keyboard.last_period.map(|(period, _)| period)
    }

    /// Sends the input of a caller, unless a person has control; see [`Driver::send_as_person`].
    ///
    /// # Errors
    /// If the input is refused; nothing is queued then.
    pub fn send(&mut self, bytes: &[u8], text: &str) -> Result<usize, SendError> {
        self.send_parts(vec![Part::text(bytes)], text)
    }

    /// Sends parts of input. Each keystroke is written once the program is at rest again.
    ///
    /// # Errors
    /// If the input is refused; nothing is queued then.
    pub fn send_parts(&mut self, parts: Vec<Part>, text: &str) -> Result<usize, SendError> {
        if let Some(control) = &self.keyboard.control {
            return Err(SendError::HumanHasControl(control.clone()));
        }
        let sent = self.type_in(parts, text)?;
        self.keyboard.last_period = match self.keyboard.last_period {
            Some((period, false)) => Some((period, true)),
            _ => None,
        };
        Ok(sent)
    }

    /// Subscribes to the view: each frame, each move of the cursor, and each change of the key modes or
    /// the title.
    pub fn subscribe_view(&self) -> watch::Receiver<ViewState> {
        self.view.subscribe()
    }

    /// Notifies the viewers if the view has changed.
    pub(super) fn notify_viewers(&self) {
        if self.view.receiver_count() == 0 {
            return;
        }
        let screen = self.session.screen();
        let mut title = DefaultHasher::new();
        screen.title().hash(&mut title);
        let (seq, title) = (self.session.frame().seq(), title.finish());
        let now = (seq, screen.cursor(), key_modes(screen), title);
        self.view.send_if_modified(|shown| std::mem::replace(shown, now) != now);
    }

    /// Returns the newest commands that have started, oldest first.
    pub fn timeline(&self) -> impl Iterator<Item = &TimelineEntry> {
        self.timeline.0.iter()
    }

    /// Updates the timeline with the commands that have started or ended.
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
                // It may still start. Later commands are added after it, so that the order stays.
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
