//! What tmux shows of a pane, taken in one go: as bytes that make a fresh screen equal to it, and as rows to compare
//! with.

use std::collections::VecDeque;

use awaitty_core::ROWS_MAX;

use super::{PaneInfo, TmuxError};

/// A pane's screen, its history and its modes.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// What else is known of it.
    pub info: PaneInfo,
    /// Row and column, from 0.
    pub cursor: (usize, usize),
    modes: Vec<bool>,
    region: (usize, usize),
    /// How many rows there are above the screen.
    pub history_size: usize,
    history: String,
    joined: String,
    rows: String,
    /// The main screen, while the alternate one is shown.
    main: String,
}

/// The modes that tmux tells of, with what sets and resets each.
const MODES: [(&str, &str, &str); 11] = [
    ("cursor_flag", "\x1b[?25h", "\x1b[?25l"),
    ("keypad_cursor_flag", "\x1b[?1h", "\x1b[?1l"),
    ("keypad_flag", "\x1b=", "\x1b>"),
    ("wrap_flag", "\x1b[?7h", "\x1b[?7l"),
    ("insert_flag", "\x1b[4h", "\x1b[4l"),
    ("mouse_standard_flag", "\x1b[?1000h", ""),
    ("mouse_button_flag", "\x1b[?1002h", ""),
    ("mouse_all_flag", "\x1b[?1003h", ""),
    ("mouse_utf8_flag", "\x1b[?1005h", ""),
    ("mouse_sgr_flag", "\x1b[?1006h", ""),
    // Last, because it changes what positions mean. Not told before tmux 3.6, and then not set.
    ("bracket_paste_flag", "\x1b[?2004h", ""),
];

impl Capture {
    /// The commands that take the screen, with `mark` between their outputs. One client gives them in one line, and the
    /// server does nothing else in between.
    pub(super) fn screen(pane: &str, mark: &str) -> Vec<String> {
        commands(pane, mark, &[&[]])
    }

    /// The same with so many rows above it.
    pub(super) fn with_rows_above(pane: &str, mark: &str, count: usize) -> Vec<String> {
        let from = format!("-{count}");
        commands(pane, mark, &[&["-S", &from, "-E", "-1"], &[]])
    }

    /// The same with so many lines of history, and the screen that is not shown, if there is one.
    pub(super) fn everything(pane: &str, mark: &str, history: usize) -> Vec<String> {
        let from = format!("-{history}");
        commands(pane, mark, &[&["-J", "-S", &from, "-E", "-1"], &["-J"], &["-a", "-q"], &[]])
    }

    /// What the commands printed of a pane.
    pub(super) fn parse(pane: &str, said: &str, mark: &str) -> Result<Capture, TmuxError> {
        let strange = || TmuxError::Other("its answer was not understood".to_owned());
        let mut parts: VecDeque<&str> = said.split(&format!("{mark}\n")).collect();
        let mut next = || parts.pop_front().ok_or_else(strange);
        let info = PaneInfo::of(pane, next()?)?;
        let words: Vec<&str> = next()?.trim_end().split(' ').collect();
        let &[row, col, history_size, upper, lower, modes] = words.as_slice() else {
            return Err(strange());
        };
        let number = |word: &str| word.parse::<usize>().unwrap_or_default();
        let rows = parts.pop_back().ok_or_else(strange)?.to_owned();
        let mut part = || parts.pop_front().unwrap_or_default().to_owned();
        let mut history = part();
        let (joined, main) = (part(), part());
        // Without a history tmux gives the first row of the screen for it.
        if history_size == "0" {
            history.clear();
        }
        Ok(Capture {
            info,
            cursor: (number(row), number(col)),
            modes: modes.split(',').map(|flag| flag == "1").collect(),
            region: (number(upper), number(lower)),
            history_size: number(history_size),
            history,
            joined,
            rows,
            main,
        })
    }

    /// The last rows above the screen, as many as asked for, or fewer.
    pub fn rows_above(&self, count: usize) -> Vec<&[u8]> {
        let rows: Vec<&[u8]> = self.history.lines().map(str::as_bytes).collect();
        rows[rows.len().saturating_sub(count)..].to_vec()
    }

    /// The rows as they are shown, with their SGR sequences.
    pub fn rows(&self) -> Vec<&[u8]> {
        self.rows.lines().map(str::as_bytes).collect()
    }

    /// Bytes that give a fresh screen the same history and modes, and nearly the same text: lines that are longer
    /// than a row wrap again where they did. [`rows`](Self::rows) tells what is left to mend.
    pub fn seed(&self) -> Vec<u8> {
        let mut seed = String::from("\x1b)0");
        for line in self.history.lines() {
            seed += line;
            seed += "\r\n";
        }
        // What is left of the history's last screen goes out of sight.
        let screen = if self.info.is_alternate { &self.main } else { &self.joined };
        let rows = self.info.rows;
        if !self.history.is_empty() {
            // A screen has no more rows than that, whatever tmux says.
            seed += &"\r\n".repeat(rows.min(ROWS_MAX).saturating_sub(1));
        }
        seed += "\x1b[H";
        seed += &screen.trim_end_matches('\n').replace('\n', "\r\n");
        if self.info.is_alternate {
            seed += "\x1b[m\x1b[?1049h\x1b[H";
            seed += &self.joined.trim_end_matches('\n').replace('\n', "\r\n");
        }
        seed += "\x1b[m\x0f";
        let (upper, lower) = self.region;
        // As the sequence has them: from 1.
        let (top, bottom) = (upper.saturating_add(1), lower.saturating_add(1));
        if (top, bottom) != (1, rows) && top < bottom {
            seed += &format!("\x1b[{top};{bottom}r");
        }
        seed += &self.modes();
        seed.into_bytes()
    }

    /// Bytes that set the modes.
    pub fn modes(&self) -> String {
        let all = self.modes.iter().zip(MODES);
        all.map(|(&is_set, (_, set, reset))| if is_set { set } else { reset }).collect()
    }
}

/// What tells of a pane, then each of the captures.
fn commands(pane: &str, mark: &str, captures: &[&[&str]]) -> Vec<String> {
    let modes: Vec<String> = MODES.iter().map(|(name, ..)| format!("#{{{name}}}")).collect();
    let state = format!(
        "#{{cursor_y}} #{{cursor_x}} #{{history_size}} #{{scroll_region_upper}} #{{scroll_region_lower}} {}",
        modes.join(",")
    );
    let print = |text: &str| ["display-message", "-p", "-t", pane, text].map(str::to_owned);
    let mut all: Vec<Vec<String>> =
        [PaneInfo::FORMAT, mark, &state].map(|text| print(text).into()).into();
    for given in captures {
        let capture = [&["capture-pane", "-p", "-e", "-t", pane][..], given].concat();
        all.extend([print(mark).into(), capture.into_iter().map(str::to_owned).collect()]);
    }
    all.join(&";".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_all_bounds_are_no_matter() {
        let huge = usize::MAX;
        let said = format!(
            "%3 42 0 0 0 {huge} {huge} {huge} 0 = = /dev/pts/1\nsh\n/\nt\nwork:1.0\nM\n\
             {huge} {huge} {huge} 1 {huge} 1\nM\nabove\nM\nshown\nM\n\nM\nshown\n"
        );
        let capture = Capture::parse("%3", &said, "M").expect("it is understood");
        let seed = capture.seed();
        assert!(seed.len() < 2 * ROWS_MAX + 100, "{} bytes", seed.len());
    }
}
