//! The driver's operations on shells and their commands, and its probes of the foreground job.

use std::time::Duration;

use awaitty_core::{Activity, COMMANDS_MAX, Command, CommandId, Delivery, Ready, TerminalWait};
use tokio::time::Instant;

use super::shells::Group;
use super::{Driver, SendError};
use crate::io::Io;
use crate::platform::foreground::Foreground;
use crate::shell::{self, Kind, Nonce};

/// Time from the last output to the first probe whether the program waits for input. The kernel does not announce that,
/// so the driver polls. Each pause is twice as long as the previous one. It polls only while a wait depends on the
/// result.
pub(super) const PROBE_FIRST: Duration = Duration::from_millis(2);
/// The longest pause between two probes.
pub(super) const PROBE_PAUSE_MAX: Duration = Duration::from_millis(250);

/// The schedule of the next probe of the foreground job.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeSchedule {
    pub(super) at: Instant,
    /// The pause before that probe.
    pause: Duration,
}

/// The program that reads the input of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputReader {
    /// The foreground program. It waits for input.
    Program,
    /// A foreground program that passes its input on to programs that this kernel does not show, such as ssh.
    Carrier,
}

/// The state of a terminal's program.
#[derive(Clone, Debug, Default)]
pub struct ProgramState {
    /// Whether a shell is at its prompt.
    pub at_prompt: bool,
    /// The text of the command that a shell runs, and the time since its start.
    pub running: Option<(String, Duration)>,
    /// The evidence that the program waits for input; `None` if it does not.
    pub ready: Option<Ready>,
    /// Whether the program reads input without echo, such as a password.
    pub is_secret: bool,
    /// Whether the program uses the alternate screen.
    pub is_full_screen: bool,
}

impl Driver {
    /// Returns the foreground job of the terminal.
    pub fn foreground(&self) -> Option<Foreground> {
        self.io.as_ref()?.foreground(self.pid)
    }

    /// Returns the current state of the program; `None` if it has exited.
    pub fn program_state(&self) -> Option<ProgramState> {
        let session = self.session();
        if session.exit().is_some() {
            return None;
        }
        let Some(io) = self.io.as_ref().filter(|_| !self.hung_up) else {
            return Some(ProgramState::default());
        };
        let running = session
            .running_command()
            .map(|command: &Command| (command.text.clone(), self.now().since(command.started)));
        let at_prompt = session.is_at_prompt();
        let ready = match at_prompt {
            true => Some(Ready::Shell),
            false => self.is_reading().then_some(Ready::Kernel),
        };
        Some(ProgramState {
            at_prompt,
            running,
            ready,
            is_secret: ready.is_some() && io.input_modes().is_secret(),
            is_full_screen: session.screen().is_alternate(),
        })
    }

    /// Returns the foreground job, and the program that would read input now.
    pub fn foreground_and_reader(&self) -> Option<(Foreground, Option<InputReader>)> {
        // Unread input is checked first. In the other order, a program that reads between the two checks would count as
        // waiting for input while it handles what it has read.
        let has_unread = self.has_unread_input();
        let found = self.foreground()?;
        let reader = match found.activity.terminal {
            _ if is_carried(&found) => Some(InputReader::Carrier),
            Some(_) if !has_unread => Some(InputReader::Program),
            _ => None,
        };
        Some((found, reader))
    }

    /// Returns the program that would read input now.
    pub fn reader(&self) -> Option<InputReader> {
        self.foreground_and_reader()?.1
    }

    /// Returns whether the kernel shows that the program has read all of its input and waits for more.
    pub fn is_reading(&self) -> bool {
        self.reader() == Some(InputReader::Program)
    }

    /// Returns whether the terminal is in canonical mode: the program reads whole lines.
    pub fn is_canonical(&self) -> bool {
        self.io.as_ref().is_some_and(|io| io.input_modes().is_canonical)
    }

    /// Returns whether the program has unread input.
    pub fn has_unread_input(&self) -> bool {
        self.is_on_its_way() || self.has_unread_by_kernel()
    }

    /// Returns whether the program has unread input, apart from input that tmux has not confirmed yet. The program may
    /// have read that input already.
    pub(super) fn has_unread_by_kernel(&self) -> bool {
        !self.input.is_empty() || self.io.as_ref().is_some_and(Io::has_unread_input)
    }

    /// Returns the program that would read a secret now: it blocks in a read of the terminal with echo off, has read
    /// all input, and none is in the queue. It stays in this read until it gets more input, so the result is still
    /// valid for a write in the same job.
    pub fn secret_reader(&self) -> Option<Foreground> {
        let (found, reader) = self.foreground_and_reader().filter(|_| self.reads_secret())?;
        let is_reading = found.activity.terminal == Some(TerminalWait::Read);
        (is_reading && reader == Some(InputReader::Program)).then_some(found)
    }

    /// Returns whether the program reads lines without echo, as for a password.
    pub fn reads_secret(&self) -> bool {
        self.io.as_ref().is_some_and(|io| io.input_modes().is_secret())
    }

    /// Trusts the marks of a shell that awaitty did not start.
    pub fn trust_shell(&mut self, nonce: &Nonce, kind: Kind) {
        self.trust(nonce, Some(kind), Group::AtPrompt);
    }

    pub(super) fn trust(&mut self, nonce: &Nonce, kind: Option<Kind>, group: Group) {
        self.session.trust_shell(nonce.as_str());
        self.nonces.add(nonce.as_str());
        self.shells.trust(nonce.as_str(), kind, group);
    }

    /// Returns the working directory of the shell after a command has ended. The mark with the directory does not count
    /// if a job of the prompt had the terminal when the mark was read; then the kernel shows the directory.
    pub fn directory_of(&self, command: &Command) -> Option<String> {
        let is_of_shell = command.ended.is_some() && !command.is_sentinel();
        let by_kernel = || is_of_shell.then(|| self.shells.directory(&self.session)).flatten();
        command.cwd.clone().or_else(by_kernel)
    }

    /// Returns the nonce and the kind of the innermost shell whose marks are trusted.
    pub fn shell(&self) -> Option<(Nonce, Kind)> {
        self.shells.innermost(&self.session)
    }

    /// Returns the kind of the shell that a command was delivered to.
    pub fn kind_of(&self, id: CommandId) -> Option<Kind> {
        self.delivered.get(&id).copied()
    }

    /// Delivers a command to a shell. `keys` is the first part of the input, and `text` the part of it that is echoed.
    ///
    /// # Errors
    /// If the input is refused; nothing is queued then.
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

    /// Takes the unsent input of a command, for a shell that does not request it.
    pub fn take_rest(&mut self, id: CommandId) -> Vec<u8> {
        self.session.take_rest_of_command(id)
    }

    /// Gives up a command that the shell has not started.
    pub fn give_up(&mut self, id: CommandId) {
        let now = self.now();
        self.session.give_up_command(now, id);
    }

    /// Returns the activity of the foreground job.
    pub(super) fn activity(&self) -> Activity {
        activity_of(self.foreground().as_ref())
    }

    /// Schedules the next probe of the foreground job: soon, if something has just happened.
    pub(super) fn plan_probe(&mut self, has_happened: bool) {
        if !self.session.wants_activity() || self.io.is_none() {
            self.probe_schedule = None;
        } else if has_happened || self.probe_schedule.is_none() {
            self.probe_schedule =
                Some(ProbeSchedule { at: Instant::now() + PROBE_FIRST, pause: PROBE_FIRST });
        }
    }

    /// Reports the activity of the foreground job to the session, after all output that the job printed before.
    pub(super) fn note_activity(&mut self, activity: Activity) {
        self.read_some();
        self.report_unread_input();
        let now = self.now();
        self.session.handle_activity(now, activity);
    }

    /// Probes the foreground job, if a probe is due.
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
            // tmux may still hold output that the program printed before this probe.
            self.confirm_activity(activity);
        } else {
            self.note_activity(activity);
        }
    }
}

/// Returns the activity of a job. A carrier hides the activity of the programs behind it.
pub(super) fn activity_of(found: Option<&Foreground>) -> Activity {
    match found {
        Some(found) if is_carried(found) => {
            Activity { reads_keys: found.activity.reads_keys, ..Activity::default() }
        }
        Some(found) => found.activity,
        None => Activity::default(),
    }
}

/// Returns whether a job passes its input on to programs that this kernel does not show.
fn is_carried(found: &Foreground) -> bool {
    found.activity.terminal != Some(TerminalWait::Read) && shell::is_carrier(&found.name)
}
