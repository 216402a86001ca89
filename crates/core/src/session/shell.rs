//! Shells: what their marks change, and what can be asked of them.

use super::Session;
use crate::screen::{Event, Mark};
use crate::shell::{Command, CommandId, Delivery, End, Output, Start};
use crate::waits::{Condition, Outcome, Spec, WaitError, WaitId};
use crate::{Line, Time};

/// Where a prompt ended and what is typed begins.
pub(super) type PromptEnd = (Line, usize);

impl Session {
    /// Trusts the marks with a nonce; see `shell.rs`.
    pub fn trust_shell(&mut self, nonce: &str) {
        self.shells.trust(nonce);
    }

    /// How many characters are kept of the output of a command that nobody delivered.
    pub fn keep_output(&mut self, chars_max: usize) {
        self.output_chars = chars_max;
    }

    /// The nonce of the innermost shell that has shown a prompt with marks.
    pub fn shell_nonce(&self) -> Option<&str> {
        self.shells.nonce()
    }

    /// Tells whether a shell reads a command at its prompt.
    pub fn is_at_prompt(&self) -> bool {
        self.exit.is_none() && self.shells.is_at_prompt()
    }

    /// How many shells are nested in one another that tell what they do.
    pub fn shell_depth(&self) -> usize {
        self.shells.depth()
    }

    /// Tells whether a shell is at or around its prompt: it is what has the terminal.
    pub fn has_shell_terminal(&self) -> bool {
        self.exit.is_none() && self.shells.has_terminal()
    }

    /// Tells whether a shell is in the middle of a command that is given to it, by us or by somebody who types.
    pub fn is_taking_command(&self) -> bool {
        self.shells.is_delivering() || self.shells.is_continued()
    }

    /// Tells whether something was typed at the shell's prompt, and no Enter.
    pub fn is_half_typed(&self) -> bool {
        self.shells.is_half_typed()
    }

    /// Tells whether a shell is starting, or on its way back to its prompt.
    pub fn is_prompt_coming(&self) -> bool {
        self.exit.is_none() && self.shells.is_coming_back()
    }

    /// The command that a shell runs.
    pub fn running_command(&self) -> Option<&Command> {
        self.shells.running()
    }

    /// A command, if it is one of the newest.
    pub fn command(&self, id: CommandId) -> Option<&Command> {
        self.shells.get(id)
    }

    /// The newest command.
    pub fn last_command(&self) -> Option<&Command> {
        self.shells.last()
    }

    /// Where the shell said it was, by a mark with its nonce.
    pub fn shell_cwd(&self) -> Option<&str> {
        self.shells.cwd()
    }

    /// What a command has printed so far.
    pub fn command_output(&self, id: CommandId) -> Output {
        let closed = self.shells.closed_output(id).cloned().unwrap_or_default();
        match self.shells.open_output(id) {
            Some((start, max)) => closed.join(self.screen.output_between(start, End::NEWEST, max)),
            None => closed,
        }
    }

    /// A command is about to be delivered; the caller sends what begins the delivery.
    pub fn start_command(&mut self, now: Time, delivery: Delivery) -> CommandId {
        self.shells.start(now, delivery)
    }

    /// What is still to be sent of a command to a shell that does not ask for it.
    pub fn take_rest_of_command(&mut self, id: CommandId) -> Vec<u8> {
        self.shells.take_rest(id)
    }

    /// Gives up a command that the shell has not begun, so that nothing more of it is sent.
    pub fn give_up_command(&mut self, now: Time, id: CommandId) {
        self.shells.give_up(id);
        self.end_commands(now);
    }

    /// Returns whether the end of the last command may have been forged by its last program, just before that exited.
    pub fn is_command_end_unconfirmed(&self) -> bool {
        self.shells.is_end_unconfirmed()
    }

    /// Confirms the end of the last command: its shell was seen to read at its prompt, or cannot be seen.
    pub fn confirm_command_end(&mut self) {
        self.shells.confirm_end();
    }

    /// Looks at the marks that came with what was just fed.
    pub(super) fn handle_events(&mut self, now: Time, is_by_shell: &mut dyn FnMut(&str) -> bool) {
        for event in self.screen.take_events().0 {
            let Event::Mark(mark) = event else { continue };
            if !self.shells.suspect(&mark).is_none_or(&mut *is_by_shell) {
                self.shells.defer_end(mark);
                continue;
            }
            if let Some(end) = self.shells.take_deferred_end(&mark) {
                self.handle_mark(now, &end, End { line: end.line, col: end.col });
            }
            self.handle_mark(now, &mark, End::NEWEST);
        }
    }

    fn handle_mark(&mut self, now: Time, mark: &Mark, end: End) {
        let prompt = self.prompt_end;
        let screen = &self.screen;
        let typed = || prompt.map_or_else(String::new, |prompt| screen.text_between(prompt, mark));
        let reaction = self.shells.handle(now, mark, self.output_chars, typed);
        if let Some(id) = reaction.ends {
            self.close_output(id, end);
        }
        if let (Some((id, lines)), Some(prompt)) = (reaction.failed, self.prompt_end)
            && let Some(line) = self.screen.line_below(prompt.0, lines)
        {
            let output = self.screen.output_below(line, self.output_chars);
            self.shells.add_output(id, output);
        }
        if let Some(id) = reaction.begins {
            self.open_output(id, mark);
        }
        self.to_send.extend(reaction.send.into_iter().flatten());
        if mark.kind == 'B' {
            self.prompt_end = Some((mark.line, mark.col));
            if self.input_unread {
                self.shells.note_unread();
            }
            // What was typed ahead may be read by now, and the marks of its command follow: judged when all was read.
            self.is_prompt_new = true;
        }
        self.end_commands(now);
    }

    fn open_output(&mut self, id: CommandId, mark: &Mark) {
        // What was drawn before is looked at now, because what follows is to be later.
        if self.waits.want_text() {
            self.waits.judge(&self.screen);
        }
        let is_alternate = self.screen.is_alternate();
        let (line, col, tick) = (mark.line, mark.col, self.screen.tick());
        let start = Start { line, col, tick, is_alternate };
        self.screen.advance_tick();
        if let Some(max) = self.shells.set_start(id, start) {
            self.screen.keep_leaving(start.line, max);
        }
    }

    fn close_output(&mut self, id: CommandId, end: End) {
        if let Some((start, max)) = self.shells.open_output(id) {
            let output = self.screen.output_between(start, end, max);
            self.shells.add_output(id, output);
            self.screen.forget_leaving();
        }
    }

    /// The shells are gone with the program.
    pub(super) fn end_shells(&mut self) {
        if let Some(id) = self.shells.end() {
            self.close_output(id, End::NEWEST);
        }
    }

    /// Ends the waits for commands that are over.
    fn end_commands(&mut self, now: Time) {
        for id in self.waits.ids() {
            if self.waits.get(id).is_some_and(|wait| self.is_over(&wait.spec.condition)) {
                self.end_with_frame(id, now);
            }
        }
    }

    fn end_with_frame(&mut self, id: WaitId, now: Time) {
        self.catch_up(now);
        self.end(id, now, Outcome::Met);
    }

    /// Tells whether a wait could be started now, but for its anchor.
    ///
    /// # Errors
    /// If it is for a command that does not exist.
    pub fn check_wait(&self, spec: &Spec) -> Result<(), WaitError> {
        match spec.condition {
            // What is sent meanwhile may run one, if there is a shell.
            Condition::LastCommand { .. } if self.shells.depth() > 0 => Ok(()),
            ref other => self.resolve(&mut other.clone()),
        }
    }

    /// Finds out which command a wait is for.
    pub(super) fn resolve(&self, condition: &mut Condition) -> Result<(), WaitError> {
        match condition {
            Condition::Command(id)
            | Condition::Taken(id)
            | Condition::Unclosed(id)
            | Condition::FullScreen(id)
            | Condition::Asks(Some(id))
                if self.shells.get(*id).is_none() =>
            {
                Err(WaitError::NoSuchCommand(*id))
            }
            Condition::LastCommand { after } => {
                if self.shells.depth() == 0 && self.shells.last().is_none() {
                    return Err(WaitError::NoCommand);
                }
                // A command that had ended before the input is none that the input runs.
                let is_open =
                    |command: &&Command| command.ended.is_none_or(|ended| ended >= self.input_at);
                let last = self.shells.last();
                let is_last = !self.shells.is_entered() && last.filter(is_open).is_some();
                let last = last.map_or(0, |last| last.id.0);
                *after = Some(CommandId(last - u64::from(is_last)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Tells whether a wait for a command or a prompt holds.
    pub(super) fn is_over(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Command(id) => self.shells.get(*id).is_none_or(Command::is_over),
            Condition::LastCommand { after: Some(after) } => {
                self.shells.last().is_some_and(|last| last.id > *after && last.is_over())
            }
            Condition::Unclosed(id) => self.shells.get(*id).is_none_or(Command::is_unclosed),
            Condition::Taken(id) => self.shells.get(*id).is_none_or(Command::is_taken),
            _ => false,
        }
    }
}
