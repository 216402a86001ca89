//! Frames, their numbers, diffs and selections, on a simulated clock.

use std::sync::Arc;

use awaitty_core::{ChangeKind, FRAMES_MAX, Frame, SelectionChange, Seq, Session, Style, Time};

const COLS: usize = 20;
const ROWS: usize = 6;

fn session() -> Session {
    Session::new(Time::from_ms(0), COLS, ROWS, 100)
}

/// Feeds some bytes and returns the frame after them.
fn show(session: &mut Session, ms: u64, bytes: &str) -> Arc<Frame> {
    session.handle_output(Time::from_ms(ms), bytes.as_bytes());
    session.handle_drained(Time::from_ms(ms));
    Arc::clone(session.frame())
}

/// Returns the number of the frame after each of some writes.
fn seqs(writes: &[&str]) -> Vec<u64> {
    let mut session = session();
    writes
        .iter()
        .enumerate()
        .map(|(i, write)| show(&mut session, i as u64, write).seq().0)
        .collect()
}

/// Returns the difference of two screens as a text.
fn diff(before: &str, after: &str) -> String {
    let mut session = session();
    let seq = show(&mut session, 0, before).seq();
    show(&mut session, 1, after);
    let diff = session.history().diff_since(seq).expect("the frame is kept");
    let kind = |kind: ChangeKind| match kind {
        ChangeKind::Changed => "changed",
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Style => "style",
    };
    let mut text = format!("scrolled {}", diff.scrolled);
    for change in &diff.changes {
        text += &format!("; {} {} {:?}", kind(change.kind), change.row, change.now.text());
        for span in &change.spans {
            text += &format!(" {}..{}", span.from, span.to);
        }
    }
    text
}

#[test]
fn the_blank_screen_has_seq_zero_and_visible_changes_increment_it() {
    assert_eq!(session().frame().seq(), Seq(0));
    assert_eq!(session().frame().text(), "");
    assert_eq!(seqs(&["a", "b", "\x1b[31mc"]), [1, 2, 3]);
}

#[test]
fn invisible_changes_make_no_new_seq() {
    assert_eq!(
        seqs(&["a", "\x1b[3;3H", "\x1b[Ha", "\x1b[6n", "\x1b[?25l", "\x1b]2;t\x07"]),
        [1; 6]
    );
    assert_eq!(seqs(&["ab", "\x1b[2D\x1b[Kab"]), [1, 1], "redrawn within one read");
    assert_eq!(seqs(&["\x1b[K", " ", "\x1b[1m"]), [0, 0, 0]);
}

#[test]
fn a_change_of_style_alone_makes_a_new_seq() {
    assert_eq!(seqs(&["menu", "\r\x1b[7mmenu"]), [1, 2]);
    assert_eq!(seqs(&["menu", "\x1b[?5h", "\x1b[?5h"]), [1, 2, 2]);
}

#[test]
fn a_redraw_without_a_visible_change_updates_the_ticks() {
    let mut session = session();
    let first = show(&mut session, 0, "$ ");
    let again = show(&mut session, 1, "\r$ \x1b[5C");
    assert_eq!(first.seq(), again.seq());
    assert!(again.rows()[0].tick_at(0) > first.tick());
    assert_eq!((first.cursor().col, again.cursor().col), (2, 7));
}

#[test]
fn output_that_is_not_drained_makes_a_frame_after_16_milliseconds() {
    let mut session = session();
    session.handle_output(Time::from_ms(1000), b"a");
    session.handle_output(Time::from_ms(1015), b"b");
    assert_eq!(session.frame().seq(), Seq(0), "a burst after a pause is not shown half drawn");
    session.handle_output(Time::from_ms(1016), b"c");
    assert_eq!((session.frame().seq(), session.frame().text()), (Seq(1), "abc".to_owned()));
    session.handle_output(Time::from_ms(1020), b"d");
    session.handle_output(Time::from_ms(1035), b"e");
    assert_eq!(session.frame().seq(), Seq(1));
    session.handle_output(Time::from_ms(1036), b"f");
    assert_eq!(session.frame().seq(), Seq(2));
}

#[test]
fn a_synchronized_update_is_shown_when_it_is_complete() {
    let mut session = session();
    assert_eq!(show(&mut session, 0, "old").text(), "old");
    assert_eq!(show(&mut session, 1, "\x1b[?2026h\x1b[2J\x1b[H").text(), "old");
    assert_eq!(session.screen().text(), "", "it is applied to the screen");
    assert_eq!(show(&mut session, 2, "ne").text(), "old");
    assert_eq!(show(&mut session, 3, "w\x1b[?2026l").text(), "new");
    assert_eq!(session.frame().seq(), Seq(2));
    assert_eq!(session.poll_wake(), None);
}

#[test]
fn an_update_that_never_ends_is_shown_after_150_milliseconds() {
    let mut session = session();
    show(&mut session, 10, "\x1b[?2026hstuck");
    assert_eq!(session.poll_wake(), Some(Time::from_ms(160)));
    show(&mut session, 100, "\x1b[?2026h here");
    assert_eq!(
        session.poll_wake(),
        Some(Time::from_ms(160)),
        "starting again does not extend the time"
    );
    session.handle_time(Time::from_ms(159));
    assert_eq!(session.frame().text(), "");
    session.handle_time(Time::from_ms(160));
    assert_eq!(session.frame().text(), "stuck here");
    assert_eq!(session.poll_wake(), None);
    assert_eq!(show(&mut session, 161, "!").text(), "stuck here!");
}

#[test]
fn an_update_that_is_started_twice_ends_once() {
    let mut session = session();
    assert_eq!(show(&mut session, 0, "\x1b[?2026h\x1b[?2026hnested").text(), "");
    assert_eq!(show(&mut session, 1, "\x1b[?2026l").text(), "nested");
    assert_eq!(session.poll_wake(), None);
    assert_eq!(show(&mut session, 2, "\x1b[?2026l!").text(), "nested!");
}

#[test]
fn a_flood_of_updates_makes_no_flood_of_frames() {
    let mut session = session();
    let flood: String = (0..20_000).map(|i| format!("\x1b[?2026h\r{i}\x1b[?2026l")).collect();
    assert_eq!(show(&mut session, 1000, &flood).text(), "19999");
    assert!(session.frame().seq() <= Seq(3), "{:?}", session.frame().seq());
    assert_eq!(session.poll_wake(), None);
}

#[test]
fn updates_in_one_read_show_the_last_complete_screen() {
    let mut session = session();
    let update = |text: &str| format!("\x1b[?2026h\x1b[2J\x1b[H{text}\x1b[?2026l");
    let writes = format!("{}{}\x1b[?2026h\x1b[2Jhalf", update("one"), update("two"));
    session.handle_output(Time::from_ms(20), writes.as_bytes());
    session.handle_drained(Time::from_ms(20));
    assert_eq!(session.frame().text(), "two", "the last complete screen");
}

#[test]
fn the_screen_before_an_update_makes_a_frame() {
    let mut session = session();
    assert_eq!(show(&mut session, 1000, "Password: \x1b[?2026h\x1b[2J").text(), "Password:");
    assert_eq!(show(&mut session, 1100, "\x1b[Hnext\x1b[?2026l").text(), "next");
    assert_eq!(session.frame().seq(), Seq(2));
}

#[test]
fn a_resize_does_not_show_half_an_update() {
    let mut session = session();
    show(&mut session, 0, "old");
    show(&mut session, 20, "\x1b[?2026h\x1b[2J\x1b[Hha");
    session.resize(Time::from_ms(21), COLS, ROWS + 1);
    assert_eq!(session.frame().text(), "old");
    assert_eq!(show(&mut session, 22, "lf\x1b[?2026l").text(), "half");
}

#[test]
fn a_diff_reports_an_inverted_screen() {
    let mut session = session();
    let seq = show(&mut session, 0, "text").seq();
    show(&mut session, 1, "\x1b[?5h");
    let diff = session.history().diff_since(seq).expect("the frame is kept");
    assert!(diff.reversed && !diff.is_empty() && diff.changes.is_empty());
}

#[test]
fn the_ring_keeps_the_newest_frames() {
    let mut session = session();
    for i in 0..FRAMES_MAX as u64 - 1 {
        show(&mut session, i, &format!("\r{i}"));
    }
    assert_eq!(session.history().oldest().seq(), Seq(0));
    show(&mut session, 1000, "\rone more");
    let history = session.history();
    assert_eq!(history.frames().len(), FRAMES_MAX);
    assert_eq!(history.oldest().seq(), Seq(1));
    assert!(history.get(Seq(0)).is_none());
    assert!(history.diff_since(Seq(0)).is_none());
    assert!(history.diff_since(Seq(1)).is_some());
    assert!(history.get(Seq(FRAMES_MAX as u64 + 1)).is_none(), "from the future");
}

#[test]
fn frames_share_unchanged_rows() {
    let mut session = session();
    let before = show(&mut session, 0, "a\r\nb\r\nc\r\nd\r\ne\r\nf");
    let after = show(&mut session, 1, "\r\ng");
    let shared =
        (0..ROWS - 1).filter(|&row| Arc::ptr_eq(&before.rows()[row + 1], &after.rows()[row]));
    assert_eq!(shared.count(), ROWS - 1, "a scroll moves rows and makes one new row");
}

#[test]
fn diffs_name_the_changed_rows() {
    assert_eq!(diff("a\r\nb", "\x1b[2;1Hx"), "scrolled 0; changed 1 \"x\"");
    assert_eq!(diff("a\r\nb", "\r\nc"), "scrolled 0; added 2 \"c\"");
    assert_eq!(diff("a\r\nb", "\x1b[2K"), "scrolled 0; removed 1 \"\"");
    assert_eq!(diff("a\r\nb", "\x1b[H\x1b[7ma"), "scrolled 0; style 0 \"a\" 0..1");
    assert_eq!(diff("a\r\nb", "\x1b[5;5H"), "scrolled 0");
}

#[test]
fn diffs_detect_scrolling() {
    let full = "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix";
    assert_eq!(diff(full, "\r\nseven"), "scrolled 1; added 5 \"seven\"");
    assert_eq!(diff(full, "\x1b[H\x1bMzero"), "scrolled -1; added 0 \"zero\"");
    assert_eq!(diff(full, "\x1b[2S"), "scrolled 2");
}

#[test]
fn lines_printed_again_elsewhere_are_not_a_scroll() {
    // A shell that prints its first lines, and then the text that was above them.
    let printed = diff("$ ls", "\x1b[H\x1b[Kfirst\r\nsecond\r\n$ ls");
    assert_eq!(printed, "scrolled 0; changed 0 \"first\"; added 1 \"second\"; added 2 \"$ ls\"");
    // On the alternate screen a program may draw what it scrolls.
    let full = "\x1b[?1049h\x1b[Hone\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix";
    let drawn = "\x1b[Htwo\x1b[K\r\nthree\x1b[K\r\nfour\x1b[K\r\nfive\x1b[K\r\nsix\x1b[K\r\nseven";
    assert_eq!(diff(full, drawn), "scrolled 1; added 5 \"seven\"");
}

#[test]
fn a_diff_reports_selected_and_deselected_rows() {
    let mut session = session();
    let menu = "\x1b[7mone\x1b[m\r\ntwo\r\nthree\x1b[4;1H\x1b[31mred\x1b[m";
    let seq = show(&mut session, 0, menu).seq();
    show(&mut session, 1, "\x1b[Hone\r\n\x1b[7mtwo\x1b[m\x1b[4;1Hred");
    let diff = session.history().diff_since(seq).expect("the frame is kept");
    let rows: Vec<_> = diff.changes.iter().map(|change| (change.row, change.selection)).collect();
    assert_eq!(
        rows,
        [(0, Some(SelectionChange::Deselected)), (1, Some(SelectionChange::Selected)), (3, None)]
    );
}

#[test]
fn after_the_alternate_screen_a_diff_starts_at_the_old_main_screen() {
    let mut session = session();
    let main = show(&mut session, 0, "$ vi").seq();
    let shown = show(&mut session, 1, "\x1b[?1049h\x1b[Hfile");
    assert_eq!(session.comparable(&shown).seq(), shown.seq(), "it is still shown");
    show(&mut session, 2, "\x1b[?1049l\r\n$ ");
    assert_eq!(session.comparable(&shown).seq(), main);
}

#[test]
fn a_diff_is_never_larger_than_the_screen() {
    let full = "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix";
    assert_eq!(diff(full, "\x1b[2J\x1b[H$ "), "scrolled 6; added 0 \"$\"");
    assert_eq!(diff(full, "\x1b[2J"), "scrolled 6");
}

#[test]
fn a_resize_has_no_diff() {
    let mut session = session();
    let seq = show(&mut session, 0, "text").seq();
    session.resize(Time::from_ms(1), COLS + 1, ROWS);
    assert!(session.frame().seq() > seq);
    assert!(session.history().diff_since(seq).is_none());
}

#[test]
fn the_hash_depends_only_on_visible_content() {
    let hash = |bytes: &str| show(&mut session(), 0, bytes).hash();
    assert_eq!(hash("abc"), hash("xyz\rabc\x1b[4;4H"));
    assert_ne!(hash("abc"), hash("abd"));
    assert_ne!(hash("abc"), hash("\x1b[1mabc"));
    assert_ne!(hash("a\r\nb"), hash("b\r\na"));
}

#[test]
fn highlighted_spans_are_the_selection() {
    let selection = |bytes: &str| {
        let frame = show(&mut session(), 0, bytes);
        let all = frame
            .selection()
            .into_iter()
            .map(|s| format!("{}:{}-{} {}", s.row, s.from, s.to, s.text));
        all.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(selection("one\r\n\x1b[7m two \x1b[m\r\nthree"), "1:0-5 two");
    assert_eq!(selection("one\r\n\x1b[44m\x1b[Ktwo\x1b[m\r\nthree"), "1:0-20 two");
    assert_eq!(selection("plain \x1b[1mbold\x1b[m \x1b[31mred\x1b[m"), "");
    // Three rows of one background are no selection. A row of another background among them is.
    let area = "\x1b[47m\x1b[2J\x1b[Ha\r\n\x1b[44mb\x1b[47m\r\nc";
    assert_eq!(selection(area), "1:0-1 b");
    assert_eq!(selection("\x1b[7m     \x1b[m"), "", "a span without text is no selection");
}

#[test]
fn concealed_text_is_found() {
    let concealed = |bytes: &str| {
        let mut session = session();
        let frame = show(&mut session, 0, bytes);
        let all = frame.concealed(session.screen());
        let all = all.into_iter().map(|s| format!("{}:{}-{} {}", s.row, s.from, s.to, s.text));
        all.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(concealed("a\x1b[8m secret \x1b[m b\r\n\x1b[8mx"), "0:1-9 secret, 1:0-1 x");
    assert_eq!(concealed("\x1b[31;41mred\x1b[32;42mgreen\x1b[m"), "0:0-8 redgreen");
    assert_eq!(concealed("\x1b[38;2;9;9;9;48;5;232m世界\x1b[39m."), "0:0-4 世界");
    assert_eq!(concealed("\x1b[30mon black\x1b[0;7;97;107minverse"), "0:0-15 on blackinverse");
    assert_eq!(concealed("\x1b]11;#ffffff\x07\x1b[97mwhite\x1b[m!"), "0:0-6 white!");
    // Colours at the limit of the distance that counts as near.
    assert_eq!(concealed("\x1b[38;2;10;10;10mnear\x1b[38;2;11;10;10mseen"), "0:0-4 near");
    let plain = "a \x1b[1mb\x1b[7m c\x1b[0;2;90m d\x1b[0;30;47me\x1b[0;8m   \x1b[8;44m\x1b[K";
    assert_eq!(concealed(plain), "", "blanks hide nothing");
}

#[test]
fn annotated_text_marks_the_runs_of_all_rows() {
    let frame = show(&mut session(), 0, "\x1b[31mred\x1b[m [x]\r\n\r\n\x1b[1;4mtitle\x1b[m");
    assert_eq!(frame.annotated(), "[r]red[/] [[x]\n\n[+_]title[/]");
    assert_eq!(frame.rows()[0].style_at(5), Style::default());
}
