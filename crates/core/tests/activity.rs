//! Waits that depend on the activity of the foreground job, and on input that is written in parts, on a simulated
//! clock.
//!
//! The numbers in the test names are the sections of docs/waits.md.

mod script;

use std::collections::VecDeque;

use awaitty_core::{
    ASKS_POLL_QUIET, ASKS_QUIET, Activity, BLANK_QUIET, BUSY_MAX, CommandId, Condition, Delivery,
    FULL_SCREEN, POLL_QUIET, REACTION_GRACE, STEADY, Session, Since, Spec, TerminalWait, Time,
    UNSEEN_QUIET,
};
use script::*;

const READY: Condition = Condition::Ready;

/// The job blocks in a read of the terminal.
const READS: Activity = activity(Some(TerminalWait::Read), awaitty_core::Job::AtRest);
/// The job polls the terminal with a timeout.
const POLLS: Activity = activity(Some(TerminalWait::TimedPoll), awaitty_core::Job::Timed);
/// The job is busy.
const BUSY: Activity = activity(None, awaitty_core::Job::Busy);
/// The job is busy, and another thread of it waits for the terminal.
const BUSY_READER: Activity = activity(Some(TerminalWait::Poll), awaitty_core::Job::Busy);
/// The job waits for something other than the terminal.
const ELSEWHERE: Activity = activity(None, awaitty_core::Job::AtRest);
/// The kernel does not show the job.
const UNKNOWN: Activity = activity(None, awaitty_core::Job::Unknown);

/// The mark of a shell that starts a command.
const COMMAND_STARTS: &str = "\x1b]133;C;aid=n;cmd=make\x07";

const fn activity(terminal: Option<TerminalWait>, job: awaitty_core::Job) -> Activity {
    Activity { terminal, job, reader_rests: false, reads_keys: true }
}

fn ms(duration: std::time::Duration) -> u64 {
    duration.as_millis() as u64
}

#[test]
fn s5_settled_is_met_after_a_late_reaction() {
    for late in [50, 150, 400, 600] {
        let script = [
            (0, Type("x")),
            (0, Job(BUSY)),
            (0, Wait(settled(200), Since::Input, 5000)),
            (late, Print("answer")),
            (late, Job(READS)),
        ];
        let end = format!("@{} w1 Met settled=true changed=true", late + 200);
        let log = run(&script);
        // The job was busy in the sample before, so a second sample has to confirm that it is at rest.
        let confirmed = format!("@{} w1 Met settled=true changed=true", late + 202);
        assert!(log == [end.as_str()] || log == [confirmed.as_str()], "{late}: {log:?}");
    }
}

#[test]
fn s5_settled_waits_for_a_job_that_ends_without_output() {
    let script = [
        (0, Type("x")),
        (0, Job(BUSY)),
        (0, Wait(settled(200), Since::Input, 5000)),
        (1000, Job(READS)),
    ];
    let log = run(&script);
    assert_eq!(log.len(), 1);
    // The next sample is at most one pause later.
    let at: u64 = log[0][1..].split(' ').next().and_then(|at| at.parse().ok()).unwrap_or(0);
    assert!(
        (1000..=1060).contains(&at) && log[0].ends_with("Met settled=true changed=false"),
        "{log:?}"
    );
}

#[test]
fn s5_settled_is_met_after_busy_max_and_reports_busy() {
    let script = [(0, Type("x")), (0, Job(BUSY)), (0, Wait(settled(200), Since::Input, 60_000))];
    let end = format!("@{} w1 Met settled=true changed=false busy", ms(BUSY_MAX));
    check(&script, &[&end]);
    // Output restarts the clock.
    let prints = [
        (0, Type("x")),
        (0, Job(BUSY)),
        (0, Wait(settled(200), Since::Input, 60_000)),
        (1000, Print("more")),
    ];
    let end = format!("@{} w1 Met settled=true changed=true busy", 1000 + ms(BUSY_MAX));
    check(&prints, &[&end]);
    // A program that prints again and again is never quiet for that long.
    let watch = [
        (0, Type("x")),
        (0, Job(BUSY)),
        (0, Wait(settled(200), Since::Input, 60_000)),
        (50, Print("one\r")),
        (2050, Print("two\r")),
        (4050, Print("three\r")),
    ];
    check(&watch, &[&format!("@{} w1 Met settled=true changed=true busy", ms(BUSY_MAX))]);
    // A longer time without a change was requested.
    let long = [(0, Type("x")), (0, Job(BUSY)), (0, Wait(settled(4000), Since::Input, 60_000))];
    check(&long, &["@4000 w1 Met settled=true changed=false busy"]);
}

#[test]
fn s5_settled_reports_busy_at_its_deadline() {
    let script = [(0, Type("x")), (0, Job(BUSY)), (0, Wait(settled(200), Since::Input, 1000))];
    check(&script, &["@1000 w1 Met settled=true changed=false busy"]);
    let prints = [
        (0, Type("x")),
        (0, Job(BUSY)),
        (0, Wait(settled(200), Since::Input, 1000)),
        (900, Print("not quiet")),
    ];
    check(&prints, &["@1000 w1 Timeout settled=false changed=true"]);
}

#[test]
fn s5_settled_needs_only_quiet_unless_the_job_is_busy() {
    for activity in [UNKNOWN, ELSEWHERE, POLLS] {
        let script =
            [(0, Type("x")), (0, Job(activity)), (0, Wait(settled(200), Since::Input, 5000))];
        check(&script, &["@200 w1 Met settled=true changed=false"]);
    }
}

#[test]
fn s5_ready_needs_all_input_read() {
    let script = [
        (0, Type("x")),
        (0, Unread(true)),
        (0, Wait(READY, Since::Input, 5000)),
        (10, Print("new")),
        (20, Job(READS)),
        (300, Unread(false)),
        (300, Job(READS)),
    ];
    check(&script, &["@302 w1 Met Kernel"]);
    let pending = [
        (0, Type("xy")),
        (0, Pending(true)),
        (0, Wait(READY, Since::Input, 5000)),
        (10, Print("new")),
        (20, Job(READS)),
        (300, Pending(false)),
        (305, Print("er")),
        (306, Job(READS)),
    ];
    check(&pending, &["@308 w1 Met Kernel"]);
}

#[test]
fn s5_ready_allows_a_grace_period_for_the_reaction() {
    let silent =
        [(0, Print("menu")), (5, Type("x")), (5, Wait(READY, Since::Input, 5000)), (6, Job(READS))];
    check(&silent, &[&format!("@{} w1 Met Kernel", 5 + ms(REACTION_GRACE))]);
    // The echo of the line discipline is not a reaction, another change is.
    let echoed = [
        (0, Print("? ")),
        (5, Type("x")),
        (5, Wait(READY, Since::Input, 5000)),
        (6, Print("x")),
        (7, Job(READS)),
        (50, Print("\r\nnext? ")),
        (51, Job(READS)),
    ];
    check(&echoed, &["@52 w1 Met Kernel"]);
}

#[test]
fn s5_ready_needs_quiet_from_a_program_that_polls() {
    let script = [
        (0, Print("menu")),
        (5, Type("x")),
        (5, Wait(READY, Since::Input, 5000)),
        (10, Print("\r\nnew")),
        (11, Job(POLLS)),
        (100, Print("er")),
    ];
    check(&script, &[&format!("@{} w1 Met Kernel", 100 + ms(POLL_QUIET))]);
}

#[test]
fn s5_ready_falls_back_to_quiet_as_evidence() {
    let unseen = [
        (0, Print("menu")),
        (5, Type("x")),
        (5, Wait(READY, Since::Input, 9000)),
        (10, Print("\r\nnew")),
        (11, Job(UNKNOWN)),
    ];
    check(&unseen, &[&format!("@{} w1 Met Quiet", 10 + ms(UNSEEN_QUIET))]);
    let mut busy = unseen.to_vec();
    busy[4] = (11, Job(BUSY_READER));
    check(&busy, &[&format!("@{} w1 Met Quiet", 10 + ms(BUSY_MAX))]);
    // A program that does not read its terminal is not ready.
    for activity in [BUSY, ELSEWHERE] {
        busy[4] = (11, Job(activity));
        check(&busy, &["@9005 w1 Timeout"]);
    }
}

#[test]
fn s5_ready_waits_for_the_first_screen() {
    let script = [(0, Wait(READY, Since::Input, 9000)), (10, Job(READS))];
    check(&script, &[&format!("@{} w1 Met Kernel", ms(BLANK_QUIET))]);
    let drawn = [
        (0, Wait(READY, Since::Input, 9000)),
        (10, Job(READS)),
        (50, Print("menu")),
        (51, Job(READS)),
    ];
    check(&drawn, &["@52 w1 Met Kernel"]);
}

#[test]
fn s8_full_screen_needs_a_steady_read_or_a_second_on_the_alternate_screen() {
    let begin = [
        (0, Shell("$ ")),
        (1, Print(COMMAND_STARTS)),
        (1, Wait(Condition::FullScreen(CommandId(1)), Since::Input, 9000)),
    ];
    let reads = [(5, Job(READS)), (10, Print("\x1b[?1049hmenu")), (20, Job(READS))];
    let script = [&begin[..], &reads].concat();
    check(&script, &[&format!("@{} w1 Met", 5 + ms(STEADY))]);
    let silent = [(10, Print("\x1b[?1049hmenu")), (20, Job(BUSY))];
    let script = [&begin[..], &silent].concat();
    check(&script, &[&format!("@{} w1 Met", 20 + ms(FULL_SCREEN))]);
}

#[test]
fn s8_an_alternate_screen_that_was_left_on_is_not_full_screen() {
    let script = [
        (0, Print("\x1b[?1049h")),
        (0, Shell("$ ")),
        (1, Job(READS)),
        (2000, Job(READS)),
        (2001, Print(COMMAND_STARTS)),
        (2001, Wait(Condition::FullScreen(CommandId(1)), Since::Input, 9000)),
        (2010, Job(BUSY)),
    ];
    check(&script, &["@11001 w1 Timeout"]);
}

#[test]
fn s8_a_command_that_has_not_started_is_not_full_screen() {
    let mut session = Session::new(Time::from_ms(0), COLS, ROWS, 20);
    session.trust_shell("n");
    session
        .handle_output(Time::from_ms(0), b"\x1b[?1049h\x1b]133;A;aid=n\x07$ \x1b]133;B;aid=n\x07");
    session.handle_activity(Time::from_ms(0), READS);
    let delivery = Delivery {
        nonce: "n".to_owned(),
        text: "make".to_owned(),
        rest: VecDeque::new(),
        lines: 1,
        shown: 1,
        sentinel: false,
        chars_max: 100,
    };
    let id = session.start_command(Time::from_ms(2000), delivery);
    let deadline = Some(Time::from_ms(9000));
    let spec = Spec { condition: Condition::FullScreen(id), since: Since::Input, deadline };
    session.start_wait(Time::from_ms(2000), spec).expect("the command exists");
    session.handle_activity(Time::from_ms(4000), READS);
    assert!(session.poll_ended().is_empty());
}

#[test]
fn s5_rest_is_met_by_a_program_that_is_ready_or_waits_elsewhere() {
    let rest = |activity| {
        [
            (0, Print("\x1b[?1049hmenu")),
            (5, Type("x")),
            (5, Wait(Condition::Rest, Since::Input, 9000)),
            (6, Print("new")),
            (7, Job(activity)),
        ]
    };
    check(&rest(READS), &["@9 w1 Met Kernel"]);
    check(&rest(ELSEWHERE), &[&format!("@{} w1 Met Quiet", 6 + ms(ASKS_POLL_QUIET))]);
    check(&rest(BUSY), &[&format!("@{} w1 Met Quiet", 6 + ms(BUSY_MAX))]);
    // A busy program on the main screen may be a long compile.
    let mut compile = rest(BUSY).to_vec();
    compile[0] = (0, Print("$ make"));
    check(&compile, &["@9005 w1 Timeout"]);
}

/// Returns a script in which a shell runs a command.
fn shell_runs() -> Vec<(u64, Do)> {
    vec![(0, Shell("$ ")), (10, Print("\x1b]133;C;aid=n\x07patch? ")), (10, Type("y"))]
}

/// The marks of a shell that ends a command and shows its prompt.
const COMMAND_ENDS: &str = "\x1b]133;D;0;aid=n;cwd=/\x07\x1b]133;A;aid=n\x07$ \x1b]133;B;aid=n\x07";

#[test]
fn s8_last_command_skips_a_command_that_ended_before_the_input() {
    let wait = || Wait(Condition::LastCommand { after: None }, Since::Input, 500);
    let ran = [(0, Shell("$ ")), (5, Print(COMMAND_STARTS)), (9, Print(COMMAND_ENDS))];
    // Without Enter nothing runs.
    let unentered = [&ran[..], &[(20, Type("make")), (20, wait())]].concat();
    check(&unentered, &["@520 w1 Timeout"]);
    let entered = [
        (20, Type("make\r")),
        (20, wait()),
        (30, Print(COMMAND_STARTS)),
        (40, Print(COMMAND_ENDS)),
    ];
    check(&[&ran[..], &entered].concat(), &["@40 w1 Met"]);
    // An answer to a running command is typed after the command started.
    let answered = [
        (0, Shell("$ ")),
        (5, Print(COMMAND_STARTS)),
        (6, Type("y\r")),
        (6, wait()),
        (9, Print(COMMAND_ENDS)),
    ];
    check(&answered, &["@9 w1 Met"]);
    // A command that ended after the input counts for a wait that starts later.
    let later = [
        (0, Shell("$ ")),
        (1, Type("make\r")),
        (5, Print(COMMAND_STARTS)),
        (9, Print(COMMAND_ENDS)),
        (50, wait()),
    ];
    check(&later, &["@50 w1 Met"]);
}

#[test]
fn s8_last_command_can_be_awaited_before_the_first_prompt() {
    let wait = || Wait(Condition::LastCommand { after: None }, Since::Input, 500);
    let script = [(0, Type("make\r")), (0, wait())];
    check(&script, &["no shell has reported a command in this session: run one with run_command"]);
    let script = [
        (0, Trust),
        (1, Type("make\r")),
        (1, wait()),
        (5, Shell("$ ")),
        (6, Print(COMMAND_STARTS)),
        (9, Print(COMMAND_ENDS)),
    ];
    check(&script, &["@9 w1 Met"]);
}

#[test]
fn s5_a_prompt_that_reads_type_ahead_is_not_ready() {
    let script = [
        (0, Shell("$ ")),
        (1, Print(COMMAND_STARTS)),
        (2, Type("next\r")),
        (2, Wait(READY, Since::Input, 9000)),
        // In one read: the prompt, and the start of the command that was typed before it.
        (5, PrintPart(COMMAND_ENDS)),
        (5, Print(COMMAND_STARTS)),
        (9, Print(COMMAND_ENDS)),
    ];
    check(&script, &["@9 w1 Met Shell"]);
}

#[test]
fn s8_asks_is_met_when_a_command_blocks_in_a_read_and_is_quiet() {
    let asks = Condition::Asks(Some(awaitty_core::CommandId(1)));
    let mut script = shell_runs();
    script.extend([
        (20, Wait(asks.clone(), Since::Input, 9000)),
        (30, Print("sure? ")),
        (40, Job(READS)),
    ]);
    check(&script, &[&format!("@{} w1 Met", 30 + ms(ASKS_QUIET))]);
    script[5] = (40, Job(POLLS));
    check(&script, &[&format!("@{} w1 Met", 30 + ms(ASKS_POLL_QUIET))]);
    for activity in [BUSY, BUSY_READER, ELSEWHERE, UNKNOWN] {
        script[5] = (40, Job(activity));
        check(&script, &["@9020 w1 Timeout"]);
    }
    // A command that has not read its input does not ask.
    script[5] = (40, Job(READS));
    script.push((50, Unread(true)));
    check(&script, &["@9020 w1 Timeout"]);
}

#[test]
fn s11_a_timeout_counts_from_the_last_byte_of_input() {
    let script = [
        (0, Type("ab")),
        (0, Pending(true)),
        (0, Wait(text("never"), Since::Input, 100)),
        (0, Wait(settled(50), Since::Input, 100)),
        (80, Pending(true)),
        (160, Pending(false)),
    ];
    check(&script, &["@210 w2 Met settled=true changed=false", "@260 w1 Timeout"]);
    // Without progress of the input the timeout still counts.
    let stuck = [(0, Type("ab")), (0, Pending(true)), (0, Wait(text("never"), Since::Input, 100))];
    check(&stuck, &["@100 w1 Timeout"]);
}

#[test]
fn s11_a_held_wait_ends_after_the_last_byte_of_input() {
    let held = |condition| {
        [
            (0, Print("old")),
            (5, Type("ab")),
            (5, Pending(true)),
            (5, Wait(condition, Since::Input, 900)),
            (10, Print("\r\x1b[Knew")),
            (300, Pending(false)),
        ]
    };
    check(&held(text("new")), &["@300 w1 Met \"new\" line 1 fresh"]);
    check(&held(gone("old")), &["@300 w1 Met gone"]);
    check(&held(change(50)), &["@300 w1 Met changed=true stable=true style=true"]);
    // Text that appeared and disappeared before the last byte is found.
    let mut gone_again = held(text("new")).to_vec();
    gone_again.insert(5, (20, Print("\r\x1b[K")));
    check(&gone_again, &["@300 w1 Met \"new\" line 1 fresh, no longer visible"]);
    // The exit ends the wait, and text that was found before counts.
    let mut exits = held(text("new")).to_vec();
    exits[5] = (20, Do::Exit(3));
    check(&exits, &["@20 w1 Met \"new\" line 1 fresh exit 3"]);
    // At the deadline it is met as well.
    let late = &held(text("new"))[..5];
    check(late, &["@905 w1 Met \"new\" line 1 fresh"]);
}

#[test]
fn s5_a_busy_background_job_does_not_prevent_ready() {
    let rests = Activity { reader_rests: true, ..BUSY_READER };
    let script = [
        (0, Type("x")),
        (5, Print("prompt> ")),
        (6, Wait(READY, Since::Input, 9000)),
        (10, Job(rests)),
    ];
    check(&script, &[&format!("@{} w1 Met Kernel", 5 + ms(POLL_QUIET))]);
}
