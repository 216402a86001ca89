//! One task a terminal: the only place where time, bytes and callers meet.
//!
//! Callers hand in jobs, which run on the task with the [`Driver`] in their hands; so checking a wait and
//! registering it are one step, and nobody holds a lock. Between two jobs the task reads what the
//! program prints, writes what it is sent, and wakes when the session says so. Nothing is polled, but for
//! what the kernel answers and does not announce, whether the program reads and whether it has read, and only
//! while somebody waits for it: see `commands.rs` and `input.rs`.

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

use awaitty_core::{CommandId, Condition, Exit, Session, Spec, Time, WaitEnded, WaitError, WaitId};
use rustix::process::Pid;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::io::Io;
use crate::io::pty::{InputModes, Pty};
use crate::platform::processes;
use crate::record::Recorder;
use crate::shell::{Integration, Kind};

pub use callers::Ends;
pub use commands::{Reader, State};
pub use control::{Control, Had, KeyModes, Past, Shown, key_modes};
pub use pace::{Part, PartKind};

/// Jobs that wait for the task; a caller waits when there are more. Enough for all waits of a session to be
/// cancelled at once.
const JOBS_MAX: usize = 2_048;

type Job = Box<dyn FnOnce(&mut Driver) + Send>;

/// Why input was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The program has ended.
    Exited,
    /// The queue of input is full.
    QueueFull {
        /// Bytes that wait already.
        waiting: usize,
        /// Bytes that may wait.
        max: usize,
    },
    /// A line is longer than the kernel hands to a program that reads lines.
    LineTooLong {
        /// Bytes that it would have.
        line: usize,
        /// Bytes that were typed before and are not ended.
        before: usize,
    },
    /// A person has taken control.
    HumanHasControl(Control),
}

/// A task that fails has not waited for its program, which is nobody's then: it is reaped like an orphan when it ends.
impl Drop for Driver {
    fn drop(&mut self) {
        // Once it was waited for its number may be another's.
        if let Some(Io::Pty(_)) = self.io {
            processes::unregister(self.pid);
        }
    }
}

/// A caller's end of a terminal's task.
#[derive(Clone, Debug)]
pub struct Handle {
    jobs: mpsc::Sender<Job>,
}

/// Waits that were started together; dropping it cancels them. `T` is made of their end, on the terminal's task.
#[derive(Debug)]
pub struct RunningWait<T = WaitEnded> {
    /// The first of them, set by the job that starts them, which the task runs before any that cancels them.
    id: Arc<OnceLock<WaitId>>,
    ended: oneshot::Receiver<T>,
    jobs: mpsc::Sender<Job>,
}

impl<T> RunningWait<T> {
    /// Waits for the end; `None` if the terminal is gone.
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
    /// Runs a job on the task and gives what it returns; `None` if the terminal is gone.
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

    /// Runs a job that starts a wait.
    pub async fn start_wait<E: Send + 'static>(
        &self,
        start: impl FnOnce(&mut Driver) -> Result<WaitId, E> + Send + 'static,
    ) -> Option<Result<RunningWait, E>> {
        self.start_wait_unless(|driver| start(driver).map(Some)).await?.transpose()
    }

    /// Runs a job that starts a wait, or finds that there is nothing to wait for.
    pub async fn start_wait_unless<E: Send + 'static>(
        &self,
        start: impl FnOnce(&mut Driver) -> Result<Option<WaitId>, E> + Send + 'static,
    ) -> Option<Result<Option<RunningWait>, E>> {
        let start = |driver: &mut Driver| start(driver).map(Vec::from_iter);
        self.start_waits(start, |_, ends| ends.first).await
    }

    /// Runs a job that starts several waits. The first that is met ends them, or else the end of the last; `collect` takes
    /// from the terminal what there is to say then, so that all of it is of one moment.
    pub async fn start_waits<T: Send + 'static, E: Send + 'static>(
        &self,
        start: impl FnOnce(&mut Driver) -> Result<Vec<WaitId>, E> + Send + 'static,
        collect: impl FnOnce(&Driver, Ends) -> T + Send + 'static,
    ) -> Option<Result<Option<RunningWait<T>>, E>> {
        let (end, ended) = oneshot::channel();
        let id = Arc::new(OnceLock::new());
        // Made first, so that a caller who goes away while they are being started cancels them too.
        let running = RunningWait { id: Arc::clone(&id), ended, jobs: self.jobs.clone() };
        let started = self
            .call(move |driver| {
                let waits = start(driver)?;
                let Some(&first) = waits.first() else { return Ok(false) };
                let answer = move |driver: &Driver, ends| {
                    // A caller who is gone is not worth a look at the program.
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
    /// Lines kept that left the screen.
    pub scrollback: usize,
    /// Frames kept.
    pub frames: usize,
    /// Characters kept of the output of each command.
    pub output_chars: usize,
    /// Bytes of input that may wait for the program to read them.
    pub input_queue: usize,
    /// Whether checksum requests (DECRQCRA) are answered.
    pub answers_checksums: bool,
}

/// What comes with a program that we start.
#[derive(Debug, Default)]
pub struct Begun {
    /// Makes the program a shell that says what it does.
    pub shell: Option<Integration>,
    /// What records it.
    pub recorder: Option<Recorder>,
    /// The program runs inside another command, whose PID is the one that we know.
    pub is_wrapped: bool,
}

/// A terminal's session and its program.
pub struct Driver {
    session: Session,
    io: Option<Io>,
    pid: Pid,
    /// Bytes of input that may wait.
    input_queue: usize,
    /// What the program has not taken yet.
    input: pace::Input,
    callers: callers::Callers,
    /// Matches that are held back for a moment.
    lingering: Vec<(callers::Answer, Ends)>,
    /// Who is to hear of the exit, also after a close; they are dropped then.
    exit_awaited: Vec<oneshot::Sender<()>>,
    linger_until: Option<Instant>,
    unconfirmed: confirm::Unconfirmed,
    started: Instant,
    /// The terminal has hung up; only the exit is still to come.
    hung_up: bool,
    /// The terminal as it was at the start, until the program prints something.
    untouched: Option<InputModes>,
    /// The terminal echoed the last input, and a line editor may do so again: how the terminal was then.
    typed_ahead: Option<InputModes>,
    unfed: output::Unfed,
    raw: VecDeque<u8>,
    shells: shells::TrustedShells,
    /// Removes the nonces from what is kept of the output.
    nonces: redact::NonceRedactor,
    /// The kinds of the shells that the newest commands were delivered to.
    delivered: BTreeMap<CommandId, Kind>,
    /// When to look at the foreground job, while a wait depends on it.
    looks: Option<commands::Looks>,
    /// What is recorded, and the last command of which it tells.
    recorder: Option<Recorder>,
    marked: record::Marked,
    keyboard: control::Keyboard,
    /// For those who look on.
    shown: watch::Sender<Shown>,
    timeline: control::Timeline,
    /// What is known of a pane besides.
    watch: pane::Watch,
    /// The last read found nothing more.
    is_drained: bool,
    /// Our own jobs, for what takes its time elsewhere.
    jobs: mpsc::WeakSender<Job>,
}

impl Driver {
    /// Starts the task of a terminal.
    pub fn start(pty: Pty, cols: usize, rows: usize, options: Options, begun: Begun) -> Handle {
        let untouched = pty.untouched_modes();
        let pid = pty.pid();
        Driver::start_with(Some(Io::Pty(pty)), pid, (cols, rows), options, |driver| {
            driver.begin(untouched, begun);
        })
    }

    /// Starts the task of a fake terminal.
    #[cfg(test)]
    pub(crate) fn start_fake(fake: crate::io::fake::FakeIo, options: Options) -> Handle {
        let pid = rustix::process::getpid();
        Driver::start_with(Some(Io::Fake(fake)), pid, (40, 10), options, |_| {})
    }

    /// Our own program begins, in a terminal that was so before.
    fn begin(&mut self, untouched: InputModes, begun: Begun) {
        self.untouched = Some(untouched);
        self.recorder = begun.recorder;
        if let Some(Integration { nonce, kind, file, .. }) = begun.shell {
            let group = if begun.is_wrapped {
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
            looks: None,
            recorder: None,
            marked: record::Marked::default(),
            keyboard: control::Keyboard::default(),
            shown: watch::Sender::new(Shown::default()),
            timeline: control::Timeline::default(),
            watch: pane::Watch::default(),
            is_drained: true,
            jobs: jobs.downgrade(),
        };
        prepare(&mut driver);
        tokio::spawn(driver.run(received));
        Handle { jobs }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The program's number.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// What was printed last, as it came.
    pub fn raw(&self) -> Vec<u8> {
        self.raw.iter().copied().collect()
    }

    /// The time now, as the session counts it.
    pub fn now(&self) -> Time {
        Time(self.started.elapsed())
    }

    /// Starts a wait that gives up after `timeout`.
    pub fn start_wait(&mut self, mut spec: Spec, timeout: Duration) -> Result<WaitId, WaitError> {
        if is_judged_by_activity(&spec.condition) && !matches!(self.io, Some(Io::Pane(_))) {
            self.note_activity(self.activity());
        }
        self.tell_unread();
        let now = self.now();
        spec.deadline = Some(now.after(timeout));
        self.session.start_wait(now, spec)
    }

    /// Starts several waits that give up after `timeout`, or none of them.
    ///
    /// # Errors
    /// If one of them makes no sense.
    pub fn start_waits(
        &mut self,
        specs: Vec<Spec>,
        timeout: Duration,
    ) -> Result<Vec<WaitId>, WaitError> {
        specs.iter().try_for_each(|spec| self.session.check_wait(spec))?;
        specs.into_iter().map(|spec| self.start_wait(spec, timeout)).collect()
    }

    /// Cancels the waits of a caller, of which the first is given.
    fn cancel_waits(&mut self, first: WaitId) {
        for wait in self.callers.remove(first) {
            self.session.cancel_wait(wait);
        }
    }

    /// Changes the size for the program and for us.
    pub fn resize(&mut self, cols: usize, rows: usize) -> std::io::Result<()> {
        if let Some(Io::Pty(pty)) = &self.io {
            pty.resize(cols as u16, rows as u16)?;
        }
        self.take_size(cols, rows);
        Ok(())
    }

    /// Ends all waits because the terminal goes away.
    pub fn close(&mut self) {
        let now = self.now();
        self.session.handle_close(now);
    }

    async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        loop {
            self.take_replies();
            self.answer_ended();
            self.look_at_lingering().await;
            self.confirm_command_end().await;
            self.tell_onlookers();
            if self.io.is_some() && (!self.hung_up && !self.is_drained || !self.unfed.is_empty()) {
                // A flood. By itself the runtime would run this task for 128 rounds before any other, and 61 tasks before
                // it looks at its timers and at other descriptors: megabytes, and so seconds.
                tokio::task::yield_now().await;
            }
            if self.hung_up && matches!(self.io, Some(Io::Pane(_))) {
                self.lose_pipe().await;
                continue;
            }
            self.plan_looks(false);
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
                        // What was printed before the call is before it for its anchor and on its screen.
                        self.follow_pane();
                        self.read_some();
                        job(&mut self);
                    }
                    None => return,
                },
                // An exit counts before a timeout, and before the reads, or a flood of whoever is left would hide it; the last
                // words are read there, first. What tmux holds back of them has no bound, so a pane is read before.
                _ = ready(io, Io::exited), if !is_pane => self.finish().await,
                () = wait_until(wake) => self.handle_time(),
                () = std::future::ready(()), if has_unfed => self.read_some(),
                _ = ready(io, Io::readable), if reading => self.read_some(),
                _ = ready(io, Io::writable), if writing => self.write_some(),
                _ = ready(io, Io::exited), if is_pane => self.finish().await,
            }
        }
    }

    fn wake(&self) -> Option<Instant> {
        let session = self.session.poll_wake().map(|time| self.started + time.0);
        let looks = self.looks.map(|looks| looks.at);
        let [linger, confirm] = [self.linger_wake(), self.confirm_wake()];
        let timers = [session, linger, confirm, looks, self.capture_at(), self.input.wake()];
        timers.into_iter().flatten().min()
    }

    fn handle_time(&mut self) {
        // Output that was printed before is judged before, and seen before the program is looked at.
        self.read_some();
        self.look_if_due();
        self.write_some();
        self.capture_if_due();
        if self.linger_until.is_some_and(|until| until <= Instant::now()) {
            self.end_lingering();
        }
        self.tell_unread();
        let now = self.now();
        self.session.handle_time(now);
    }

    fn tell_unread(&mut self) {
        let (now, unread) = (self.now(), self.has_unread_input());
        self.session.handle_input_unread(now, unread);
    }
}

/// Returns whether a wait is judged by what the foreground job does when it starts.
fn is_judged_by_activity(condition: &Condition) -> bool {
    matches!(
        condition,
        Condition::Settled(_) | Condition::Ready | Condition::Rest | Condition::Asks(_)
    )
}

/// How the program of a session ended, if it did.
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
