//! Which of the cells that are drawn after an input are only its echo.
//!
//! The echo of one's own input is not output: after typing `echo READY`, the characters at the prompt
//! must not satisfy a wait for `READY`. Echo comes from two sides. The terminal itself echoes what is
//! typed while a program reads whole lines (tty echo). A line editor (readline, zle, fish) turns that
//! off and draws what was typed itself, perhaps in colours, perhaps twice over itself, perhaps with a
//! suggestion behind it that is then overwritten. And what was typed before the editor began is echoed
//! by both, one after the other.
//!
//! So each side has a follower. It keeps the chains of cells that spell the beginning of what was
//! typed, one cell after the other, and claims a character that goes on with a chain, redraws a cell of
//! it, or begins one. A chain that reaches the end of a line was the echo; the others were chance, and
//! their cells are given back. Claimed cells are stamped as never drawn.

use crate::Line;

/// Characters of an input that are followed. Nobody waits for a word in the middle of a long paste.
pub const ECHO_MAX: usize = 4096;

/// Characters that a program may print before its echo; then it has none. Without an end to it, all
/// that a program prints would have to be compared.
const PATIENCE: usize = 16 * 1024;

/// Chains that a follower keeps; the oldest is chance most probably.
const CHAINS_MAX: usize = 8;

/// Who will echo an input, as far as the kernel can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoBy {
    /// Nobody: the program reads lines and has turned echo off, as for a password.
    Nobody,
    /// The terminal; and a line editor again, if one comes to read it.
    Terminal,
    /// A line editor, if the program has one.
    Editor,
}

/// Where a character was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EchoCell {
    pub(super) line: Line,
    pub(super) col: usize,
    width: usize,
}

impl EchoCell {
    pub(super) fn new(line: Line, col: usize, width: usize) -> EchoCell {
        EchoCell { line, col, width }
    }

    /// Tells whether `next` is the cell behind this one, in the same row or at the start of the next.
    fn is_before(&self, next: EchoCell) -> bool {
        next.line == self.line && next.col == self.col + self.width
            || next.line.0 == self.line.0 + 1 && next.col == 0
    }

    fn is_at(&self, other: EchoCell) -> bool {
        self.line == other.line && self.col == other.col
    }
}

/// Follows one who echoes.
#[derive(Clone, Debug, Default)]
struct Follower {
    /// Where in the typed text the current line begins.
    start: usize,
    chains: Vec<Vec<EchoCell>>,
    /// Where the first line must begin, if that is known: a line editor echoes at the cursor, and what a
    /// program prints elsewhere is its answer.
    origin: Option<EchoCell>,
    /// The cells of lines that were echoed to their end, with where they are in the typed text.
    echoed: Vec<(usize, EchoCell)>,
}

/// What was typed, and who echoes it.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    /// What was typed; a line feed ends a line.
    typed: Vec<char>,
    terminal: Option<Follower>,
    editor: Option<Follower>,
    /// The editor shows that it reads by bracketed paste, and is followed only while that is on.
    gated: bool,
    /// The editor has not begun: the terminal echoes until it does.
    editor_waits: bool,
    patience: usize,
}

impl Echo {
    pub(super) fn new(by: EchoBy, bracketed: bool, cursor: EchoCell) -> Echo {
        // Where no prompt stands before the cursor, one is still to come.
        let origin = (by == EchoBy::Editor && cursor.col > 0).then_some(cursor);
        Echo {
            typed: Vec::new(),
            terminal: (by == EchoBy::Terminal).then(Follower::default),
            editor: (by != EchoBy::Nobody).then(|| Follower { origin, ..Follower::default() }),
            gated: bracketed,
            editor_waits: by == EchoBy::Terminal,
            patience: PATIENCE,
        }
    }

    /// Adds what is typed. Controls other than Enter are not echoed as themselves, and what comes
    /// after them may stand elsewhere, so they end a line too.
    pub(super) fn extend(&mut self, text: &str) {
        for c in text.chars() {
            let c = if c.is_control() { '\n' } else { c };
            let is_repeated = c == '\n' && self.typed.last().is_none_or(|&last| last == '\n');
            if self.typed.len() < ECHO_MAX && !is_repeated {
                self.typed.push(c);
            }
        }
    }

    /// A line editor began to read; `gated` if it shows by bracketed paste when it does.
    pub(super) fn editor_begins(&mut self, gated: bool) {
        if self.editor_waits {
            self.editor_waits = false;
            self.gated = gated;
        }
    }

    /// Tells whether the character is echo. `release` gets the cells that turn out not to have been.
    pub(super) fn claims(
        &mut self,
        cell: EchoCell,
        c: char,
        bracketed: bool,
        release: &mut Vec<EchoCell>,
    ) -> bool {
        let typed = &self.typed;
        let mut claimed = false;
        self.patience = self.patience.saturating_sub(1);
        if let Some(terminal) = &mut self.terminal {
            claimed = terminal.claims(typed, cell, c, release);
        }
        let editing = !self.editor_waits && (bracketed || !self.gated);
        if let Some(editor) = self.editor.as_mut().filter(|_| editing && !claimed) {
            claimed = editor.claims(typed, cell, c, release);
        }
        claimed
    }

    /// Tells whether more of the same line may be typed.
    pub(super) fn is_open(&self) -> bool {
        self.typed.last().is_some_and(|&last| last != '\n')
    }

    /// Tells whether nobody echoes at the moment, so that nothing need be compared.
    pub(super) fn is_idle(&self, bracketed: bool) -> bool {
        let over = |follower: &Follower| follower.is_over(&self.typed);
        // An editor draws again what it has echoed, so it is never over while it reads.
        let editor_rests = self.editor.is_none() || self.editor_waits || self.gated && !bracketed;
        self.patience == 0 || editor_rests && self.terminal.as_ref().is_none_or(over)
    }
}

impl Follower {
    /// The line that is echoed now.
    fn line<'t>(&self, typed: &'t [char]) -> &'t [char] {
        let rest = typed.get(self.start..).unwrap_or_default();
        let end = rest.iter().position(|&c| c == '\n').unwrap_or(rest.len());
        &rest[..end]
    }

    fn is_over(&self, typed: &[char]) -> bool {
        self.line(typed).is_empty()
    }

    fn claims(
        &mut self,
        typed: &[char],
        cell: EchoCell,
        c: char,
        release: &mut Vec<EchoCell>,
    ) -> bool {
        if self.echoed.iter().any(|&(at, echoed)| echoed.is_at(cell) && typed[at] == c) {
            return true;
        }
        let line = self.line(typed);
        if line.is_empty() || !self.goes_on(line, cell, c, release) {
            return false;
        }
        let complete = self.chains.iter().position(|chain| chain.len() == line.len());
        // A line without Enter is not over: more may be typed to it.
        let entered = typed.get(self.start + line.len()) == Some(&'\n');
        if let Some(complete) = complete.filter(|_| entered) {
            let chain = self.chains.swap_remove(complete);
            self.echoed
                .extend(chain.into_iter().enumerate().map(|(i, cell)| (self.start + i, cell)));
            self.start += line.len() + 1;
            release.extend(self.chains.drain(..).flatten());
        }
        // What chance had claimed may be echo all the same.
        release.retain(|&cell| !self.holds(cell));
        true
    }

    fn holds(&self, cell: EchoCell) -> bool {
        let echoed = self.echoed.iter().map(|(_, echoed)| echoed);
        self.chains.iter().flatten().chain(echoed).any(|held| held.is_at(cell))
    }

    /// Tells whether the character continues a chain, redraws a part of one or begins one.
    fn goes_on(
        &mut self,
        line: &[char],
        cell: EchoCell,
        c: char,
        release: &mut Vec<EchoCell>,
    ) -> bool {
        for chain in &mut self.chains {
            if let Some(at) = chain.iter().position(|known| known.is_at(cell)) {
                if line[at] == c {
                    return true;
                }
                // Something else stands there now.
                release.extend(chain.drain(at + 1..));
                chain.truncate(at);
            }
            let follows = chain.last().is_some_and(|last| last.is_before(cell));
            if follows && line.get(chain.len()) == Some(&c) {
                chain.push(cell);
                return true;
            }
        }
        self.chains.retain(|chain| !chain.is_empty());
        let misplaced = self.origin.is_some_and(|origin| self.start == 0 && !origin.is_at(cell));
        if line[0] != c || misplaced {
            return false;
        }
        if self.chains.len() == CHAINS_MAX {
            release.extend(self.chains.remove(0));
        }
        self.chains.push(vec![cell]);
        true
    }
}
