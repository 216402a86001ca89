//! A terminal over time: a screen, the frames that a person could have seen of it, and the waits.
//!
//! [`Session`] has four kinds of methods: getters; `handle_*`, which take in what happened and when;
//! commands (`start_wait`, `cancel_wait`, `resize`); and `poll_*`, which say what is to be done.
//! Whoever drives it calls the second and third, then drains the fourth. It reads no clock and never
//! sleeps. Checking and registering a wait are one step here, so nothing can fall between them.

mod activity;
mod ends;
mod input;
mod output;
mod shell;

use std::sync::Arc;
use std::time::Duration;

use crate::frames::{Flashes, Frame, History};
use crate::screen::{EchoBy, Screen};
use crate::shell::Shells;
use crate::waits::{
    Activity, Anchor, Condition, Exit, Finding, Outcome, Since, Spec, Wait, WaitEnded, WaitError,
    WaitId, Waits, all_places,
};
use crate::{Line, Seq, Tick, Time};

/// A program that never stops printing is seen at least this often, as on a display of 60 Hz.
pub const FRAME_INTERVAL: Duration = Duration::from_millis(16);

/// A synchronized update that is open for longer is shown as it is, so that a program that never
/// ends one cannot freeze us.
pub const UPDATE_MAX: Duration = Duration::from_millis(150);

/// Characters kept of a command's output, unless somebody asks for more.
const OUTPUT_CHARS: usize = 20_000;

/// A screen, its frames, and the waits for something on it.
#[derive(Debug)]
pub struct Session {
    screen: Screen,
    history: History,
    flashes: Flashes,
    waits: Waits,
    ended: Vec<WaitEnded>,
    shells: Shells,
    /// Where the last prompt of a shell ended.
    prompt_end: Option<shell::PromptEnd>,
    /// Characters kept of the output of a command that nobody delivered.
    output_chars: usize,
    /// What is to be sent to a shell.
    to_send: Vec<u8>,
    has_own_replies: bool,
    /// The moment just before the last input.
    input: Anchor,
    /// Who echoes the last input.
    echo_by: EchoBy,
    /// When some of the last input was handed over or read last.
    handed_at: Time,
    /// When the input mark was set.
    input_at: Time,
    /// A shell has shown a prompt since the last time that all output was read.
    is_prompt_new: bool,
    /// Some of the last input is still to be handed over.
    input_pending: bool,
    /// The program may not have read all of its input.
    input_unread: bool,
    /// What the foreground job did at the last look.
    activity: Activity,
    /// Since when a thread of it waits for the terminal, with all input read.
    reading_since: Option<Time>,
    /// Since when the alternate screen is known to be shown.
    alternate_since: Option<Time>,
    /// The newest frame of the main screen before the alternate one was shown.
    main_frame: Option<Arc<Frame>>,
    exit: Option<Exit>,
    closed: bool,
    /// When the last frame was taken.
    framed_at: Time,
    /// When the first of what was fed since came.
    unframed: Option<Time>,
    /// When a frame was taken at the edge of an update although the last one was not old.
    edge_framed_at: Option<Time>,
    /// When the synchronized update that is open began.
    update_began: Option<Time>,
}

impl Session {
    /// A blank terminal of the given size that keeps at most `scrollback` lines.
    pub fn new(now: Time, cols: usize, rows: usize, scrollback: usize) -> Session {
        let mut screen = Screen::new(cols, rows, scrollback);
        let history = History::new(now, &screen);
        let frame = Arc::clone(history.newest());
        let input = Anchor {
            tick: screen.tick(),
            line: Line(1),
            frame,
            enters: 0,
            echo_counts: false,
            truncated: false,
        };
        screen.advance_tick();
        Session {
            screen,
            history,
            flashes: Flashes::new(),
            waits: Waits::default(),
            ended: Vec::new(),
            shells: Shells::default(),
            prompt_end: None,
            output_chars: OUTPUT_CHARS,
            to_send: Vec::new(),
            has_own_replies: true,
            input,
            echo_by: EchoBy::Nobody,
            handed_at: now,
            input_at: now,
            is_prompt_new: false,
            input_pending: false,
            input_unread: false,
            activity: Activity::default(),
            reading_since: None,
            alternate_since: None,
            main_frame: None,
            exit: None,
            closed: false,
            framed_at: now,
            unframed: None,
            edge_framed_at: None,
            update_began: None,
        }
    }

    /// Keeps at most so many frames; [`FRAMES_MAX`](crate::FRAMES_MAX) unless this is called.
    pub fn keep_frames(&mut self, max: usize) {
        self.history.keep(max);
    }

    /// The screen as it is, perhaps in the middle of an update.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// The frames.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The newest frame.
    pub fn frame(&self) -> &Arc<Frame> {
        self.history.newest()
    }

    /// How the program ended, if it did.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Returns whether the terminal was closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many waits are running.
    pub fn waits_running(&self) -> usize {
        self.waits.len()
    }

    /// When the text on the screen last changed, or input was sent.
    pub fn active_at(&self) -> Time {
        self.frame().time().max(self.handed_at)
    }

    /// Returns the frame to compare the newest one with for a reader: the given one, or, if the program has left the
    /// alternate screen since, the main screen as it was before.
    pub fn comparable<'f>(&'f self, old: &'f Arc<Frame>) -> &'f Arc<Frame> {
        let has_left = old.is_alternate() && !self.frame().is_alternate();
        self.main_frame.as_ref().filter(|_| has_left).unwrap_or(old)
    }

    /// The frame that a wait with that anchor compares with.
    pub fn anchor_seq(&self, since: Since) -> Seq {
        match since {
            Since::Input | Since::InputFrame => self.input.frame.seq(),
            Since::Now | Since::Screen => self.frame().seq(),
            Since::Frame(seq) => seq,
        }
    }

    /// The last lines of output, on the screen and off it, without blank ones at the end.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let screen = &self.screen;
        let from = Line(screen.line(0).0.saturating_sub(count as u64));
        let mut lines: Vec<String> =
            all_places(screen, from).iter().map(|place| place.row.text().to_owned()).collect();
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(end);
        lines.split_off(end.saturating_sub(count))
    }

    /// Somebody else's screen of the same program shows these rows, and the cursor there; says how many differed. They
    /// are news, or only shown wrongly here: see [`Screen::heal`].
    pub fn heal(
        &mut self,
        now: Time,
        rows: &[&[u8]],
        cursor: (usize, usize),
        is_new: bool,
    ) -> usize {
        let waits = &mut self.waits;
        let mut look = |screen: &Screen| waits.judge(screen);
        let healed = self.screen.heal(rows, is_new, Some(&mut look));
        self.screen.set_cursor(cursor.0, cursor.1);
        if healed > 0 {
            self.unframed.get_or_insert(now);
            self.catch_up(now);
        }
        healed
    }

    /// Time passed.
    pub fn handle_time(&mut self, now: Time) {
        self.end_overdue_update(now);
        if self.waits.next_timer().is_some_and(|time| time <= now) {
            // What was read and not drained yet still counts: it may be what somebody waits for, or no quiet.
            self.catch_up(now);
        }
        let mut is_activity_due = false;
        for id in self.waits.due(now) {
            let Some(wait) = self.waits.get(id) else { continue };
            let holds = wait.holds_at().is_some_and(|time| time <= now) && !wait.is_held;
            let is_expired = wait.spec.deadline.is_some_and(|deadline| deadline <= now);
            let has_matched = wait.matched.is_some() && wait.may_match();
            match wait.spec.condition {
                Condition::Settled(_) if holds => self.judge_settled(id, now, is_expired),
                _ if holds || has_matched => self.end(id, now, Outcome::Met),
                _ if is_expired => self.end(id, now, Outcome::Timeout),
                _ => is_activity_due = true,
            }
        }
        if is_activity_due {
            self.judge_activity(now);
        }
    }

    /// The program ended, and all that it printed was handed over before.
    pub fn handle_exit(&mut self, now: Time, exit: Exit) {
        self.exit = Some(exit);
        (self.input_unread, self.input_pending) = (false, false);
        self.end_shells();
        self.screen.end_update();
        self.update_began = None;
        self.take_frame(now);
        for id in self.waits.ids() {
            let is_met = self.waits.get(id).is_some_and(|wait| {
                matches!(wait.spec.condition, Condition::Exit)
                    || wait.matched.is_some() && wait.may_match()
            });
            self.end(id, now, if is_met { Outcome::Met } else { Outcome::Exited });
        }
    }

    /// The terminal goes away.
    pub fn handle_close(&mut self, now: Time) {
        self.closed = true;
        self.catch_up(now);
        for id in self.waits.ids() {
            self.end(id, now, Outcome::Closed);
        }
    }

    /// Changes the size.
    pub fn resize(&mut self, now: Time, cols: usize, rows: usize) {
        // What the change cuts off is looked at first.
        self.catch_up(now);
        self.screen.resize(cols, rows);
        self.unframed = Some(now);
        self.catch_up(now);
    }

    /// Starts a wait, which may end at once.
    ///
    /// # Errors
    /// If its anchor is a frame, or what it waits for a command, that does not exist; nothing has changed then.
    pub fn start_wait(&mut self, now: Time, mut spec: Spec) -> Result<WaitId, WaitError> {
        if let Since::Frame(asked) = spec.since
            && asked > self.frame().seq()
        {
            return Err(WaitError::FromTheFuture { asked, newest: self.frame().seq() });
        }
        self.resolve(&mut spec.condition)?;
        self.catch_up(now);
        let id = self.waits.new_id();
        let anchor = self.anchor(spec.since);
        let frames: Vec<_> = self.frames_since(&anchor).cloned().collect();
        let mut wait = Wait::new(spec, anchor, now, &frames);
        wait.is_held = self.holds(&wait.spec.condition, wait.spec.since);
        let settles = matches!(wait.spec.condition, Condition::Settled(_));
        if settles {
            wait.count_from(self.handed_at);
        }
        let holds = wait.holds_at().is_some_and(|time| time <= now) && !wait.is_held;
        let deadline = wait.spec.deadline;
        match self.finding_at_once(&wait, &frames) {
            Some(Finding::Text { found, .. }) if wait.is_held => wait.matched = found,
            Some(finding) if !wait.is_held => {
                self.push_ended(id, &wait, now, Outcome::Met, finding);
                return Ok(id);
            }
            _ => {}
        }
        let over = self.exit.is_none() && self.is_over(&wait.spec.condition);
        self.waits.add(id, wait);
        self.judge_activity(now);
        if self.waits.get(id).is_none() {
            return Ok(id);
        }
        let is_expired = deadline.is_some_and(|deadline| deadline <= now);
        if holds && settles && self.exit.is_none() && !self.closed {
            self.judge_settled(id, now, is_expired);
        } else if over || holds || self.exit.is_some() && self.is_exit_wait(id) {
            self.end(id, now, Outcome::Met);
        } else if self.closed {
            self.end(id, now, Outcome::Closed);
        } else if self.exit.is_some() {
            self.end(id, now, Outcome::Exited);
        } else if is_expired {
            self.end(id, now, Outcome::Timeout);
        }
        Ok(id)
    }

    /// Forgets a wait; nothing is left of it.
    pub fn cancel_wait(&mut self, id: WaitId) {
        self.waits.remove(id);
    }

    /// Says that the program runs in a pane of tmux, which draws the same and answers the program's questions.
    pub fn follow_tmux(&mut self) {
        self.has_own_replies = false;
        self.screen.follow_tmux();
    }

    /// Sets whether DECRQCRA is answered; see [`Screen::set_answers_checksums`].
    pub fn set_answers_checksums(&mut self, answers: bool) {
        self.screen.set_answers_checksums(answers);
    }

    /// Takes what is to be sent to the program.
    pub fn poll_replies(&mut self) -> Vec<u8> {
        let mut replies = self.screen.take_replies();
        if !self.has_own_replies {
            replies.clear();
        }
        replies.append(&mut self.to_send);
        replies
    }

    /// Takes the waits that ended.
    pub fn poll_ended(&mut self) -> Vec<WaitEnded> {
        std::mem::take(&mut self.ended)
    }

    /// When [`handle_time`](Self::handle_time) is to be called, if nothing happens before.
    pub fn poll_wake(&self) -> Option<Time> {
        let update = self.update_deadline();
        [update, self.waits.next_timer()].into_iter().flatten().min()
    }

    fn is_exit_wait(&self, id: WaitId) -> bool {
        self.waits.get(id).is_some_and(|wait| matches!(wait.spec.condition, Condition::Exit))
    }

    /// Takes a frame of what was fed, unless it is not complete.
    fn catch_up(&mut self, now: Time) {
        if self.unframed.is_some() && !self.screen.is_synchronized() {
            self.take_frame(now);
        }
    }

    fn take_frame(&mut self, now: Time) {
        if self.waits.want_text() {
            self.waits.judge(&self.screen);
        }
        let before = Arc::clone(self.frame());
        let (frame, changed) = self.history.take(now, &self.screen);
        if frame.is_alternate() && !before.is_alternate() {
            self.main_frame = Some(Arc::clone(&before));
        }
        // What was drawn so far has been seen; what comes now is later.
        self.screen.advance_tick();
        self.framed_at = now;
        self.unframed = None;
        self.flashes.go_on();
        if changed {
            self.waits.judge_frame(&frame);
        }
        for (id, found) in self.waits.take_matched() {
            if let Some(wait) = self.waits.remove(id) {
                let finding = self.text_finding(&wait, found);
                self.push_ended(id, &wait, now, Outcome::Met, finding);
            }
        }
        if changed {
            self.waits.note_frame(now, &before, &frame);
            self.end_gone(now);
            self.end_first_changes(now);
        }
    }

    fn anchor_here(&mut self) -> Anchor {
        let (tick, line) = (self.screen.tick(), self.screen.line(0));
        self.screen.advance_tick();
        Anchor {
            tick,
            line,
            frame: Arc::clone(self.frame()),
            enters: 0,
            echo_counts: false,
            truncated: false,
        }
    }

    fn anchor(&mut self, since: Since) -> Anchor {
        let mut anchor = match since {
            Since::Input | Since::InputFrame => self.input.clone(),
            Since::Now | Since::Screen => self.anchor_here(),
            Since::Frame(seq) => {
                let kept = self.history.get(seq).or(self.history.dropped()).unwrap_or(self.frame());
                Anchor {
                    tick: kept.tick(),
                    line: kept.line(0),
                    frame: Arc::clone(kept),
                    enters: self.input.enters,
                    echo_counts: true,
                    truncated: kept.seq() != seq,
                }
            }
        };
        if since == Since::Screen {
            anchor.tick = Tick(0);
        } else {
            let off = self.screen.scrollback().first().unwrap_or(self.screen.line(0));
            let ring_reaches = self.history.oldest().seq().0 <= anchor.frame.seq().0 + 1;
            anchor.truncated |= anchor.line < off || !ring_reaches;
        }
        anchor
    }
}

#[cfg(test)]
mod tests;
