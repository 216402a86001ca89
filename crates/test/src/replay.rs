//! Replays a recording: feeds its output to a screen, and returns a frame wherever something visible changed, in order
//! with the output, the input and the markers. Needs constant memory.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead};
use std::sync::Arc;
use std::time::Duration;

use awaitty_terminal::core::{Exit, Frame, Screen, Session, Time};

use crate::cast::{CastHeader, CastReader, Event};

/// The minimum interval between two frames, except at markers: that of a 60 Hz display.
pub const REPLAY_INTERVAL: Duration = Duration::from_micros(16_667);

/// Frames that the session keeps. A replay compares with the last one only.
const FRAMES_KEPT: usize = 2;

/// An item of a replay.
#[derive(Clone, Debug)]
pub enum Item {
    /// Something visible changed. The first item is the blank screen.
    Frame(Moment),
    /// Output of the program. The frame that shows it follows.
    Output {
        /// Time since the start.
        at: Duration,
        /// The bytes as text.
        text: String,
    },
    /// Input of the program.
    Input {
        /// Time since the start.
        at: Duration,
        /// The bytes as text.
        text: String,
    },
    /// A marker. The frame before it has all the output before it, unless a synchronized update is open.
    Marker {
        /// Time since the start.
        at: Duration,
        /// Its label.
        label: String,
    },
    /// The exit of the program.
    Exit {
        /// Time since the start.
        at: Duration,
        /// The exit status.
        status: String,
    },
}

/// What a terminal shows at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Time since the start.
    pub at: Duration,
    /// The rows, the size and the cursor.
    pub frame: Arc<Frame>,
    /// The title of the window.
    pub title: Arc<str>,
    /// The colours that the program has set.
    pub colors: Arc<ChosenColors>,
}

/// The colours that a program has set in place of those of the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenColors {
    /// Entries of the palette.
    pub indexed: BTreeMap<u8, (u8, u8, u8)>,
    /// Foreground, background and cursor.
    pub special: [Option<(u8, u8, u8)>; 3],
}

impl ChosenColors {
    /// Returns the colours that the program of a screen has set.
    pub fn new(screen: &Screen) -> ChosenColors {
        ChosenColors { indexed: screen.chosen_palette().collect(), special: screen.chosen_colors() }
    }
}

impl Moment {
    /// Returns whether both moments look the same.
    fn looks_like(&self, other: &Moment) -> bool {
        self.frame.cursor() == other.frame.cursor()
            && self.title == other.title
            && self.colors == other.colors
            && self.frame.looks_like(&other.frame)
    }
}

/// Replays a recording.
#[derive(Debug)]
pub struct Replay<R> {
    cast: CastReader<R>,
    /// The event that was read and is not fed yet.
    upcoming: Option<Event>,
    session: Session,
    /// The frame that was returned last.
    last: Option<Moment>,
    /// The time of the first output after that frame.
    unframed_since: Option<Duration>,
    /// The time of the last event that was fed.
    now: Duration,
    queued: VecDeque<Item>,
    is_done: bool,
}

impl<R: BufRead> Replay<R> {
    /// Reads the header of a recording.
    ///
    /// # Errors
    /// If it cannot be read, or is not a recording.
    pub fn new(source: R) -> io::Result<Replay<R>> {
        let cast = CastReader::new(source)?;
        let mut session = Session::new(Time::default(), cast.header.cols, cast.header.rows, 0);
        session.keep_frames(FRAMES_KEPT);
        let mut replay = Replay {
            cast,
            upcoming: None,
            session,
            last: None,
            unframed_since: None,
            now: Duration::ZERO,
            queued: VecDeque::new(),
            is_done: false,
        };
        replay.push_frame();
        replay.upcoming = replay.cast.next_event()?;
        Ok(replay)
    }

    /// Returns the header of the recording.
    pub fn header(&self) -> &CastHeader {
        &self.cast.header
    }

    /// Returns the screen after the item that was returned last.
    pub fn screen(&self) -> &Screen {
        self.session.screen()
    }

    /// Reads the rest without feeding it, and returns the time of the last event.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn skip_to_end(mut self) -> io::Result<Duration> {
        let mut last = self.upcoming.take();
        while let Some(event) = self.cast.next_event()? {
            last = Some(event);
        }
        Ok(last.map_or(self.now, |event| self.time_of(&event)))
    }

    /// Returns the time of an event. Times never decrease, even if those of the file do.
    fn time_of(&self, event: &Event) -> Duration {
        Duration::try_from_secs_f64(event.at).unwrap_or_default().max(self.now)
    }

    /// Handles the next event, or the frame that is due before it.
    fn advance(&mut self) -> io::Result<()> {
        let until = self.upcoming.as_ref().map_or(Duration::MAX, |event| self.time_of(event));
        let is_output = self.upcoming.as_ref().is_some_and(|event| event.kind == 'o');
        let is_due = |since: Duration| !is_output || until - since >= REPLAY_INTERVAL;
        if self.unframed_since.is_some_and(is_due) {
            self.unframed_since = None;
            self.session.handle_drained(Time(self.now));
            self.push_frame();
            return Ok(());
        }
        // An update that the program does not end becomes visible after a while.
        if let Some(wake) = self.session.poll_wake().filter(|wake| wake.0 < until) {
            self.now = self.now.max(wake.0);
            self.session.handle_time(wake);
            self.push_frame();
            return Ok(());
        }
        let Some(event) = self.upcoming.take() else {
            self.is_done = true;
            return Ok(());
        };
        self.now = until;
        self.take(event);
        self.upcoming = self.cast.next_event()?;
        Ok(())
    }

    fn take(&mut self, event: Event) {
        let (at, now) = (self.now, Time(self.now));
        let size = event.size();
        let text = event.data;
        let item = match event.kind {
            'o' => {
                self.session.handle_output(now, text.as_bytes());
                // The recording has the replies of its time as input.
                self.session.poll_replies();
                self.unframed_since.get_or_insert(at);
                Item::Output { at, text }
            }
            'i' => Item::Input { at, text },
            'm' => Item::Marker { at, label: text },
            'x' => {
                self.session.handle_exit(now, Exit::Unknown);
                self.push_frame();
                Item::Exit { at, status: text }
            }
            _ => {
                if let Some((cols, rows)) = size {
                    self.session.resize(now, cols, rows);
                    self.push_frame();
                }
                return;
            }
        };
        self.queued.push_back(item);
    }

    /// Queues the newest frame, if it looks unlike the last one.
    fn push_frame(&mut self) {
        let screen = self.session.screen();
        let mut moment = Moment {
            at: self.now,
            frame: Arc::clone(self.session.frame()),
            title: Arc::from(screen.title()),
            colors: Arc::new(ChosenColors::new(screen)),
        };
        if let Some(last) = &self.last {
            if moment.looks_like(last) {
                return;
            }
            if last.title == moment.title {
                moment.title = Arc::clone(&last.title);
            }
            if last.colors == moment.colors {
                moment.colors = Arc::clone(&last.colors);
            }
        }
        self.last = Some(moment.clone());
        self.queued.push_back(Item::Frame(moment));
    }
}

impl<R: BufRead> Iterator for Replay<R> {
    type Item = io::Result<Item>;

    fn next(&mut self) -> Option<io::Result<Item>> {
        while self.queued.is_empty() && !self.is_done {
            if let Err(error) = self.advance() {
                self.is_done = true;
                return Some(Err(error));
            }
        }
        self.queued.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replays events of a terminal of 10 columns and 2 rows, and returns a line for each item.
    fn replayed(events: &[(f64, char, &str)]) -> Vec<String> {
        let mut text = r#"{"version":3,"term":{"cols":10,"rows":2}}"#.to_owned();
        for event in events {
            text += &format!("\n{}", serde_json::to_string(event).unwrap());
        }
        let items = Replay::new(text.as_bytes()).unwrap().map(Result::unwrap);
        let lines = items.map(|item| match item {
            Item::Frame(moment) => {
                let (cols, cursor) = (moment.frame.cols(), moment.frame.cursor());
                let text = moment.frame.text().replace('\n', "/");
                format!("{} {cols} {text}|{} {}", moment.at.as_millis(), cursor.col, moment.title)
            }
            Item::Output { at, text } => format!("{} output {}", at.as_millis(), text.len()),
            Item::Input { at, text } => format!("{} input {text}", at.as_millis()),
            Item::Marker { at, label } => format!("{} marker {label}", at.as_millis()),
            Item::Exit { at, status } => format!("{} exit {status}", at.as_millis()),
        });
        lines.collect()
    }

    #[test]
    fn frames_come_in_order_with_all_other_items() {
        let events = [
            (0.1, 'o', "one"),
            (0.0, 'm', "step 0 start"),
            (0.1, 'i', "x"),
            (0.1, 'o', "\r\ntwo\x1b]2;name\x07"),
            (0.1, 'r', "20x2"),
            (0.1, 'x', "3"),
        ];
        let expected = [
            "0 10 |0 ",
            "100 output 3",
            "100 10 one|3 ",
            "100 marker step 0 start",
            "200 input x",
            "300 output 14",
            "300 10 one/two|3 name",
            "400 20 one/two|3 name",
            "500 exit 3",
        ];
        assert_eq!(replayed(&events), expected);
    }

    #[test]
    fn output_within_a_frame_interval_is_one_frame() {
        let frames = |gap: f64| {
            let lines = replayed(&[(1.0, 'o', "a"), (gap, 'o', "b")]);
            lines.iter().filter(|line| line.contains('|')).count()
        };
        assert_eq!(frames(0.016_666), 2);
        assert_eq!(frames(0.016_667), 3);
    }

    #[test]
    fn a_marker_ends_a_frame_at_any_time() {
        let lines = replayed(&[(1.0, 'o', "a"), (0.001, 'm', "now"), (0.001, 'o', "b")]);
        let kinds: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
        let expected = ["0 10 |0 ", "1000 output 1", "1000 10 a|1 ", "1001 marker now"];
        assert_eq!(kinds[..4], expected);
    }

    #[test]
    fn output_that_changes_nothing_is_no_frame_and_a_moved_cursor_is_one() {
        let lines = replayed(&[(1.0, 'o', "a"), (1.0, 'o', "\ra"), (1.0, 'o', "\r")]);
        let frames: Vec<&String> = lines.iter().filter(|line| line.contains('|')).collect();
        assert_eq!(frames, ["0 10 |0 ", "1000 10 a|1 ", "3000 10 a|0 "]);
    }

    #[test]
    fn an_update_without_an_end_is_shown_after_its_limit() {
        let lines = replayed(&[(1.0, 'o', "\x1b[?2026ha"), (10.0, 'm', "end")]);
        assert_eq!(lines[2..], ["1150 10 a|1 ", "11000 marker end"]);
    }

    #[test]
    fn odd_times_and_sizes_do_no_harm() {
        let events = [
            (5.0, 'o', "a"),
            (-3.0, 'o', "b"),
            (1e300, 'o', "c"),
            (1.0, 'r', "99999999x0"),
            (0.0, 'r', "x"),
            (0.0, 'q', "unknown"),
        ];
        let lines = replayed(&events);
        assert!(lines.iter().any(|line| line.contains("1000 abc")), "{lines:#?}");
        assert!(Replay::new(&b"{}"[..]).is_err());
    }
}
