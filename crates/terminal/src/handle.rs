//! [`Terminal`]: the library's handle to a program in a terminal.

use std::sync::Arc;

use awaitty_core::{Frame, Key};
use rustix::process::Signal;

use crate::error::ToolError;
use crate::keyboard::{self, InputItem};
use crate::limits;
use crate::platform::processes::Survivor;
use crate::record::RecordingStatus;
use crate::terminal::{Driver, Ends};
use crate::terminals::{Ending, Entry, IfExists, SpawnSpec, Terminals};
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
        let collect = |driver: &Driver, ends: Ends| WaitResult::collect(driver, ends);
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
        let marked = self.entry.handle.call(move |driver| driver.mark_recording(&label));
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

fn parse_keys(keys: &str) -> Result<Vec<InputItem>, ToolError> {
    let parse = |name: &str| Ok(InputItem::Key(Key::parse(name)?));
    keys.split_whitespace().map(parse).collect()
}
