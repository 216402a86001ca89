//! Recognises the cells that show only the echo of input.
//!
//! Echo is not output: after `echo READY` is typed, the characters at the prompt must not satisfy a wait for `READY`.
//! There are two sources of echo. The terminal's line discipline echoes input while the program reads lines (`ECHO`). A
//! line editor (readline, zle, fish) disables that and draws the input itself, perhaps coloured, redrawn in place, or
//! followed by a suggestion that is overwritten later. Input typed before the editor starts is echoed by both, one
//! after the other.
//!
//! Each source has a follower. It keeps chains of consecutive cells that spell the beginning of the input. It claims a
//! character that extends a chain, redraws one of its cells, or starts a new chain. A chain that reaches the end of a
//! line was the echo; the other chains were coincidence, and their cells are released. Claimed cells get
//! [`Tick::ECHO`](crate::Tick::ECHO).

use crate::Line;

/// The maximum number of characters of input that are followed. Waits do not look for words inside a long paste.
pub const ECHO_MAX: usize = 4096;

/// The number of characters printed after an input that are compared with it. Without a limit, all later output would
/// have to be compared.
const CHARS_COMPARED_MAX: usize = 16 * 1024;

/// The maximum number of chains per follower. The oldest is dropped first: it is the most likely coincidence.
const CHAINS_MAX: usize = 8;

/// The source that echoes an input, as far as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoSource {
    /// No echo: the program reads lines with echo turned off, as for a password.
    None,
    /// The terminal, and then again a line editor if one starts to read the same input.
    Terminal,
    /// A line editor, if the program has one.
    LineEditor,
}

/// The position at which a character was drawn.
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

    /// Returns whether `next` is the next cell, in the same row or at the start of the next one.
    fn is_before(&self, next: EchoCell) -> bool {
        next.line == self.line && next.col == self.col + self.width
            || next.line.0 == self.line.0 + 1 && next.col == 0
    }

    fn is_at(&self, other: EchoCell) -> bool {
        self.line == other.line && self.col == other.col
    }
}

/// Follows the echo from one source.
#[derive(Clone, Debug, Default)]
struct Follower {
    /// The index in the input at which the current line starts.
    start: usize,
    chains: Vec<Vec<EchoCell>>,
    /// The cell in which the first line must start, if known. A line editor echoes at the cursor; text elsewhere is
    /// output.
    origin: Option<EchoCell>,
    /// The cells of completely echoed lines, each with its index in the input.
    echoed: Vec<(usize, EchoCell)>,
}

/// An input and its possible sources of echo.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    /// The characters of the input. A line feed ends a line.
    typed: Vec<char>,
    terminal: Option<Follower>,
    editor: Option<Follower>,
    /// The editor sets bracketed paste while it reads, and is followed only during that time.
    uses_bracketed_paste: bool,
    /// The editor has not started: until then the terminal echoes.
    is_editor_pending: bool,
    chars_left: usize,
}

impl Echo {
    pub(super) fn new(source: EchoSource, bracketed: bool, cursor: EchoCell) -> Echo {
        // In column 0 the prompt has not been printed yet, so the start of the echo is unknown.
        let origin = (source == EchoSource::LineEditor && cursor.col > 0).then_some(cursor);
        Echo {
            typed: Vec::new(),
            terminal: (source == EchoSource::Terminal).then(Follower::default),
            editor: (source != EchoSource::None)
                .then(|| Follower { origin, ..Follower::default() }),
            uses_bracketed_paste: bracketed,
            is_editor_pending: source == EchoSource::Terminal,
            chars_left: CHARS_COMPARED_MAX,
        }
    }

    /// Appends input. Control characters end a line, because they are not echoed as themselves and the text after them
    /// may be echoed elsewhere.
    pub(super) fn extend(&mut self, text: &str) {
        for c in text.chars() {
            let c = if c.is_control() { '\n' } else { c };
            let is_repeated = c == '\n' && self.typed.last().is_none_or(|&last| last == '\n');
            if self.typed.len() < ECHO_MAX && !is_repeated {
                self.typed.push(c);
            }
        }
    }

    /// Notes that a line editor starts to read. `uses_bracketed_paste` says whether it sets that mode while it reads.
    pub(super) fn start_editor(&mut self, uses_bracketed_paste: bool) {
        if self.is_editor_pending {
            self.is_editor_pending = false;
            self.uses_bracketed_paste = uses_bracketed_paste;
        }
    }

    /// Returns whether the character is echo. Adds to `release` the cells that turn out not to be echo.
    pub(super) fn claims(
        &mut self,
        cell: EchoCell,
        c: char,
        bracketed: bool,
        release: &mut Vec<EchoCell>,
    ) -> bool {
        let typed = &self.typed;
        let mut claimed = false;
        self.chars_left = self.chars_left.saturating_sub(1);
        if let Some(terminal) = &mut self.terminal {
            claimed = terminal.claims(typed, cell, c, release);
        }
        let editing = !self.is_editor_pending && (bracketed || !self.uses_bracketed_paste);
        if let Some(editor) = self.editor.as_mut().filter(|_| editing && !claimed) {
            claimed = editor.claims(typed, cell, c, release);
        }
        claimed
    }

    /// Returns whether the last line of the input is incomplete.
    pub(super) fn is_line_open(&self) -> bool {
        self.typed.last().is_some_and(|&last| last != '\n')
    }

    /// Returns whether no source echoes at the moment, so that nothing need be compared.
    pub(super) fn is_idle(&self, bracketed: bool) -> bool {
        let is_done = |follower: &Follower| follower.is_done(&self.typed);
        // An editor redraws text that it has echoed, so it is never done while it reads.
        let is_editor_idle = self.editor.is_none()
            || self.is_editor_pending
            || self.uses_bracketed_paste && !bracketed;
        self.chars_left == 0 || is_editor_idle && self.terminal.as_ref().is_none_or(is_done)
    }
}

impl Follower {
    /// Returns the line that is being echoed.
    fn line<'t>(&self, typed: &'t [char]) -> &'t [char] {
        let rest = typed.get(self.start..).unwrap_or_default();
        let end = rest.iter().position(|&c| c == '\n').unwrap_or(rest.len());
        &rest[..end]
    }

    fn is_done(&self, typed: &[char]) -> bool {
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
        if line.is_empty() || !self.extends_chain(line, cell, c, release) {
            return false;
        }
        let complete = self.chains.iter().position(|chain| chain.len() == line.len());
        // A line without Enter is not complete: more input may be appended.
        let entered = typed.get(self.start + line.len()) == Some(&'\n');
        if let Some(complete) = complete.filter(|_| entered) {
            let chain = self.chains.swap_remove(complete);
            self.echoed
                .extend(chain.into_iter().enumerate().map(|(i, cell)| (self.start + i, cell)));
            self.start += line.len() + 1;
            release.extend(self.chains.drain(..).flatten());
        }
        // A cell of a dropped chain may also belong to another chain.
        release.retain(|&cell| !self.contains(cell));
        true
    }

    fn contains(&self, cell: EchoCell) -> bool {
        let echoed = self.echoed.iter().map(|(_, echoed)| echoed);
        self.chains.iter().flatten().chain(echoed).any(|held| held.is_at(cell))
    }

    /// Returns whether the character extends a chain, redraws a part of one or starts one.
    fn extends_chain(
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
                // The cell now shows other text, so the rest of the chain is invalid.
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
        let is_misplaced = self.origin.is_some_and(|origin| self.start == 0 && !origin.is_at(cell));
        if line[0] != c || is_misplaced {
            return false;
        }
        if self.chains.len() == CHAINS_MAX {
            release.extend(self.chains.remove(0));
        }
        self.chains.push(vec![cell]);
        true
    }
}
