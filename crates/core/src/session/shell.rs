//! Shells: handles their marks, and reports their state and their commands.

use super::Session;
use crate::screen::{Event, Mark};
use crate::shell::{Command, CommandId, Delivery, End, Output, Start};
use crate::{Line, Time};

/// The position at which a prompt ended and typed text starts.
pub(super) type PromptEnd = (Line, usize);

impl Session {
    /// Trusts the marks with a nonce; see `shell/mod.rs`.
    pub fn trust_shell(&mut self, nonce: &str) {
        self.shells.trust(nonce);
    }

    /// Sets how many characters are kept of the output of a typed command.
    pub fn keep_output(&mut self, chars_max: usize) {
        self.output_chars = chars_max;
    }

    /// Returns the nonce of the innermost shell that has shown a prompt with marks.
    pub fn shell_nonce(&self) -> Option<&str> {
        self.shells.nonce()
    }

    /// Returns whether a shell reads a command at its prompt.
    pub fn is_at_prompt(&self) -> bool {
        self.exit.is_none() && self.shells.is_at_prompt()
    }

    /// Returns how many trusted shells are nested in one another.
    pub fn shell_depth(&self) -> usize {
        self.shells.depth()
    }

    /// Returns whether a shell is at or around its prompt, so that it has the terminal.
    pub fn has_shell_terminal(&self) -> bool {
        self.exit.is_none() && self.shells.has_terminal()
    }

    /// Returns whether a shell has read only a part of a command, delivered or typed.
    pub fn is_taking_command(&self) -> bool {
        self.shells.is_delivering() || self.shells.is_continued()
    }

    /// Returns whether text was typed at the shell's prompt without Enter.
    pub fn is_half_typed(&self) -> bool {
        self.shells.is_half_typed()
    }

    /// Returns whether a shell is starting, or has ended a command and not shown its prompt yet.
    pub fn is_prompt_coming(&self) -> bool {
        self.exit.is_none() && self.shells.is_coming_back()
    }

    /// Returns the command that a shell runs.
    pub fn running_command(&self) -> Option<&Command> {
        self.shells.running()
    }

    /// Returns a command, if it is still remembered.
    pub fn command(&self, id: CommandId) -> Option<&Command> {
        self.shells.get(id)
    }

    /// Returns the newest command.
    pub fn last_command(&self) -> Option<&Command> {
        self.shells.last()
    }

    /// Returns the working directory that a shell reported by a mark with its nonce.
    pub fn shell_cwd(&self) -> Option<&str> {
        self.shells.cwd()
    }

    /// Returns the output of a command so far.
    pub fn command_output(&self, id: CommandId) -> Output {
        let closed = self.shells.closed_output(id).cloned().unwrap_or_default();
        match self.shells.open_output(id) {
            Some((start, max)) => closed.join(self.screen.output_between(start, End::NEWEST, max)),
            None => closed,
        }
    }

    /// Registers a command that is about to be delivered. The caller sends the start of the delivery.
    pub fn start_command(&mut self, now: Time, delivery: Delivery) -> CommandId {
        self.shells.start(now, delivery)
    }

    /// Takes the unsent rest of a command, for a shell that does not request it.
    pub fn take_rest_of_command(&mut self, id: CommandId) -> Vec<u8> {
        self.shells.take_rest(id)
    }

    /// Abandons a command that the shell has not started. Nothing more of it is sent.
    pub fn give_up_command(&mut self, now: Time, id: CommandId) {
        self.shells.give_up(id);
        self.judge_marks(now);
    }

    /// Returns whether the end of the last command may have been forged by its last program, just before that exited.
    pub fn is_command_end_unconfirmed(&self) -> bool {
        self.shells.is_end_unconfirmed()
    }

    /// Confirms the end of the last command. Must be called when the kernel shows that its shell reads at its prompt,
    /// or does not show the shell at all.
    pub fn confirm_command_end(&mut self) {
        self.shells.confirm_end();
    }

    /// Handles the marks that were just fed.
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
        if let Some(id) = reaction.starts {
            self.open_output(id, mark);
        }
        self.to_send.extend(reaction.send.into_iter().flatten());
        if mark.kind == 'B' {
            self.prompt_end = Some((mark.line, mark.col));
            if self.input.is_unread {
                self.shells.note_unread();
            }
            // The shell may read type-ahead at once, and the marks of that command follow. So waits are judged after
            // all output was read.
            self.is_prompt_new = true;
        }
        self.judge_marks(now);
    }

    fn open_output(&mut self, id: CommandId, mark: &Mark) {
        // Text that was drawn before is searched now, because it belongs to the tick before the output.
        if self.waits.has_patterns() {
            self.waits.search_drawn(&self.screen);
        }
        let is_alternate = self.screen.is_alternate();
        let (line, col, tick) = (mark.line, mark.col, self.screen.tick());
        let start = Start { line, col, tick, is_alternate };
        self.screen.advance_tick();
        if let Some(max) = self.shells.set_start(id, start) {
            self.screen.record_dropped(start.line, max);
        }
    }

    fn close_output(&mut self, id: CommandId, end: End) {
        if let Some((start, max)) = self.shells.open_output(id) {
            let output = self.screen.output_between(start, end, max);
            self.shells.add_output(id, output);
            self.screen.stop_recording_dropped();
        }
    }

    /// Ends the shells with the program.
    pub(super) fn end_shells(&mut self) {
        if let Some(id) = self.shells.end() {
            self.close_output(id, End::NEWEST);
        }
    }
}
