//! The byte streams of the benchmarks for floods and emulators. Each repeats one piece.

/// The size of the terminals in cells.
pub(crate) const COLS: usize = 120;
pub(crate) const ROWS: usize = 40;
/// The lines of scrollback of each terminal.
pub(crate) const SCROLLBACK: usize = 10_000;

type Piece = fn(usize, &mut String);

/// All pieces by name: a log, a log in colours, redraws of a whole screen, and wide characters.
pub(crate) const STREAMS: [(&str, Piece); 4] =
    [("plain", plain), ("colour", colour), ("full screen", full_screen), ("CJK", cjk)];

/// Repeats a piece up to at least `bytes` bytes.
pub(crate) fn stream(piece: Piece, bytes: usize) -> String {
    let mut text = String::new();
    for i in 0.. {
        if text.len() >= bytes {
            break;
        }
        piece(i, &mut text);
    }
    text
}

fn plain(i: usize, text: &mut String) {
    let words = ["compiling", "crate", "finished", "in", "target", "warning", "unused", "profile"];
    *text += &format!("{i:08} ");
    for j in 0..8 {
        *text += words[(i * 7 + j * 3) % words.len()];
        text.push(' ');
    }
    *text += "\r\n";
}

pub(crate) fn colour(i: usize, text: &mut String) {
    *text += &format!("\x1b[2m{i:08}\x1b[0m \x1b[1;3{}mINFO\x1b[0m ", i % 8);
    for j in 0..6 {
        *text += &format!("\x1b[38;5;{}mkey{j}\x1b[0m=\x1b[3{}mvalue{i}\x1b[0m ", (i + j) % 256, j);
    }
    *text += "\r\n";
}

fn full_screen(i: usize, text: &mut String) {
    *text += "\x1b[?25l\x1b[H";
    for row in 1..=ROWS {
        *text +=
            &format!("\x1b[{row};1H\x1b[7m{row:4}\x1b[27m \x1b[3{}m{:<20}\x1b[m", i % 8, i * row);
        *text +=
            &format!("\x1b[32m{:>10.2}%\x1b[39m {:<40}\x1b[K", (i % 100) as f64, "process name");
    }
    *text += &format!("\x1b[{ROWS};5H\x1b[?25h");
}

fn cjk(i: usize, text: &mut String) {
    let sentence = "自然言語処理は計算機科学と言語学の一分野である。終端で表示する文字は幅が二つ。";
    *text += &format!("{i:06} {sentence}\r\n");
}
