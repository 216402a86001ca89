//! The state of shells, by their marks (OSC 133): whether they are at their prompt, and which commands they run.
//!
//! A mark counts only if it carries the nonce of a trusted shell (`aid=`), so programs cannot forge one. Shells can be
//! nested, as with ssh: each has a level, and a mark of an outer shell means that the shells inside it have ended.
//!
//! A command starts with `C` and ends with `D`, and is *settled* with the `B` of the next prompt: only then can the
//! shell take another. A delivered command is known from the moment it is sent, and ends without a `C` if it had
//! nothing to run.

mod command;
mod marks;
mod output;

use std::collections::VecDeque;

pub use command::{COMMAND_TEXT_MAX, Command, CommandId, Delivery, Progress};
pub use output::Output;

pub(crate) use output::{Clip, End, Start};

use crate::Time;
use crate::screen::Mark;
use marks::Params;

/// Maximum number of commands that a session remembers, with their output.
pub const COMMANDS_MAX: usize = 20;

/// The state of a shell, by its marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// It has not printed a mark yet.
    #[default]
    Unknown,
    /// It is about to show its prompt.
    Prompting,
    /// It reads a command at its prompt.
    Prompt,
    /// It reads a command, and Enter was sent to it since.
    Entered,
    /// It reads the rest of a command at a continuation prompt.
    Continued,
    /// It runs a command.
    Running,
}

/// A trusted shell.
#[derive(Clone, Debug)]
struct Level {
    nonce: String,
    phase: Phase,
    command: Option<CommandId>,
    is_half_typed: bool,
    /// The number of Enter keys that were sent before the prompt at which they will be read.
    typed_ahead: usize,
    /// The newest end of a command that was read while another program had the terminal.
    deferred_end: Option<Mark>,
}

/// The actions to take after a mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reaction {
    /// The output of this command starts here.
    pub(crate) starts: Option<CommandId>,
    /// The output of this command ends here.
    pub(crate) ends: Option<CommandId>,
    /// This command ended without having started: the shell could not parse it. It takes that many lines on the screen,
    /// and the shell's error message follows them.
    pub(crate) failed: Option<(CommandId, usize)>,
    /// Bytes to send to the shell.
    pub(crate) send: Option<Vec<u8>>,
}

/// The shells of a terminal and their commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shells {
    levels: Vec<Level>,
    commands: VecDeque<Command>,
    last_id: u64,
    cwd: Option<String>,
    /// The end of the last command, until it is confirmed.
    unconfirmed: Option<UnconfirmedEnd>,
}

/// The end of a command that another mark may still correct. A program that knows the nonce can print marks just before
/// it exits, and the shell's own marks follow. The end is confirmed when the kernel shows that the shell reads at its
/// prompt, when text is typed there, or when another command starts.
#[derive(Clone, Debug)]
struct UnconfirmedEnd {
    id: CommandId,
    /// The start of the part of its output that has ended.
    start: Start,
    /// Its output before that part.
    before: Output,
}

impl Shells {
    /// Trusts the marks with a nonce, of a shell that runs inside those known so far.
    pub(crate) fn trust(&mut self, nonce: &str) {
        if self.level(nonce).is_none() {
            let (phase, command) = (Phase::Unknown, None);
            let nonce = nonce.to_owned();
            self.levels.push(Level {
                nonce,
                phase,
                command,
                is_half_typed: false,
                typed_ahead: 0,
                deferred_end: None,
            });
        }
    }

    /// Returns the nonce of the innermost shell that has shown a prompt.
    pub(crate) fn nonce(&self) -> Option<&str> {
        let known = self.levels.iter().rev().find(|level| level.phase != Phase::Unknown);
        known.map(|level| level.nonce.as_str())
    }

    /// Returns whether the innermost shell reads a command at its prompt.
    pub(crate) fn is_at_prompt(&self) -> bool {
        self.levels.last().is_some_and(|level| level.phase == Phase::Prompt)
    }

    /// Returns the number of trusted shells.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Returns whether the innermost shell is at or around its prompt, so that it has the terminal.
    pub(crate) fn has_terminal(&self) -> bool {
        self.levels
            .last()
            .is_some_and(|level| !matches!(level.phase, Phase::Unknown | Phase::Running))
    }

    /// Returns whether the innermost shell is at a continuation prompt.
    pub(crate) fn is_continued(&self) -> bool {
        self.levels.last().is_some_and(|level| level.phase == Phase::Continued)
    }

    /// Returns whether a command is being delivered to the innermost shell.
    pub(crate) fn is_delivering(&self) -> bool {
        let command = self.levels.last().and_then(|level| self.get(level.command?));
        command.is_some_and(|command| command.progress == Progress::Sent)
    }

    /// Returns whether text was typed at the prompt without Enter.
    pub(crate) fn is_half_typed(&self) -> bool {
        self.levels.last().is_some_and(|level| level.is_half_typed)
    }

    /// Returns whether Enter was sent to the innermost shell, and it has not printed a mark since.
    pub(crate) fn is_entered(&self) -> bool {
        self.levels.last().is_some_and(|level| level.phase == Phase::Entered)
    }

    /// Returns whether a shell has ended a command and has not shown its prompt yet.
    pub(crate) fn is_coming_back(&self) -> bool {
        self.levels.last().is_some_and(|level| {
            level.phase == Phase::Prompting
                || level.phase == Phase::Unknown && self.levels.len() == 1
        })
    }

    /// Returns the running command of the innermost shell that runs one.
    pub(crate) fn running(&self) -> Option<&Command> {
        let level = self.levels.iter().rev().find(|level| level.phase == Phase::Running)?;
        self.get(level.command?)
    }

    /// Returns a command, if it is still remembered.
    pub(crate) fn get(&self, id: CommandId) -> Option<&Command> {
        self.commands.iter().find(|command| command.id == id)
    }

    /// Returns the newest command that has a text.
    pub(crate) fn last(&self) -> Option<&Command> {
        self.commands.iter().rev().find(|command| !command.text.is_empty())
    }

    /// Returns the working directory that a shell reported.
    pub(crate) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Handles input that is about to be written.
    pub(crate) fn note_input(&mut self, text: &str) {
        self.confirm_end();
        if let Some(level) = self.levels.last_mut()
            && matches!(level.phase, Phase::Unknown | Phase::Prompting)
        {
            level.typed_ahead += text.matches(['\r', '\n']).count();
        }
        if let Some(level) = self.levels.last_mut().filter(|level| level.phase == Phase::Prompt) {
            if text.contains(['\r', '\n']) {
                level.phase = Phase::Entered;
            }
            let last = text.rsplit(['\r', '\n', '\x03', '\x15']).next().unwrap_or_default();
            let is_cleared = last.len() < text.len();
            level.is_half_typed = !last.is_empty() || level.is_half_typed && !is_cleared;
        }
    }

    /// Notes that input was written before the prompt and is not read yet.
    pub(crate) fn note_unread(&mut self) {
        if let Some(level) = self.levels.last_mut().filter(|level| level.phase == Phase::Prompt) {
            level.phase = Phase::Entered;
        }
    }

    /// Registers a command that is about to be delivered.
    pub(crate) fn start(&mut self, now: Time, delivery: Delivery) -> CommandId {
        self.trust(&delivery.nonce);
        let id = self.add(Command {
            sentinel: delivery.sentinel,
            rest: delivery.rest,
            continuations: delivery.lines.saturating_sub(1),
            shown: delivery.shown,
            ..Command::new(now, delivery.text, delivery.nonce.clone(), delivery.chars_max)
        });
        if let Some(level) = self.levels.iter_mut().find(|level| level.nonce == delivery.nonce) {
            level.phase = Phase::Entered;
            level.command = Some(id);
        }
        id
    }

    /// Abandons a command that the shell has not started.
    pub(crate) fn give_up(&mut self, id: CommandId) {
        if let Some(command) = self.get_mut(id).filter(|command| command.progress == Progress::Sent)
        {
            command.progress = Progress::Lost;
            command.rest.clear();
            let nonce = command.nonce.clone();
            let sentinel = command.sentinel;
            self.levels.retain(|level| !(sentinel && level.nonce == nonce));
        }
    }

    /// Takes the unsent rest of a command, which the shell will not request.
    pub(crate) fn take_rest(&mut self, id: CommandId) -> Vec<u8> {
        let rest = self.get_mut(id).map(|command| std::mem::take(&mut command.rest));
        rest.into_iter().flatten().flatten().collect()
    }

    /// Returns the nonce of a mark that a command of the shell could have forged: one that comes while a command runs,
    /// or that ends a command whose start its shell does not announce.
    pub(crate) fn suspect<'m>(&self, mark: &'m Mark) -> Option<&'m str> {
        let nonce = Params::new(&mark.params).aid?;
        let is_suspect = match self.levels[self.level(nonce)?].phase {
            Phase::Running => true,
            Phase::Entered => mark.kind != 'C',
            Phase::Unknown | Phase::Prompting | Phase::Prompt | Phase::Continued => false,
        };
        is_suspect.then_some(nonce)
    }

    /// Defers a mark that was read while a program other than its shell had the terminal. The end of a command may
    /// still be genuine: a job of the shell's prompt may have had the terminal when it was read. So it is kept until
    /// the shell's next mark, which decides.
    pub(crate) fn defer_end(&mut self, mark: Mark) {
        let index = Params::new(&mark.params).aid.and_then(|aid| self.level(aid));
        if let Some(index) = index.filter(|_| mark.kind == 'D') {
            self.levels[index].deferred_end = Some(mark);
        }
    }

    /// Takes the deferred end of a command if a mark of the same shell shows that it is genuine: its repetition, the
    /// prompt or the next command, which follow an end. Another end shows that it was forged.
    pub(crate) fn take_deferred_end(&mut self, mark: &Mark) -> Option<Mark> {
        let params = Params::new(&mark.params);
        let index = self.level(params.aid?)?;
        let end = self.levels[index].deferred_end.take()?;
        let is_genuine = match mark.kind {
            'D' => params.is_repeated && params.status == Params::new(&end.params).status,
            kind => matches!(kind, 'A' | 'B' | 'C' | 'Y'),
        };
        is_genuine.then_some(end)
    }

    /// Confirms the end of the last command.
    pub(crate) fn confirm_end(&mut self) {
        self.unconfirmed = None;
    }

    /// Returns whether the end of the last command is not confirmed.
    pub(crate) fn is_end_unconfirmed(&self) -> bool {
        self.unconfirmed.is_some()
    }

    /// Revokes an unconfirmed end of a command if a mark with another status follows.
    fn reopen(&mut self, index: usize, status: Option<i32>) {
        let is_ended = matches!(self.levels[index].phase, Phase::Prompting | Phase::Prompt);
        let Some(end) =
            self.unconfirmed.take_if(|end| is_ended && self.levels[index].command == Some(end.id))
        else {
            return;
        };
        match self.get_mut(end.id) {
            Some(command) if status.is_some() && command.status != status => {
                command.reopen(end.start, end.before);
            }
            _ => self.unconfirmed = Some(end),
        }
    }

    /// Handles a mark of a shell; `typed` returns the text on the screen between its prompt and the mark.
    pub(crate) fn handle(
        &mut self,
        now: Time,
        mark: &Mark,
        chars_max: usize,
        typed: impl FnOnce() -> String,
    ) -> Reaction {
        let mut reaction = Reaction::default();
        let params = Params::new(&mark.params);
        let Some(index) = params.aid.and_then(|aid| self.level(aid)) else { return reaction };
        if matches!(mark.kind, 'A'..='D') {
            // The shells inside this one have ended.
            for ended in self.levels.split_off(index + 1) {
                self.lose(ended.command);
            }
        }
        match mark.kind {
            'A' if params.is_secondary => {
                self.levels[index].phase = Phase::Continued;
                if let Some(command) = self.current(index) {
                    command.want_more();
                    reaction.send = command.rest.pop_front();
                }
            }
            'A' => self.levels[index].phase = Phase::Prompting,
            'B' => {
                let is_sent = self.current(index).is_some_and(|command| command.settle(now));
                if !is_sent {
                    let level = &mut self.levels[index];
                    // The shell reads type-ahead at once.
                    level.phase =
                        if level.typed_ahead > 0 { Phase::Entered } else { Phase::Prompt };
                    level.typed_ahead = level.typed_ahead.saturating_sub(1);
                    level.is_half_typed = false;
                }
            }
            'C' => {
                let text = |params: &Params<'_>| params.cmd.map_or_else(typed, str::to_owned);
                reaction.starts = Some(self.start_current(now, index, chars_max, || text(&params)));
            }
            'D' => self.end_current(now, index, &params, chars_max, typed, &mut reaction),
            // The answer of a probe: the name of the shell.
            'K' => {
                if let Some(command) = self.current(index) {
                    command.answer = params.word.map(str::to_owned);
                    command.progress = Progress::Ended;
                    command.settled = true;
                    self.levels.remove(index);
                }
            }
            'X' => {
                if let Some(command) = self.current(index) {
                    command.refuse();
                }
            }
            'Y' => {
                let command = self.current(index);
                let is_free = command.as_ref().is_none_or(|command| command.is_over());
                reaction.send = command.and_then(|command| command.rest.pop_front());
                // No command waits for this mark: the shell is at its prompt.
                if is_free && self.levels[index].phase == Phase::Entered {
                    self.levels[index].phase = Phase::Prompt;
                }
            }
            _ => {}
        }
        reaction
    }

    /// Returns the command that a shell has sent or running.
    fn current(&mut self, index: usize) -> Option<&mut Command> {
        let id = self.levels[index].command?;
        self.get_mut(id)
    }

    /// Starts a command: the one that was delivered, the next part of it, or one that was typed.
    fn start_current(
        &mut self,
        now: Time,
        index: usize,
        chars_max: usize,
        text: impl FnOnce() -> String,
    ) -> CommandId {
        self.levels[index].phase = Phase::Running;
        self.confirm_end();
        if let Some(command) = self.current(index).filter(|command| !command.is_over()) {
            command.note_start(now);
            return command.id;
        }
        let text = text().chars().take(COMMAND_TEXT_MAX).collect();
        let nonce = self.levels[index].nonce.clone();
        let id = self.add(Command {
            progress: Progress::Running,
            ran: true,
            ..Command::new(now, text, nonce, chars_max)
        });
        self.levels[index].command = Some(id);
        id
    }

    /// Ends the command of a shell. Shells without hooks print no mark at its start, so it may be new.
    fn end_current(
        &mut self,
        now: Time,
        index: usize,
        params: &Params<'_>,
        chars_max: usize,
        typed: impl FnOnce() -> String,
        reaction: &mut Reaction,
    ) {
        let cwd = params.directory();
        self.reopen(index, params.status);
        let was_entered = self.levels[index].phase == Phase::Entered;
        if was_entered
            && cwd.is_some()
            && self.current(index).is_none_or(|command| command.is_over())
        {
            let text = typed();
            let text: String =
                text.lines().next().unwrap_or_default().chars().take(COMMAND_TEXT_MAX).collect();
            if !text.is_empty() {
                let nonce = self.levels[index].nonce.clone();
                self.levels[index].command =
                    Some(self.add(Command::new(now, text, nonce, chars_max)));
            }
        }
        self.levels[index].phase = Phase::Prompting;
        if cwd.is_some() {
            self.cwd.clone_from(&cwd);
        }
        let Some(command) = self.current(index) else { return };
        let was_sent = command.progress == Progress::Sent;
        if command.end(now, params.status, cwd) {
            reaction.ends = Some(command.id);
        } else if was_sent && command.progress == Progress::Ended {
            reaction.failed = Some((command.id, command.shown));
        }
        if command.sentinel {
            command.settle(now);
            self.levels.remove(index);
        }
    }

    /// Sets the start of a command's output. Returns how many characters of it are kept.
    pub(crate) fn set_start(&mut self, id: CommandId, start: Start) -> Option<usize> {
        let command = self.get_mut(id)?;
        command.start = Some(start);
        Some(command.chars_max)
    }

    /// Returns the start of a command's output that has not ended, and how many characters of it are kept.
    pub(crate) fn open_output(&self, id: CommandId) -> Option<(Start, usize)> {
        let command = self.get(id)?;
        Some((command.start?, command.chars_max))
    }

    /// Adds the part of a command's output that has ended.
    pub(crate) fn add_output(&mut self, id: CommandId, output: Output) {
        let Some(command) = self.get_mut(id) else { return };
        let (start, before) = (command.start.take(), std::mem::take(&mut command.output));
        command.output = before.clone().join(output);
        self.unconfirmed = start.map(|start| UnconfirmedEnd { id, start, before });
    }

    /// Returns the output of a command before the part that is still open.
    pub(crate) fn closed_output(&self, id: CommandId) -> Option<&Output> {
        self.get(id).map(|command| &command.output)
    }

    /// Ends all shells with the program. Returns the command that was running.
    pub(crate) fn end(&mut self) -> Option<CommandId> {
        let running = self.running().map(|command| command.id);
        for level in std::mem::take(&mut self.levels) {
            self.lose(level.command);
        }
        running
    }

    fn level(&self, nonce: &str) -> Option<usize> {
        self.levels.iter().position(|level| level.nonce == nonce)
    }

    fn get_mut(&mut self, id: CommandId) -> Option<&mut Command> {
        self.commands.iter_mut().find(|command| command.id == id)
    }

    fn add(&mut self, mut command: Command) -> CommandId {
        self.last_id += 1;
        command.id = CommandId(self.last_id);
        if self.commands.len() == COMMANDS_MAX {
            // A command that is over is removed first, and only then the oldest that runs.
            let over = self.commands.iter().position(Command::is_over).unwrap_or(0);
            self.commands.remove(over);
        }
        self.commands.push_back(command);
        CommandId(self.last_id)
    }

    fn lose(&mut self, id: Option<CommandId>) {
        if let Some(command) = id.and_then(|id| self.get_mut(id))
            && !command.is_over()
        {
            match command.progress {
                Progress::Sent | Progress::Running => command.progress = Progress::Lost,
                _ => command.settled = true,
            }
        }
    }
}
