//! The task loop on a fake terminal and a paused clock: the order of output, exit and time, held-back matches,
//! readiness, pacing of keystrokes, floods, backpressure, drains and closes. No test takes real time.

use std::future::Future;
use std::time::Duration;

use awaitty_core::{Condition, Exit, Outcome, Pattern, Since, Spec, WaitEnded};
use tokio::time::Instant;

use super::{Driver, Ends, Handle, Options, Part, PartKind, RunningWait, SendError};
use crate::io::fake::FakeTerminal;
use crate::limits;
use crate::wait::{WaitRequest, WaitResult};

/// Bytes of input that a test's terminal queues.
const INPUT_QUEUE: usize = 10_000;

fn start() -> (FakeTerminal, Handle) {
    let (terminal, io) = FakeTerminal::new();
    let options = Options {
        scrollback: 100,
        frames: 200,
        output_chars: 1000,
        input_queue: INPUT_QUEUE,
        answers_checksums: false,
    };
    (terminal, Driver::start_fake(io, options))
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn text(pattern: &str) -> Condition {
    Condition::Text(Pattern::new(pattern, "").unwrap().into())
}

async fn wait(handle: &Handle, condition: Condition, timeout: Duration) -> RunningWait {
    let spec = Spec { condition, since: Since::Input, deadline: None };
    handle.start_wait(move |driver| driver.start_wait(spec, timeout)).await.unwrap().unwrap()
}

async fn end(mut wait: RunningWait) -> WaitEnded {
    wait.ended().await.unwrap()
}

/// Lets the task run until it has nothing to do, without moving the clock.
async fn settle(handle: &Handle) {
    handle.call(|_| ()).await.unwrap();
}

/// Returns the result of a future, and the virtual time that it took in milliseconds.
async fn took<T>(work: impl Future<Output = T>) -> (T, u128) {
    let started = Instant::now();
    let result = work.await;
    (result, started.elapsed().as_millis())
}

fn key(bytes: &[u8]) -> Part {
    Part { bytes: bytes.to_vec(), kind: PartKind::Key }
}

async fn type_keys(handle: &Handle, keys: &[&[u8]]) {
    let parts = keys.iter().map(|bytes| key(bytes)).collect();
    handle.call(|driver| driver.send_parts(parts, "")).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn output_before_an_exit_is_judged_first() {
    let (terminal, handle) = start();
    let found = wait(&handle, text("DONE"), ms(1000)).await;
    terminal.print("DONE\r\n");
    terminal.exit(Exit::Code(3));
    terminal.hang_up();
    let found = end(found).await;
    assert_eq!((found.outcome, found.exit), (Outcome::Met, Some(Exit::Code(3))));
}

#[tokio::test(start_paused = true)]
async fn an_exit_ends_a_wait_for_text_before_its_timeout() {
    let (terminal, handle) = start();
    let found = wait(&handle, text("never"), ms(1000)).await;
    terminal.exit(Exit::Signal(9));
    terminal.hang_up();
    let (found, elapsed) = took(end(found)).await;
    assert_eq!((found.outcome, found.exit), (Outcome::Exited, Some(Exit::Signal(9))));
    assert!(elapsed < 1000, "{elapsed}");
}

/// The output is in the terminal before the deadline, but the task has not read it.
#[tokio::test(start_paused = true)]
async fn output_that_is_unread_at_the_timeout_is_judged_before_it() {
    let (terminal, handle) = start();
    let found = wait(&handle, text("LATE"), ms(50)).await;
    settle(&handle).await;
    terminal.print_silently("LATE");
    let (found, elapsed) = took(end(found)).await;
    assert_eq!((found.outcome, elapsed), (Outcome::Met, 50));
}

/// The task reads the output before it runs the job of the call.
#[tokio::test(start_paused = true)]
async fn output_from_before_a_call_is_before_its_anchor() {
    let (terminal, handle) = start();
    settle(&handle).await;
    terminal.print_silently("OLD");
    let spec = Spec { condition: text("OLD"), since: Since::Now, deadline: None };
    let started = handle.start_wait(move |driver| driver.start_wait(spec, ms(50))).await;
    let ended = end(started.unwrap().unwrap()).await;
    assert_eq!((ended.outcome, ended.frame.text().trim()), (Outcome::Timeout, "OLD"));
}

#[tokio::test(start_paused = true)]
async fn unread_output_restarts_the_stable_period() {
    let (terminal, handle) = start();
    let change = Condition::Change {
        stable: ms(100),
        styles: awaitty_core::Styles::Text,
        ignore: Vec::new(),
    };
    let changed = wait(&handle, change, ms(5000)).await;
    terminal.print("one");
    settle(&handle).await;
    terminal.print_silently(" two");
    let (changed, elapsed) = took(end(changed)).await;
    assert_eq!(changed.frame.text().trim(), "one two");
    assert_eq!((changed.outcome, elapsed), (Outcome::Met, 200));
}

#[tokio::test(start_paused = true)]
async fn the_last_output_before_a_hangup_is_in_a_frame_at_once() {
    let (terminal, handle) = start();
    let found = wait(&handle, text("BYE"), ms(1000)).await;
    terminal.print("BYE");
    terminal.hang_up();
    let (found, elapsed) = took(end(found)).await;
    assert_eq!((found.outcome, found.exit), (Outcome::Met, None));
    assert_eq!((found.frame.text().trim(), elapsed), ("BYE", 0));
}

#[tokio::test(start_paused = true)]
async fn a_match_is_answered_at_once_if_the_program_reads() {
    let (terminal, handle) = start();
    let found = wait(&handle, text("READY"), ms(1000)).await;
    terminal.print("READY");
    let (found, elapsed) = took(end(found)).await;
    assert_eq!((found.outcome, elapsed), (Outcome::Met, 0));
}

#[tokio::test(start_paused = true)]
async fn a_match_is_held_back_for_10_ms_while_the_program_runs() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    let found = wait(&handle, text("READY"), ms(1000)).await;
    terminal.print("READY");
    let (found, elapsed) = took(end(found)).await;
    assert_eq!((found.outcome, elapsed), (Outcome::Met, 10));
}

#[tokio::test(start_paused = true)]
async fn a_held_back_match_is_answered_when_the_program_is_at_rest() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    let found = wait(&handle, text("READY"), ms(1000)).await;
    terminal.print("READY");
    tokio::time::advance(ms(3)).await;
    terminal.set_busy(false);
    let (_, elapsed) = took(end(found)).await;
    assert!(elapsed <= 1, "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn a_program_at_rest_is_ready_when_it_has_read_its_input() {
    let (terminal, handle) = start();
    type_keys(&handle, &[b"x"]).await;
    let ready = wait(&handle, Condition::Ready, ms(5000)).await;
    tokio::time::advance(ms(1000)).await;
    settle(&handle).await;
    terminal.read_input();
    terminal.print("reaction");
    let (ready, elapsed) = took(end(ready)).await;
    assert_eq!(ready.outcome, Outcome::Met);
    assert!(elapsed < 300, "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn a_busy_program_is_not_ready() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    type_keys(&handle, &[b"x"]).await;
    terminal.read_input();
    terminal.print("working");
    let ready = end(wait(&handle, Condition::Ready, ms(2000)).await).await;
    assert_eq!(ready.outcome, Outcome::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_keystroke_is_written_after_the_previous_one_was_read() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    type_keys(&handle, &[b"a", b"b"]).await;
    tokio::time::sleep_until(Instant::now() + ms(1000)).await;
    assert_eq!(terminal.written(), b"a");
    terminal.read_input();
    terminal.set_busy(false);
    tokio::time::sleep_until(Instant::now() + ms(20)).await;
    assert_eq!(terminal.written(), b"ab");
}

#[tokio::test(start_paused = true)]
async fn a_keystroke_is_written_although_the_program_stays_busy_or_does_not_read() {
    for (is_read, from, to) in [(true, 200, 300), (false, 1900, 2100)] {
        let (terminal, handle) = start();
        terminal.set_busy(true);
        type_keys(&handle, &[b"a", b"b"]).await;
        if is_read {
            terminal.read_input();
        }
        tokio::time::sleep_until(Instant::now() + ms(from)).await;
        assert_eq!(terminal.written(), b"a", "{is_read}");
        tokio::time::sleep_until(Instant::now() + ms(to - from)).await;
        assert_eq!(terminal.written(), b"ab", "{is_read}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_delays_neither_calls_nor_timeouts_nor_other_terminals() {
    let (terminal, handle) = start();
    let (_quiet, other) = start();
    terminal.flood(Some(b'x'));
    let timeout = wait(&handle, text("never"), ms(100)).await;
    for _ in 0..100 {
        settle(&other).await;
        settle(&handle).await;
    }
    // The paused clock does not advance while a task runs, so the test advances it.
    tokio::time::advance(ms(100)).await;
    assert_eq!(end(timeout).await.outcome, Outcome::Timeout);
}

#[tokio::test(start_paused = true)]
async fn an_exit_is_reported_although_a_descendant_prints_without_end() {
    let (terminal, handle) = start();
    let exited = wait(&handle, Condition::Exit, ms(60_000)).await;
    terminal.flood(Some(b'x'));
    terminal.exit(Exit::Code(0));
    let ended = tokio::spawn(end(exited));
    // The drain ends after `DRAIN_MAX` and `LATE_READS_MAX` more reads. During a flood only the test advances the
    // clock.
    while !ended.is_finished() {
        tokio::time::advance(ms(10)).await;
    }
    let ended = ended.await.unwrap();
    assert_eq!((ended.outcome, ended.exit), (Outcome::Met, Some(Exit::Code(0))));
    assert!(ended.elapsed >= limits::DRAIN_MAX, "{:?}", ended.elapsed);
}

#[tokio::test(start_paused = true)]
async fn a_descendant_that_keeps_the_terminal_open_delays_the_exit_by_the_drain_only() {
    let (terminal, handle) = start();
    let exited = wait(&handle, Condition::Exit, ms(60_000)).await;
    terminal.exit(Exit::Code(7));
    let (exited, elapsed) = took(end(exited)).await;
    assert_eq!((exited.outcome, exited.exit), (Outcome::Met, Some(Exit::Code(7))));
    assert_eq!(elapsed, limits::DRAIN_MAX.as_millis());
}

#[tokio::test(start_paused = true)]
async fn input_beyond_the_room_of_the_terminal_is_queued_up_to_the_limit() {
    let (terminal, handle) = start();
    terminal.set_room(100);
    let input = vec![b'x'; INPUT_QUEUE];
    let sent = input.clone();
    let count = handle.call(move |driver| driver.send(&sent, "")).await.unwrap();
    assert_eq!(count, Ok(INPUT_QUEUE));
    let waiting = INPUT_QUEUE - 100;
    let refused = handle.call(move |driver| driver.send(&[b'y'; 101], "")).await.unwrap();
    assert_eq!(refused, Err(SendError::QueueFull { waiting, max: INPUT_QUEUE }));
    while terminal.written().len() < INPUT_QUEUE {
        terminal.read_input();
        settle(&handle).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(terminal.written(), input);
}

#[tokio::test(start_paused = true)]
async fn a_close_ends_all_waits_at_once() {
    let (_terminal, handle) = start();
    let mut waits = Vec::new();
    for condition in [text("never"), Condition::Exit, Condition::Settled(ms(9000))] {
        waits.push(wait(&handle, condition, ms(60_000)).await);
    }
    handle.call(Driver::close).await.unwrap();
    for wait in waits {
        let (ended, elapsed) = took(end(wait)).await;
        assert_eq!((ended.outcome, elapsed), (Outcome::Closed, 0));
    }
}

/// Returns a screen on which the title, two rows and the selection have the number `n`.
fn numbered_screen(n: usize) -> Vec<u8> {
    let [first, second] = if n.is_multiple_of(2) { ["\x1b[7m", ""] } else { ["", "\x1b[7m"] };
    format!("\x1b[H\x1b[2J\x1b]2;t{n}\x07number {n}\r\n{first} a{n} \x1b[m\r\n{second} b{n} \x1b[m")
        .into_bytes()
}

/// Output arrives at each read and at each await point of the task, and waits of several kinds end in between.
#[tokio::test(start_paused = true)]
async fn a_result_belongs_to_one_frame_while_output_arrives_at_every_await_point() {
    for ends_at in [1, 2, 7, 40, 199] {
        let (terminal, handle) = start();
        let until_text = WaitRequest::text(&format!("^number {ends_at}$")).unwrap();
        let never = WaitRequest::text("never").unwrap().timeout(ms(ends_at as u64));
        let mut results = Vec::new();
        for request in [until_text, WaitRequest::change(Duration::ZERO), never] {
            let (specs, timeout) = request.specs();
            let start =
                move |driver: &mut Driver| driver.start_waits(specs, timeout).map_err(|_| ());
            let collect = |driver: &mut Driver, ends: Ends| {
                let session = driver.session();
                let (newest, title) = (session.frame().seq(), session.screen().title().to_owned());
                (newest, title, WaitResult::collect(driver, ends))
            };
            let running = handle.start_waits(start, collect).await.unwrap().unwrap().unwrap();
            results.push(running);
        }
        // After every third piece the output is drained, so that a frame is taken.
        let pieces = (0..200).flat_map(|n| match n % 3 {
            0 => vec![numbered_screen(n), Vec::new()],
            _ => vec![numbered_screen(n)],
        });
        terminal.print_pieces(pieces);
        for mut running in results {
            let (newest, title, result) = running.ended().await.unwrap();
            assert_eq!(result.seq(), newest, "the screen is the newest one");
            let text = result.text();
            if text.is_empty() {
                continue;
            }
            let number = text.lines().next().unwrap().strip_prefix("number ").unwrap();
            assert_eq!(title, format!("t{number}"));
            assert!(result.selected().unwrap().ends_with(number), "{result:?}");
            let diff = result.diff().unwrap();
            let rows = diff.apply(result.ends.first.anchor.rows());
            assert_eq!(rows[0].text(), format!("number {number}"));
            if let Some(diagnosis) = &result.diagnosis {
                assert!(diagnosis.contains("no line of the output"), "{diagnosis}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_is_cancelled() {
    let (_terminal, handle) = start();
    drop(wait(&handle, text("never"), ms(60_000)).await);
    let running = handle.call(|driver| driver.session().waits_running()).await;
    assert_eq!(running, Some(0));
}
