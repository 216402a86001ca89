//! Traces of sessions: each input, command and wait becomes a step, which is marked in the recording where it starts
//! and where it ends.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::{Driver, Handle, exit_of};
use awaitty_test::trace::{self, Kind, Step, Trace, Verdict};
use tokio::time::Instant;

use super::act::Act;
use super::log::{BYTES_MAX, PAUSE};
use super::steps::{OpenCommand, OpenInput, Steps, step};
use super::words;
use crate::secrets::Secrets;
use crate::sessions::{Entry, Sessions};

/// The traces of the sessions of a server, by session ID.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    by_session: Mutex<BTreeMap<String, Arc<SessionTrace>>>,
    /// Held for reading while a page is written.
    writing: Arc<tokio::sync::RwLock<()>>,
}

/// The trace of a session.
pub(crate) struct SessionTrace {
    title: String,
    recording: PathBuf,
    secrets: Secrets,
    handle: Handle,
    steps: Mutex<Steps>,
    /// The version of the steps on the page that was written after the program had exited.
    last_page: tokio::sync::Mutex<Option<u64>>,
    writing: Arc<tokio::sync::RwLock<()>>,
}

/// Leaves out the steps and the secrets.
impl fmt::Debug for SessionTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("SessionTrace");
        fields.field("title", &self.title).field("recording", &self.recording);
        fields.finish_non_exhaustive()
    }
}

/// A step that has started.
#[derive(Clone, Debug)]
pub(crate) struct StartedStep {
    trace: Arc<SessionTrace>,
    number: usize,
}

impl SessionTrace {
    fn lock(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, steps: &mut Steps, driver: &mut Driver, step: Step) -> Option<usize> {
        let number = steps.add(step)?;
        driver.mark_recording(&format!("step {number} start"));
        Some(number)
    }

    /// Starts an input. Inputs without a pause and a wait between them are one step.
    pub(crate) fn start_input(&self, driver: &mut Driver, acts: Vec<Act>, is_hidden: bool) {
        let acts = acts.into_iter().flat_map(|act| super::record::visible(act, is_hidden));
        let acts: Vec<Act> = acts.collect();
        let mut steps = self.lock();
        steps.hide_typed(driver, &self.secrets, false);
        let now = Instant::now();
        let continued = steps.input.take_if(|input| now.duration_since(input.last) < PAUSE);
        if let Some(mut input) = continued {
            input.acts.extend(acts.iter().cloned());
            let name = words::inputs(&input.acts, &self.secrets);
            let added = name.len().saturating_sub(steps.all[input.number].name.len());
            if name.chars().count() <= words::NAME_CHARS && steps.bytes + added <= BYTES_MAX {
                steps.bytes += added;
                steps.version += 1;
                steps.all[input.number].name = name;
                steps.input = Some(OpenInput { last: now, ..input });
                return;
            }
            steps.end(driver, input.number, None);
        }
        steps.end_input(driver, &self.secrets);
        let step = step(Kind::Input, words::inputs(&acts, &self.secrets), None);
        if let Some(number) = self.start(&mut steps, driver, step) {
            steps.input = Some(OpenInput { number, acts, last: now });
        }
    }

    /// Sets the result of the last input: nothing was sent.
    pub(crate) fn fail_input(&self, error: &ToolError) {
        let mut steps = self.lock();
        if let Some(number) = steps.input.as_ref().map(|input| input.number) {
            steps.set_verdict(number, Verdict::Failed(error.message.clone()));
        }
    }

    /// Starts a wait. The end of the wait ends the input before it.
    pub(crate) fn start_wait(
        self: &Arc<Self>,
        driver: &mut Driver,
        (name, looked_for): (String, String),
    ) -> Option<StartedStep> {
        let text = |text: String| words::without_secrets(&text, &self.secrets);
        let step = step(Kind::Wait, text(name), Some(text(looked_for)));
        let number = self.start(&mut self.lock(), driver, step)?;
        Some(StartedStep { trace: Arc::clone(self), number })
    }

    /// Starts a command in a shell.
    fn start_command(&self, driver: &mut Driver, command: &str) {
        let mut steps = self.lock();
        steps.end_input(driver, &self.secrets);
        if let Some(command) = steps.command.take() {
            steps.end(driver, command.number, None);
        }
        let name = words::command(command, &self.secrets);
        let mut step = step(Kind::Command, name, None);
        step.verdict = Verdict::Passed("its end is not known".to_owned());
        if let Some(number) = self.start(&mut steps, driver, step) {
            steps.command = Some(OpenCommand { number, id: None });
        }
    }

    /// Notes whether the shell took the command.
    fn note_command(&self, driver: &mut Driver, taken: Result<u64, String>) {
        let mut steps = self.lock();
        match (taken, &mut steps.command) {
            (Ok(id), Some(command)) => command.id = Some(id),
            (Err(error), Some(command)) => {
                let number = command.number;
                steps.command = None;
                steps.end(driver, number, Some(Verdict::Failed(error)));
            }
            (_, None) => {}
        }
    }

    /// Returns the step of a wait for a command: that of the command, if it has one, or a new one.
    fn wait_for_command(
        self: &Arc<Self>,
        driver: &mut Driver,
        id: u64,
        timeout: Duration,
    ) -> Option<StartedStep> {
        let open = self.lock().command.as_ref().map(|command| (command.number, command.id));
        match open {
            Some((number, open)) if open == Some(id) => {
                Some(StartedStep { trace: Arc::clone(self), number })
            }
            _ => self.start_wait(driver, words::end_of_command(timeout)),
        }
    }

    /// Returns the number of steps.
    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }

    /// Returns the path of the page.
    pub(crate) fn page(&self) -> PathBuf {
        self.recording.with_extension("trace.html")
    }

    /// Returns the trace up to now, and whether the program has exited. The recording has all output so far.
    async fn trace(self: &Arc<Self>) -> (Trace, u64, bool) {
        let at = Arc::clone(self);
        let recorded = self.handle.call(move |driver| {
            let is_pending = driver.session().is_input_pending();
            at.lock().hide_typed(driver, &at.secrets, is_pending);
            driver.recorded()
        });
        if let Some(Some(recorded)) = recorded.await {
            // An error means that the recording ended early.
            let _ = recorded.await;
        }
        let has_exited = self.handle.call(exit_of).await.flatten().is_some();
        let steps = self.lock();
        let trace = Trace {
            title: self.title.clone(),
            steps: steps.all.clone(),
            recording: self.recording.clone(),
            secrets: self.secrets.values(),
        };
        (trace, steps.version, has_exited)
    }

    /// Returns the page of the trace up to now.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub(crate) async fn render(self: &Arc<Self>) -> Result<String, ToolError> {
        let (trace, ..) = self.trace().await;
        blocking(move || trace::render(&trace)).await
    }

    /// Writes the page beside the recording, and returns its path. A page that is complete stays.
    ///
    /// # Errors
    /// If the recording cannot be read, or the page cannot be written.
    pub(crate) async fn write(self: &Arc<Self>) -> Result<PathBuf, ToolError> {
        let _writing = Arc::clone(&self.writing).read_owned().await;
        let mut last_page = self.last_page.lock().await;
        let (trace, version, has_exited) = self.trace().await;
        let page = self.page();
        if *last_page == Some(version) {
            return Ok(page);
        }
        let target = page.clone();
        blocking(move || write_private(&target, &trace::render(&trace)?)).await?;
        *last_page = has_exited.then_some(version);
        Ok(page)
    }

    /// Writes the page when the program has exited.
    fn write_at_exit(self: &Arc<Self>) {
        let trace = Arc::clone(self);
        tokio::spawn(async move {
            let Some(exited) = trace.handle.call(Driver::await_exit).await else { return };
            let _ = exited.await;
            if let Err(error) = trace.write().await {
                log::warn!("no trace: {error}");
            }
        });
    }
}

impl StartedStep {
    /// Ends the step and the input before it, unless the step has ended.
    pub(crate) fn end(&self, driver: &mut Driver, verdict: Verdict) {
        let mut steps = self.trace.lock();
        if steps.ended[self.number] {
            return;
        }
        steps.end_input(driver, &self.trace.secrets);
        steps.command.take_if(|command| command.number == self.number);
        steps.end(driver, self.number, Some(verdict));
    }

    /// Ends the step from outside of the terminal's task.
    pub(crate) async fn end_later(self, verdict: Verdict) {
        let handle = self.trace.handle.clone();
        let _ = handle.call(move |driver| self.end(driver, verdict)).await;
    }
}

/// The step of a call's wait. If the call is cancelled, the step ends, too.
#[derive(Debug, Default)]
pub(crate) struct CallStep(pub(crate) Option<StartedStep>);

impl CallStep {
    /// Ends the step.
    pub(crate) async fn end(mut self, verdict: Verdict) {
        if let Some(step) = self.0.take() {
            step.end_later(verdict).await;
        }
    }
}

impl Drop for CallStep {
    fn drop(&mut self) {
        let verdict = || Verdict::Passed("the call ended before this wait".to_owned());
        if let Some(step) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(step.end_later(verdict()));
        }
    }
}

impl Traces {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<SessionTrace>>> {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, entry: &Entry, recording: PathBuf, secrets: &Secrets) {
        let trace = Arc::new(SessionTrace {
            title: format!("{}: {}", entry.label(), entry.command),
            recording,
            secrets: secrets.clone(),
            handle: entry.handle.clone(),
            steps: Mutex::default(),
            last_page: tokio::sync::Mutex::default(),
            writing: Arc::clone(&self.writing),
        });
        trace.write_at_exit();
        self.lock().insert(entry.id.clone(), trace);
    }

    /// Returns the trace of a session, if it has one.
    pub(crate) fn get(&self, session: &str) -> Option<Arc<SessionTrace>> {
        self.lock().get(session).cloned()
    }

    /// Removes the trace of a session.
    pub(crate) fn remove(&self, session: &str) {
        self.lock().remove(session);
    }

    /// Removes the traces of all other sessions. Their programs have exited, so their pages are being written.
    pub(crate) fn keep(&self, is_kept: impl Fn(&str) -> bool) {
        self.lock().retain(|session, _| is_kept(session));
    }

    /// Writes all pages.
    pub(crate) async fn finish(&self) {
        let all = std::mem::take(&mut *self.lock());
        let written = all.values().map(async |trace| {
            if let Err(error) = trace.write().await {
                log::warn!("no trace: {error}");
            }
        });
        futures::future::join_all(written).await;
        drop(self.writing.write().await);
    }
}

/// Starts the trace of a new session, which is recorded.
pub(crate) async fn start(sessions: &Sessions, entry: &Entry) {
    if let Some(Some(recording)) = entry.handle.call(|driver| driver.recording()).await {
        sessions.traces.start(entry, recording.path, sessions.secrets());
    }
}

/// Starts an input at a terminal, if the session is traced.
pub(crate) fn start_input(
    sessions: &Sessions,
    entry: &Entry,
    driver: &mut Driver,
    acts: Vec<Act>,
    is_hidden: bool,
) {
    if let Some(trace) = sessions.traces.get(&entry.id) {
        trace.start_input(driver, acts, is_hidden);
    }
}

/// Sets the result of the last input: it failed.
pub(crate) fn fail_input(sessions: &Sessions, entry: &Entry, error: &ToolError) {
    if let Some(trace) = sessions.traces.get(&entry.id) {
        trace.fail_input(error);
    }
}

/// Starts a change of the size, if the session is traced.
pub(crate) async fn start_resize(sessions: &Sessions, entry: &Entry, cols: usize, rows: usize) {
    let Some(trace) = sessions.traces.get(&entry.id) else { return };
    let acts = vec![Act::Resized { cols, rows }];
    let _ = entry.handle.call(move |driver| trace.start_input(driver, acts, false)).await;
}

/// Starts a command, if the session is traced.
pub(crate) async fn start_command(sessions: &Sessions, entry: &Entry, command: &str) {
    let Some(trace) = sessions.traces.get(&entry.id) else { return };
    let command = command.to_owned();
    let _ = entry.handle.call(move |driver| trace.start_command(driver, &command)).await;
}

/// Notes whether the shell took the last command.
pub(crate) async fn note_command(
    sessions: &Sessions,
    entry: &Entry,
    taken: Result<u64, &ToolError>,
) {
    let Some(trace) = sessions.traces.get(&entry.id) else { return };
    let taken = taken.map_err(|error| error.message.clone());
    let _ = entry.handle.call(move |driver| trace.note_command(driver, taken)).await;
}

/// Returns the step of a wait for a command, if the session is traced.
pub(crate) async fn wait_for_command(
    sessions: &Sessions,
    entry: &Entry,
    id: u64,
    timeout: Duration,
) -> Option<StartedStep> {
    let trace = sessions.traces.get(&entry.id)?;
    let start = move |driver: &mut Driver| trace.wait_for_command(driver, id, timeout);
    entry.handle.call(start).await.flatten()
}

/// Starts a wait outside of the terminal, such as one for a channel, if the session is traced.
pub(crate) async fn start_wait(
    sessions: &Sessions,
    entry: &Entry,
    words: Option<(String, String)>,
) -> CallStep {
    let (Some(trace), Some(words)) = (sessions.traces.get(&entry.id), words) else {
        return CallStep::default();
    };
    let start = move |driver: &mut Driver| trace.start_wait(driver, words);
    CallStep(entry.handle.call(start).await.flatten())
}

/// Replaces a file by a private one.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    // The file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Runs blocking work in a thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| ToolError::new("internal", error.to_string()))?;
    done.map_err(|error| ToolError::new("write_failed", format!("trace: {error}")))
}
