//! The marks of shells: which commands ran, what they printed, and which marks are forged.

use std::collections::VecDeque;
use std::time::Duration;

use awaitty_core::{
    Activity, COMMAND_TEXT_MAX, COMMANDS_MAX, CommandId, Condition, Delivery, EchoSource, Exit,
    Job, MARK_MAX, Outcome, Progress, Ready, Session, Since, Spec, TerminalWait, Time, WaitId,
};

const NONCE: &str = "n1";

fn session() -> Session {
    let mut session = Session::new(Time::from_ms(0), 40, 10, 100);
    session.trust_shell(NONCE);
    session
}

fn feed(session: &mut Session, ms: u64, text: &str) {
    session.handle_output(Time::from_ms(ms), text.as_bytes());
    session.handle_drained(Time::from_ms(ms));
}

fn mark(kind: &str) -> String {
    mark_of(NONCE, kind)
}

fn mark_of(nonce: &str, kind: &str) -> String {
    let (kind, rest) = kind.split_once(';').map_or((kind, ""), |(kind, rest)| (kind, rest));
    let rest = if rest.is_empty() { String::new() } else { format!(";{rest}") };
    // The parameter that may hold any character is last.
    let last = rest.find(";c").unwrap_or(rest.len());
    let (rest, last) = rest.split_at(last);
    format!("\x1b]133;{kind}{rest};aid={nonce}{last}\x07")
}

fn prompt(status: i32) -> String {
    let (d, a, b) = (mark(&format!("D;{status};cwd=/src")), mark("A"), mark("B"));
    format!("{d}{a}$ {b}")
}

fn deliver(session: &mut Session, ms: u64, text: &str) -> CommandId {
    let now = Time::from_ms(ms);
    session.handle_input(now, &format!("{text}\r"), EchoSource::LineEditor);
    let delivery = Delivery {
        nonce: NONCE.to_owned(),
        text: text.to_owned(),
        rest: [b"REST".to_vec()].into(),
        lines: 1,
        shown: 1,
        sentinel: false,
        chars_max: 1000,
    };
    session.start_command(now, delivery)
}

fn wait_for(session: &mut Session, ms: u64, condition: Condition) -> WaitId {
    let deadline = Some(Time::from_ms(ms).after(Duration::from_secs(10)));
    let spec = Spec { condition, since: Since::Input, deadline };
    session.start_wait(Time::from_ms(ms), spec).expect("the wait is valid")
}

#[test]
fn a_delivered_command_has_its_status_output_and_directory() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    assert!(session.is_at_prompt());
    let id = deliver(&mut session, 5, "make");
    assert!(!session.is_at_prompt());
    let wait = wait_for(&mut session, 5, Condition::Command(id));
    feed(&mut session, 6, &mark("Y"));
    assert_eq!(session.poll_replies(), b"REST");
    // The line editor draws its prompt again.
    feed(&mut session, 6, &format!("\r{}$ {}", mark("A"), mark("B")));
    feed(&mut session, 7, &format!("make\r\n{}one\r\ntwo", mark("C")));
    assert_eq!(session.running_command().unwrap().text, "make");
    assert_eq!(session.command_output(id).head, "one\ntwo");
    feed(&mut session, 9, &mark("D;3;cwd=/a%25b"));
    assert!(session.poll_ended().is_empty(), "the shell is not at its prompt yet");
    feed(&mut session, 10, &format!("\r\nhook\r\n{}$ {}", mark("A"), mark("B")));
    let ended = session.poll_ended();
    assert_eq!((ended[0].id, ended[0].outcome), (wait, Outcome::Met));
    let command = session.command(id).unwrap();
    assert_eq!((command.status, command.cwd.as_deref()), (Some(3), Some("/a%b")));
    assert_eq!(command.ended.unwrap().since(command.started), Duration::from_millis(2));
    assert_eq!(session.command_output(id).head, "one\ntwo");
    assert!(session.is_at_prompt());
}

#[test]
fn marks_without_the_nonce_are_ignored() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "evil");
    let fakes = format!("a\x1b]133;D;0\x07b{}c", mark_of("guess", "D;0"));
    feed(&mut session, 2, &format!("{}{fakes}\r\n{}", mark("C"), prompt(1)));
    assert_eq!(session.command(id).unwrap().status, Some(1));
    assert_eq!(session.command_output(id).head, "abc");
}

#[test]
fn a_comment_ends_with_the_next_prompt() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "# nothing");
    feed(&mut session, 2, &format!("{}{}$ {}", mark("D;0"), mark("A"), mark("B")));
    assert_eq!(session.command(id).unwrap().progress, Progress::Sent, "that was a redraw");
    feed(&mut session, 3, &format!("# nothing\r\n{}", prompt(0)));
    let command = session.command(id).unwrap();
    assert!(command.is_over() && !command.ran);
}

#[test]
fn an_open_quote_is_reported_until_it_is_cancelled() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "echo '");
    feed(&mut session, 2, &format!("echo '\r\n{}> ", mark("A;k=s")));
    assert_eq!(session.command(id).unwrap().progress, Progress::Incomplete);
    assert!(session.command(id).unwrap().is_unclosed());
    assert!(!session.command(id).unwrap().is_over());
    feed(&mut session, 3, &format!("^C\r\n{}", prompt(130)));
    assert!(session.command(id).unwrap().is_over());
    assert!(session.is_at_prompt());
}

#[test]
fn each_continuation_prompt_takes_the_next_line() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let delivery = Delivery {
        nonce: NONCE.to_owned(),
        text: "for".to_owned(),
        rest: [b"do".to_vec(), b"done".to_vec()].into(),
        lines: 3,
        shown: 3,
        sentinel: false,
        chars_max: 1000,
    };
    let id = session.start_command(Time::from_ms(1), delivery);
    let more = format!("{}> ", mark("A;k=s"));
    feed(&mut session, 2, &format!("for\r\n{more}"));
    assert_eq!(session.poll_replies(), b"do", "each line at its continuation prompt");
    assert!(!session.command(id).unwrap().is_taken());
    feed(&mut session, 2, &format!("do\r\n{more}"));
    assert_eq!(session.poll_replies(), b"done");
    assert!(session.command(id).unwrap().is_taken());
    assert_eq!(session.command(id).unwrap().progress, Progress::Sent);
    feed(&mut session, 3, &more);
    assert_eq!(session.command(id).unwrap().progress, Progress::Incomplete);
}

#[test]
fn a_syntax_error_is_the_output_of_its_command() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "echo )");
    let message = "sh: syntax error near ')'";
    feed(&mut session, 2, &format!("echo )\r\n{message}\r\n{}", prompt(2)));
    let command = session.command(id).unwrap();
    assert_eq!((command.status, command.ran), (Some(2), false));
    assert_eq!(session.command_output(id).head, message);
}

#[test]
fn a_shell_without_hooks_reports_typed_commands_at_their_end() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    session.handle_input(Time::from_ms(1), "false\r", EchoSource::Terminal);
    wait_for(&mut session, 1, Condition::LastCommand { after: None });
    feed(&mut session, 2, &format!("false\r\nout\r\n{}", prompt(1)));
    assert_eq!(session.poll_ended()[0].outcome, Outcome::Met);
    let command = session.last_command().unwrap();
    assert_eq!((command.text.as_str(), command.status), ("false", Some(1)));
    assert_eq!(session.command_output(command.id).head, "out");
}

#[test]
fn a_prompt_with_unread_input_does_not_count() {
    let mut session = session();
    session.handle_input_unread(Time::from_ms(0), true);
    feed(&mut session, 0, &prompt(0));
    assert!(!session.is_at_prompt());
    session.handle_input_unread(Time::from_ms(0), false);
    feed(&mut session, 1, &prompt(0));
    assert!(session.is_at_prompt());
}

#[test]
fn a_surplus_ready_mark_means_that_the_shell_is_at_its_prompt() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    deliver(&mut session, 1, "make");
    feed(&mut session, 2, &format!("{}{}", mark("Y"), mark("C")));
    // The probe that was sent again is still to be read when the prompt comes.
    session.handle_input_unread(Time::from_ms(0), true);
    feed(&mut session, 3, &prompt(0));
    assert!(!session.is_at_prompt());
    session.handle_input_unread(Time::from_ms(0), false);
    feed(&mut session, 4, &mark("Y"));
    assert!(session.is_at_prompt());
}

#[test]
fn a_command_is_refused_if_the_line_has_text() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "ls");
    feed(&mut session, 2, &mark("X"));
    assert_eq!(session.command(id).unwrap().progress, Progress::Refused);
    feed(&mut session, 2, &mark("Y"));
    assert!(session.poll_replies().is_empty());
}

#[test]
fn the_text_of_a_typed_command_is_read_from_the_screen() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    session.handle_input(Time::from_ms(1), "make all\r", EchoSource::LineEditor);
    feed(&mut session, 2, &format!("make all\r\n{}ok\r\n", mark("C")));
    assert_eq!(session.running_command().unwrap().text, "make all");
    let id = session.last_command().unwrap().id;
    feed(&mut session, 3, &prompt(0));
    assert_eq!(session.command_output(id).head, "ok");
}

#[test]
fn the_end_of_an_outer_shells_command_ends_the_inner_shell() {
    let mut session = session();
    feed(&mut session, 0, &format!("{}ssh\r\n{}", prompt(0), mark("C;cmd=ssh host")));
    session.trust_shell("inner");
    feed(&mut session, 1, &format!("{}$ {}", mark_of("inner", "A"), mark_of("inner", "B")));
    assert!(session.is_at_prompt());
    feed(&mut session, 2, &format!("x\r\n{}", mark_of("inner", "C;cmd=x")));
    assert_eq!(session.running_command().unwrap().text, "x");
    let inner = session.last_command().unwrap().id;
    feed(&mut session, 3, &format!("Connection closed\r\n{}", prompt(255)));
    assert_eq!(session.command(inner).unwrap().progress, Progress::Lost);
    assert!(session.is_at_prompt());
    feed(&mut session, 4, &mark_of("inner", "C;cmd=late"));
    assert!(session.is_at_prompt(), "it is not trusted any more");
}

#[test]
fn a_sentinel_is_over_at_its_end_mark_or_its_answer_mark() {
    let mut session = Session::new(Time::from_ms(0), 40, 10, 100);
    let delivery = |nonce: &str| Delivery {
        nonce: nonce.to_owned(),
        text: "cmd".to_owned(),
        rest: VecDeque::new(),
        lines: 1,
        shown: 1,
        sentinel: true,
        chars_max: 100,
    };
    let id = session.start_command(Time::from_ms(0), delivery("s1"));
    let (c, d) = (mark_of("s1", "C"), mark_of("s1", "D;4;cwd=/x"));
    feed(&mut session, 1, &format!("{c}out\r\n{d}$ "));
    let command = session.command(id).unwrap();
    assert!(command.is_over());
    assert_eq!((command.status, session.command_output(id).head.as_str()), (Some(4), "out"));
    let id = session.start_command(Time::from_ms(2), delivery("s2"));
    feed(&mut session, 3, &mark_of("s2", "K;zsh"));
    let command = session.command(id).unwrap();
    assert!(command.is_over());
    assert_eq!(command.answer.as_deref(), Some("zsh"));
}

#[test]
fn the_exit_ends_a_running_command_and_keeps_its_output() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "exit 7");
    let wait = wait_for(&mut session, 1, Condition::Command(id));
    feed(&mut session, 2, &format!("exit 7\r\n{}bye\r\n", mark("C")));
    session.handle_exit(Time::from_ms(3), Exit::Code(7));
    let ended = session.poll_ended();
    assert_eq!((ended[0].id, ended[0].outcome), (wait, Outcome::Exited));
    assert_eq!(session.command(id).unwrap().progress, Progress::Lost);
    assert_eq!(session.command_output(id).head, "bye");
}

#[test]
fn ready_is_met_by_a_prompt_or_by_kernel_evidence() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    wait_for(&mut session, 1, Condition::Ready);
    assert_eq!(session.poll_ended().len(), 1, "it is at its prompt");
    session.handle_input(Time::from_ms(2), "x\r", EchoSource::LineEditor);
    wait_for(&mut session, 2, Condition::Ready);
    assert!(session.poll_ended().is_empty() && session.wants_activity());
    feed(&mut session, 3, &format!("x\r\n{}{}", mark("C"), prompt(0)));
    let ended = session.poll_ended();
    assert!(matches!(ended[0].finding, awaitty_core::Finding::Ready(Some(Ready::Shell))));
    session.handle_input(Time::from_ms(4), "y\r", EchoSource::LineEditor);
    wait_for(&mut session, 4, Condition::Ready);
    let reads = Activity {
        terminal: Some(TerminalWait::Read),
        job: Job::AtRest,
        reader_rests: true,
        reads_keys: true,
    };
    feed(&mut session, 5, "y");
    session.handle_activity(Time::from_ms(6), reads);
    session.handle_activity(Time::from_ms(8), reads);
    let ended = session.poll_ended();
    assert!(matches!(ended[0].finding, awaitty_core::Finding::Ready(Some(Ready::Kernel))));
    assert!(!session.wants_activity());
}

#[test]
fn only_the_newest_commands_are_remembered() {
    let mut session = session();
    for i in 0..=COMMANDS_MAX {
        feed(&mut session, i as u64, &format!("{}{}", prompt(0), mark("C;cmd=x")));
    }
    assert!(session.command(CommandId(1)).is_none());
    assert!(session.command(CommandId(2)).is_some());
}

#[test]
fn the_text_of_a_typed_command_is_bounded() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    for (length, kept) in
        [(COMMAND_TEXT_MAX, COMMAND_TEXT_MAX), (COMMAND_TEXT_MAX + 1, COMMAND_TEXT_MAX)]
    {
        feed(&mut session, 1, &mark(&format!("C;cmd={}", "x".repeat(length))));
        assert_eq!(session.running_command().unwrap().text.len(), kept);
        feed(&mut session, 2, &prompt(0));
    }
}

#[test]
fn a_mark_that_is_too_long_is_truncated() {
    let mut session = session();
    let directory = |mark: usize| {
        let before = format!("0;aid={NONCE};dir=").len();
        "/".repeat(mark - before)
    };
    for (length, kept) in [(MARK_MAX, MARK_MAX), (MARK_MAX + 1, MARK_MAX)] {
        feed(&mut session, 1, &format!("\x1b]133;D;0;aid={NONCE};dir={}\x07", directory(length)));
        assert_eq!(session.shell_cwd(), Some(directory(kept).as_str()));
    }
}

/// Feeds output while a program other than the shell has the terminal.
fn feed_in_front(session: &mut Session, ms: u64, text: &str) {
    let mut bytes = text.as_bytes();
    session.handle_some_output(Time::from_ms(ms), &mut bytes, u64::MAX, &mut |_| false);
    session.handle_drained(Time::from_ms(ms));
}

#[test]
fn a_mark_ends_a_running_command_only_while_its_shell_has_the_terminal() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    session.handle_input(Time::from_ms(1), "make\r", EchoSource::LineEditor);
    // The command may have the terminal before its start is read.
    feed_in_front(&mut session, 2, &format!("make\r\n{}", mark("C")));
    let id = session.running_command().expect("it runs").id;
    let wait = wait_for(&mut session, 2, Condition::Command(id));
    feed_in_front(&mut session, 3, &format!("real{}{}", mark("C"), prompt(0)));
    assert!(session.poll_ended().is_empty() && !session.is_at_prompt());
    assert!(session.running_command().is_some());
    feed(&mut session, 4, &format!("\r\nmore\r\n{}", prompt(1)));
    assert_eq!(session.poll_ended().pop().expect("it ended").id, wait);
    let command = session.command(id).unwrap();
    assert_eq!(command.status, Some(1));
    assert_eq!(session.command_output(id).head, "real$\nmore");
}

#[test]
fn an_end_mark_read_while_a_prompt_job_has_the_terminal_counts() {
    let (a, b) = (mark("A"), mark("B"));
    let repeated = mark("D;3;k=r");
    for at_prompt in [format!("{a}> {b}"), format!("> {b}"), format!("{repeated}{a}> {b}")] {
        let mut session = session();
        feed(&mut session, 0, &prompt(0));
        session.handle_input(Time::from_ms(1), "make\r", EchoSource::LineEditor);
        feed(&mut session, 2, &format!("make\r\n{}", mark("C")));
        let id = session.running_command().expect("it runs").id;
        let wait = wait_for(&mut session, 2, Condition::Command(id));
        // A forged end, the real one, and then the first line of the prompt.
        let ends = (mark("D;0;cwd=/forged"), mark("D;3;cwd=/src"));
        feed_in_front(&mut session, 3, &format!("one\r\n{}two\r\n{}main\r\n", ends.0, ends.1));
        assert!(session.running_command().is_some() && session.poll_ended().is_empty());
        feed(&mut session, 4, &at_prompt);
        assert_eq!(session.poll_ended().pop().expect("it ended").id, wait);
        let command = session.command(id).unwrap();
        assert_eq!((command.status, command.cwd.as_deref()), (Some(3), Some("/src")));
        assert_eq!(session.command_output(id).head, "one\ntwo");
        assert!(session.is_at_prompt());
    }
}

#[test]
fn a_forged_end_mark_is_ignored_when_the_shell_ends_the_command() {
    for end in ["D;3", "D;3;k=r", "D;0"] {
        let mut session = session();
        feed(&mut session, 0, &prompt(0));
        let id = deliver(&mut session, 1, "make");
        feed(&mut session, 2, &format!("{}make\r\n{}one\r\n", mark("Y"), mark("C")));
        feed_in_front(&mut session, 3, &format!("{}two\r\n", mark("D;0;cwd=/forged")));
        let (end, a, b) = (mark(end), mark("A"), mark("B"));
        feed(&mut session, 4, &format!("{end}{a}$ {b}"));
        let command = session.command(id).unwrap();
        assert!(command.is_over() && command.cwd.is_none());
        assert_eq!(session.command_output(id).head, "one\ntwo");
    }
}

#[test]
fn forged_marks_after_enter_are_ignored_in_a_shell_without_hooks() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    session.handle_input(Time::from_ms(1), "make\r", EchoSource::Terminal);
    feed_in_front(&mut session, 2, &format!("make\r\n{}", prompt(0)));
    assert!(!session.is_at_prompt());
    feed(&mut session, 3, &format!("\r\n{}", prompt(2)));
    assert!(session.is_at_prompt());
    assert_eq!(session.last_command().unwrap().status, Some(2));
}

#[test]
fn the_last_end_mark_counts_until_it_is_confirmed() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "make");
    feed(&mut session, 2, &format!("{}make\r\n{}one\r\n", mark("Y"), mark("C")));
    let forged = format!("{}{}$ {}", mark("D;0;cwd=/forged"), mark("A"), mark("B"));
    feed(&mut session, 3, &format!("{forged}two\r\n{}", prompt(7)));
    let command = session.command(id).unwrap();
    assert_eq!((command.status, command.cwd.as_deref()), (Some(7), Some("/src")));
    assert_eq!(session.command_output(id).head, "one\n$ two");
    assert!(session.is_at_prompt());
    feed(&mut session, 4, &prompt(8));
    assert_eq!(session.command(id).unwrap().status, Some(8));
    session.confirm_command_end();
    feed(&mut session, 5, &prompt(9));
    assert_eq!(session.command(id).unwrap().status, Some(8));
}

#[test]
fn input_at_the_prompt_confirms_the_end_of_a_command() {
    let mut session = session();
    feed(&mut session, 0, &prompt(0));
    let id = deliver(&mut session, 1, "make");
    feed(&mut session, 2, &format!("{}make\r\n{}{}", mark("Y"), mark("C"), prompt(7)));
    assert!(session.is_command_end_unconfirmed());
    session.handle_input(Time::from_ms(3), "\x03", EchoSource::LineEditor);
    feed(&mut session, 4, &format!("^C\r\n{}", prompt(130)));
    assert_eq!(session.command(id).unwrap().status, Some(7));
}
