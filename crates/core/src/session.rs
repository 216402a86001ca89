//! A terminal over time: a screen, and the frames that a person could have seen of it.
//!
//! [`Session`] has four kinds of methods: getters; `handle_*`, which take in what happened and when;
//! commands; and `poll_*`, which say what is to be done. Whoever drives it calls the second and
//! third, then drains the fourth. It reads no clock and never sleeps.

use std::sync::Arc;
use std::time::Duration;

use crate::Time;
use crate::frame::Frame;
use crate::history::History;
use crate::screen::Screen;

/// A program that never stops printing is seen at least this often, as on a display of 60 Hz.
pub const FRAME_INTERVAL: Duration = Duration::from_millis(16);

/// A synchronized update that is open for longer is shown as it is, so that a program that never
/// ends one cannot freeze us.
pub const UPDATE_MAX: Duration = Duration::from_millis(150);

/// A screen and its frames.
#[derive(Clone, Debug)]
pub struct Session {
    screen: Screen,
    history: History,
    /// When the last frame was taken.
    framed_at: Time,
    /// Something was fed since.
    unframed: bool,
    /// When the synchronized update that is open began.
    update_began: Option<Time>,
}

impl Session {
    /// A blank terminal of the given size that keeps at most `scrollback` lines.
    pub fn new(now: Time, cols: usize, rows: usize, scrollback: usize) -> Session {
        let mut screen = Screen::new(cols, rows, scrollback);
        let history = History::new(&screen);
        screen.advance_tick();
        Session { screen, history, framed_at: now, unframed: false, update_began: None }
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

    /// The program printed something, and may have printed more that was not read yet.
    pub fn handle_output(&mut self, now: Time, mut bytes: &[u8]) {
        self.handle_time(now);
        while !bytes.is_empty() {
            let updating = self.screen.is_synchronized();
            self.screen.feed_update(&mut bytes, None);
            self.unframed = true;
            // Feeding stopped where an update ended, even if another begins at once, so the screen
            // is complete unless one is open.
            if !self.screen.is_synchronized() {
                self.update_began = None;
                if now.since(self.framed_at) >= FRAME_INTERVAL {
                    self.take_frame(now);
                }
            } else if !updating {
                self.update_began = Some(now);
            }
        }
    }

    /// All that the program printed was read.
    pub fn handle_drained(&mut self, now: Time) {
        self.handle_time(now);
        if self.unframed && !self.screen.is_synchronized() {
            self.take_frame(now);
        }
    }

    /// Time passed.
    pub fn handle_time(&mut self, now: Time) {
        if self.update_deadline().is_some_and(|deadline| deadline <= now) {
            self.screen.end_update();
            self.update_began = None;
            self.take_frame(now);
        }
    }

    /// Changes the size.
    pub fn resize(&mut self, now: Time, cols: usize, rows: usize) {
        self.screen.resize(cols, rows);
        self.take_frame(now);
    }

    /// Takes what is to be sent to the program.
    pub fn poll_replies(&mut self) -> Vec<u8> {
        self.screen.take_replies()
    }

    /// When [`handle_time`](Self::handle_time) is to be called, if nothing happens before.
    pub fn poll_wake(&self) -> Option<Time> {
        self.update_deadline()
    }

    fn update_deadline(&self) -> Option<Time> {
        self.update_began.map(|began| began.after(UPDATE_MAX))
    }

    fn take_frame(&mut self, now: Time) {
        self.history.take(&self.screen);
        // What was drawn so far has been seen; what comes now is later.
        self.screen.advance_tick();
        self.framed_at = now;
        self.unframed = false;
    }
}
