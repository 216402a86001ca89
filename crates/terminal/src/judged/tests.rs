//! Judged waits on a fake terminal and a paused clock.

use tokio::time::{Instant, sleep_until};

use super::*;
use crate::io::fake::FakeTerminal;
use crate::terminal::{Options, Part, PartKind};

fn start() -> (FakeTerminal, Handle) {
    let (terminal, io) = FakeTerminal::new();
    (terminal, Driver::start_fake(io, Options::for_tests()))
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Lets the task read what was printed, without moving the clock.
async fn settle(handle: &Handle) {
    handle.call(|_| ()).await.unwrap();
}

async fn press(handle: &Handle, keys: &[&[u8]]) {
    let key = |bytes: &&[u8]| Part { bytes: bytes.to_vec(), kind: PartKind::Key };
    let parts = keys.iter().map(key).collect();
    handle.call(|driver| driver.send_parts(parts, "")).await.unwrap().unwrap();
}

fn shows(text: &'static str) -> JudgedRequest {
    JudgedRequest::frame(move |frame| frame.text().contains(text)).timeout(ms(10_000))
}

/// Runs a wait while `act` runs. Returns how it ended and the time that it took in milliseconds.
async fn run(
    handle: &Handle,
    request: JudgedRequest,
    act: impl Future<Output = ()>,
) -> (Outcome, u128) {
    let started = Instant::now();
    let judged = async { (wait(handle, request).await.unwrap(), started.elapsed().as_millis()) };
    let ((result, elapsed), ()) = tokio::join!(judged, act);
    (result.outcome, elapsed)
}

async fn after(time: Duration) {
    sleep_until(Instant::now() + time).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_frame_counts_at_once_although_the_program_is_busy() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    press(&handle, &[b"x"]).await;
    let react = async {
        after(ms(50)).await;
        terminal.read_input();
        terminal.print("Two");
    };
    assert_eq!(run(&handle, shows("Two"), react).await, (Outcome::Met, 50));
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_held_before_the_input_counts_at_rest() {
    let (terminal, handle) = start();
    terminal.print("Two");
    settle(&handle).await;
    terminal.set_busy(true);
    press(&handle, &[b"x"]).await;
    terminal.read_input();
    let short = shows("Two").timeout(ms(500));
    let result = wait(&handle, short).await.unwrap();
    assert_eq!((result.outcome, result.is_suspect), (Outcome::Timeout, true));
    let rest = async {
        after(ms(100)).await;
        terminal.set_busy(false);
    };
    let (outcome, elapsed) = run(&handle, shows("Two"), rest).await;
    assert_eq!(outcome, Outcome::Met);
    assert!((100..500).contains(&elapsed), "{elapsed}");
}

/// A clock draws a new frame while the program still computes its reaction.
#[tokio::test(start_paused = true)]
async fn a_frame_without_the_reaction_does_not_make_an_old_condition_count() {
    let (terminal, handle) = start();
    terminal.print("Two 12:00");
    settle(&handle).await;
    terminal.set_busy(true);
    press(&handle, &[b"x"]).await;
    terminal.read_input();
    terminal.print("\rTwo 12:01");
    let react = async {
        after(ms(100)).await;
        terminal.print("\rOne 12:01");
        terminal.set_busy(false);
    };
    let outcome = run(&handle, shows("Two").timeout(ms(1000)), react).await;
    assert_eq!(outcome, (Outcome::Timeout, 1000));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_never_rests_counts_as_settled_after_a_while() {
    let (terminal, handle) = start();
    terminal.print("Two");
    settle(&handle).await;
    terminal.set_busy(true);
    press(&handle, &[b"x"]).await;
    terminal.read_input();
    let (outcome, elapsed) = run(&handle, shows("Two"), async {}).await;
    assert_eq!((outcome, elapsed), (Outcome::Met, BUSY_MAX.as_millis()));
}

#[tokio::test(start_paused = true)]
async fn a_frame_counts_only_when_all_input_is_written_and_read() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    // The second key is written once the program is at rest after the first one.
    press(&handle, &[b"a", b"b"]).await;
    let react = async {
        after(ms(20)).await;
        terminal.read_input();
        terminal.print("Two");
        after(ms(20)).await;
        terminal.set_busy(false);
        after(ms(50)).await;
        assert_eq!(terminal.written(), b"ab");
        terminal.set_busy(true);
        terminal.read_input();
        terminal.print("\rThree");
    };
    let outcome = run(&handle, shows("Two").timeout(ms(1000)), react).await;
    assert_eq!(outcome, (Outcome::Timeout, 1000), "it was the reaction to the first key");
}

#[tokio::test(start_paused = true)]
async fn the_title_counts_at_once_if_it_changes() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    let request = JudgedRequest::change(|seen| seen.title == "new").timeout(ms(1000));
    let change = async {
        after(ms(50)).await;
        terminal.print("\x1b]2;new\x07");
    };
    assert_eq!(run(&handle, request.clone(), change).await, (Outcome::Met, 50));
    let again = run(&handle, request, async {}).await;
    assert_eq!(again, (Outcome::Timeout, 1000), "it may be from before the input");
}

#[tokio::test(start_paused = true)]
async fn the_cursor_counts_at_rest() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    let request = JudgedRequest::at_rest(|seen| seen.frame.cursor().col == 3).timeout(ms(1000));
    terminal.print("drawn\x1b[1;4H");
    let redraw = async {
        after(ms(50)).await;
        terminal.print("\x1b[1;6H");
        after(ms(50)).await;
        terminal.set_busy(false);
        after(ms(250)).await;
        terminal.print("\x1b[1;4H");
    };
    let (outcome, elapsed) = run(&handle, request, redraw).await;
    assert_eq!(outcome, Outcome::Met);
    assert!((350..500).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn an_exit_ends_the_wait_with_the_last_screen() {
    let (terminal, handle) = start();
    terminal.set_busy(true);
    let exit = async {
        after(ms(50)).await;
        terminal.print("Two");
        terminal.exit(Exit::Code(3));
        terminal.hang_up();
    };
    let (outcome, elapsed) = run(&handle, shows("One"), exit).await;
    assert_eq!((outcome, elapsed), (Outcome::Exited, 50));
    let result = wait(&handle, shows("Two")).await.unwrap();
    assert_eq!((result.outcome, result.exit), (Outcome::Met, Some(Exit::Code(3))));
}

#[tokio::test(start_paused = true)]
async fn a_negated_condition_counts_when_the_text_is_gone() {
    let (terminal, handle) = start();
    terminal.print("Loading");
    settle(&handle).await;
    terminal.set_busy(true);
    press(&handle, &[b"x"]).await;
    terminal.read_input();
    let erase = async {
        after(ms(50)).await;
        terminal.print("\r\x1b[K");
    };
    assert_eq!(run(&handle, shows("Loading").negated(), erase).await, (Outcome::Met, 50));
}
