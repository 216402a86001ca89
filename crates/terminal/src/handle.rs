//! [`Terminal`]: the library's handle to a program in a terminal.

use std::sync::Arc;

use awaitty_core::{
    COLS_MAX, Frame, Key, MouseTracking, Pattern, ROWS_MAX, Selection, Session, spans_on_screen,
};
use rustix::process::Signal;

use crate::error::ToolError;
use crate::keyboard::{self, InputItem};
use crate::limits;
use crate::platform::processes::Survivor;
use crate::record::RecordingStatus;
use crate::terminal::{Driver, Ends, Handle};
use crate::terminals::{Ending, Entry, IfExists, SpawnSpec, Terminals, close_with_leaks};
use crate::text;
use crate::wait::{WaitRequest, WaitResult};

/// A handle to a program in a terminal. Dropping it does not end the program; [`close`](Self::close) does.
#[derive(Clone, Debug)]
pub struct Terminal {
    terminals: Arc<Terminals>,
    entry: Arc<Entry>,
}

impl Terminals {
    /// Starts a program in a new terminal.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn open(self: &Arc<Self>, spec: SpawnSpec) -> Result<Terminal, ToolError> {
        let entry = self.spawn(spec, IfExists::Error).await?.entry;
        Ok(Terminal { terminals: Arc::clone(self), entry })
    }

    /// Returns the terminal with a name or an ID, or a tmux pane (`tmux:%3`).
    ///
    /// # Errors
    /// If there is no such terminal.
    pub async fn terminal(self: &Arc<Self>, name: &str) -> Result<Terminal, ToolError> {
        let entry = self.find(Some(name)).await?;
        Ok(Terminal { terminals: Arc::clone(self), entry })
    }
}

impl Terminal {
    /// Returns the ID of the terminal.
    pub fn id(&self) -> &str {
        &self.entry.id
    }

    /// Types text. A line feed is Enter.
    ///
    /// # Errors
    /// If the program has exited, or its input queue is full. Nothing was sent then.
    pub async fn type_text(&self, text: &str) -> Result<(), ToolError> {
        self.send(vec![InputItem::Text(text.to_owned())], |_| Ok::<_, ToolError>(())).await
    }

    /// Presses keys, given by their names and separated by spaces: `"down enter"`, `"ctrl+c"`. Each key is written once
    /// the program has read the previous one and is at rest again.
    ///
    /// # Errors
    /// If a name is unknown, or the program has exited. Nothing was sent then.
    pub async fn press(&self, keys: &str) -> Result<(), ToolError> {
        self.send(parse_keys(keys)?, |_| Ok::<_, ToolError>(())).await
    }

    /// Pastes text: between marks, if the program has requested them (bracketed paste). A line feed is Enter.
    ///
    /// # Errors
    /// If the text contains the mark at the end of a paste, or as [`type_text`](Self::type_text). Nothing was sent
    /// then.
    pub async fn paste(&self, text: &str) -> Result<(), ToolError> {
        if text.contains(keyboard::PASTE_END) {
            return Err(ToolError::argument(
                "the text contains ESC [201~, which ends a bracketed paste: remove it. Nothing was sent",
            ));
        }
        self.send(vec![InputItem::Paste(text.to_owned())], |_| Ok::<_, ToolError>(())).await
    }

    /// Clicks with the left button on the middle of a match of a pattern: the only one on the screen, or the one with
    /// the number `nth`, from 0.
    ///
    /// # Errors
    /// If there is no such match, or several and no number, or the program has not requested mouse events. Nothing was
    /// sent then.
    pub async fn click(&self, pattern: &Pattern, nth: Option<usize>) -> Result<(), ToolError> {
        let pattern = pattern.clone();
        let sent = self.entry.handle.call(move |driver| {
            let screen = driver.session().screen();
            if screen.mouse_tracking() == MouseTracking::Off {
                return Err(ToolError::new(
                    "no_mouse",
                    "the program has not requested mouse events, so a click would do nothing: press keys, or wait \
                     until it has started. Nothing was sent",
                ));
            }
            let found = spans_on_screen(&pattern, screen);
            let span = choose(&pattern, &found, nth)?;
            let item = InputItem::Click { row: span.row, col: (span.from + span.to - 1) / 2 };
            send(driver, &[item])
        });
        sent.await.ok_or_else(ToolError::gone)?
    }

    /// Changes the size of the terminal. Waits count what the program draws after that, as after input.
    ///
    /// # Errors
    /// If the size is out of range, or the program has exited.
    pub async fn resize(&self, cols: usize, rows: usize) -> Result<(), ToolError> {
        if !(1..=COLS_MAX).contains(&cols) || !(1..=ROWS_MAX).contains(&rows) {
            return Err(ToolError::argument(format!(
                "the size {cols}x{rows} is out of range: give 1 to {COLS_MAX} columns and 1 to {ROWS_MAX} rows"
            )));
        }
        let resized = self.entry.handle.call(move |driver| {
            if driver.session().exit().is_some() {
                return Err(ToolError::new("exited", "the program has exited: start it again"));
            }
            driver.set_input_mark();
            let failed = |error| ToolError::new("exited", format!("the terminal is gone: {error}"));
            driver.resize(cols, rows).map_err(failed)
        });
        resized.await.ok_or_else(ToolError::gone)?
    }

    async fn send<T: Send + 'static>(
        &self,
        items: Vec<InputItem>,
        then: impl FnOnce(&mut Driver) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let sent = self.entry.handle.call(move |driver| {
            send(driver, &items)?;
            then(driver)
        });
        sent.await.ok_or_else(ToolError::gone)?
    }

    /// Waits until the first condition of a request holds. A timeout is a result, not an error: see
    /// [`WaitResult::met`].
    ///
    /// # Errors
    /// If the request is invalid, or the terminal was closed before.
    pub async fn wait(&self, request: WaitRequest) -> Result<WaitResult, ToolError> {
        self.act(Vec::new(), request).await
    }

    /// Types text and waits, in one step: no output is missed in between.
    ///
    /// # Errors
    /// As [`type_text`](Self::type_text) and [`wait`](Self::wait).
    pub async fn type_and_wait(
        &self,
        text: &str,
        request: WaitRequest,
    ) -> Result<WaitResult, ToolError> {
        self.act(vec![InputItem::Text(text.to_owned())], request).await
    }

    /// Presses keys and waits, in one step: no output is missed in between.
    ///
    /// # Errors
    /// As [`press`](Self::press) and [`wait`](Self::wait).
    pub async fn press_and_wait(
        &self,
        keys: &str,
        request: WaitRequest,
    ) -> Result<WaitResult, ToolError> {
        self.act(parse_keys(keys)?, request).await
    }

    async fn act(
        &self,
        items: Vec<InputItem>,
        request: WaitRequest,
    ) -> Result<WaitResult, ToolError> {
        let (specs, timeout) = request.specs();
        let start = move |driver: &mut Driver| {
            specs.iter().try_for_each(|spec| driver.session().check_wait(spec))?;
            send(driver, &items)?;
            Ok::<_, ToolError>(driver.start_waits(specs, timeout)?)
        };
        let collect = |driver: &mut Driver, ends: Ends| WaitResult::collect(driver, ends);
        let started = self.entry.handle.start_waits(start, collect).await;
        let mut running = started.ok_or_else(ToolError::gone)??.ok_or_else(ToolError::gone)?;
        running.ended().await.ok_or_else(ToolError::gone)
    }

    /// Returns the newest frame.
    ///
    /// # Errors
    /// If the terminal was closed.
    pub async fn frame(&self) -> Result<Arc<Frame>, ToolError> {
        let frame = self.entry.handle.call(|driver| Arc::clone(driver.session().frame()));
        frame.await.ok_or_else(ToolError::gone)
    }

    /// Writes a marker to the recording, if the terminal is recorded. It comes after all output so far.
    ///
    /// # Errors
    /// If the terminal was closed.
    pub async fn mark(&self, label: &str) -> Result<(), ToolError> {
        let label = label.to_owned();
        let marked = self.entry.handle.post(move |driver| driver.mark_recording(&label));
        marked.await.ok_or_else(ToolError::gone)
    }

    /// Waits until all events so far are in the file of the recording, if the terminal is recorded. Returns its status.
    ///
    /// # Errors
    /// If the terminal was closed.
    pub async fn flush_recording(&self) -> Result<Option<RecordingStatus>, ToolError> {
        let flushed = self.entry.handle.call(|driver| driver.recorded()).await;
        if let Some(flushed) = flushed.ok_or_else(ToolError::gone)? {
            // The writer drops the channel if the recording has failed. The status says so.
            let _ = flushed.await;
        }
        let status = self.entry.handle.call(|driver| driver.recording()).await;
        status.ok_or_else(ToolError::gone)
    }

    /// Returns what a closure reads from the session, such as its title or its exit.
    ///
    /// # Errors
    /// If the terminal was closed.
    pub async fn inspect<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let read = self.entry.handle.call(|driver| read(driver.session()));
        read.await.ok_or_else(ToolError::gone)
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.entry.handle
    }

    /// Ends the program as [`close`](Self::close) does, and kills what outlives it. Returns the processes that did:
    /// those that still ran half a second after the program had exited, and those that it had detached (daemons).
    pub async fn close_with_leaks(self) -> Vec<Survivor> {
        close_with_leaks(&self.terminals, &self.entry).await
    }

    /// Ends the program and all processes that it started: SIGHUP, and SIGKILL after a grace period. Returns the
    /// processes that survived.
    pub async fn close(self) -> Vec<Survivor> {
        let ending = Ending::Kill(Signal::HUP, limits::GRACE);
        self.terminals.close(&self.entry, ending, false).await
    }
}

fn send(driver: &mut Driver, items: &[InputItem]) -> Result<(), ToolError> {
    if items.is_empty() {
        return Ok(());
    }
    let (parts, echo) = keyboard::encode(items, driver.session().screen());
    driver.send_parts(parts, &echo)?;
    Ok(())
}

/// The maximum number of matches that an error names.
const PLACES_MAX: usize = 10;

/// Returns the match that a click is for.
fn choose<'f>(
    pattern: &Pattern,
    found: &'f [Selection],
    nth: Option<usize>,
) -> Result<&'f Selection, ToolError> {
    let shown = pattern.text();
    let place = |span: &Selection| {
        format!("row {}, column {}: {:?}", span.row + 1, span.from + 1, text::line(&span.text))
    };
    let places = || found.iter().take(PLACES_MAX).map(place).collect::<Vec<_>>().join("; ");
    match (found, nth) {
        ([], _) => Err(ToolError::new(
            "no_match",
            format!("/{shown}/ matches nothing on the screen: check the pattern. Nothing was sent"),
        )),
        ([only], None) => Ok(only),
        (all, None) => Err(ToolError::new(
            "ambiguous",
            format!(
                "/{shown}/ matches {} times ({}): make it match once, or choose one with nth. Nothing was sent",
                all.len(),
                places()
            ),
        )),
        (all, Some(nth)) => all.get(nth).ok_or_else(|| {
            ToolError::new(
                "no_match",
                format!(
                    "/{shown}/ has no match number {nth}, counted from 0, on the screen ({}). Nothing was sent",
                    places()
                ),
            )
        }),
    }
}

fn parse_keys(keys: &str) -> Result<Vec<InputItem>, ToolError> {
    let parse = |name: &str| Ok(InputItem::Key(Key::parse(name)?));
    keys.split_whitespace().map(parse).collect()
}
