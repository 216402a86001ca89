//! Invariants of all streams of bytes, as checks that panic. `properties.rs` runs them with generated streams,
//! `fuzz.rs` with mutated output of real programs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{
    Condition, Diff, Finding, Frame, Pattern, Row, Screen, Session, Since, Spec, Styles, Tick,
    Time, WaitEnded,
};

/// The scrollback size of all checks.
pub(crate) const SCROLLBACK: usize = 20;

/// A step of a test case.
#[derive(Clone, PartialEq)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    Resize(usize, usize),
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Bytes(bytes) => write!(f, "b\"{}\"", bytes.escape_ascii()),
            Step::Resize(cols, rows) => write!(f, "{cols}x{rows}"),
        }
    }
}

/// Splits the bytes into pieces of the sizes in `cuts`, which are used cyclically.
fn pieces<'b>(mut bytes: &'b [u8], cuts: &[usize]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    for size in cuts.iter().cycle() {
        let (now, later) = bytes.split_at((*size).min(bytes.len()));
        pieces.push(now);
        bytes = later;
        if bytes.is_empty() {
            break;
        }
    }
    pieces
}

/// Returns a screen after all steps, with the bytes split by `cuts`.
fn screen_after(steps: &[Step], (cols, rows): (usize, usize), cuts: &[usize]) -> Screen {
    let mut screen = Screen::new(cols, rows, SCROLLBACK);
    // Compares all replies, including those that are disabled by default.
    screen.set_answers_checksums(true);
    for step in steps {
        match step {
            Step::Bytes(bytes) => pieces(bytes, cuts).iter().for_each(|piece| screen.feed(piece)),
            Step::Resize(cols, rows) => screen.resize(*cols, *rows),
        }
    }
    screen
}

/// Returns the complete observable state of a screen, including ticks.
fn whole_state(screen: &mut Screen) -> impl PartialEq + fmt::Debug + use<> {
    let ticks: Vec<Tick> = (0..screen.rows())
        .flat_map(|row| (0..screen.cols()).map(move |col| (row, col)))
        .map(|(row, col)| screen.tick_at(row, col))
        .collect();
    let lines: Vec<_> = (0..screen.rows()).map(|row| screen.line(row)).collect();
    let scrollback: Vec<_> = (0..screen.scrollback().len())
        .filter_map(|i| screen.scrollback().get(i))
        .map(|(line, row)| {
            (line, row.text().to_owned(), row.styles().to_vec(), row.ticks().to_vec())
        })
        .collect();
    let dump = String::from_utf8(screen.dump()).expect("a dump is text");
    let rest = (screen.take_events(), screen.take_replies(), screen.unknown().clone());
    (screen.text(), screen.cursor(), ticks, lines, scrollback, dump, rest)
}

/// Checks that the result does not depend on how the bytes are split.
pub(crate) fn check_cuts(steps: &[Step], size: (usize, usize), cuts: &[usize]) {
    let whole = whole_state(&mut screen_after(steps, size, &[usize::MAX]));
    assert_eq!(whole, whole_state(&mut screen_after(steps, size, &[1])));
    assert_eq!(whole, whole_state(&mut screen_after(steps, size, cuts)));
}

/// Checks the invariants of the screen after each step.
pub(crate) fn check_invariants(steps: &[Step], (cols, rows): (usize, usize)) {
    let mut screen = Screen::new(cols, rows, SCROLLBACK);
    let mut tick = screen.tick();
    for step in steps {
        match step {
            Step::Bytes(bytes) => screen.feed_observed(bytes, &mut |_| {}),
            Step::Resize(cols, rows) => screen.resize(*cols, *rows),
        }
        check_screen(&screen);
        assert!(screen.tick() >= tick);
        tick = screen.tick();
    }
}

/// Checks the invariants of a screen.
fn check_screen(screen: &Screen) {
    let cursor = screen.cursor();
    assert!(cursor.row < screen.rows());
    assert!(cursor.col < screen.cols());
    let mut number = screen.scrollback().last();
    for row in 0..screen.rows() {
        let shown = screen.row(row);
        assert!(shown.width() <= screen.cols());
        assert!(!shown.text().ends_with(' '));
        assert!(!shown.text().chars().any(char::is_control), "{:?}", shown.text());
        assert!(Some(screen.line(row)) >= number, "numbers never decrease");
        number = Some(screen.line(row));
        for col in 0..screen.cols() {
            let tick = screen.tick_at(row, col);
            assert!(tick <= screen.tick());
            assert!(tick <= screen.row_tick(row));
            assert_eq!(tick, shown.tick_at(col));
        }
    }
    let lines = (0..screen.scrollback().len()).map(|i| screen.scrollback().text(i));
    let lines: Vec<_> = lines.map(|line| line.expect("every counted line exists").0).collect();
    assert!(lines.is_sorted());
    assert!(lines.len() <= SCROLLBACK);
}

/// Counts the base characters of the cells drawn since the last observation.
fn unobserved(screen: &Screen) -> BTreeMap<char, usize> {
    let mut found = BTreeMap::new();
    for row in 0..screen.rows() {
        let shown = screen.row(row);
        let mut col = 0;
        while col < screen.cols() {
            let text = shown.slice(col, col + 1);
            let wide = text.is_empty() && col < shown.width();
            let text = if wide { shown.slice(col, col + 2) } else { text };
            if screen.tick_at(row, col) == screen.tick() {
                *found.entry(text.chars().next().unwrap_or(' ')).or_default() += 1;
            }
            col += 1 + usize::from(wide);
        }
    }
    found
}

fn is_within(few: &BTreeMap<char, usize>, many: &BTreeMap<char, usize>) -> bool {
    few.iter().all(|(c, n)| many.get(c).is_some_and(|m| m >= n))
}

/// Checks that no drawn cell disappears before it is observed.
pub(crate) fn check_observed(bytes: &[u8], (cols, rows): (usize, usize)) {
    let mut screen = Screen::new(cols, rows, SCROLLBACK);
    for byte in bytes {
        let before = unobserved(&screen);
        let tick = screen.tick();
        let mut first_observation = None;
        screen.feed_observed(&[*byte], &mut |screen| {
            first_observation.get_or_insert_with(|| unobserved(screen));
        });
        match first_observation {
            Some(seen) => assert!(is_within(&before, &seen), "{before:?} {seen:?}"),
            None => {
                assert_eq!(screen.tick(), tick);
                let after = unobserved(&screen);
                assert!(is_within(&before, &after), "{before:?} {after:?}");
            }
        }
    }
}

/// Checks that observation changes only ticks.
pub(crate) fn check_observation(bytes: &[u8], (cols, rows): (usize, usize)) {
    let mut watched = Screen::new(cols, rows, SCROLLBACK);
    watched.feed_observed(bytes, &mut |_| {});
    let mut unwatched = Screen::new(cols, rows, SCROLLBACK);
    unwatched.feed(bytes);
    assert_eq!(watched.text(), unwatched.text());
    assert_eq!(watched.dump(), unwatched.dump());
}

/// Checks that a dump reproduces the terminal.
pub(crate) fn check_dump(steps: &[Step], size: (usize, usize)) {
    let screen = screen_after(steps, size, &[usize::MAX]);
    let dump = screen.dump();
    let mut copy = Screen::new(screen.cols(), screen.rows(), SCROLLBACK);
    copy.feed(&dump);
    assert_eq!(copy.text(), screen.text());
    assert_eq!(copy.cursor(), screen.cursor());
    for row in 0..screen.rows() {
        assert_eq!(copy.row(row).is_wrapped(), screen.row(row).is_wrapped(), "row {row}");
    }
    let text = |dump: Vec<u8>| String::from_utf8(dump).expect("a dump is text");
    assert_eq!(text(copy.dump()), text(dump));
}

fn look_alike(a: &[Arc<Row>], b: &[Arc<Row>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.looks_like(b))
}

/// Returns the cost of transmitting rows, in characters.
fn cost<'r>(rows: impl Iterator<Item = &'r Arc<Row>>) -> usize {
    rows.map(|row| row.text().len() + 4).sum()
}

fn check_diff(old: &Frame, new: &Frame) {
    let Some(diff) = Diff::new(old, new) else {
        assert!(old.cols() != new.cols() || old.rows().len() != new.rows().len());
        return;
    };
    assert!(look_alike(&diff.apply(old.rows()), new.rows()), "{diff:?}");
    assert_eq!(diff.is_empty(), old.looks_like(new));
    let sent = diff.changes.iter().map(|change| &change.now).filter(|row| !row.is_blank());
    let sent = cost(sent);
    assert!(sent <= cost(new.rows().iter().filter(|row| !row.is_blank())), "{diff:?}");
}

/// Checks that the frame number counts visible changes, and that diffs lead from each frame to another.
pub(crate) fn check_frames(steps: &[Step], (cols, rows): (usize, usize), gaps: &[u64]) {
    let mut now = 0;
    let mut session = Session::new(Time::from_ms(now), cols, rows, SCROLLBACK);
    for (step, gap) in steps.iter().zip(gaps.iter().cycle()) {
        now += gap;
        let time = Time::from_ms(now);
        let before = Arc::clone(session.frame());
        match step {
            Step::Bytes(bytes) => session.handle_output(time, bytes),
            Step::Resize(cols, rows) => session.resize(time, *cols, *rows),
        }
        session.handle_drained(time);
        let after = session.frame();
        // One step can produce several frames: one per completed update.
        assert!(after.seq() >= before.seq());
        if after.seq() == before.seq() {
            assert!(after.looks_like(&before));
        }
        if !session.screen().is_synchronized() {
            assert_eq!(after.text(), session.screen().text());
        }
        assert!(session.poll_wake().is_none_or(|wake| wake > time));
        check_diff(&before, after);
    }
    let frames: Vec<_> = session.history().frames().cloned().collect();
    for pair in frames.windows(2) {
        assert_eq!(pair[0].seq().0 + 1, pair[1].seq().0);
        assert!(!pair[0].looks_like(&pair[1]));
    }
    for old in frames.iter().step_by(3) {
        for new in frames.iter().step_by(5) {
            check_diff(old, new);
        }
    }
}

/// Checks that the results of waits do not depend on how the bytes are split, both for waits that run while the bytes
/// arrive and for one that starts later. Each wait ends once.
pub(crate) fn check_waits(steps: &[Step], size: (usize, usize), cuts: &[usize], pattern: &str) {
    let (whole, wake) = wait_results(steps, size, &[usize::MAX], pattern);
    assert_eq!(whole.len(), CONDITIONS + 1);
    assert_eq!(wake, None, "all waits have ended");
    assert_eq!((whole, wake), wait_results(steps, size, cuts, pattern));
}

/// The number of conditions in [`conditions`].
const CONDITIONS: usize = 4;

fn conditions(pattern: &Arc<Pattern>) -> [Condition; CONDITIONS] {
    let quiet = Duration::from_millis(20);
    [
        Condition::Text(Arc::clone(pattern)),
        Condition::Gone(Arc::clone(pattern)),
        Condition::Change { stable: quiet, styles: Styles::All, ignore: Vec::new() },
        Condition::Settled(quiet),
    ]
}

/// Returns the results of waits, and the session's next wake-up after all of them.
fn wait_results(
    steps: &[Step],
    (cols, rows): (usize, usize),
    cuts: &[usize],
    pattern: &str,
) -> (Vec<String>, Option<Time>) {
    const STEP_MS: u64 = 7;
    let pattern = Arc::new(Pattern::new(pattern, "").expect("the pattern is valid"));
    let end = Time::from_ms(STEP_MS * (steps.len() as u64 + 2));
    let mut session = Session::new(Time::from_ms(0), cols, rows, SCROLLBACK);
    let spec = |condition| Spec { condition, since: Since::Input, deadline: Some(end) };
    for condition in conditions(&pattern) {
        session.start_wait(Time::from_ms(0), spec(condition)).expect("the wait starts");
    }
    let mut now = Time::from_ms(0);
    let mut ended = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        now = Time::from_ms(STEP_MS * (i as u64 + 1));
        match step {
            Step::Bytes(bytes) => {
                pieces(bytes, cuts).iter().for_each(|piece| session.handle_output(now, piece));
            }
            Step::Resize(cols, rows) => session.resize(now, *cols, *rows),
        }
        session.handle_drained(now);
        session.handle_time(now);
        ended.extend(session.poll_ended().iter().map(describe));
    }
    session.start_wait(now, spec(Condition::Text(pattern))).expect("the wait starts");
    // An update that never ends is ended by a timeout.
    for time in [end, end.after(awaitty_core::UPDATE_MAX)] {
        session.handle_time(time);
    }
    ended.extend(session.poll_ended().iter().map(describe));
    (ended, session.poll_wake())
}

/// Describes the result of a wait without ticks. Ticks depend on the number of observations, and those depend on the
/// pieces.
fn describe(ended: &WaitEnded) -> String {
    let WaitEnded { id, outcome, frame, .. } = ended;
    let mut finding = ended.finding.clone();
    if let Finding::Text { found: Some(found), .. } | Finding::Gone(Some(found)) = &mut finding {
        found.tick = Tick::NEVER;
    }
    format!("{id:?} {outcome:?} {finding:?} {:?} {:?}", frame.seq(), frame.text())
}
