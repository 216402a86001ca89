//! The shells whose marks are trusted, and whether a mark can come from one of them.
//!
//! A mark carries the nonce of its shell. A program that learns the nonce, for example from the memory of the shell,
//! could print marks itself. So a mark that a command could have forged counts only if the kernel shows that the shell
//! has the terminal: its process group is in the foreground of the terminal.

use std::collections::HashMap;

use awaitty_core::Session;

use crate::io::Io;
use crate::platform::foreground::{self, Foreground};
use crate::platform::proc;
use crate::shell::{self, Kind, Nonce, NonceFile};

/// Maximum number of reads of the foreground group while it has no process: a shell that has reaped its job is about to
/// take the terminal back.
const GROUP_READS_MAX: usize = 16;

/// The process group of a shell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Known(i32),
    /// Taken at the first input at the shell's prompt, where the shell has the terminal.
    AtPrompt,
    /// This kernel does not show the shell, so only the nonce is checked.
    Hidden,
}

/// A shell whose marks are trusted.
struct TrustedShell {
    kind: Option<Kind>,
    group: Group,
}

/// The shells of a terminal.
#[derive(Default)]
pub(super) struct TrustedShells {
    by_nonce: HashMap<String, TrustedShell>,
    /// The nonce of the last command that had marks of its own.
    sentinel: Option<String>,
    /// The foreground group when a line was typed that the shell reads after its present command. The command that this
    /// line starts may have the terminal already when the end of the present one is read.
    typed_over: Option<i32>,
    /// The file from which the first shell reads its nonce; `None` once it has read it.
    nonce_file: Option<NonceFile>,
}

impl TrustedShells {
    /// Trusts the marks of a shell.
    pub(super) fn trust(&mut self, nonce: &str, kind: Option<Kind>, group: Group) {
        let shell = self.by_nonce.entry(nonce.to_owned()).or_insert(TrustedShell { kind, group });
        shell.kind = shell.kind.or(kind);
    }

    /// Trusts the marks of one command, instead of those of the last such command.
    pub(super) fn trust_sentinel(&mut self, nonce: &str) {
        if let Some(last) = self.sentinel.replace(nonce.to_owned()) {
            self.by_nonce.remove(&last);
        }
        self.trust(nonce, None, Group::Hidden);
    }

    /// Keeps the file of a nonce until its shell has read it.
    pub(super) fn keep_file(&mut self, file: NonceFile) {
        self.nonce_file = Some(file);
    }

    /// Removes the file of the nonce if a shell has printed a mark with it.
    pub(super) fn remove_file_if_read(&mut self, session: &Session) {
        if self.nonce_file.is_some() && session.shell_nonce().is_some() {
            self.nonce_file = None;
        }
    }

    /// Returns the innermost shell that has shown a prompt.
    pub(super) fn innermost(&self, session: &Session) -> Option<(Nonce, Kind)> {
        let nonce = session.shell_nonce()?;
        Some((Nonce::known(nonce), self.by_nonce.get(nonce)?.kind?))
    }

    /// Records that lines are typed while that group has the terminal. At a prompt it is the group of the shell. For a
    /// shell that runs inside another command, it is not known before that.
    pub(super) fn note_input(&mut self, text: &str, session: &Session, group: Option<i32>) {
        let lines = text.matches(['\r', '\n']).count();
        let is_at_prompt = session.is_at_prompt();
        if is_at_prompt
            && let Some(nonce) = session.shell_nonce()
            && let Some(shell) = self.by_nonce.get_mut(nonce)
            && shell.group == Group::AtPrompt
        {
            // This kernel does not show the jobs of a shell behind a carrier such as ssh.
            let is_carrier = |group| proc::name(group).is_none_or(|name| shell::is_carrier(&name));
            shell.group =
                group.filter(|&group| !is_carrier(group)).map_or(Group::Hidden, Group::Known);
        }
        if lines > usize::from(is_at_prompt) {
            self.typed_over = group;
        } else if is_at_prompt {
            self.typed_over = None;
        }
    }

    /// Returns the process group of the innermost shell, if the kernel shows it.
    pub(super) fn group(&self, session: &Session) -> Option<i32> {
        self.group_of(session.shell_nonce()?)
    }

    fn group_of(&self, nonce: &str) -> Option<i32> {
        match self.by_nonce.get(nonce)?.group {
            Group::Known(group) => Some(group),
            Group::AtPrompt | Group::Hidden => None,
        }
    }

    /// Returns the directory that the kernel shows for the innermost shell, if that leads its process group.
    pub(super) fn directory(&self, session: &Session) -> Option<String> {
        let group = self.group(session)?;
        Kind::of(&proc::name(group)?)?;
        proc::directory(group)?.into_os_string().into_string().ok()
    }

    /// Returns whether the kernel shows the innermost shell. Otherwise its marks are the only evidence.
    pub(super) fn is_visible(&self, session: &Session, io: Option<&Io>) -> bool {
        self.group(session).is_some() && io.is_some_and(|io| io.foreground_group().is_some())
    }

    /// Returns whether the innermost shell has the terminal and waits for input from it.
    pub(super) fn reads(&self, session: &Session, found: Option<&Foreground>) -> bool {
        let group = self.group(session);
        found.is_some_and(|found| Some(found.group) == group && found.activity.terminal.is_some())
    }

    /// Returns whether a mark with that nonce can come from its shell: it has the terminal, or a fork of it that runs
    /// no other program, or a command that was typed ahead. Returns true where the kernel shows no groups.
    pub(super) fn has_terminal(&self, nonce: &str, io: Option<&Io>) -> bool {
        let (Some(group), Some(io)) = (self.group_of(nonce), io) else { return true };
        for _ in 0..GROUP_READS_MAX {
            let Some(front) = io.foreground_group() else { return true };
            if front == group || self.typed_over.is_some_and(|over| over != front) {
                return true;
            }
            match foreground::are_forks(front, group) {
                Some(are_forks) => return are_forks,
                None => std::thread::yield_now(),
            }
        }
        false
    }
}
