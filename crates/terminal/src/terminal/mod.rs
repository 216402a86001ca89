//! The task of one terminal: its output, its input, its timers and its callers.
//!
//! Callers send jobs, which run on the task with the [`Driver`]; so checking and registering a wait is one step without
//! a lock. Between jobs the task reads output, writes input and runs timers. The kernel does not announce whether the
//! program waits for input and has read all of it. The task polls this, but only while a wait depends on it: see
//! `commands.rs` and `input.rs`.

mod callers;
mod commands;
mod confirm;
mod control;
mod ends;
mod input;
mod output;
mod pace;
mod pane;
mod record;
mod redact;
mod shells;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use awaitty_core::{CommandId, Exit, Session, Spec, Time, WaitEnded, WaitError, WaitId};
use rustix::process::Pid;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::io::Io;
use crate::io::pty::{InputModes, Pty};
use crate::platform::processes;
use crate::record::Recorder;
use crate::shell::{Integration, Kind};

pub use callers::Ends;
pub use commands::{InputReader, ProgramState};
pub use control::{Control, ControlPeriod, KeyModes, TimelineEntry, ViewState, key_modes};
pub use pace::{Part, PartKind};

/// Capacity of the queue of jobs; a caller blocks while it is full. Enough to cancel all waits of a session at once.
const JOBS_MAX: usize = 2_048;

type Job = Box<dyn FnOnce(&mut Driver) + Send>;

/// The reason why input was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The program has ended.
    Exited,
    /// The queue of input is full.
    QueueFull {
        /// Bytes in the queue.
        waiting: usize,
        /// Capacity of the queue in bytes.
        max: usize,
    },
    /// The line is longer than the line buffer of the kernel.
    LineTooLong {
        /// Length of the line with this input, in bytes.
        line: usize,
        /// Bytes of the line that were typed before.
        before: usize,
    },
    /// A person has taken control.
    HumanHasControl(Control),
}

/// A task that ends early has not reaped its program. Unregistering the PID lets `reap_orphans` reap it.
impl Drop for Driver {
    fn drop(&mut self) {
        // After the program was reaped, `io` is `None` and the PID may belong to another process.
        if let Some(Io::Pty(_)) = self.io {
            processes::unregister(self.pid);
        }
    }
}

/// A handle to the task of a terminal.
#[derive(Clone, Debug)]
pub struct Handle {
    jobs: mpsc::Sender<Job>,
}

/// Waits that were started together. Dropping it cancels them. `T` is made from their results on the terminal's task.
#[derive(Debug)]
pub struct RunningWait<T = WaitEnded> {
    /// The ID of the first wait, set by the job that starts the waits. A job that cancels them runs later.
    id: Arc<OnceLock<WaitId>>,
    ended: oneshot::Receiver<T>,
    jobs: mpsc::Sender<Job>,
}

impl<T> RunningWait<T> {
    /// Waits for the result. Returns `None` if the task has ended.
    pub async fn ended(&mut self) -> Option<T> {
        (&mut self.ended).await.ok()
    }
}

impl<T> Drop for RunningWait<T> {
    fn drop(&mut self) {
        let id = Arc::clone(&self.id);
        let cancel: Job = Box::new(move |driver| {
            if let Some(&id) = id.get() {
                driver.cancel_waits(id);
            }
        });
        if let Err(mpsc::error::TrySendError::Full(cancel)) = self.jobs.try_send(cancel)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let jobs = self.jobs.clone();
            runtime.spawn(async move { jobs.send(cancel).await });
        }
    }
}

impl Handle {
    /// Runs a job on the task and returns its result, or `None` if the task has ended.
    pub async fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Driver) -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |driver| {
            let _ = answer.send(job(driver));
        });
        self.jobs.send(job).await.ok()?;
        answered.await.ok()
    }

    /// Runs a job before all later ones, without waiting for it. Returns `None` if the task has ended.
    pub async fn post(&self, job: impl FnOnce(&mut Driver) + Send + 'static) -> Option<()> {
        self.jobs.send(Box::new(job)).await.ok()
    }

    /// Runs a job that starts a wait.
    pub async fn start_wait<E: Send + 'static>(
        &self,
        start: impl FnOnce(&mut Driver) -> Result<WaitId, E> + Send + 'static,
    ) -> Option<Result<RunningWait, E>> {
        self.start_wait_unless(|driver| start(driver).map(Some)).await?.transpose()
    }

    /// Runs a job that starts a wait, or returns `None` because there is nothing to wait for.
    pub async fn start_wait_unless<E: Send + 'static>(
        &self,
        start: impl FnOnce(&mut Driver) -> Result<Option<WaitId>, E> + Send + 'static,
    ) -> Option<Result<Option<RunningWait>, E>> {
        let start = |driver: &mut Driver| start(driver).map(Vec::from_iter);
        self.start_waits(start, |_, ends| ends.first).await
    }

    /// Runs a job that starts several waits. They end with the first wait that is met, else with the last one that
    /// ends. `collect` runs at that moment on the task, so that the result is a consistent snapshot.
    pub async fn start_waits<T: Send + 'static, E: Send + 'static>(
        &self,
        start: impl FnOnce(&mut Driver) -> Result<Vec<WaitId>, E> + Send + 'static,
        collect: impl FnOnce(&mut Driver, Ends) -> T + Send + 'static,
    ) -> Option<Result<Option<RunningWait<T>>, E>> {
        let (end, ended) = oneshot::channel();
        let id = Arc::new(OnceLock::new());
        // Created first, so that a caller that is dropped while the waits are being started cancels them as well.
        let running = RunningWait { id: Arc::clone(&id), ended, jobs: self.jobs.clone() };
        let started = self
            .call(move |driver| {
                let waits = start(driver)?;
                let Some(&first) = waits.first() else { return Ok(false) };
                let answer = move |driver: &mut Driver, ends| {
                    // Collecting may probe the program, so it is skipped if the caller was dropped.
                    if !end.is_closed() {
                        let _ = end.send(collect(driver, ends));
                    }
                };
                driver.callers.add(waits, Box::new(answer));
                let _ = id.set(first);
                Ok(true)
            })
            .await?;
        Some(started.map(|is_started| is_started.then_some(running)))
    }
}

/// The options of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Lines of scrollback.
    pub scrollback: usize,
    /// Frames in the history.
    pub frames: usize,
    /// Characters kept of the output of each command.
    pub output_chars: usize,
    /// Capacity of the input queue in bytes.
    pub input_queue: usize,
    /// Whether checksum requests (DECRQCRA) are answered.
    pub answers_checksums: bool,
}

#[cfg(test)]
impl Options {
    /// Returns options for tests.
    pub(crate) fn for_tests() -> Options {
        Options {
            scrollback: 100,
            frames: 200,
            output_chars: 1000,
            input_queue: 10_000,
            answers_checksums: false,
        }
    }
}

/// The parts of a terminal that exist only for programs that we start.
#[derive(Debug, Default)]
pub struct ProgramSetup {
    /// The shell integration, if the program is a shell.
    pub shell: Option<Integration>,
    /// The recorder, if the terminal is recorded.
    pub recorder: Option<Recorder>,
    /// The program runs inside a wrapper command, and the known PID is that of the wrapper.
    pub is_wrapped: bool,
}

/// The state of a terminal's task: the session, the program and the callers.
pub struct Driver {
    session: Session,
    io: Option<Io>,
    pid: Pid,
    /// Capacity of the input queue in bytes.
    input_queue: usize,
    /// Input that was not written yet.
    input: pace::Input,
    callers: callers::Callers,
    /// Matches that are held back because the program may be about to exit.
    lingering: Vec<(callers::AnswerFn, Ends)>,
    /// Senders that are dropped at the exit. A close does not drop them.
    exit_awaited: Vec<oneshot::Sender<()>>,
    linger_until: Option<Instant>,
    unconfirmed: confirm::Unconfirmed,
    started: Instant,
    /// A read returned EOF. Only the exit is still to come.
    hung_up: bool,
    /// The terminal modes before the start, until the program prints something.
    untouched: Option<InputModes>,
    /// The terminal modes at the last input, if the terminal echoed it. A line editor may echo it again.
    typed_ahead: Option<InputModes>,
    unfed: output::Unfed,
    raw: VecDeque<u8>,
    shells: shells::TrustedShells,
    /// Masks nonces in the raw output and in recordings.
    nonces: redact::NonceRedactor,
    /// The kind of shell that each of the newest commands was delivered to.
    delivered: BTreeMap<CommandId, Kind>,
    /// The next probe of the foreground job, while a wait depends on it.
    probe_schedule: Option<commands::ProbeSchedule>,
    recorder: Option<Recorder>,
    /// Input was written while echo was off, since the last [`take_hidden`](Driver::take_hidden).
    was_hidden: bool,
    marked: record::MarkedCommands,
    keyboard: control::Keyboard,
    /// The state that viewers subscribe to.
    view: watch::Sender<ViewState>,
    timeline: control::Timeline,
    /// The state of a tmux pane besides its screen.
    pane_sync: pane::PaneSync,
    /// The last read found no more output.
    is_drained: bool,
    /// Sends jobs to this task from work that runs in other tasks.
    jobs: mpsc::WeakSender<Job>,
}

impl Driver {
    /// Starts the task of a terminal.
    pub fn start(
        pty: Pty,
        cols: usize,
        rows: usize,
        options: Options,
        setup: ProgramSetup,
    ) -> Handle {
        let untouched = pty.untouched_modes();
        let pid = pty.pid();
        Driver::start_with(Some(Io::Pty(pty)), pid, (cols, rows), options, |driver| {
            driver.apply_setup(untouched, setup);
        })
    }

    /// Starts the task of a fake terminal.
    #[cfg(test)]
    pub(crate) fn start_fake(fake: crate::io::fake::FakeIo, options: Options) -> Handle {
        let pid = rustix::process::getpid();
        Driver::start_with(Some(Io::Fake(fake)), pid, (40, 10), options, |_| {})
    }

    /// Applies the setup of a program that we started. `untouched` are the terminal modes before its start.
    fn apply_setup(&mut self, untouched: InputModes, setup: ProgramSetup) {
        self.untouched = Some(untouched);
        self.recorder = setup.recorder;
        if let Some(Integration { nonce, kind, file, .. }) = setup.shell {
            let group = if setup.is_wrapped {
                shells::Group::AtPrompt
            } else {
                shells::Group::Known(self.pid())
            };
            self.trust(&nonce, Some(kind), group);
            self.shells.keep_file(file);
        }
    }

    fn start_with(
        io: Option<Io>,
        pid: Pid,
        (cols, rows): (usize, usize),
        options: Options,
        prepare: impl FnOnce(&mut Driver),
    ) -> Handle {
        let (jobs, received) = mpsc::channel(JOBS_MAX);
        let mut session = Session::new(Time::from_ms(0), cols, rows, options.scrollback);
        session.keep_frames(options.frames);
        session.keep_output(options.output_chars);
        session.set_answers_checksums(options.answers_checksums);
        let mut driver = Driver {
            session,
            pid,
            io,
            input_queue: options.input_queue,
            input: pace::Input::default(),
            callers: callers::Callers::default(),
            lingering: Vec::new(),
            exit_awaited: Vec::new(),
            linger_until: None,
            unconfirmed: confirm::Unconfirmed::default(),
            started: Instant::now(),
            hung_up: false,
            untouched: None,
            typed_ahead: None,
            unfed: output::Unfed::default(),
            raw: VecDeque::new(),
            shells: shells::TrustedShells::default(),
            nonces: redact::NonceRedactor::default(),
            delivered: BTreeMap::new(),
            probe_schedule: None,
            recorder: None,
            was_hidden: false,
            marked: record::MarkedCommands::default(),
            keyboard: control::Keyboard::default(),
            view: watch::Sender::new(ViewState::default()),
            timeline: control::Timeline::default(),
            pane_sync: pane::PaneSync::default(),
            is_drained: true,
            jobs: jobs.downgrade(),
        };
        prepare(&mut driver);
        tokio::spawn(driver.run(received));
        Handle { jobs }
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the PID of the program.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Returns the newest output as raw bytes.
    pub fn raw(&self) -> Vec<u8> {
        self.raw.iter().copied().collect()
    }

    /// Returns the current time of the session's clock.
    pub fn now(&self) -> Time {
        Time(self.started.elapsed())
    }

    /// Starts a wait with a timeout.
    pub fn start_wait(&mut self, mut spec: Spec, timeout: Duration) -> Result<WaitId, WaitError> {
        if spec.condition.is_judged_by_activity() && !matches!(self.io, Some(Io::Pane(_))) {
            self.note_activity(self.activity());
        }
        self.report_unread_input();
        let now = self.now();
        spec.deadline = Some(now.after(timeout));
        self.session.start_wait(now, spec)
    }

    /// Starts several waits with one timeout, or none of them.
    ///
    /// # Errors
    /// If one of the conditions is invalid.
    pub fn start_waits(
        &mut self,
        specs: Vec<Spec>,
        timeout: Duration,
    ) -> Result<Vec<WaitId>, WaitError> {
        specs.iter().try_for_each(|spec| self.session.check_wait(spec))?;
        specs.into_iter().map(|spec| self.start_wait(spec, timeout)).collect()
    }

    /// Cancels all waits of the caller whose first wait is `first`.
    fn cancel_waits(&mut self, first: WaitId) {
        for wait in self.callers.remove(first) {
            self.session.cancel_wait(wait);
        }
    }

    /// Resizes the PTY and the screen.
    pub fn resize(&mut self, cols: usize, rows: usize) -> std::io::Result<()> {
        if let Some(Io::Pty(pty)) = &self.io {
            pty.resize(cols as u16, rows as u16)?;
        }
        self.take_size(cols, rows);
        Ok(())
    }

    /// Ends all waits, because the terminal is being closed.
    pub fn close(&mut self) {
        let now = self.now();
        self.session.handle_close(now);
    }

    async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        loop {
            self.take_replies();
            self.answer_ended();
            self.probe_lingering().await;
            self.confirm_command_end().await;
            self.notify_viewers();
            if self.io.is_some() && (!self.hung_up && !self.is_drained || !self.unfed.is_empty()) {
                // A flood. Without the yield the runtime runs this task for up to 128 polls in a row, and polls 61
                // tasks before it checks timers and other file descriptors: megabytes of output, which takes seconds.
                tokio::task::yield_now().await;
            }
            if self.hung_up && matches!(self.io, Some(Io::Pane(_))) {
                self.lose_pipe().await;
                continue;
            }
            self.plan_probe(false);
            let wake = self.wake();
            let io = self.io.as_ref();
            let is_pane = matches!(io, Some(Io::Pane(_)));
            let has_unfed = !self.unfed.is_empty();
            let reading = io.is_some() && !self.hung_up;
            let writing = reading && self.input.is_due();
            tokio::select! {
                biased;
                job = jobs.recv() => match job {
                    Some(job) => {
                        // Output that was printed before the call must precede its anchor and be on its screen.
                        self.follow_pane();
                        self.read_some();
                        job(&mut self);
                    }
                    None => return,
                },
                // An exit takes precedence over a timeout, and over reads, because a descendant that floods the
                // terminal would delay it without bound. `finish` reads the last output first. tmux may hold back any
                // amount of the last output of a pane, so the exit of a pane comes last.
                _ = ready(io, Io::exited), if !is_pane => self.finish().await,
                () = wait_until(wake) => self.handle_time(),
                () = std::future::ready(()), if has_unfed => self.read_some(),
                _ = ready(io, Io::readable), if reading => self.read_some(),
                _ = ready(io, Io::writable), if writing => self.write_some(),
                _ = ready(io, Io::exited), if is_pane => self.finish().await,
            }
        }
    }

    /// Returns the deadline of a timer, if it runs.
    fn deadline(&self, timer: Timer) -> Option<Instant> {
        match timer {
            Timer::Probe => self.probe_schedule.map(|schedule| schedule.at),
            Timer::Keystroke => self.input.wake(),
            Timer::Capture => self.capture_at(),
            Timer::Linger => self.linger_wake(),
            Timer::Confirm => self.confirm_wake(),
            Timer::Session => self.session.poll_wake().map(|time| self.started + time.0),
        }
    }

    /// Returns the earliest deadline of all timers.
    fn wake(&self) -> Option<Instant> {
        Timer::IN_ORDER.into_iter().filter_map(|timer| self.deadline(timer)).min()
    }

    /// Returns whether a timer runs at this wake-up.
    fn is_due(&self, timer: Timer) -> bool {
        let is_over = self.deadline(timer).is_some_and(|deadline| deadline <= Instant::now());
        match timer {
            Timer::Probe => is_over || self.session.wants_activity_at(self.now()),
            Timer::Keystroke => is_over || self.input.is_due(),
            // The session gets the time and the state of the input at each wake-up.
            Timer::Session => true,
            Timer::Capture | Timer::Linger | Timer::Confirm => is_over,
        }
    }

    /// Runs the timers that are due.
    fn handle_time(&mut self) {
        // Output that was printed before the deadline is judged first, also before the program is probed.
        self.read_some();
        for timer in Timer::IN_ORDER {
            if !self.is_due(timer) {
                continue;
            }
            match timer {
                Timer::Probe => self.probe_if_due(),
                Timer::Keystroke => self.write_some(),
                Timer::Capture => self.capture_if_due(),
                Timer::Linger => self.end_lingering(),
                // `confirm_command_end` runs in each turn of the loop, so the wake-up is enough.
                Timer::Confirm => {}
                Timer::Session => {
                    self.report_unread_input();
                    let now = self.now();
                    self.session.handle_time(now);
                }
            }
        }
    }

    /// Reports to the session whether the program has unread input.
    fn report_unread_input(&mut self) {
        let (now, unread) = (self.now(), self.has_unread_input());
        self.session.handle_input_unread(now, unread);
    }
}

/// A timer of the task's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// The next probe of the foreground job, for waits that depend on it.
    Probe,
    /// The next check whether the next part of the input may be written.
    Keystroke,
    /// The next capture of a tmux pane.
    Capture,
    /// The end of the delay of matches, or the next check whether the program still runs.
    Linger,
    /// The next check whether a shell reads at its prompt, which confirms the end of its command.
    Confirm,
    /// The next time limit of the session, such as the timeout of a wait.
    Session,
}

impl Timer {
    /// All timers, in the order in which they run if several are due. The session comes last: its timeouts are judged
    /// after all else that happened before them.
    const IN_ORDER: [Timer; 6] = [
        Timer::Probe,
        Timer::Keystroke,
        Timer::Capture,
        Timer::Linger,
        Timer::Confirm,
        Timer::Session,
    ];
}

/// Returns how the program of a session ended, or `None` while it runs.
pub fn exit_of(driver: &mut Driver) -> Option<Exit> {
    driver.session.exit()
}

async fn wait_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

async fn ready<'p, F>(io: Option<&'p Io>, what: impl FnOnce(&'p Io) -> F)
where
    F: Future<Output = std::io::Result<()>> + 'p,
{
    match io {
        Some(io) => drop(what(io).await),
        None => std::future::pending().await,
    }
}
