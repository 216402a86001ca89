//! Hostile and broken programs: memory stays bounded, and the screen is correct afterwards. Quadratic time would show
//! as a timeout of the test run.

use std::collections::BTreeSet;
use std::sync::Arc;

use awaitty_core::{
    CLUSTERS_MAX, COL_MARKS_MAX, COLS_MAX, Condition, EVENTS_MAX, Event, FRAMES_BYTES_MAX,
    LINKS_MAX, Pattern, REPLIES_MAX, ROW_MARKS_MIN, ROWS_MAX, Screen, Session, Since, Span, Spec,
    Style, TITLE_MAX, Tick, Time, UNKNOWN_MAX,
};

const COLS: usize = 80;
const ROWS: usize = 24;
const SCROLLBACK: usize = 1000;

/// The maximum growth of the process for one stream: the scrollback, the tables and slack of the allocator.
const GROWTH_MAX: usize = 24 << 20;

/// Returns the resident memory of this process in bytes.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("statm has a resident size") * 4096
}

/// Feeds `count` pieces and checks the growth of memory.
fn feed(count: usize, piece: impl Fn(usize) -> Vec<u8>) -> Screen {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    screen.feed(b"before");
    let resident_before = resident_bytes();
    for i in 0..count {
        screen.feed(&piece(i));
    }
    let grown = resident_bytes().saturating_sub(resident_before);
    assert!(grown < GROWTH_MAX, "{grown} bytes more");
    screen
}

/// Checks that CAN and RIS restore a usable screen.
fn check_recovery(mut screen: Screen) {
    screen.feed(b"\x18\x1bcright again");
    assert_eq!(screen.text(), "right again");
    assert_eq!(screen.cursor().col, 11);
}

/// The start of each kind of string, also as a C1 control.
const STRINGS: [&str; 12] = [
    "\x1b]0;",
    "\x1bP",
    "\x1bPq",
    "\x1b_G",
    "\x1b^",
    "\x1bX",
    "\x1b]1337;File=:",
    "\x1b]52;c;",
    "\x1bP$q",
    "\u{9d}0;",
    "\u{90}q",
    "\u{9f}G",
];

#[test]
fn strings_that_never_end_show_nothing() {
    let filler = vec![b'x'; 64 * 1024];
    // The largest size only once per kind: the other starts differ only in form.
    let lens = [(4 << 10, &STRINGS[..]), (1 << 20, &STRINGS[..]), (64 << 20, &STRINGS[..7])];
    for (len, begin) in lens.into_iter().flat_map(|(len, of)| of.iter().map(move |one| (len, one)))
    {
        let pieces = usize::div_ceil(len, filler.len());
        let mut screen = feed(pieces + 1, |i| match i {
            0 => begin.as_bytes().to_vec(),
            _ => filler[..len.min(filler.len())].to_vec(),
        });
        assert!(screen.is_mid_sequence(), "{begin:?}");
        assert_eq!(screen.text(), "before", "{begin:?}");
        screen.feed(b"\x18 and after");
        assert_eq!(screen.text(), "before and after", "{begin:?}");
        assert_eq!(screen.title(), "", "{begin:?}: an abandoned string has no effect");
        check_recovery(screen);
    }
}

#[test]
fn every_terminator_ends_a_string() {
    for begin in STRINGS {
        for end in ["\x18", "\x1a", "\x1b\\", "\u{9c}", "\x1b[m", "\x1b7"] {
            let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
            screen.feed(format!("a{begin}{}{end}b", "x".repeat(5000)).as_bytes());
            let shown =
                if end == "\x1a" { screen.text().replace('\u{2426}', "") } else { screen.text() };
            assert_eq!(shown, "ab", "{begin:?} {end:?}");
            assert!(!screen.is_mid_sequence());
        }
    }
}

#[test]
fn an_oversized_string_has_no_effect() {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    for (len, known) in [((1 << 20) - 2, true), ((1 << 20) - 1, false)] {
        screen.feed(b"\x1b]2;old\x07\x1b]2;");
        screen.feed(&vec![b'y'; len]);
        screen.feed(b"\x07");
        assert_eq!(screen.title().starts_with('y'), known, "{len}");
        assert_eq!(screen.title().len(), if known { TITLE_MAX } else { 3 });
    }
    assert_eq!(screen.text(), "");
}

#[test]
fn images_are_ignored() {
    let sixel = format!("\x1bPq\"1;1;100000;100000{}\x1b\\", "#0;2;0;0;0!99999~$-".repeat(500));
    let kitty = format!("\x1b_Ga=T,f=24,s=100000,v=100000;{}\x1b\\", "AAAA".repeat(1000));
    let iterm = format!("\x1b]1337;File=inline=1;width=100000:{}\x07", "AAAA".repeat(1000));
    // Pieces whose last one never comes, and sixel raster attributes without data.
    let pieces = format!("\x1b_Gm=1;{}\x1b\\", "AAAA".repeat(1000)).repeat(5);
    let raster =
        "\x1bP0;0;0q\"1;1;100000;100000\x1b\\\x1bP0;0;0q\"99999999999;1;1;1~\x1b\\".to_owned();
    let all = [sixel, kitty, iterm, pieces, raster].concat().into_bytes();
    let mut screen = feed(200, |_| all.clone());
    assert_eq!(screen.text(), "before");
    assert_eq!(screen.cursor().col, 6, "an ignored image does not move the cursor");
    assert_eq!(screen.take_replies(), b"");
    check_recovery(screen);
}

#[test]
fn huge_parameters_are_clamped() {
    let finals = "@ABCDEFGHIJKLMPSTXZ`abdefgrstmhlnqu";
    for last in finals.chars() {
        let screen = feed(20, |i| {
            let number = ["1000000000", "99999999999999999999", "4294967296"][i % 3];
            format!("abc\x1b[{number};{number}{last}\x1b[?{number}{last}").into_bytes()
        });
        check_recovery(screen);
    }
    for last in ["$z", "$x", "${", "$v", "$r", "$t", "*y", "'}", "'~", " @", " A"] {
        let screen = feed(20, |_| format!("\x1b[65;1000000000;1;1000000000;9{last}").into_bytes());
        check_recovery(screen);
    }
}

#[test]
fn excess_parameters_and_intermediates_are_ignored() {
    let screen = feed(20, |_| format!("\x1b[{}m", "1;".repeat(10_000)).into_bytes());
    assert_eq!(screen.text(), "before");
    check_recovery(screen);
    let screen = feed(20, |_| format!("\x1b[{}m", "38:2:".repeat(10_000)).into_bytes());
    assert_eq!(screen.text(), "before");
    check_recovery(screen);
    let screen =
        feed(20, |_| format!("\x1b[1{}m\x1b{}B", "!".repeat(500), "(".repeat(500)).into_bytes());
    assert_eq!(screen.text(), "before");
    check_recovery(screen);
}

#[test]
fn the_oldest_links_are_dropped_first() {
    let link = |i: usize| format!("\x1b]8;;http://{i}/\x07{}\x1b]8;;\x07\r\n", i % 10).into_bytes();
    let screen = feed(100_000, link);
    let style = screen.row(ROWS - 2).style_at(0);
    let newest = style.link.and_then(|id| screen.link(id));
    assert_eq!(newest, Some("http://99999/"));
    let oldest = screen.scrollback().get(0).map(|(_, row)| row.style_at(0).link);
    assert!(oldest.flatten().is_some(), "the oldest line in the scrollback still has its link");
    check_recovery(screen);
}

#[test]
fn the_newest_links_are_kept_up_to_the_limit() {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    screen.feed(b"\x1b]8;;http://first/\x07x\x1b]8;;\x07");
    let first = screen.row(0).style_at(0).link.expect("the cell has a link");
    for i in 1..LINKS_MAX {
        screen.feed(format!("\x1b]8;;http://{i}/\x07").as_bytes());
    }
    assert_eq!(screen.link(first), Some("http://first/"));
    screen.feed(b"\x1b]8;;http://one-more/\x07");
    assert_eq!(screen.link(first), None);
}

#[test]
fn stacks_are_bounded() {
    let mut screen =
        feed(100_000, |i| format!("\x1b]2;t{i}\x07\x1b[22;0t\x1b[>{}u", i % 32).into_bytes());
    for i in (99_984..100_000).rev() {
        screen.feed(b"\x1b[23;0t");
        assert_eq!(screen.title(), format!("t{i}"));
    }
    screen.feed(b"\x1b]2;last\x07\x1b[23;0t");
    assert_eq!(screen.title(), "last", "sixteen titles were kept");
    screen.feed(b"\x1b[<1000000000u");
    assert_eq!(screen.keyboard_flags(), 0);
    check_recovery(screen);
}

#[test]
fn combining_marks_on_a_cell_are_bounded() {
    let screen = feed(100, |_| "\u{301}\u{200d}".repeat(1000).into_bytes());
    assert_eq!(screen.row(0).width(), 6);
    assert!(screen.row(0).text().len() <= 5 + 64);
    check_recovery(screen);
    let screen =
        feed(100, |i| format!("\x1b[?2027h\r\n👩{}{i}", "\u{200d}👩".repeat(1000)).into_bytes());
    check_recovery(screen);
}

/// Returns a character with marks that differ for each `i`.
fn marked(i: usize) -> String {
    let mark = |n: usize| char::from_u32(0x300 + n as u32 % 96).unwrap_or('x');
    let base = char::from(b'a' + (i / 96 / 96 % 26) as u8);
    format!("{base}{}{}", mark(i), mark(i / 96))
}

/// Returns the text of a row without combining marks.
fn without_marks(text: &str) -> String {
    text.chars().filter(|c| !('\u{300}'..'\u{370}').contains(c)).collect()
}

#[test]
fn marks_in_the_text_of_a_row_are_bounded() {
    for cols in [10, 120, 200] {
        let marks_max = ROW_MARKS_MIN.max(cols * COL_MARKS_MAX);
        let mut screen = Screen::new(cols, 3, 10);
        let full = format!("e{}", "\u{301}".repeat(31));
        let cells = marks_max / 62;
        let rest = "\u{302}".repeat(marks_max % 62 / 2);
        if cells < cols {
            // At the limit all marks are shown.
            screen.feed(format!("{}o{rest}", full.repeat(cells)).as_bytes());
            assert_eq!(screen.row(0).text(), format!("{}o{rest}", full.repeat(cells)));
            // With one more, the base character is shown without its marks.
            screen.feed("\u{302}".as_bytes());
            assert_eq!(screen.row(0).text(), format!("{}o", full.repeat(cells)));
            assert_eq!(screen.row(0).width(), cells + 1);
        }
        screen.feed(format!("\x1b[2J\x1b[H{}\r\n\n\n", full.repeat(cols)).as_bytes());
        let (_, line) = screen.scrollback().get(0).expect("a line scrolled off");
        assert_eq!(without_marks(line.text()), "e".repeat(cols));
        assert_eq!(line.width(), cols);
        assert!(line.text().len() <= cols + marks_max, "{cols}: {}", line.text().len());
    }
}

#[test]
fn realistic_marks_are_all_shown() {
    for (text, width) in [
        ("\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940} ", 6),
        ("e\u{301}\u{302}\u{303}\u{304}", 1),
        ("a\u{31b}\u{323}", 1),
        ("\u{0e01}\u{0e35}\u{0e48}", 1),
    ] {
        let mut screen = Screen::new(1000, 2, 0);
        let row = text.repeat(1000 / width);
        screen.feed(row.as_bytes());
        assert_eq!(screen.row(0).text(), row.trim_end(), "{text:?}");
    }
    let family = "\u{1f468}\u{1f3fb}\u{200d}\u{1f469}\u{1f3fc}\u{200d}\u{1f467}\u{1f3fd}\u{200d}\u{1f466}\u{1f3fe}";
    let mut screen = Screen::new(54, 2, 0);
    let row = family.repeat(27);
    screen.feed(format!("\x1b[?2027h{row}").as_bytes());
    assert_eq!(screen.row(0).text(), row);
}

#[test]
fn clusters_are_bounded() {
    // Two screens with a different cluster in each cell fill half of the table.
    let (cols, rows) = (CLUSTERS_MAX / 4 / 64, 64);
    let mut screen = Screen::new(cols, rows, 0);
    let count = cols * rows;
    for (first, switch) in [(0, ""), (count, "\x1b[?1047h")] {
        screen.feed(switch.as_bytes());
        let clusters: Vec<String> = (first..first + count).map(marked).collect();
        screen.feed(format!("\x1b[H{}", clusters.concat()).as_bytes());
        let shown: String = (0..rows).map(|row| screen.row(row).text().to_owned()).collect();
        assert_eq!(shown, clusters.concat());
    }
    // On a larger screen the table becomes full, and the remaining cells show base characters only.
    let (cols, rows) = (500, 100);
    let mut screen = Screen::new(cols, rows, 0);
    let clusters: Vec<String> = (0..cols * rows).map(marked).collect();
    screen.feed(clusters.concat().as_bytes());
    let shown: String = (0..rows).map(|row| screen.row(row).text().to_owned()).collect();
    assert_eq!(without_marks(&shown), without_marks(&clusters.concat()));
    let starts = shown.char_indices().filter(|(_, c)| c.is_ascii()).map(|(at, _)| at);
    let starts: Vec<usize> = starts.collect();
    let cells = starts.windows(2).map(|at| &shown[at[0]..at[1]]);
    let distinct: BTreeSet<&str> = cells.filter(|cell| cell.len() > 1).collect();
    let count = distinct.len();
    assert!(count < CLUSTERS_MAX && count > CLUSTERS_MAX / 2, "{count} clusters");
    // After these are erased there is room again.
    screen.feed(b"\x1b[2J\x1b[H");
    let again: String = (0..1000).map(|i| marked(100_000 + i)).collect();
    screen.feed(again.as_bytes());
    screen.feed(format!("\x1b[H{again}").as_bytes());
    assert_eq!(format!("{}{}", screen.row(0).text(), screen.row(1).text()), again);
}

#[test]
fn frames_are_bounded_by_their_bytes() {
    let at = Time::from_ms;
    let (cols, rows) = (COLS_MAX, 100);
    let mut session = Session::new(at(0), cols, rows, 0);
    let mut kept = 1;
    for i in 1..=40 {
        // A different style for each cell.
        let cell = |n: usize| format!("\x1b[38;5;{}mx", (n + i) % 256);
        let row: String = (0..cols).map(cell).collect();
        session.handle_output(at(20 * i as u64), format!("\x1b[H{}", row.repeat(rows)).as_bytes());
        session.handle_drained(at(20 * i as u64));
        let frames = session.history().frames().len();
        assert!(frames == kept + 1 || i > 10, "frame {i} displaced another");
        kept = frames;
    }
    assert_eq!(session.frame().seq().0, 40);
    // Besides its text, each cell of the older frames has a run of style and perhaps a run of ticks.
    let (least, most) =
        (size_of::<Span<Style>>(), size_of::<Span<Style>>() + size_of::<Span<Tick>>());
    assert!((kept - 1) * rows * cols * least <= FRAMES_BYTES_MAX, "{kept} frames");
    assert!((kept + 1) * rows * cols * (most + 2) > FRAMES_BYTES_MAX, "{kept} frames");
    assert!(session.history().get(session.frame().seq()).is_some());
    // Shared rows count once, so frames with small changes are all kept.
    for i in 0..150 {
        session.handle_output(at(1000 + 20 * i), format!("\x1b[H\x1b[m{i}").as_bytes());
        session.handle_drained(at(1000 + 20 * i));
    }
    assert!(session.history().frames().len() > 150);
}

#[test]
fn unused_clusters_and_styles_are_removed() {
    let screen = feed(20_000, |i| {
        let (a, b) = (0x300 + i as u32 % 0x60, 0x300 + i as u32 / 0x60 % 0x60);
        let mark = |code: u32| char::from_u32(code).unwrap_or('x');
        let (r, g, b2) = (i % 256, i / 256 % 256, i % 7);
        format!("\x1b[38;2;{r};{g};{b2}m\x1b[4:3;58;2;{g};{r};1me{}{}", mark(a), mark(b))
            .into_bytes()
    });
    check_recovery(screen);
}

#[test]
fn screen_switches_and_resets_leave_a_correct_screen() {
    let screen = feed(1000, |_| b"\x1b[?1049hx\x1b[?1049l".repeat(100));
    assert_eq!(screen.text(), "before");
    check_recovery(screen);
    let screen = feed(100, |_| b"abc\r\n\x1bc".repeat(100));
    assert_eq!(screen.text(), "");
    check_recovery(screen);
    let screen = feed(1000, |_| {
        b"\x1b[?47h\x1b[?47l\x1b[?1047h\x1b[?1047l\x1b[?2026h\x1b[?2026l".repeat(20)
    });
    check_recovery(screen);
}

#[test]
fn a_flood_of_modes_leaves_no_state_behind() {
    let mut screen = feed(50, |i| {
        let on = if i % 2 == 0 { 'h' } else { 'l' };
        let each =
            |mode: usize| format!("\x1b[?{mode}s\x1b[?{mode}{on}\x1b[{mode}{on}\x1b[?{mode}r");
        (0..3000).map(each).collect::<String>().into_bytes()
    });
    assert!(screen.unknown().len() <= UNKNOWN_MAX + 1);
    assert!(screen.take_replies().len() <= REPLIES_MAX);
    // Up to the maximum number of parameters in one sequence, and one more.
    screen.feed(format!("\x1b[?{}1049h", "2004;".repeat(62)).as_bytes());
    assert!(screen.has_bracketed_paste() && screen.is_alternate());
    screen.feed(format!("\x1b[?{}1049l", "2004;".repeat(64)).as_bytes());
    assert!(screen.is_alternate(), "excess parameters are ignored");
    // Sets every mode before the reset.
    screen.feed(
        (0..3000).map(|mode| format!("\x1b[?{mode}h\x1b[{mode}h")).collect::<String>().as_bytes(),
    );
    assert!(screen.has_bracketed_paste() && screen.is_synchronized());
    screen.feed(b"\x18\x1bc");
    let dump = screen.dump();
    assert_eq!(
        dump,
        Screen::new(COLS, ROWS, SCROLLBACK).dump(),
        "the reset restores the initial state"
    );
    check_recovery(screen);
}

#[test]
fn requests_that_reach_beyond_the_terminal_have_no_effect() {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    for inert in [
        "\x05",
        "\x1bP1;1|17/6576696c0d\x1b\\",
        "\x1b[5i",
        "\x1b[4i",
        "\x1b[?5i",
        "\x1b[?4i",
        "\x1b[i",
        "\x1b_Gi=1,t=f,a=q;L2V0Yy9wYXNzd2Q=\x1b\\",
        "\x1b_Gi=1,t=s,a=T;L3NobQ==\x1b\\",
        "\x1bPtmux;\x1b\x1b]52;c;?\x07\x1b\\",
        "\x1b]52;c;?\x07",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1b]50;?\x07",
        "\x1b]50;#1\x07",
        "\x1b[20t",
        "\x1b[21t",
        "\x1b]1337;ReportCellSize\x07",
        "\x1b]1337;ReportVariable=dXNlcg==\x07",
        "\x1b]1337;CopyToClipboard=\x07",
        "\x1b]46;/tmp/log\x07",
        "\x1b]701;evil\x07",
        "\x1b[?6$w",
        "\x1b[2$w",
        "\x1b[1;1;1;1;1;1*y",
        "\x1b[?63;1n",
        "\x1b]99;;evil\x07",
    ] {
        screen.feed(format!("a{inert}b").as_bytes());
        assert_eq!(screen.take_replies(), b"", "{inert:?}");
        assert_eq!(screen.text(), "ab", "{inert:?}");
        assert_eq!(screen.title(), "", "{inert:?}");
        assert_eq!((screen.cols(), screen.rows()), (COLS, ROWS));
        screen.feed(b"\r\x1b[K");
    }
}

#[test]
fn endless_lines_keep_the_scrollback_bounded() {
    let screen = feed(500, |_| vec![b'x'; 64 * 1024]);
    assert_eq!(screen.scrollback().len(), SCROLLBACK);
    check_recovery(screen);
    let screen = feed(2000, |i| format!("{i}\r\n").repeat(500).into_bytes());
    assert_eq!(screen.scrollback().len(), SCROLLBACK);
    assert_eq!(screen.line(ROWS - 1).0, 1_000_001, "dropping lines does not change the numbers");
    check_recovery(screen);
}

#[test]
fn queued_replies_are_bounded() {
    let mut screen = feed(4000, |_| b"\x1b[6n\x1b[c\x1b[5n\x1bP$qm\x1b\\".repeat(25));
    let replies = screen.take_replies();
    assert!(replies.len() <= REPLIES_MAX);
    assert!(replies.len() > REPLIES_MAX - 100);
    assert!(
        replies.ends_with(b"\x1b[0n")
            || replies.ends_with(b"c")
            || replies.ends_with(b"R")
            || replies.ends_with(b"\\")
    );
    screen.feed(b"\x1b[5n");
    assert_eq!(screen.take_replies(), b"\x1b[0n");
    check_recovery(screen);
}

#[test]
fn queued_events_are_bounded_and_excess_events_are_counted() {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    screen.feed(&vec![7; EVENTS_MAX]);
    screen.feed(b"\x07\x1b]133;A\x07");
    let (events, lost) = screen.take_events();
    assert_eq!(events.len(), EVENTS_MAX);
    assert_eq!(events[0], Event::Bell);
    assert_eq!(lost, 2);
    assert_eq!(screen.take_events(), (Vec::new(), 0));
}

#[test]
fn unknown_sequences_are_counted_by_kind_up_to_a_limit() {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    screen.feed(b"\x1b[?31337h\x1b[?31337h\x1b[>y\x1b]31337;x\x07\x1b%%\x1b[1;2W");
    let unknown: Vec<(&str, u64)> =
        screen.unknown().iter().map(|(k, n)| (k.as_str(), *n)).collect();
    assert_eq!(unknown, [("CSI >y", 1), ("CSI W", 1), ("OSC 31337", 1), ("mode ?31337", 2)]);
    for i in 0..100_000 {
        screen.feed(format!("\x1b]{}\x07", 50_000 + i).as_bytes());
    }
    assert_eq!(screen.unknown().len(), UNKNOWN_MAX + 1);
    assert!(screen.unknown()["others"] > 99_000);
}

#[test]
fn extreme_sizes_are_clamped() {
    let mut screen = Screen::new(0, 0, 10);
    assert_eq!((screen.cols(), screen.rows()), (1, 1));
    screen.feed("abc世界\r\n\x1b[2;2Hx\x1b[?1049h世".as_bytes());
    screen.resize(usize::MAX, usize::MAX);
    assert_eq!((screen.cols(), screen.rows()), (COLS_MAX, ROWS_MAX));
    screen.feed(b"\x1b[8;9999;9999t\x1b[?40h\x1b[?3h");
    assert_eq!(
        (screen.cols(), screen.rows()),
        (COLS_MAX, ROWS_MAX),
        "a program cannot resize the screen"
    );
    check_recovery(screen);
}

#[test]
fn a_storm_of_resizes_ends_in_the_last_size() {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    for i in 0..2000 {
        screen.feed(format!("line {i} {}\r\n", "w".repeat(i % 200)).as_bytes());
        screen.resize(1 + i * 7 % 150, 1 + i * 3 % 50);
    }
    screen.resize(COLS, ROWS);
    assert_eq!((screen.cols(), screen.rows()), (COLS, ROWS));
    assert!(screen.text().contains("line 1999"));
    check_recovery(screen);
}

#[test]
fn frames_and_waits_are_correct_during_a_storm_of_resizes() {
    let at = Time::from_ms;
    let mut session = Session::new(at(0), COLS, ROWS, SCROLLBACK);
    session.keep_frames(20);
    let pattern = Arc::new(Pattern::new("last words \\d+", "").expect("the pattern is valid"));
    let spec = Spec { condition: Condition::Text(pattern), since: Since::Now, deadline: None };
    session.start_wait(at(0), spec).expect("the wait starts");
    for i in 0..2000_u64 {
        let size = (1 + i as usize * 7 % 150, 1 + i as usize * 3 % 50);
        session.handle_output(
            at(i),
            format!("line {i} \x1b[?1049{}", if i % 3 == 0 { 'h' } else { 'l' }).as_bytes(),
        );
        session.resize(at(i), size.0, size.1);
        let frame = session.frame();
        assert_eq!((frame.cols(), frame.rows().len()), size, "the frame has the new size at once");
    }
    session.resize(at(3000), COLS, ROWS);
    assert!(session.poll_ended().is_empty());
    session.handle_output(at(3001), b"\x1b[?1049l\r\nlast words 7\x1b[6n\x1b[18t");
    session.handle_drained(at(3001));
    let replies = String::from_utf8(session.poll_replies()).unwrap_or_default();
    assert!(replies.ends_with("\x1b[8;24;80t"), "{replies:?}");
    assert_eq!(session.poll_ended().len(), 1);
    assert_eq!(session.frame().rows().len(), ROWS);
}

#[test]
fn invalid_text_is_replaced_even_if_it_is_split() {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    for byte in b"a\xffb\xc3(c\xe4\xb8d\xf0\x9f\x98e\xed\xa0\x80f\xc0\xafg\xe4\xb8\x96" {
        screen.feed(&[*byte]);
    }
    let mut whole = Screen::new(COLS, ROWS, SCROLLBACK);
    whole.feed(b"a\xffb\xc3(c\xe4\xb8d\xf0\x9f\x98e\xed\xa0\x80f\xc0\xafg\xe4\xb8\x96");
    assert_eq!(
        screen.text(),
        "a\u{fffd}b\u{fffd}(c\u{fffd}d\u{fffd}e\u{fffd}\u{fffd}\u{fffd}f\u{fffd}\u{fffd}g世"
    );
    assert_eq!(screen.text(), whole.text());
}

#[test]
fn long_runs_of_invalid_text_take_linear_time() {
    // Quadratic time for a megabyte would exceed the timeout of the test run.
    for piece in [&b"\xff"[..], b"\xc2\x84", b"\xe4\xb8", b"\xf0\x9f\x98"] {
        let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
        screen.feed(&piece.repeat((1 << 20) / piece.len()));
        check_recovery(screen);
    }
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    screen.feed(format!("\x1bP+q{}\x1b\\", ";".repeat(1_000_000)).as_bytes());
    check_recovery(screen);
}

#[test]
fn a_line_of_many_rows_is_rewrapped_in_linear_time() {
    let mut screen = Screen::new(COLS_MAX, ROWS_MAX, SCROLLBACK);
    screen.feed("aé世".repeat(COLS_MAX * ROWS_MAX / 4).as_bytes());
    for cols in [COLS_MAX - 1, COLS_MAX, 500, COLS_MAX] {
        screen.resize(cols, ROWS_MAX);
    }
    check_recovery(screen);
}

/// Short sequences that change all or most cells of the screen.
const HEAVY: [&str; 14] = [
    "\x1b[;;;;1;31$r",    // DECCARA
    "\x1b[;;;;7$t",       // DECRARA
    "\x1b[88;;;;$x",      // DECFRA
    "\x1b[;;;$z",         // DECERA
    "\x1b[;;;${",         // DECSERA
    "\x1b[;;;;;2;2$v",    // DECCRA
    "\x1b[Hx\x1b[65535b", // REP
    "\x1b[H\u{e9}\x1b[65535b",
    "\x1b[4h\x1b[Hx\x1b[65535b",
    "\x1b[2J\x1b#8",
    "\x1b#8\x1b[999S",
    "\x1b#8\x1b[H\x1b[999L",
    "\x1b#8\x1b[H\x1b[999'}",
    "\x1b[?1049h\x1b#8\x1b[?1049l",
];

#[test]
fn a_limit_of_work_stops_after_a_few_heavy_sequences() {
    const REPEATS: usize = 50;
    let (cols, rows) = (400, 100);
    let cells = (cols * rows) as u64;
    for heavy in HEAVY {
        let mut session = Session::new(Time::from_ms(0), cols, rows, 0);
        session.handle_output(Time::from_ms(0), b"\x1b#8");
        let text = heavy.repeat(REPEATS);
        let mut rest = text.as_bytes();
        session.handle_some_output(Time::from_ms(1), &mut rest, 1, &mut |_| true);
        assert!(!rest.is_empty(), "{heavy:?} was fed whole");
        let mut turns = 1;
        while !rest.is_empty() {
            session.handle_some_output(Time::from_ms(1), &mut rest, cells, &mut |_| true);
            turns += 1;
        }
        // An insertion touches at least one row, every other sequence about one screen.
        let least = if heavy.starts_with("\x1b[4h") { 2 } else { REPEATS / 8 };
        assert!(turns >= least, "{heavy:?} took {turns} turns of a screen each");
        // The limit affects only the time, not the result.
        let mut whole = Session::new(Time::from_ms(0), cols, rows, 0);
        whole.handle_output(Time::from_ms(0), format!("\x1b#8{text}").as_bytes());
        whole.handle_drained(Time::from_ms(2));
        session.handle_drained(Time::from_ms(2));
        assert!(session.frame().looks_like(whole.frame()), "{heavy:?}");
    }
}

#[test]
fn rep_equals_printing_the_character_repeatedly() {
    for (setup, c) in [("", "x"), ("", "é"), ("", "字"), ("\x1b(0", "q"), ("\x1b[?7l", "x")] {
        for count in [1, 5, 7, 10, 29] {
            let (mut repeated, mut printed) = (Screen::new(10, 3, 100), Screen::new(10, 3, 100));
            repeated.feed(format!("{setup}ab{c}\x1b[{count}bz").as_bytes());
            printed.feed(format!("{setup}ab{c}{}z", c.repeat(count)).as_bytes());
            assert_eq!(repeated.text(), printed.text(), "{setup:?} {c} {count}");
            assert_eq!(repeated.cursor(), printed.cursor(), "{setup:?} {c} {count}");
        }
    }
}
