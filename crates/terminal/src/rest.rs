//! Waits until a program is at rest before it gets more input.
//!
//! Input sets the mark after which waits count. If the program still draws its reaction to the input before, that
//! output counts as a reaction to the new input. So a test, which types as fast as the terminal takes it, waits first.

use std::time::Duration;

use awaitty_core::Seq;
use tokio::time::Instant;

use crate::error::ToolError;
use crate::handle::Terminal;
use crate::terminal::{Driver, Handle};

/// The first pause between two looks at the program: the resolution of the runtime's timers.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest pause. Each pause is twice as long as the one before.
const PAUSE_MAX: Duration = Duration::from_millis(16);

/// What one look shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    /// The program has read its input and is not busy, or has exited.
    is_at_rest: bool,
    /// How often its threads were given a processor. If two looks agree, it has printed nothing in between.
    runs: u64,
    /// The newest frame.
    seq: Seq,
}

impl Look {
    fn at(driver: &Driver) -> Look {
        let session = driver.session();
        let (seq, found) = (session.frame().seq(), driver.foreground());
        let is_input_open = session.is_input_pending() || driver.has_unread_input();
        // Between two programs of a shell no program is in the foreground.
        let is_busy = found.as_ref().is_none_or(|found| {
            let activity = found.activity;
            activity.is_busy() && (activity.terminal.is_none() || !activity.reader_rests)
        });
        let is_at_rest = session.exit().is_some() || !is_input_open && !is_busy;
        Look { is_at_rest, runs: found.map_or(0, |found| found.runs), seq }
    }
}

impl Terminal {
    /// Waits until the program has read its input and is not busy, and its output was read, for at most `limit`. A
    /// program that the kernel does not show counts as at rest. Returns whether it is at rest.
    ///
    /// # Errors
    /// If the terminal was closed.
    pub async fn rest(&self, limit: Duration) -> Result<bool, ToolError> {
        rest(self.handle(), limit).await
    }
}

async fn rest(handle: &Handle, limit: Duration) -> Result<bool, ToolError> {
    let deadline = Instant::now() + limit;
    let mut pause = PAUSE;
    let mut before: Option<Look> = None;
    loop {
        // All output so far is read before each look.
        let look = handle.call(|driver| Look::at(driver));
        let look = look.await.ok_or_else(ToolError::gone)?;
        if look.is_at_rest && before == Some(look) {
            return Ok(true);
        }
        let now = Instant::now();
        if now >= deadline {
            return Ok(false);
        }
        // The second look follows at once.
        if before.is_some() || !look.is_at_rest {
            tokio::time::sleep_until((now + pause).min(deadline)).await;
            pause = (2 * pause).min(PAUSE_MAX);
        }
        before = Some(look);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::fake::FakeTerminal;
    use crate::terminal::Options;

    fn start() -> (FakeTerminal, Handle) {
        let (terminal, io) = FakeTerminal::new();
        (terminal, Driver::start_fake(io, Options::for_tests()))
    }

    const LIMIT: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_program_at_rest_gets_input_at_once() {
        let (terminal, handle) = start();
        terminal.print("drawn");
        let started = Instant::now();
        assert_eq!(rest(&handle, LIMIT).await, Ok(true));
        assert_eq!(started.elapsed(), Duration::ZERO);
        let text = handle.call(|driver| driver.session().frame().text()).await;
        assert_eq!(text.as_deref(), Some("drawn"), "its output was read");
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_program_gets_input_at_the_limit() {
        let (terminal, handle) = start();
        terminal.set_busy(true);
        let started = Instant::now();
        assert_eq!(rest(&handle, LIMIT).await, Ok(false));
        assert_eq!(started.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_has_not_read_its_input_is_not_at_rest() {
        let (terminal, handle) = start();
        let sent = handle.call(|driver| driver.send(b"x", "")).await;
        sent.unwrap().unwrap();
        assert_eq!(rest(&handle, LIMIT).await, Ok(false));
        terminal.read_input();
        assert_eq!(rest(&handle, LIMIT).await, Ok(true));
    }
}
