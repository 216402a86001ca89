//! Tests of waits that are cancelled in every order and at any moment. Each wait ends once, or never if it was
//! cancelled. It leaves no state, which only unit tests can check.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::EchoSource;
use crate::waits::{Activity, Condition, Job, Pattern, Spec, Styles, TerminalWait, WaitId};

/// The number of conditions that [`condition`] returns.
const KINDS: usize = 10;

fn at(ms: u64) -> Time {
    Time::from_ms(ms)
}

/// Returns a pattern, compiled once: these tests start a hundred thousand waits.
fn pattern(text: &'static str) -> Arc<Pattern> {
    static COMPILED: LazyLock<Mutex<HashMap<&'static str, Arc<Pattern>>>> =
        LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().expect("no thread panicked");
    let new = || Arc::new(Pattern::new(text, "").expect("it is a pattern"));
    Arc::clone(compiled.entry(text).or_insert_with(new))
}

fn condition(kind: usize) -> Condition {
    let stable = Duration::from_millis(kind as u64 % 50);
    match kind % KINDS {
        0 => Condition::Text(pattern("DONE")),
        1 => Condition::Text(pattern(r"one\ntwo")),
        2 => Condition::Gone(pattern("^")),
        3 => Condition::Gone(pattern("DONE")),
        4 => Condition::Change {
            stable,
            styles: [Styles::Text, Styles::Selection, Styles::All][kind % 3],
            ignore: vec![pattern("tick")],
        },
        5 => Condition::Settled(Duration::from_millis(20 + kind as u64 % 50)),
        6 => Condition::Exit,
        7 => Condition::Ready,
        8 => Condition::Rest,
        _ => Condition::Asks(None),
    }
}

/// A terminal with its running waits and its ended waits.
struct Terminal {
    session: Session,
    now: u64,
    running: BTreeSet<WaitId>,
    done: BTreeSet<WaitId>,
}

impl Terminal {
    fn new() -> Terminal {
        let mut session = Session::new(at(0), 20, 4, 20);
        session.handle_output(at(0), b"DONE before");
        session.handle_drained(at(0));
        session.handle_input(at(0), "", EchoSource::Terminal);
        Terminal { session, now: 0, running: BTreeSet::new(), done: BTreeSet::new() }
    }

    fn start(&mut self, kind: usize, since: Since, timeout: Option<u64>) -> WaitId {
        let deadline = timeout.map(|ms| at(self.now + ms));
        let spec = Spec { condition: condition(kind), since, deadline };
        let id = self.session.start_wait(at(self.now), spec).expect("it starts");
        assert!(self.running.insert(id) && !self.done.contains(&id), "IDs are unique");
        self.check();
        id
    }

    fn cancel(&mut self, id: WaitId) {
        self.session.cancel_wait(id);
        if self.running.remove(&id) {
            self.done.insert(id);
        }
        self.check();
    }

    fn print(&mut self, text: &str, drained: bool) {
        self.session.handle_output(at(self.now), text.as_bytes());
        if drained {
            self.session.handle_drained(at(self.now));
        }
        self.check();
    }

    fn pass(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(wake) = self.session.poll_wake().filter(|wake| *wake <= at(until)) {
            self.session.handle_time(wake);
            assert!(
                self.session.poll_wake().is_none_or(|next| next > wake),
                "no wake-up for the past"
            );
            self.check();
        }
        self.now = until;
    }

    /// Checks that every wait that has ended was running, ended for the first time, and was not cancelled.
    fn check(&mut self) {
        for ended in self.session.poll_ended() {
            assert!(self.running.remove(&ended.id), "{:?} ended, and was not running", ended.id);
            assert!(self.done.insert(ended.id), "{:?} ended twice", ended.id);
        }
        assert_eq!(self.session.waits_running(), self.running.len());
    }

    /// Checks that no state is left, and that later events wake and end nothing.
    fn check_clean(mut self) {
        assert!(self.running.is_empty());
        assert_eq!(self.session.waits_running(), 0);
        self.session.handle_output(at(self.now), b"\x1b[?2026l");
        assert_eq!(self.session.poll_wake(), None);
        self.session.handle_output(at(self.now), b"DONE\r\none\r\ntwo\x1b[2J");
        self.session.handle_drained(at(self.now));
        assert!(self.session.waits.is_clean(), "{:?}", self.session.waits);
        self.session.handle_time(at(self.now + 100_000));
        self.session.handle_exit(at(self.now + 100_001), Exit::Code(0));
        self.session.handle_close(at(self.now + 100_002));
        assert!(self.session.poll_ended().is_empty());
        assert_eq!(self.session.poll_wake(), None);
    }
}

/// Calls `with` for every order of `items`.
fn each_order(items: &mut [usize], fixed: usize, with: &mut impl FnMut(&[usize])) {
    if fixed == items.len() {
        return with(items);
    }
    for i in fixed..items.len() {
        items.swap(fixed, i);
        each_order(items, fixed + 1, with);
        items.swap(fixed, i);
    }
}

#[test]
fn waits_of_all_kinds_cancelled_in_every_order_leave_no_state() {
    // Seven of the ten conditions at a time, in 5 040 orders each; one is text that was found before the next frame.
    for skipped in 0..KINDS - 2 {
        let kinds: Vec<usize> =
            (0..KINDS).filter(|kind| !(skipped..skipped + 3).contains(kind)).collect();
        each_order(&mut [0, 1, 2, 3, 4, 5, 6], 0, &mut |order| {
            let mut terminal = Terminal::new();
            let ids: Vec<WaitId> =
                kinds.iter().map(|&kind| terminal.start(kind, Since::Input, Some(1000))).collect();
            for (step, &which) in order.iter().enumerate() {
                if step == 3 {
                    terminal.print("one\r\ntwo DONE\r    ", false);
                }
                terminal.cancel(ids[which]);
            }
            terminal.check_clean();
        });
    }
}

#[test]
fn a_thousand_waits_cancelled_in_seven_orders_leave_no_state() {
    const COUNT: usize = 1000;
    let strides = [1, COUNT - 1, 7, 501, 333, 999, 617];
    for stride in strides {
        let mut terminal = Terminal::new();
        let ids: Vec<WaitId> = (0..COUNT)
            .map(|kind| terminal.start(kind, Since::Now, Some(500 + kind as u64)))
            .collect();
        for i in 0..COUNT {
            terminal.cancel(ids[i * stride % COUNT]);
            match i % 100 {
                20 => terminal.print("one\r\n", false),
                40 => terminal.print("two DONE\r\x1b[K", i % 200 < 100),
                60 => terminal.pass(30),
                _ => {}
            }
        }
        ids.iter().for_each(|id| terminal.cancel(*id));
        terminal.check_clean();
    }
}

/// An event while waits start and end.
#[derive(Clone, Debug)]
enum Step {
    Start(usize, Since, Option<u64>),
    /// Cancels any wait that was started, even one that has ended.
    Cancel(prop::sample::Index),
    Print(&'static str, bool),
    Type(&'static str),
    Pass(u64),
    Resize(usize, usize),
    Unread(bool),
    Pending(bool),
    Sample(Activity),
}

fn activity() -> impl Strategy<Value = Activity> {
    let terminal = [TerminalWait::Read, TerminalWait::Poll, TerminalWait::TimedPoll];
    let terminal = prop::option::of(prop::sample::select(terminal.to_vec()));
    let job = prop::sample::select(vec![Job::AtRest, Job::Timed, Job::Busy, Job::Unknown]);
    let parts = (terminal, job, any::<bool>());
    parts.prop_map(|(terminal, job, reads_keys)| Activity {
        terminal,
        job,
        reader_rests: reads_keys,
        reads_keys,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let texts = &[
        "DONE",
        "one\r\ntwo",
        "\x1b[2J\x1b[H",
        "tick\r",
        "\x1b[?2026h",
        "\x1b[?2026l",
        "DONE\r\x1b[K",
        "\n\n\n\n\n",
        "\x1b[31mtick\r",
        "\x1b[?1049h",
        "\x1b[?1049l",
    ];
    let since = prop_oneof![
        Just(Since::Input),
        Just(Since::InputFrame),
        Just(Since::Now),
        Just(Since::Screen),
        Just(Since::Frame(Seq(0))),
        Just(Since::Frame(Seq(1)))
    ];
    prop_oneof![
        6 => (0..KINDS * 7, since, prop::option::of(0u64..200)).prop_map(|(k, s, t)| Step::Start(k, s, t)),
        5 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        4 => (prop::sample::select(&texts[..]), any::<bool>()).prop_map(|(t, d)| Step::Print(t, d)),
        1 => prop::sample::select(&["x", "DONE\r"][..]).prop_map(Step::Type),
        2 => (0u64..120).prop_map(Step::Pass),
        1 => (1usize..30, 1usize..6).prop_map(|(cols, rows)| Step::Resize(cols, rows)),
        1 => any::<bool>().prop_map(Step::Unread),
        1 => any::<bool>().prop_map(Step::Pending),
        2 => activity().prop_map(Step::Sample),
    ]
}

proptest! {
    #[test]
    fn every_wait_ends_once_or_is_cancelled(
        steps in prop::collection::vec(step(), 0..120), ends in 0..3
    ) {
        let mut terminal = Terminal::new();
        let mut ids = Vec::new();
        for step in steps {
            match step {
                Step::Start(kind, since, timeout) => ids.push(terminal.start(kind, since, timeout)),
                Step::Cancel(which) if !ids.is_empty() => terminal.cancel(*which.get(&ids)),
                Step::Cancel(_) => {}
                Step::Print(text, drained) => terminal.print(text, drained),
                Step::Type(text) => terminal.session.handle_input(at(terminal.now), text, EchoSource::Terminal),
                Step::Pass(ms) => terminal.pass(ms),
                Step::Resize(cols, rows) => terminal.session.resize(at(terminal.now), cols, rows),
                Step::Unread(unread) => terminal.session.handle_input_unread(at(terminal.now), unread),
                Step::Pending(more) => terminal.session.handle_input_pending(at(terminal.now), more),
                Step::Sample(activity) => terminal.session.handle_activity(at(terminal.now), activity),
            }
            terminal.check();
        }
        match ends {
            0 => ids.iter().rev().for_each(|id| terminal.cancel(*id)),
            1 => terminal.session.handle_exit(at(terminal.now), Exit::Code(0)),
            _ => terminal.session.handle_close(at(terminal.now)),
        }
        terminal.check();
        terminal.check_clean();
    }
}
