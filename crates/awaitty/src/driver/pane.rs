//! What a driver does for a pane of tmux: it begins with what the pane shows, follows its size and its processes, and
//! takes over what tmux shows otherwise than we do.
//!
//! ```text
//! piped     bytes come; when it falls quiet, what it shows is compared with what we have
//! captured  its pipe is somebody else's: what it shows is taken over whenever it has changed
//! ```

use std::time::Duration;

use awaitty_core::{Activity, EchoBy, Exit};
use rustix::process::Pid;
use tokio::time::Instant;

use super::{Begun, Driver, Handle, Job};
use crate::backend::pty::InputModes;
use crate::backend::tmux::{Capture, Pane, PaneInfo, Server};
use crate::backend::{Io, processes};
use crate::policy;

/// How long a pane must be quiet before what it shows is compared.
const QUIET: Duration = Duration::from_millis(250);

/// How long what was on its way when a pane was captured may take to come. If something does, it is compared later.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// How soon a pane that is captured is captured again.
const CAPTURE_PAUSE: Duration = Duration::from_millis(20);

/// How long tmux is given to notice that a process has ended, and how soon it is asked again.
const NOTICED_MAX: Duration = Duration::from_secs(2);
/// See [`NOTICED_MAX`].
const NOTICED_PAUSE: Duration = Duration::from_millis(5);

/// What is known of a pane besides its screen.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// When it is to be captured.
    pub(super) at: Option<Instant>,
    /// It is being captured.
    is_under_way: bool,
    /// When it was captured last.
    captured: Option<Instant>,
    /// Captures that were begun, and the newest of those that were taken over.
    begun: u64,
    taken: u64,
    /// Rows above its screen, and its modes, at the last capture.
    history: usize,
    modes: String,
    /// Bytes that came so far.
    pub(super) fed: u64,
    /// Rows that had to be taken over.
    healed: u64,
    /// The size of its terminal, where tmux has another for the pane: `stty` can set one.
    of_terminal: Option<(usize, usize)>,
    /// How often something was typed, and how often by what tmux has handed on.
    typed: u64,
    handed_on: u64,
    /// tmux is being asked to hand it on.
    is_handing_on: bool,
    /// tmux is being asked to hand on what it has, before the program is said to wait for input.
    pub(super) is_syncing: bool,
}

impl Driver {
    /// Starts the task of a pane, which shows what was captured when it was attached; without a pane it has ended. If we
    /// have just started its program, with what its terminal did before.
    pub fn start_pane(
        pane: Result<Pane, Exit>,
        pid: Pid,
        capture: &Capture,
        scrollback: usize,
        started: Option<(InputModes, Begun)>,
    ) -> Handle {
        let PaneInfo { cols, rows, .. } = capture.info;
        let (io, exit) = match pane {
            Ok(pane) => (Some(Io::Pane(Box::new(pane))), None),
            Err(exit) => (None, Some(exit)),
        };
        Driver::start_with(io, pid, (cols, rows), scrollback, |driver| {
            let now = driver.now();
            let session = &mut driver.session;
            session.follow_tmux();
            session.handle_output(now, &capture.seed());
            session.heal(now, &capture.rows(), capture.cursor, true);
            session.handle_drained(now);
            // What was there before is before all waits.
            session.handle_input(now, "", EchoBy::Nobody);
            (driver.watch.history, driver.watch.modes) = (capture.history_size, capture.modes());
            if let Some((untouched, begun)) = started {
                driver.begin(untouched, begun);
            }
            match exit {
                Some(exit) => driver.end(exit),
                None => driver.lead(pid),
            }
        })
    }

    /// Says which process leads the pane, for whoever ends it.
    fn lead(&mut self, pid: Pid) {
        processes::unregister(self.pid);
        let _ = processes::register(|| Ok(((), pid)));
        self.pid = pid;
    }

    /// Lets a pane go; what it prints from now on is not ours to see.
    pub fn let_go(&mut self) {
        if matches!(self.io, Some(Io::Pane(_))) {
            processes::unregister(self.pid);
            self.io = None;
        }
        self.close();
    }

    /// Tells whether it is a pane that is only captured.
    pub fn is_captured(&self) -> bool {
        matches!(&self.io, Some(Io::Pane(pane)) if pane.is_captured())
    }

    /// Rows of a pane that had to be taken over, because tmux showed something else.
    pub fn healed(&self) -> u64 {
        self.watch.healed
    }

    /// Takes the size that the pane has now: tmux changes it without asking anybody.
    pub(super) fn follow_pane(&mut self) {
        let Some(Io::Pane(pane)) = &self.io else { return };
        let screen = self.session.screen();
        if let Some((cols, rows)) = pane.size()
            && (cols, rows) != (screen.cols(), screen.rows())
            && self.watch.of_terminal != Some((cols, rows))
            && cols > 0
            && rows > 0
        {
            self.take_size(cols, rows);
            self.watch.at = Some(Instant::now() + QUIET);
        }
    }

    /// Bytes came from a pane: once it is quiet, it is compared.
    pub(super) fn compare_later(&mut self) {
        if matches!(self.io, Some(Io::Pane(_))) {
            self.watch.at = Some(Instant::now() + QUIET);
        }
    }

    /// A pane that is only captured has changed.
    pub(super) fn capture_soon(&mut self) {
        let now = Instant::now();
        let soon = self.watch.captured.map_or(now, |last| now.max(last + CAPTURE_PAUSE));
        self.watch.at = Some(self.watch.at.map_or(soon, |at| at.min(soon)));
    }

    /// When a pane is to be captured next.
    pub(super) fn capture_at(&self) -> Option<Instant> {
        self.watch.at.filter(|_| !self.watch.is_under_way)
    }

    /// Captures the pane, if it is time to.
    pub(super) fn capture_if_due(&mut self) {
        if self.capture_at().is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.watch.at = None;
        let Some(Io::Pane(pane)) = &self.io else { return };
        self.watch.is_under_way = true;
        let ((server, id), fed) = (pane.place(), self.watch.fed);
        let history = pane.is_captured().then_some(self.watch.history);
        self.watch.begun += 1;
        let number = self.watch.begun;
        self.run_aside(async move {
            let capture = match history {
                Some(history) => server.capture_since(&id, history).await,
                None => {
                    let capture = server.capture(&id).await;
                    tokio::time::sleep_until(Instant::now() + ON_ITS_WAY).await;
                    capture
                }
            };
            Box::new(move |driver: &mut Driver| {
                driver.watch.is_under_way = false;
                driver.watch.captured = Some(Instant::now());
                match capture {
                    Ok(capture) => driver.take_over(&capture, number, fed),
                    Err(_) if driver.is_captured() => driver.capture_soon(),
                    Err(_) => {}
                }
            }) as Job
        });
    }

    /// Does something elsewhere that takes its time, and then a job here, if we are still here.
    pub(super) fn run_aside(&self, work: impl Future<Output = Job> + Send + 'static) {
        // Weak while it lasts, or the pane could not be let go.
        let jobs = self.jobs.clone();
        tokio::spawn(async move {
            let job = work.await;
            if let Some(jobs) = jobs.upgrade() {
                let _ = jobs.send(job).await;
            }
        });
    }

    /// Takes over what differs.
    fn take_over(&mut self, capture: &Capture, number: u64, fed: u64) {
        let Some(Io::Pane(pane)) = &self.io else { return };
        let is_captured = pane.is_captured();
        // A newer one was faster.
        if number <= self.watch.taken {
            return;
        }
        self.watch.taken = number;
        // Something has come since, and what is compared is not of the same moment.
        if self.watch.fed != fed && !is_captured {
            return;
        }
        let now = self.now();
        let size = (capture.info.cols, capture.info.rows);
        let of_terminal = pane.size().filter(|&current| current != size);
        if of_terminal.is_some() && self.watch.of_terminal != of_terminal {
            // One of the two is of an earlier moment, or somebody set the size of the terminal alone.
            self.watch.of_terminal = of_terminal;
            self.watch.at = Some(Instant::now() + QUIET);
            return;
        }
        self.watch.of_terminal = of_terminal;
        let screen = self.session.screen();
        if size != (screen.cols(), screen.rows()) {
            self.take_size(size.0, size.1);
        }
        if is_captured {
            self.catch_up(capture);
        }
        let healed = self.session.heal(now, &capture.rows(), capture.cursor, is_captured);
        if !is_captured {
            self.watch.healed += healed as u64;
        }
        self.session.handle_drained(now);
    }

    /// Makes the screen scroll as far as the pane's did, and takes over its modes.
    fn catch_up(&mut self, capture: &Capture) {
        let now = self.now();
        if self.session.screen().is_alternate() != capture.info.is_alternate {
            let switch = if capture.info.is_alternate { "\x1b[?1049h" } else { "\x1b[?1049l" };
            self.session.handle_output(now, switch.as_bytes());
        }
        let above = capture.history_size.saturating_sub(self.watch.history);
        self.watch.history = capture.history_size;
        let rows = self.session.screen().rows();
        for chunk in capture.rows_above(above).chunks(rows) {
            self.session.heal(now, chunk, capture.cursor, true);
            let scroll = format!("\x1b[r\x1b[{rows}H{}", "\n".repeat(chunk.len()));
            self.session.handle_output(now, scroll.as_bytes());
        }
        let modes = capture.modes();
        if modes != self.watch.modes {
            self.session.handle_output(now, modes.as_bytes());
            self.watch.modes = modes;
        }
    }

    /// The pipe of a pane has ended: the pane may be gone, or only its pipe, which is not ours alone to end.
    pub(super) async fn lose_pipe(&mut self) {
        let Some(Io::Pane(mut pane)) = self.io.take() else { return };
        let (server, id) = pane.place();
        match server.pane(&id).await {
            Ok(info) if info.is_dead => self.finish_pane(*pane).await,
            Ok(_) if pane.switch_to_captures().is_ok() => {
                self.hung_up = false;
                // What scrolled away meanwhile is not known.
                self.watch.history = usize::MAX;
                self.io = Some(Io::Pane(pane));
                self.capture_soon();
            }
            _ => self.end(Exit::Unknown),
        }
    }

    /// Something was typed into a pane: until tmux has handed it on, the program has not read it.
    pub(super) fn sync_input(&mut self) {
        self.watch.typed += 1;
        self.hand_on();
    }

    /// Has tmux hand on what was typed so far; what is typed meanwhile is the next one's.
    fn hand_on(&mut self) {
        let Some(Io::Pane(pane)) = &self.io else { return };
        if self.watch.is_handing_on || self.watch.typed == self.watch.handed_on {
            return;
        }
        self.watch.is_handing_on = true;
        let ((server, _), typed) = (pane.place(), self.watch.typed);
        self.run_aside(async move {
            server.sync().await;
            Box::new(move |driver: &mut Driver| {
                driver.watch.is_handing_on = false;
                driver.watch.handed_on = typed;
                driver.tell_unread();
                driver.hand_on();
            }) as Job
        });
    }

    /// Tells whether tmux may have some of what was typed into a pane.
    pub(super) fn is_on_its_way(&self) -> bool {
        matches!(self.io, Some(Io::Pane(_))) && self.watch.typed != self.watch.handed_on
    }

    /// Reports what the job of a pane does, once all that it printed before has come.
    pub(super) fn confirm_activity(&mut self, activity: Activity) {
        let Some(Io::Pane(pane)) = self.io.as_ref().filter(|_| !self.watch.is_syncing) else {
            return;
        };
        self.watch.is_syncing = true;
        let (server, id) = pane.place();
        let history = pane.is_captured().then_some(self.watch.history);
        self.watch.begun += 1;
        let number = self.watch.begun;
        self.run_aside(async move {
            let capture = match history {
                Some(history) => server.capture_since(&id, history).await.ok(),
                None => {
                    server.sync().await;
                    None
                }
            };
            Box::new(move |driver: &mut Driver| {
                driver.watch.is_syncing = false;
                if let Some(capture) = capture {
                    driver.take_over(&capture, number, 0);
                }
                // It may have gone on meanwhile, or we are behind; then the next look finds out.
                if driver.activity() == activity && driver.is_drained {
                    driver.tell_unread();
                    let now = driver.now();
                    driver.session.handle_activity(now, activity);
                }
            }) as Job
        });
    }

    /// The pane's process has ended: another may have taken its place, the pane may be left with its last words, or
    /// be gone.
    pub(super) async fn finish_pane(&mut self, mut pane: Pane) {
        let (server, id) = pane.place();
        match self.noticed(&server, &id, &pane).await {
            Some(info) if !info.is_dead && info.pid != self.pid() && pane.follow(&info).is_ok() => {
                // tmux has begun a new screen without a word.
                self.lead(pane.pid());
                self.feed_own(b"\x1bc");
                self.io = Some(Io::Pane(Box::new(pane)));
                self.follow_pane();
                self.capture_soon();
            }
            Some(info) => {
                let is_captured = pane.is_captured();
                // What tmux has of a dead pane is in its pipe already.
                let patience = if info.is_dead { Duration::ZERO } else { policy::DRAIN_MAX };
                self.drain(&Io::Pane(Box::new(pane)), patience).await;
                if let Ok(capture) = server.capture(&id).await {
                    let now = self.now();
                    self.session.heal(now, &capture.rows(), capture.cursor, is_captured);
                }
                self.end(info.exit());
            }
            None => {
                self.drain(&Io::Pane(Box::new(pane)), policy::DRAIN_MAX).await;
                self.end(Exit::Unknown);
            }
        }
    }

    /// What tmux says of a pane once it has noticed that its process has ended; nothing, if the pane is gone. What is
    /// still to come is read meanwhile, because tmux waits for that; but nothing of a process that has its place.
    async fn noticed(&mut self, server: &Server, id: &str, pane: &Pane) -> Option<PaneInfo> {
        let (pid, deadline) = (self.pid(), Instant::now() + NOTICED_MAX);
        loop {
            let found = server.pane(id).await.ok();
            let is_open = found.as_ref().is_some_and(|info| {
                info.is_dead && info.exit() == Exit::Unknown || !info.is_dead && info.pid == pid
            });
            if !is_open || Instant::now() >= deadline {
                return found;
            }
            self.drain_pane(pane, deadline).await;
            server.reap().await;
            tokio::time::sleep_until(Instant::now() + NOTICED_PAUSE).await;
        }
    }
}
