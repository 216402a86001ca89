//! Commands and readiness: what a driver does for shells, and what it asks the kernel.

use std::time::Duration;

use awaitty_core::{Activity, COMMANDS_MAX, Command, CommandId, Delivery, Ready, TerminalWait};
use tokio::time::Instant;

use super::shells::Group;
use super::{Driver, SendError};
use crate::io::Io;
use crate::platform::foreground::Foreground;
use crate::shell::{self, Kind, Nonce};

/// How soon the kernel is asked, after the program printed something, whether it waits for input now.
/// Nothing tells when it begins to, so it is asked again, ever more rarely, and only while somebody waits for
/// it.
pub(super) const PROBE_FIRST: Duration = Duration::from_millis(2);
/// See [`PROBE_FIRST`].
pub(super) const PROBE_PAUSE_MAX: Duration = Duration::from_millis(250);

/// When to ask the kernel again.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeSchedule {
    pub(super) at: Instant,
    pause: Duration,
}

/// Who reads what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputReader {
    /// The program in the foreground, which waits for it.
    Program,
    /// A program that hands it on to others, of whom the kernel here knows nothing.
    Carrier,
}

/// What a terminal's program is doing.
#[derive(Clone, Debug, Default)]
pub struct ProgramState {
    /// A shell is at its prompt.
    pub at_prompt: bool,
    /// The command that a shell runs, and for how long.
    pub running: Option<(String, Duration)>,
    /// It waits for input, by whose word.
    pub ready: Option<Ready>,
    /// What it reads is not shown.
    pub is_secret: bool,
    /// It uses the alternate screen.
    pub is_full_screen: bool,
}

impl Driver {
    /// What has the terminal in the foreground.
    pub fn foreground(&self) -> Option<Foreground> {
        self.io.as_ref()?.foreground(self.pid)
    }

    /// What the program is doing now.
    pub fn state(&self) -> ProgramState {
        let Some(io) = self.io.as_ref().filter(|_| !self.hung_up) else {
            return ProgramState::default();
        };
        let session = self.session();
        let running = session
            .running_command()
            .map(|command: &Command| (command.text.clone(), self.now().since(command.started)));
        let at_prompt = session.is_at_prompt();
        let ready = match at_prompt {
            true => Some(Ready::Shell),
            false => self.is_reading().then_some(Ready::Kernel),
        };
        ProgramState {
            at_prompt,
            running,
            ready,
            is_secret: ready.is_some() && io.input_modes().is_secret(),
            is_full_screen: session.screen().is_alternate(),
        }
    }

    /// What has the terminal in the foreground, and who would read what is typed now.
    pub fn foreground_and_reader(&self) -> Option<(Foreground, Option<InputReader>)> {
        // In this order: what is read after the first look is not waited for at the second.
        let has_unread = self.has_unread_input();
        let found = self.foreground()?;
        let reader = match found.activity.terminal {
            _ if is_carried(&found) => Some(InputReader::Carrier),
            Some(_) if !has_unread => Some(InputReader::Program),
            _ => None,
        };
        Some((found, reader))
    }

    /// Who would read what is typed now.
    pub fn reader(&self) -> Option<InputReader> {
        self.foreground_and_reader()?.1
    }

    /// Tells whether the program has read all of its input and waits for more, as far as the kernel can tell.
    pub fn is_reading(&self) -> bool {
        self.reader() == Some(InputReader::Program)
    }

    /// Tells whether the program reads whole lines.
    pub fn is_canonical(&self) -> bool {
        self.io.as_ref().is_some_and(|io| io.input_modes().is_canonical)
    }

    /// Tells whether the program has input that it did not read.
    pub fn has_unread_input(&self) -> bool {
        self.is_on_its_way() || self.has_unread_by_kernel()
    }

    /// The same, but for what tmux may have: it may have been read and yet not be known to be.
    pub(super) fn has_unread_by_kernel(&self) -> bool {
        !self.input.is_empty() || self.io.as_ref().is_some_and(Io::has_unread_input)
    }

    /// Returns the program that would read a secret now: it blocks in a read of the terminal with echo off, has read all
    /// input, and none is in the queue. Until it gets more input it stays there, so what holds at this moment holds for
    /// a write in the same job.
    pub fn secret_reader(&self) -> Option<Foreground> {
        let (found, reader) = self.foreground_and_reader().filter(|_| self.reads_secret())?;
        let is_reading = found.activity.terminal == Some(TerminalWait::Read);
        (is_reading && reader == Some(InputReader::Program)).then_some(found)
    }

    /// Tells whether nobody but the program sees what is typed now.
    pub fn reads_secret(&self) -> bool {
        self.io.as_ref().is_some_and(|io| io.input_modes().is_secret())
    }

    /// Trusts the marks of a shell of that kind, which we did not start.
    pub fn trust_shell(&mut self, nonce: &Nonce, kind: Kind) {
        self.trust(nonce, Some(kind), Group::AtPrompt);
    }

    pub(super) fn trust(&mut self, nonce: &Nonce, kind: Option<Kind>, group: Group) {
        self.session.trust_shell(nonce.as_str());
        self.nonces.add(nonce.as_str());
        self.shells.trust(nonce.as_str(), kind, group);
    }

    /// Returns the directory of a command that has ended. If the mark with it did not count, because a job of the prompt had
    /// the terminal when it was read, the kernel shows the directory of the shell.
    pub fn directory_of(&self, command: &Command) -> Option<String> {
        let is_of_shell = command.ended.is_some() && !command.is_sentinel();
        let by_kernel = || is_of_shell.then(|| self.shells.directory(&self.session)).flatten();
        command.cwd.clone().or_else(by_kernel)
    }

    /// The innermost shell whose marks are known.
    pub fn shell(&self) -> Option<(Nonce, Kind)> {
        self.shells.innermost(&self.session)
    }

    /// The kind of the shell that a command was delivered to.
    pub fn kind_of(&self, id: CommandId) -> Option<Kind> {
        self.delivered.get(&id).copied()
    }

    /// Delivers a command to a shell: `keys` begin it, and `text` is what of it will be echoed.
    ///
    /// # Errors
    /// If it cannot be sent; nothing has changed then.
    pub fn deliver(
        &mut self,
        kind: Kind,
        keys: &[u8],
        text: &str,
        delivery: Delivery,
    ) -> Result<CommandId, SendError> {
        self.send(keys, text)?;
        if delivery.sentinel {
            self.nonces.add(&delivery.nonce);
            self.shells.trust_sentinel(&delivery.nonce);
        }
        let now = self.now();
        let id = self.session.start_command(now, delivery);
        self.delivered.insert(id, kind);
        if self.delivered.len() > COMMANDS_MAX {
            self.delivered.pop_first();
        }
        Ok(id)
    }

    /// What is still to be sent of a command to a shell that does not ask for it.
    pub fn take_rest(&mut self, id: CommandId) -> Vec<u8> {
        self.session.take_rest_of_command(id)
    }

    /// Gives up a command that the shell did not begin.
    pub fn give_up(&mut self, id: CommandId) {
        let now = self.now();
        self.session.give_up_command(now, id);
    }

    /// Returns what the foreground job does.
    pub(super) fn activity(&self) -> Activity {
        activity_of(self.foreground().as_ref())
    }

    /// Plans the next look at the foreground job; soon, if something has just happened.
    pub(super) fn plan_probe(&mut self, has_happened: bool) {
        if !self.session.wants_activity() || self.io.is_none() {
            self.probe_schedule = None;
        } else if has_happened || self.probe_schedule.is_none() {
            self.probe_schedule =
                Some(ProbeSchedule { at: Instant::now() + PROBE_FIRST, pause: PROBE_FIRST });
        }
    }

    /// Reports what the foreground job does. All that it printed before is reported first.
    pub(super) fn note_activity(&mut self, activity: Activity) {
        self.read_some();
        self.report_unread_input();
        let now = self.now();
        self.session.handle_activity(now, activity);
    }

    /// Looks at the foreground job, if it is time to.
    pub(super) fn probe_if_due(&mut self) {
        let is_due = self.probe_schedule.is_some_and(|schedule| schedule.at <= Instant::now());
        if is_due && let Some(schedule) = &mut self.probe_schedule {
            schedule.pause = (2 * schedule.pause).min(PROBE_PAUSE_MAX);
            schedule.at = Instant::now() + schedule.pause;
        }
        if !is_due && !self.session.wants_activity_at(self.now()) {
            return;
        }
        let activity = self.activity();
        let is_pane = matches!(self.io, Some(Io::Pane(_)));
        if is_pane && activity.terminal.is_some() && self.session.wants_activity() {
            // tmux may hold back output that came before.
            self.confirm_activity(activity);
        } else {
            self.note_activity(activity);
        }
    }
}

/// Returns what a job does. A program that hands its input on to others hides what they do.
pub(super) fn activity_of(found: Option<&Foreground>) -> Activity {
    match found {
        Some(found) if is_carried(found) => {
            Activity { reads_keys: found.activity.reads_keys, ..Activity::default() }
        }
        Some(found) => found.activity,
        None => Activity::default(),
    }
}

/// Returns whether a job only hands its input on to programs that the kernel here does not show.
fn is_carried(found: &Foreground) -> bool {
    found.activity.terminal != Some(TerminalWait::Read) && shell::is_carrier(&found.name)
}
