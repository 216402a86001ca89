//! A terminal over time: its screen, its frames, its shells and its waits.
//!
//! [`Session`] has four kinds of methods: getters; `handle_*`, which process an event and its time; commands
//! (`start_wait`, `cancel_wait`, `resize`); and `poll_*`, which return actions for the driver. The driver calls methods
//! of the second and third kind, and then those of the fourth until they return nothing. A session reads no clock and
//! never sleeps. Judging and registering a wait are one step, so no event can come in between.

mod activity;
mod input;
mod output;
mod shell;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use crate::frames::{Frame, History, TransientFrames};
use crate::screen::Screen;
use crate::shell::Shells;
use crate::waits::{Exit, Input, JobState, Since, WaitEnded, Waits, all_places};
use crate::{Line, Seq, Time};

/// The interval at which frames are taken while the program keeps printing: that of a 60 Hz display.
pub const FRAME_INTERVAL: Duration = Duration::from_millis(16);

/// The time after which an open synchronized update is shown, because a program may never end it.
pub const UPDATE_MAX: Duration = Duration::from_millis(150);

/// Default number of characters kept of a typed command's output.
const OUTPUT_CHARS: usize = 20_000;

/// A screen, its frames, its shells, and its waits.
#[derive(Debug)]
pub struct Session {
    screen: Screen,
    history: History,
    transients: TransientFrames,
    waits: Waits,
    ended: Vec<WaitEnded>,
    shells: Shells,
    /// The position at which the last prompt of a shell ended.
    prompt_end: Option<shell::PromptEnd>,
    /// The number of characters kept of a typed command's output.
    output_chars: usize,
    /// Bytes to be sent to a shell.
    to_send: Vec<u8>,
    /// Whether the screen answers the queries of the program. tmux answers those of a program in a pane.
    has_own_replies: bool,
    input: Input,
    job: JobState,
    /// Whether a shell has shown a prompt since the output was last drained.
    is_prompt_new: bool,
    /// The newest frame of the main screen before the alternate screen was shown.
    main_frame: Option<Arc<Frame>>,
    exit: Option<Exit>,
    closed: bool,
    /// The time of the last frame.
    framed_at: Time,
    /// The time at which the first output after the last frame was fed.
    unframed_since: Option<Time>,
    /// The time of the last frame that was taken at the edge of an update before a frame interval had passed.
    edge_framed_at: Option<Time>,
    /// The start of the open synchronized update.
    update_since: Option<Time>,
}

impl Session {
    /// Returns a blank terminal of the given size that keeps at most `scrollback` lines.
    pub fn new(now: Time, cols: usize, rows: usize, scrollback: usize) -> Session {
        let mut screen = Screen::new(cols, rows, scrollback);
        let history = History::new(now, &screen);
        let input = waits::no_input(now, &screen, history.newest());
        screen.advance_tick();
        Session {
            screen,
            history,
            transients: TransientFrames::new(),
            waits: Waits::default(),
            ended: Vec::new(),
            shells: Shells::default(),
            prompt_end: None,
            output_chars: OUTPUT_CHARS,
            to_send: Vec::new(),
            has_own_replies: true,
            input,
            job: JobState::default(),
            is_prompt_new: false,
            main_frame: None,
            exit: None,
            closed: false,
            framed_at: now,
            unframed_since: None,
            edge_framed_at: None,
            update_since: None,
        }
    }

    /// Keeps at most `max` frames. The default is [`FRAMES_MAX`](crate::FRAMES_MAX).
    pub fn keep_frames(&mut self, max: usize) {
        self.history.keep(max);
    }

    /// Returns the screen as it is, which may be in the middle of an update.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Returns the frames.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the newest frame.
    pub fn frame(&self) -> &Arc<Frame> {
        self.history.newest()
    }

    /// Returns the exit of the program, if it has exited.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Returns whether the session was closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns the time at which the text on the screen last changed, or input was last written or read.
    pub fn active_at(&self) -> Time {
        self.frame().time().max(self.input.progress_at)
    }

    /// Returns the frame that a reader of `old` compares the newest frame with: `old`, or, if the program has left the
    /// alternate screen since, the main screen before it.
    pub fn comparable<'f>(&'f self, old: &'f Arc<Frame>) -> &'f Arc<Frame> {
        let has_left = old.is_alternate() && !self.frame().is_alternate();
        self.main_frame.as_ref().filter(|_| has_left).unwrap_or(old)
    }

    /// Returns the frame that a wait with that anchor compares with.
    pub fn anchor_seq(&self, since: Since) -> Seq {
        match since {
            Since::Input | Since::InputFrame => self.input.anchor.frame.seq(),
            Since::Now | Since::Screen => self.frame().seq(),
            Since::Frame(seq) => seq,
        }
    }

    /// Returns the last lines of output, from the screen and the scrollback, without blank ones at the end.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let screen = &self.screen;
        let from = Line(screen.line(0).0.saturating_sub(count as u64));
        let mut lines: Vec<String> =
            all_places(screen, from).iter().map(|place| place.row.text().to_owned()).collect();
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(end);
        lines.split_off(end.saturating_sub(count))
    }

    /// Corrects the rows and the cursor that differ from another terminal's screen of the same program. `is_new` means
    /// that the program has drawn these rows since; see [`Screen::reconcile`]. Returns the number of rows that
    /// differed.
    pub fn reconcile(
        &mut self,
        now: Time,
        rows: &[&[u8]],
        cursor: (usize, usize),
        is_new: bool,
    ) -> usize {
        let waits = &mut self.waits;
        let mut before_loss = |screen: &Screen| waits.search_drawn(screen);
        let reconciled = self.screen.reconcile(rows, is_new, Some(&mut before_loss));
        self.screen.set_cursor(cursor.0, cursor.1);
        if reconciled > 0 {
            self.unframed_since.get_or_insert(now);
            self.catch_up(now);
        }
        reconciled
    }

    /// Handles the passage of time.
    pub fn handle_time(&mut self, now: Time) {
        self.end_overdue_update(now);
        if self.waits.next_timer().is_some_and(|time| time <= now) {
            // Output that was read but not drained still counts: a wait may match it, or it ends the quiet period.
            self.catch_up(now);
        }
        self.judge_due(now);
    }

    /// Handles the exit of the program. All of its output must be fed first.
    pub fn handle_exit(&mut self, now: Time, exit: Exit) {
        self.exit = Some(exit);
        (self.input.is_unread, self.input.is_pending) = (false, false);
        self.end_shells();
        self.screen.end_update();
        self.update_since = None;
        self.take_frame(now);
        self.end_by_exit(now);
    }

    /// Closes the session.
    pub fn handle_close(&mut self, now: Time) {
        self.closed = true;
        self.catch_up(now);
        self.end_by_close(now);
    }

    /// Changes the size of the terminal.
    pub fn resize(&mut self, now: Time, cols: usize, rows: usize) {
        // Takes a frame first, because the new size may cut off text.
        self.catch_up(now);
        self.screen.resize(cols, rows);
        self.unframed_since = Some(now);
        self.catch_up(now);
    }

    /// Notes that the program runs in a pane of tmux. tmux draws the same screen and answers the program's queries.
    pub fn follow_tmux(&mut self) {
        self.has_own_replies = false;
        self.screen.follow_tmux();
    }

    /// Sets whether DECRQCRA is answered; see [`Screen::set_answers_checksums`].
    pub fn set_answers_checksums(&mut self, answers: bool) {
        self.screen.set_answers_checksums(answers);
    }

    /// Takes the bytes to send to the program.
    pub fn poll_replies(&mut self) -> Vec<u8> {
        let mut replies = self.screen.take_replies();
        if !self.has_own_replies {
            replies.clear();
        }
        replies.append(&mut self.to_send);
        replies
    }

    /// Returns the time at which [`handle_time`](Self::handle_time) must be called, unless an event comes first.
    pub fn poll_wake(&self) -> Option<Time> {
        let update = self.update_deadline();
        [update, self.waits.next_timer()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests;
