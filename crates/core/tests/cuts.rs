//! Every sequence of a list, split at every byte, gives the same screen, the same replies and the same results of
//! running waits. `properties.rs` does the same with random streams and random splits.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{
    Condition, Exit, Pattern, Screen, Session, Since, Spec, Styles, Time, WaitEnded,
};

const COLS: usize = 20;
const ROWS: usize = 5;

/// One example of each kind of output: text, controls, and everything that has a start and an end.
const STREAMS: [&[u8]; 62] = [
    b"plain\r\ntext\tand\x08\x0bmore\x0c!",
    "é世界😀e\u{301}👩\u{200d}💻🇩🇪☀\u{fe0f}".as_bytes(),
    "\x1b[?2027h👩\u{200d}💻👍🏽\u{1100}\u{1161}e\u{301}\x1b[?2027lx".as_bytes(),
    b"\xff\xc3(\xe4\xb8d\xf0\x9f\x98e\xed\xa0\x80\xc0\xaf\xe4\xb8\x96",
    b"0123456789012345678901234567890123456789",
    b"\x1b[1;31mred\x1b[0m\x1b[38;2;1;2;3mrgb\x1b[38:2::4:5:6;48;5;200m\x1b[4:3;58:5:9mx\x1b[m",
    b"\x1b[2;3Hx\x1b[Ay\x1b[2Bz\x1b[3C\x1b[4D\x1b[5G\x1b[3d\x1b[E\x1b[F\x1b[2;2fq",
    b"abc\x1b[1K\x1b[2Kdef\x1b[Jghi\x1b[1J\x1b[2J\x1b[3J\x1b[H",
    b"abcdef\r\x1b[2@\x1b[3P\x1b[2X\x1b[L\x1b[M\x1b[2S\x1b[T\x1b[5b",
    b"x\x1b[9b\x1b[2;4r\x1b[4;1H\n\n\x1bM\x1bM\x1b[r",
    b"\x1b[?69h\x1b[3;9s\x1b[2Sab\x1b['}\x1b['~\x1b[ @\x1b[ A\x1b[?69l",
    b"\x1b[88;1;1;2;5$x\x1b[1;1;2;2;1;3;4;1$v\x1b[1;1;2;2$z\x1b[1;1;2;2;1;4$r\x1b[1;1;2;2;7$t\x1b[2*x",
    b"\x1b[?1049hDONE\x1b[?1049l",
    b"\x1b[?47hDONE\x1b[?47l\x1b[?1047hDONE\x1b[?1047l",
    b"\x1b[?2026hDONE\x1b[2J\x1b[?2026lafter",
    b"\x1b[?2026h\x1b[?2026hDONE\x1b[?2026l",
    b"DONE\r\x1b[K",
    b"DONE\x1b[2J\x1b[H",
    b"DO\x1b[1mNE\x1b[m\r    ",
    b"DONE\r\n\n\n\n\n\n\n\n",
    b"DONE\x1bc",
    b"DO\x1b]0;title\x07NE\r\x1b[2K",
    b"\x1b]0;title\x07\x1b]2;other\x1b\\\x1b]1;icon\xc2\x9c",
    b"\x1b[22;0t\x1b]2;t\x07\x1b[23;0t\x1b[21t",
    b"\x1b]8;id=1;http://a/\x07link\x1b]8;;\x1b\\x",
    b"\x1b]4;1;#102030\x07\x1b]4;1;?\x07\x1b]10;?;?\x1b\\\x1b]104\x07",
    b"\x1b]7;file://h/a%20b\x07\x1b]133;A\x07$ \x1b]133;B\x07ls\x1b]133;C\x07\x1b]133;D;1\x1b\\",
    b"\x1b]9;note\x07\x1b]777;notify;a;b\x07\x07",
    b"\x1b]52;c;ZXZpbA==\x07\x1b]52;c;?\x1b\\x",
    b"\x1b]1337;File=inline=1:AAAA\x07x",
    b"\x1bPq\"1;1;9;9#0;2;0;0;0~~$-\x1b\\x",
    b"\x1b_Ga=T,f=24,s=1,v=1;AAAA\x1b\\x",
    b"\x1bPtmux;\x1b\x1b]0;x\x07\x1b\\x",
    b"\x1b^private\x1b\\\x1bXstring\x1b\\x",
    b"\x1bP$qm\x1b\\\x1bP$q q\x1b\\\x1bP+q544e;436F\x1b\\",
    b"\x1bP1;1|17/00\x1b\\x",
    b"\x1b[c\x1b[>c\x1b[=c\x1b[5n\x1b[6n\x1b[?6n\x1b[>q\x1b[18t\x1b[?u\x1b[?2026$p\x1b[4$p",
    b"\x1b[1;1;1;1;1;1*y\x1b[x",
    b"\x1b[?1h\x1b=\x1b[?25l\x1b[?1000;1006h\x1b[?2004h\x1b[>5u\x1b[=2;2u\x1b[<u\x1b[>4;2m\x1b[?2048h",
    b"\x1b[?5h\x1b[?7l\x1b[?6h\x1b[4hins\x1b[20h\nx\x1b[?45h\x08\x08",
    b"\x1b(0lqk\x1b(B\x1b)0\x0eq\x0f\x1b*0\x1bNq\x1b+0\x1bOq\x1bn\x1bo\x1b%G",
    b"\x1b7\x1b[3;3H\x1b8\x1b[s\x1b[u\x1b[?1048h\x1b[?1048l\x1b#8",
    b"\x1bH\x1b[g\x1b[3g\x1b[?5W\t\x1b[2I\x1b[Z",
    b"\x1bD\x1bE\x1bM\x1b6\x1b9\x1bV\x1bW",
    b"\x1b[1\"qprot\x1b[0\"q\x1b[?2J\x1b[?K\x1b[1;1;2;9${",
    b"\x1b[!p\x1b[5 q\x1b[62;1\"p\x1b G\x1b[5n\x1b F",
    b"\x1b[?3h\x1b[?40h\x1b[?3h\x1b[8;99;99t",
    b"\x1b[12\x0834H\x1b[1\r;2Hx",
    b"\x1b[31\x18not\x1b[31\x1aeither\x1b[31\x1b[mx",
    b"\x1b]0;cut\x18x\x1bPq\x1ay\x1b_G\x1b[mz",
    b"\x1b[99999999999999999999;1Hx\x1b[;;;;;;;;m",
    b"\x1b[38;2;1;2\x1b[?\x1b[>\x1b[1$\x1b[ \x1b(\x1b",
    "\u{9b}31mx\u{9d}0;t\u{9c}\u{90}q\u{9c}\u{84}\u{85}\u{8d}".as_bytes(),
    b"\x1b[>y\x1b]31337;x\x07\x1b%%\x1b[1;2W\x1b[?31337h",
    "\x1b]2;ti世tle\x07\x1b]2;\u{9c}x".as_bytes(),
    b"\x1b\x1b[mx\x1b\x1b\x1b]0;t\x07y",
    b"\x00\x01\x05\x0e\x0f\x7fx\x1b[\x00m\x7f\x1b[3\x7f1mx",
    b"D\x1b[0mO\x1b[0mN\x1b[0mE\x1b[4D    ",
    b"xxxxxxxxxxxxxxxxxxDONE\r\x1b[A\x1b[J",
    "世世世世世世世世世DO世NE\x1b[2J".as_bytes(),
    b"\x1b[5;1HDONE\x1b[1;1H\x1b[M\x1b[M\x1b[M\x1b[M\x1b[M",
    b"DONE\x1b[?1049h\x1b[?1049lDONE\x1b[H\x1b[2J",
];

/// Surrounds the stream with text, so that its lasting effects show.
fn framed(stream: &[u8]) -> Vec<u8> {
    [b"before ", stream, b"\x18 after\r\nend"].concat()
}

/// Returns the complete observable state of a screen.
fn state(screen: &mut Screen) -> impl PartialEq + std::fmt::Debug + use<> {
    let cells = (0..screen.rows()).flat_map(|row| (0..screen.cols()).map(move |col| (row, col)));
    let ticks: Vec<_> = cells.map(|(row, col)| screen.tick_at(row, col)).collect();
    let scrollback: Vec<_> =
        (0..screen.scrollback().len()).filter_map(|i| screen.scrollback().text(i)).collect();
    let scrollback = format!("{scrollback:?}");
    let dump = String::from_utf8_lossy(&screen.dump()).into_owned();
    let rest = (screen.take_events(), screen.take_replies(), screen.unknown().clone());
    (screen.text(), screen.cursor(), ticks, scrollback, dump, rest)
}

#[test]
fn every_sequence_split_at_every_byte_gives_the_same_screen() {
    for stream in STREAMS {
        let bytes = framed(stream);
        let state_after = |pieces: &[&[u8]]| {
            let mut screen = Screen::new(COLS, ROWS, 20);
            screen.set_answers_checksums(true);
            pieces.iter().for_each(|piece| screen.feed(piece));
            state(&mut screen)
        };
        let whole = state_after(&[&bytes]);
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(state_after(&[first, second]), whole, "{} at {cut}", bytes.escape_ascii());
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(state_after(&single), whole, "{} byte by byte", bytes.escape_ascii());
    }
}

/// Returns a condition of each kind.
fn conditions() -> Vec<Condition> {
    let pattern = |text: &str| Arc::new(Pattern::new(text, "").expect("the pattern is valid"));
    let stable = Duration::ZERO;
    vec![
        Condition::Text(pattern("DONE")),
        Condition::Text(pattern(r"DONE|after\nend")),
        Condition::Text(pattern("^end$")),
        Condition::Text(pattern("NEVER")),
        Condition::Gone(pattern("before")),
        Condition::Change { stable, styles: Styles::All, ignore: Vec::new() },
        Condition::Change { stable, styles: Styles::Text, ignore: vec![pattern("before|after")] },
        Condition::Settled(Duration::from_millis(5)),
        Condition::Exit,
    ]
}

fn describe(ended: &WaitEnded) -> String {
    let (id, outcome, finding) = (ended.id, ended.outcome, &ended.finding);
    format!("{id:?} {outcome:?} {finding:?} after {:?}: {:?}", ended.elapsed, ended.frame.text())
}

/// Returns the results of waits that run while the pieces arrive.
fn wait_results(
    pieces: &[&[u8]],
    drained: bool,
    describe: impl Fn(&WaitEnded) -> String,
) -> Vec<String> {
    let at = Time::from_ms;
    let mut session = Session::new(at(0), COLS, ROWS, 20);
    for condition in conditions() {
        let spec = Spec { condition, since: Since::Input, deadline: Some(at(99)) };
        session.start_wait(at(0), spec).expect("the wait starts");
    }
    let mut results: Vec<String> = session.poll_ended().iter().map(&describe).collect();
    for piece in pieces {
        session.handle_output(at(1), piece);
        if drained {
            session.handle_drained(at(1));
        }
    }
    session.handle_drained(at(1));
    while let Some(wake) = session.poll_wake().filter(|wake| *wake < at(50)) {
        session.handle_time(wake);
        assert!(session.poll_wake().is_none_or(|next| next > wake), "no wake-up is in the past");
    }
    session.handle_exit(at(50), Exit::Code(0));
    results.extend(session.poll_ended().iter().map(&describe));
    assert_eq!(session.waits_running(), 0);
    results.sort();
    results
}

#[test]
fn every_sequence_split_at_every_byte_gives_the_same_wait_results() {
    for stream in STREAMS {
        let bytes = framed(stream);
        let whole = wait_results(&[&bytes], false, describe);
        assert_eq!(whole.len(), conditions().len());
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(
                wait_results(&[first, second], false, describe),
                whole,
                "{} at {cut}",
                bytes.escape_ascii()
            );
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(
            wait_results(&single, false, describe),
            whole,
            "{} byte by byte",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn a_pause_at_any_byte_hides_no_text_from_a_wait() {
    // A pause between the two pieces adds frames, so a wait finds at least the same text.
    let found = |ended: &WaitEnded| {
        let Condition::Text(pattern) = &ended.condition else { return String::new() };
        format!("{pattern:?} {:?}", ended.outcome)
    };
    for stream in STREAMS {
        let bytes = framed(stream);
        let whole = wait_results(&[&bytes], false, found);
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(
                wait_results(&[first, second], true, found),
                whole,
                "{} at {cut}",
                bytes.escape_ascii()
            );
        }
    }
}
