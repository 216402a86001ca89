//! A consistent capture of a pane: as bytes that reproduce it on a new screen, and as rows to compare with.

use std::collections::VecDeque;

use awaitty_core::ROWS_MAX;

use super::{PaneInfo, TmuxError};

/// A pane's screen, history and modes.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The attributes of the pane.
    pub info: PaneInfo,
    /// The cursor's row and column, from 0.
    pub cursor: (usize, usize),
    /// The values of `MODES`.
    modes: Vec<bool>,
    /// The first and last row of the scroll region, from 0.
    region: (usize, usize),
    /// The number of rows above the screen.
    pub history_size: usize,
    history: String,
    /// The screen with wrapped lines joined.
    joined: String,
    rows: String,
    /// The main screen, while the alternate screen is shown.
    main: String,
}

/// The modes that tmux reports, with the sequences that set and reset each.
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
    // Not reported before tmux 3.6, and then not set.
    ("bracket_paste_flag", "\x1b[?2004h", ""),
];

impl Capture {
    /// Returns the commands that capture the screen, with `separator` between their outputs. They are one command line,
    /// so the server runs nothing else in between.
    pub(super) fn screen(pane: &str, separator: &str) -> Vec<String> {
        commands(pane, separator, &[&[]])
    }

    /// Returns the commands that capture the screen and `count` rows above it.
    pub(super) fn with_rows_above(pane: &str, separator: &str, count: usize) -> Vec<String> {
        let from = format!("-{count}");
        commands(pane, separator, &[&["-S", &from, "-E", "-1"], &[]])
    }

    /// Returns the commands that capture the screen, up to `history` lines above it, and the hidden main screen, if
    /// there is one.
    pub(super) fn everything(pane: &str, separator: &str, history: usize) -> Vec<String> {
        let from = format!("-{history}");
        commands(pane, separator, &[&["-J", "-S", &from, "-E", "-1"], &["-J"], &["-a", "-q"], &[]])
    }

    /// Parses the output of the commands.
    pub(super) fn parse(pane: &str, output: &str, separator: &str) -> Result<Capture, TmuxError> {
        let invalid = || TmuxError::Other("its reply has an unknown format".to_owned());
        let mut parts: VecDeque<&str> = output.split(&format!("{separator}\n")).collect();
        let mut next = || parts.pop_front().ok_or_else(invalid);
        let info = PaneInfo::parse_one(pane, next()?)?;
        let words: Vec<&str> = next()?.trim_end().split(' ').collect();
        let &[row, col, history_size, upper, lower, modes] = words.as_slice() else {
            return Err(invalid());
        };
        let number = |word: &str| word.parse::<usize>().unwrap_or_default();
        let rows = parts.pop_back().ok_or_else(invalid)?.to_owned();
        let mut part = || parts.pop_front().unwrap_or_default().to_owned();
        let mut history = part();
        let (joined, main) = (part(), part());
        // Without a history, tmux captures the first row of the screen instead.
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

    /// Returns the last rows above the screen, at most `count`.
    pub fn rows_above(&self, count: usize) -> Vec<&[u8]> {
        let rows: Vec<&[u8]> = self.history.lines().map(str::as_bytes).collect();
        rows[rows.len().saturating_sub(count)..].to_vec()
    }

    /// Returns the rows of the screen, with their SGR sequences.
    pub fn rows(&self) -> Vec<&[u8]> {
        self.rows.lines().map(str::as_bytes).collect()
    }

    /// Returns bytes that give a new screen the same history and modes, and nearly the same text: lines longer than a
    /// row wrap again at the same places. The remaining differences are corrected with [`rows`](Self::rows).
    pub fn seed(&self) -> Vec<u8> {
        let mut seed = String::from("\x1b)0");
        for line in self.history.lines() {
            seed += line;
            seed += "\r\n";
        }
        // Scrolls the last lines of the history off the screen.
        let screen = if self.info.is_alternate { &self.main } else { &self.joined };
        let rows = self.info.rows;
        if !self.history.is_empty() {
            // A screen has at most ROWS_MAX rows, and tmux may report more.
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
        // DECSTBM counts rows from 1.
        let (top, bottom) = (upper.saturating_add(1), lower.saturating_add(1));
        if (top, bottom) != (1, rows) && top < bottom {
            seed += &format!("\x1b[{top};{bottom}r");
        }
        seed += &self.modes();
        seed.into_bytes()
    }

    /// Returns the sequences that set the modes.
    pub fn modes(&self) -> String {
        let all = self.modes.iter().zip(MODES);
        all.map(|(&is_set, (_, set, reset))| if is_set { set } else { reset }).collect()
    }
}

/// Returns the commands that print a pane's attributes and then each of the captures.
fn commands(pane: &str, separator: &str, captures: &[&[&str]]) -> Vec<String> {
    let modes: Vec<String> = MODES.iter().map(|(name, ..)| format!("#{{{name}}}")).collect();
    let cursor_and_modes = format!(
        "#{{cursor_y}} #{{cursor_x}} #{{history_size}} #{{scroll_region_upper}} #{{scroll_region_lower}} {}",
        modes.join(",")
    );
    let print = |text: &str| ["display-message", "-p", "-t", pane, text].map(str::to_owned);
    let mut all: Vec<Vec<String>> =
        [PaneInfo::FORMAT, separator, &cursor_and_modes].map(|text| print(text).into()).into();
    for options in captures {
        let capture = [&["capture-pane", "-p", "-e", "-t", pane][..], options].concat();
        all.extend([print(separator).into(), capture.into_iter().map(str::to_owned).collect()]);
    }
    all.join(&";".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_numbers_do_not_grow_the_seed() {
        let huge = usize::MAX;
        let output = format!(
            "%3 42 0 0 0 {huge} {huge} {huge} 0 = = /dev/pts/1\nsh\n/\nt\nwork:1.0\nM\n\
             {huge} {huge} {huge} 1 {huge} 1\nM\nabove\nM\nshown\nM\n\nM\nshown\n"
        );
        let capture = Capture::parse("%3", &output, "M").expect("it is parsed");
        let seed = capture.seed();
        assert!(seed.len() < 2 * ROWS_MAX + 100, "{} bytes", seed.len());
    }
}
