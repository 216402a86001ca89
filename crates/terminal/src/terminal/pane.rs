//! The part of a driver for tmux panes: it starts from a capture, follows the pane's size and processes, and corrects
//! the screen where tmux's differs.
//!
//! ```text
//! piped     the driver reads the output; when the pane is quiet, the screen is compared with a capture
//! captured  another program uses the pane's pipe: the screen is replaced by a capture after each change
//! ```

use std::time::Duration;

use awaitty_core::{Activity, EchoSource, Exit};
use rustix::process::Pid;
use tokio::time::Instant;

use super::{Driver, Handle, Job, Options, ProgramSetup};
use crate::io::Io;
use crate::io::pty::InputModes;
use crate::io::tmux::{Capture, Pane, PaneInfo, Server};
use crate::limits;
use crate::platform::processes;

/// The time without output after which a pane is compared with a capture.
const QUIET: Duration = Duration::from_millis(250);

/// The time in which output from before a capture must arrive. If any does, the comparison is postponed.
const IN_TRANSIT_MAX: Duration = Duration::from_millis(50);

/// The minimum interval between captures of a captured pane.
const CAPTURE_PAUSE: Duration = Duration::from_millis(20);

/// The time in which tmux must reap an ended process.
const REAP_MAX: Duration = Duration::from_secs(2);
/// The interval between checks whether tmux has reaped it.
const REAP_POLL: Duration = Duration::from_millis(5);

/// The state of the synchronisation with a pane.
#[derive(Debug, Default)]
pub(super) struct PaneSync {
    /// The time of the next capture.
    pub(super) at: Option<Instant>,
    /// Whether a capture is running.
    is_capturing: bool,
    /// The time of the last capture.
    captured: Option<Instant>,
    /// The number of captures that were started.
    started_captures: u64,
    /// The number of the newest capture that was applied.
    applied_capture: u64,
    /// The number of rows above the screen at the last capture.
    history: usize,
    /// The modes at the last capture.
    modes: String,
    /// The number of bytes of output so far.
    pub(super) fed: u64,
    /// The number of rows that were corrected.
    corrected: u64,
    /// The size of the pane's terminal, if it differs from the size that tmux reports: `stty` can set one.
    tty_size: Option<(usize, usize)>,
    /// The number of inputs so far.
    inputs: u64,
    /// The number of inputs that tmux has written to the terminal.
    flushed_inputs: u64,
    /// Whether tmux is flushing input.
    is_flushing: bool,
    /// Whether tmux is flushing output, before the activity of the program is reported.
    pub(super) is_syncing: bool,
}

impl Driver {
    /// Starts the task of a pane from its first capture. `pane` is an error if its program has ended. `started` has the
    /// input modes from before the program started, if awaitty has started it.
    pub fn start_pane(
        pane: Result<Pane, Exit>,
        pid: Pid,
        capture: &Capture,
        options: Options,
        started: Option<(InputModes, ProgramSetup)>,
    ) -> Handle {
        let PaneInfo { cols, rows, .. } = capture.info;
        let (io, exit) = match pane {
            Ok(pane) => (Some(Io::Pane(Box::new(pane))), None),
            Err(exit) => (None, Some(exit)),
        };
        Driver::start_with(io, pid, (cols, rows), options, |driver| {
            let now = driver.now();
            let session = &mut driver.session;
            session.follow_tmux();
            session.handle_output(now, &capture.seed());
            session.reconcile(now, &capture.rows(), capture.cursor, true);
            session.handle_drained(now);
            // Text from before the attachment is older than the anchor of every wait.
            session.handle_input(now, "", EchoSource::None);
            (driver.pane_sync.history, driver.pane_sync.modes) =
                (capture.history_size, capture.modes());
            if let Some((untouched, begun)) = started {
                driver.apply_setup(untouched, begun);
            }
            match exit {
                Some(exit) => driver.end(exit),
                None => driver.set_leader(pid),
            }
        })
    }

    /// Sets the first process of the pane.
    fn set_leader(&mut self, pid: Pid) {
        processes::unregister(self.pid);
        let _ = processes::register(|| Ok(((), pid)));
        self.pid = pid;
    }

    /// Detaches from a pane and closes the session. The pane and its program continue.
    pub fn let_go(&mut self) {
        if matches!(self.io, Some(Io::Pane(_))) {
            processes::unregister(self.pid);
            self.io = None;
        }
        self.close();
    }

    /// Returns whether this is a pane that is only captured.
    pub fn is_captured(&self) -> bool {
        matches!(&self.io, Some(Io::Pane(pane)) if pane.is_captured())
    }

    /// Returns the number of rows that differed from tmux's and were corrected.
    pub fn corrected(&self) -> u64 {
        self.pane_sync.corrected
    }

    /// Updates the size of the screen to that of the pane, which tmux may change at any time.
    pub(super) fn follow_pane(&mut self) {
        let Some(Io::Pane(pane)) = &self.io else { return };
        let screen = self.session.screen();
        if let Some((cols, rows)) = pane.size()
            && (cols, rows) != (screen.cols(), screen.rows())
            && self.pane_sync.tty_size != Some((cols, rows))
            && cols > 0
            && rows > 0
        {
            self.take_size(cols, rows);
            self.pane_sync.at = Some(Instant::now() + QUIET);
        }
    }

    /// Schedules a comparison for when the pane is quiet.
    pub(super) fn compare_later(&mut self) {
        if matches!(self.io, Some(Io::Pane(_))) {
            self.pane_sync.at = Some(Instant::now() + QUIET);
        }
    }

    /// Schedules the next capture of a captured pane.
    pub(super) fn capture_soon(&mut self) {
        let now = Instant::now();
        let soon = self.pane_sync.captured.map_or(now, |last| now.max(last + CAPTURE_PAUSE));
        self.pane_sync.at = Some(self.pane_sync.at.map_or(soon, |at| at.min(soon)));
    }

    /// Returns the time of the next capture.
    pub(super) fn capture_at(&self) -> Option<Instant> {
        self.pane_sync.at.filter(|_| !self.pane_sync.is_capturing)
    }

    /// Captures the pane, if a capture is due.
    pub(super) fn capture_if_due(&mut self) {
        if self.capture_at().is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.pane_sync.at = None;
        let Some(Io::Pane(pane)) = &self.io else { return };
        self.pane_sync.is_capturing = true;
        let ((server, id), fed) = (pane.place(), self.pane_sync.fed);
        let history = pane.is_captured().then_some(self.pane_sync.history);
        self.pane_sync.started_captures += 1;
        let number = self.pane_sync.started_captures;
        self.run_in_background(async move {
            let capture = match history {
                Some(history) => server.capture_since(&id, history).await,
                None => {
                    let capture = server.capture(&id).await;
                    tokio::time::sleep_until(Instant::now() + IN_TRANSIT_MAX).await;
                    capture
                }
            };
            Box::new(move |driver: &mut Driver| {
                driver.pane_sync.is_capturing = false;
                driver.pane_sync.captured = Some(Instant::now());
                match capture {
                    Ok(capture) => driver.apply_capture(&capture, number, fed),
                    Err(_) if driver.is_captured() => driver.capture_soon(),
                    Err(_) => {}
                }
            }) as Job
        });
    }

    /// Runs slow work in another task, and then its job in this driver, if the driver still runs.
    fn run_in_background(&self, work: impl Future<Output = Job> + Send + 'static) {
        // A strong sender would keep the driver alive after the pane was detached.
        let jobs = self.jobs.clone();
        tokio::spawn(async move {
            let job = work.await;
            if let Some(jobs) = jobs.upgrade() {
                let _ = jobs.send(job).await;
            }
        });
    }

    /// Corrects the screen where it differs from a capture.
    fn apply_capture(&mut self, capture: &Capture, number: u64, fed: u64) {
        let Some(Io::Pane(pane)) = &self.io else { return };
        let is_captured = pane.is_captured();
        // A newer capture may have finished first.
        if number <= self.pane_sync.applied_capture {
            return;
        }
        self.pane_sync.applied_capture = number;
        // Output has arrived since then, so the screen is newer than the capture.
        if self.pane_sync.fed != fed && !is_captured {
            return;
        }
        let now = self.now();
        let size = (capture.info.cols, capture.info.rows);
        let tty_size = pane.size().filter(|&current| current != size);
        if tty_size.is_some() && self.pane_sync.tty_size != tty_size {
            // One of the two sizes is outdated, or `stty` has set only that of the terminal.
            self.pane_sync.tty_size = tty_size;
            self.pane_sync.at = Some(Instant::now() + QUIET);
            return;
        }
        self.pane_sync.tty_size = tty_size;
        let screen = self.session.screen();
        if size != (screen.cols(), screen.rows()) {
            self.take_size(size.0, size.1);
        }
        if is_captured {
            self.apply_scrolling(capture);
        }
        let corrected = self.session.reconcile(now, &capture.rows(), capture.cursor, is_captured);
        if !is_captured {
            self.pane_sync.corrected += corrected as u64;
        }
        self.session.handle_drained(now);
    }

    /// Scrolls the screen as far as the pane has scrolled, and applies the pane's modes.
    fn apply_scrolling(&mut self, capture: &Capture) {
        let now = self.now();
        if self.session.screen().is_alternate() != capture.info.is_alternate {
            let switch = if capture.info.is_alternate { "\x1b[?1049h" } else { "\x1b[?1049l" };
            self.session.handle_output(now, switch.as_bytes());
        }
        let above = capture.history_size.saturating_sub(self.pane_sync.history);
        self.pane_sync.history = capture.history_size;
        let rows = self.session.screen().rows();
        for chunk in capture.rows_above(above).chunks(rows) {
            self.session.reconcile(now, chunk, capture.cursor, true);
            let scroll = format!("\x1b[r\x1b[{rows}H{}", "\n".repeat(chunk.len()));
            self.session.handle_output(now, scroll.as_bytes());
        }
        let modes = capture.modes();
        if modes != self.pane_sync.modes {
            self.session.handle_output(now, modes.as_bytes());
            self.pane_sync.modes = modes;
        }
    }

    /// Handles the end of a pane's pipe: the pane has ended, or another tmux client has closed the pipe.
    pub(super) async fn lose_pipe(&mut self) {
        let Some(Io::Pane(mut pane)) = self.io.take() else { return };
        let (server, id) = pane.place();
        match server.pane(&id).await {
            Ok(info) if info.is_dead => self.finish_pane(*pane).await,
            Ok(_) if pane.switch_to_captures().is_ok() => {
                self.hung_up = false;
                // The rows that scrolled off in between are unknown.
                self.pane_sync.history = usize::MAX;
                self.io = Some(Io::Pane(pane));
                self.capture_soon();
            }
            _ => self.end(Exit::Unknown),
        }
    }

    /// Records input to a pane. It counts as unread until tmux has written it to the terminal.
    pub(super) fn sync_input(&mut self) {
        self.pane_sync.inputs += 1;
        self.flush_input();
    }

    /// Makes tmux write earlier input to the terminal. Input that arrives meanwhile is flushed after that.
    fn flush_input(&mut self) {
        let Some(Io::Pane(pane)) = &self.io else { return };
        if self.pane_sync.is_flushing || self.pane_sync.inputs == self.pane_sync.flushed_inputs {
            return;
        }
        self.pane_sync.is_flushing = true;
        let ((server, _), inputs) = (pane.place(), self.pane_sync.inputs);
        self.run_in_background(async move {
            server.sync().await;
            Box::new(move |driver: &mut Driver| {
                driver.pane_sync.is_flushing = false;
                driver.pane_sync.flushed_inputs = inputs;
                driver.report_unread_input();
                driver.flush_input();
            }) as Job
        });
    }

    /// Returns whether tmux may still have input of a pane in its buffer.
    pub(super) fn is_on_its_way(&self) -> bool {
        matches!(self.io, Some(Io::Pane(_)))
            && self.pane_sync.inputs != self.pane_sync.flushed_inputs
    }

    /// Reports the activity of a pane's program, after its earlier output has arrived.
    pub(super) fn confirm_activity(&mut self, activity: Activity) {
        let Some(Io::Pane(pane)) = self.io.as_ref().filter(|_| !self.pane_sync.is_syncing) else {
            return;
        };
        self.pane_sync.is_syncing = true;
        let (server, id) = pane.place();
        let history = pane.is_captured().then_some(self.pane_sync.history);
        self.pane_sync.started_captures += 1;
        let number = self.pane_sync.started_captures;
        self.run_in_background(async move {
            let capture = match history {
                Some(history) => server.capture_since(&id, history).await.ok(),
                None => {
                    server.sync().await;
                    None
                }
            };
            Box::new(move |driver: &mut Driver| {
                driver.pane_sync.is_syncing = false;
                if let Some(capture) = capture {
                    driver.apply_capture(&capture, number, 0);
                }
                // If the program has continued, or output is unread, the next check reports its activity.
                if driver.activity() == activity && driver.is_drained {
                    driver.report_unread_input();
                    let now = driver.now();
                    driver.session.handle_activity(now, activity);
                }
            }) as Job
        });
    }

    /// Handles the end of the pane's process: another process may have replaced it, the pane may remain with its last
    /// screen, or be gone.
    pub(super) async fn finish_pane(&mut self, mut pane: Pane) {
        let (server, id) = pane.place();
        match self.wait_until_reaped(&server, &id, &pane).await {
            Some(info) if !info.is_dead && info.pid != self.pid() && pane.follow(&info).is_ok() => {
                // tmux has cleared its screen without any output.
                self.set_leader(pane.pid());
                self.feed_own(b"\x1bc");
                self.io = Some(Io::Pane(Box::new(pane)));
                self.follow_pane();
                self.capture_soon();
            }
            Some(info) => {
                let is_captured = pane.is_captured();
                // All output of a dead pane is in the pipe already.
                let drain_max = if info.is_dead { Duration::ZERO } else { limits::DRAIN_MAX };
                self.drain(&Io::Pane(Box::new(pane)), drain_max).await;
                if let Ok(capture) = server.capture(&id).await {
                    let now = self.now();
                    self.session.reconcile(now, &capture.rows(), capture.cursor, is_captured);
                }
                self.end(info.exit());
            }
            None => {
                self.drain(&Io::Pane(Box::new(pane)), limits::DRAIN_MAX).await;
                self.end(Exit::Unknown);
            }
        }
    }

    /// Waits until tmux has reaped the pane's process and returns the pane; `None` if it is gone. Reads the remaining
    /// output meanwhile, because tmux waits for that, but none of a process that replaced the pane's.
    async fn wait_until_reaped(
        &mut self,
        server: &Server,
        id: &str,
        pane: &Pane,
    ) -> Option<PaneInfo> {
        let (pid, deadline) = (self.pid(), Instant::now() + REAP_MAX);
        loop {
            let found = server.pane(id).await.ok();
            let is_unreaped = found.as_ref().is_some_and(|info| {
                info.is_dead && info.exit() == Exit::Unknown || !info.is_dead && info.pid == pid
            });
            if !is_unreaped || Instant::now() >= deadline {
                return found;
            }
            self.drain_pane(pane, deadline).await;
            server.reap().await;
            tokio::time::sleep_until(Instant::now() + REAP_POLL).await;
        }
    }
}
