//! What shells say of themselves by marks (OSC 133): whether they are at their prompt, and which
//! commands they run.
//!
//! A mark counts only if it carries the nonce of a shell that we trust (`aid=`), so nothing that a
//! program prints can pass for one. Shells can be nested, as with ssh: each has a level, and a mark of an
//! outer one means that those inside it are gone.
//!
//! A command begins with `C` and ends with `D`, and is *settled* with the `B` of the next prompt: only then
//! can the shell be given another. One that we deliver is known from the moment it is sent, and ends without
//! a `C` if there was nothing to run in it.

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

/// Commands of a session that are remembered with their output. An agent asks for the last few.
pub const COMMANDS_MAX: usize = 20;

/// What a shell is doing, as far as its marks tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// It is about to show its prompt.
    Prompting,
    /// It reads a command at its prompt.
    Prompt,
    /// Enter was sent to it since.
    Entered,
    /// It wants the rest of a command.
    Continued,
    /// It runs a command.
    Running,
}

/// A shell that is trusted.
#[derive(Clone, Debug)]
struct Level {
    nonce: String,
    phase: Phase,
    command: Option<CommandId>,
    is_half_typed: bool,
    /// Enters that were sent before the prompt that they will be read at.
    typed_ahead: usize,
    /// The newest end of a command that was read while another program had the terminal.
    deferred_end: Option<Mark>,
}

/// What is to be done after a mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reaction {
    /// A command's output begins here.
    pub(crate) begins: Option<CommandId>,
    /// A command's output ends here.
    pub(crate) ends: Option<CommandId>,
    /// A command ended that had not begun, and failed: it was shown in so many lines, and what the shell has
    /// to say of it follows them.
    pub(crate) failed: Option<(CommandId, usize)>,
    /// Something is to be sent to the shell.
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

/// The end of a command that another mark may still correct. A program that knows the nonce can print marks just before it
/// exits, and the shell's own marks follow. The end is confirmed when the shell is seen to read at its prompt, and when
/// something is typed there or another command begins.
#[derive(Clone, Debug)]
struct UnconfirmedEnd {
    id: CommandId,
    /// Where the part of its output that has ended begins.
    start: Start,
    /// What it printed before that part.
    before: Output,
}

impl Shells {
    /// Trusts the marks with a nonce, of a shell that runs inside of those known so far.
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

    /// The nonce of the innermost shell that has shown a prompt.
    pub(crate) fn nonce(&self) -> Option<&str> {
        let known = self.levels.iter().rev().find(|level| level.phase != Phase::Unknown);
        known.map(|level| level.nonce.as_str())
    }

    /// Tells whether the innermost shell reads a command at its prompt.
    pub(crate) fn is_at_prompt(&self) -> bool {
        self.levels.last().is_some_and(|level| level.phase == Phase::Prompt)
    }

    /// How many shells there are.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Tells whether the innermost shell is at or around its prompt, so that what is in the foreground is it.
    pub(crate) fn has_terminal(&self) -> bool {
        self.levels
            .last()
            .is_some_and(|level| !matches!(level.phase, Phase::Unknown | Phase::Running))
    }

    /// Tells whether the innermost shell wants the rest of a command.
    pub(crate) fn is_continued(&self) -> bool {
        self.levels.last().is_some_and(|level| level.phase == Phase::Continued)
    }

    /// Tells whether a command is on its way to the innermost shell.
    pub(crate) fn is_delivering(&self) -> bool {
        let command = self.levels.last().and_then(|level| self.get(level.command?));
        command.is_some_and(|command| command.progress == Progress::Sent)
    }

    /// Tells whether something was typed at the prompt, and no Enter.
    pub(crate) fn is_half_typed(&self) -> bool {
        self.levels.last().is_some_and(|level| level.is_half_typed)
    }

    /// Tells whether Enter was sent to the innermost shell, and it has not said what came of it.
    pub(crate) fn is_entered(&self) -> bool {
        self.levels.last().is_some_and(|level| level.phase == Phase::Entered)
    }

    /// Tells whether a shell has ended a command and is on its way back to its prompt.
    pub(crate) fn is_coming_back(&self) -> bool {
        self.levels.last().is_some_and(|level| {
            level.phase == Phase::Prompting
                || level.phase == Phase::Unknown && self.levels.len() == 1
        })
    }

    /// The command that runs, of the innermost shell.
    pub(crate) fn running(&self) -> Option<&Command> {
        let level = self.levels.iter().rev().find(|level| level.phase == Phase::Running)?;
        self.get(level.command?)
    }

    /// A command, if it is still remembered.
    pub(crate) fn get(&self, id: CommandId) -> Option<&Command> {
        self.commands.iter().find(|command| command.id == id)
    }

    /// The newest command that somebody wanted to run.
    pub(crate) fn last(&self) -> Option<&Command> {
        self.commands.iter().rev().find(|command| !command.text.is_empty())
    }

    /// Where the shell said it was.
    pub(crate) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Input was sent.
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

    /// The prompt is there, and what was typed before it is still to be read.
    pub(crate) fn note_unread(&mut self) {
        if let Some(level) = self.levels.last_mut().filter(|level| level.phase == Phase::Prompt) {
            level.phase = Phase::Entered;
        }
    }

    /// A command is about to be delivered.
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

    /// Gives a command up that the shell did not begin.
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

    /// What is still to be sent of a command, which will not be asked for.
    pub(crate) fn take_rest(&mut self, id: CommandId) -> Vec<u8> {
        let rest = self.get_mut(id).map(|command| std::mem::take(&mut command.rest));
        rest.into_iter().flatten().flatten().collect()
    }

    /// Returns the nonce of a mark that a program could have forged which the shell runs: one that comes while a command
    /// runs, or that ends a command whose beginning its shell does not announce.
    pub(crate) fn suspect<'m>(&self, mark: &'m Mark) -> Option<&'m str> {
        let nonce = Params::new(&mark.params).aid?;
        let is_suspect = match self.levels[self.level(nonce)?].phase {
            Phase::Running => true,
            Phase::Entered => mark.kind != 'C',
            Phase::Unknown | Phase::Prompting | Phase::Prompt | Phase::Continued => false,
        };
        is_suspect.then_some(nonce)
    }

    /// Ignores a mark that was read while another program than its shell had the terminal. If it ends a command, it may be
    /// the shell's although a job of its prompt had the terminal when the mark was read. So it is kept until the shell's
    /// next mark, which decides.
    pub(crate) fn defer_end(&mut self, mark: Mark) {
        let index = Params::new(&mark.params).aid.and_then(|aid| self.level(aid));
        if let Some(index) = index.filter(|_| mark.kind == 'D') {
            self.levels[index].deferred_end = Some(mark);
        }
    }

    /// Returns the deferred end that a mark of the same shell shows to be genuine: its repetition, the prompt or the next
    /// command, which follow the end. Another end shows that it was forged.
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

    /// Confirms the end of the last command: its shell reads at its prompt.
    pub(crate) fn confirm_end(&mut self) {
        self.unconfirmed = None;
    }

    /// Returns whether the end of the last command is not confirmed.
    pub(crate) fn is_end_unconfirmed(&self) -> bool {
        self.unconfirmed.is_some()
    }

    /// Takes back the end of a command that is not confirmed if a mark with another status follows.
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

    /// Takes in a mark of a shell; `typed` is what stands on the screen between its prompt and here.
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
            // The shells inside of this one are gone.
            for gone in self.levels.split_off(index + 1) {
                self.lose(gone.command);
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
                    // What was typed ahead will be read at once.
                    level.phase =
                        if level.typed_ahead > 0 { Phase::Entered } else { Phase::Prompt };
                    level.typed_ahead = level.typed_ahead.saturating_sub(1);
                    level.is_half_typed = false;
                }
            }
            'C' => {
                let text = |params: &Params<'_>| params.cmd.map_or_else(typed, str::to_owned);
                reaction.begins = Some(self.begin(now, index, chars_max, || text(&params)));
            }
            'D' => self.end_current(now, index, &params, chars_max, typed, &mut reaction),
            // A shell that was asked says what it is.
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
                // It was asked once too often, and has just said that it is at its prompt.
                if is_free && self.levels[index].phase == Phase::Entered {
                    self.levels[index].phase = Phase::Prompt;
                }
            }
            _ => {}
        }
        reaction
    }

    /// The command that a shell is at.
    fn current(&mut self, index: usize) -> Option<&mut Command> {
        let id = self.levels[index].command?;
        self.get_mut(id)
    }

    /// A shell begins a command: the one that was delivered, the next part of it, or one that was typed.
    fn begin(
        &mut self,
        now: Time,
        index: usize,
        chars_max: usize,
        text: impl FnOnce() -> String,
    ) -> CommandId {
        self.levels[index].phase = Phase::Running;
        self.confirm_end();
        if let Some(command) = self.current(index).filter(|command| !command.is_over()) {
            command.begin(now);
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

    /// A shell has ended its command. Shells without hooks have not told of its beginning.
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

    /// A command's output begins.
    pub(crate) fn set_start(&mut self, id: CommandId, start: Start) -> Option<usize> {
        let command = self.get_mut(id)?;
        command.start = Some(start);
        Some(command.chars_max)
    }

    /// Where a command's output begins that has not ended, and how much of it is kept.
    pub(crate) fn open_output(&self, id: CommandId) -> Option<(Start, usize)> {
        let command = self.get(id)?;
        Some((command.start?, command.chars_max))
    }

    /// A command's output has ended.
    pub(crate) fn add_output(&mut self, id: CommandId, output: Output) {
        let Some(command) = self.get_mut(id) else { return };
        let (start, before) = (command.start.take(), std::mem::take(&mut command.output));
        command.output = before.clone().join(output);
        self.unconfirmed = start.map(|start| UnconfirmedEnd { id, start, before });
    }

    /// What a command printed before the part that is still open.
    pub(crate) fn closed_output(&self, id: CommandId) -> Option<&Output> {
        self.get(id).map(|command| &command.output)
    }

    /// The program has ended, and its shells with it.
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
            // One that still runs is wanted more than one that is over.
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
