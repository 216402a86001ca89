//! Runs scripts of events on a simulated clock, which jumps from event to event.
//!
//! A script is a list of times in milliseconds and events. The log has a line for each wait that ended.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{
    Activity, Condition, EchoSource, Exit, Finding, Pattern, Session, Since, Spec, Styles, Time,
    WaitEnded,
};

/// An event of a script.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "each test file uses its part")]
pub(crate) enum Do {
    /// The program prints, and all of it is read.
    Print(&'static str),
    /// The program prints, and not all of it is read.
    PrintPart(&'static str),
    /// Input is written, and the line discipline echoes it.
    Type(&'static str),
    /// A wait starts, with a timeout in milliseconds.
    Wait(Condition, Since, u64),
    /// The program reads all input, or leaves some unread.
    Unread(bool),
    /// Some input was written; `true` if more is still to be written.
    Pending(bool),
    /// The driver reports a sample of the foreground job.
    Job(Activity),
    /// A shell starts, with the nonce `n`.
    Trust,
    /// A shell with the nonce `n` shows this prompt.
    Shell(&'static str),
    /// The program exits with that status.
    Exit(i32),
    /// The session is closed.
    Close,
}

pub(crate) use Do::{Close, Job, Pending, Print, PrintPart, Shell, Trust, Type, Unread, Wait};

pub(crate) const COLS: usize = 30;
pub(crate) const ROWS: usize = 5;

pub(crate) fn pattern(text: &str) -> Arc<Pattern> {
    Arc::new(Pattern::new(text, "").expect("the pattern of the test is valid"))
}

pub(crate) fn text(text: &str) -> Condition {
    Condition::Text(pattern(text))
}

pub(crate) fn gone(text: &str) -> Condition {
    Condition::Gone(pattern(text))
}

pub(crate) fn change(stable_ms: u64) -> Condition {
    Condition::Change {
        stable: Duration::from_millis(stable_ms),
        styles: Styles::Text,
        ignore: Vec::new(),
    }
}

pub(crate) fn settled(ms: u64) -> Condition {
    Condition::Settled(Duration::from_millis(ms))
}

/// Returns the line of the log for a wait that ended.
pub(crate) fn log_line(now: u64, ended: &WaitEnded) -> String {
    let mut line = format!("@{now} w{} {:?}", ended.id.0, ended.outcome);
    match &ended.finding {
        Finding::Text { found, fresh, visible, in_newer_frame } => {
            if let Some(found) = found {
                line += &format!(" {:?} line {}", found.text, found.line.0);
            }
            line += match (fresh, visible) {
                (true, true) => " fresh",
                (true, false) => " fresh, no longer visible",
                (false, true) if *in_newer_frame => " stale, in a newer frame",
                (false, true) => " stale",
                (false, false) => "",
            };
        }
        Finding::Gone(found) => line += if found.is_some() { " still there" } else { " gone" },
        Finding::Change { changed, stable, style_changed, last_change, busy_rows } => {
            line += &format!(" changed={changed} stable={stable} style={style_changed}");
            if let Some(ago) = last_change.filter(|_| !stable) {
                line += &format!(" last={} rows={busy_rows:?}", ago.as_millis());
            }
        }
        Finding::Settled { settled, changed, busy } => {
            line += &format!(" settled={settled} changed={changed}");
            line += if *busy { " busy" } else { "" };
        }
        Finding::Ready(Some(evidence)) => line += &format!(" {evidence:?}"),
        Finding::Exit | Finding::Command | Finding::Ready(None) => {}
    }
    if let Some(Exit::Code(code)) = ended.exit {
        line += &format!(" exit {code}");
    }
    if ended.history_truncated {
        line += " truncated";
    }
    line
}

/// Runs a script until no event and no timer is left, and returns the log.
pub(crate) fn run(script: &[(u64, Do)]) -> Vec<String> {
    let mut session = Session::new(Time::from_ms(0), COLS, ROWS, 20);
    let mut log = Vec::new();
    let mut script = script.iter().peekable();
    loop {
        let wake = session.poll_wake().map(|wake| wake.0.as_millis() as u64);
        let next = script.peek().map(|(ms, _)| *ms);
        let now = match (next, wake) {
            (Some(next), Some(wake)) => next.min(wake),
            (next, wake) => match next.or(wake) {
                Some(now) => now,
                None => return log,
            },
        };
        let time = Time::from_ms(now);
        if next == Some(now)
            && let Some((_, what)) = script.next()
        {
            act(&mut session, time, what, &mut log);
        } else {
            session.handle_time(time);
        }
        assert!(session.poll_wake().is_none_or(|wake| wake > time) || script.peek().is_some());
        log.extend(session.poll_ended().iter().map(|ended| log_line(now, ended)));
    }
}

fn act(session: &mut Session, now: Time, what: &Do, log: &mut Vec<String>) {
    match what {
        Print(text) => {
            session.handle_output(now, text.as_bytes());
            session.handle_drained(now);
        }
        PrintPart(text) => session.handle_output(now, text.as_bytes()),
        Type(text) => session.handle_input(now, text, EchoSource::Terminal),
        Unread(unread) => session.handle_input_unread(now, *unread),
        Pending(is_pending) => session.handle_input_pending(now, *is_pending),
        Trust => session.trust_shell("n"),
        Shell(prompt) => {
            session.trust_shell("n");
            let marks = ("\x1b]133;A;aid=n\x07", "\x1b]133;B;aid=n\x07");
            session.handle_output(now, format!("{}{prompt}{}", marks.0, marks.1).as_bytes());
            session.handle_drained(now);
        }
        Job(activity) => session.handle_activity(now, *activity),
        Wait(condition, since, timeout_ms) => {
            let deadline = Some(now.after(Duration::from_millis(*timeout_ms)));
            let spec = Spec { condition: condition.clone(), since: *since, deadline };
            if let Err(error) = session.start_wait(now, spec) {
                log.push(error.to_string());
            }
        }
        Do::Exit(code) => session.handle_exit(now, Exit::Code(*code)),
        Close => session.handle_close(now),
    }
}

/// Checks the log of a script.
pub(crate) fn check(script: &[(u64, Do)], expected: &[&str]) {
    assert_eq!(run(script), expected, "{script:#?}");
}
