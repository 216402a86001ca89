//! Channels: named counters of signals, which processes send and others wait for.
//!
//! A channel remembers its newest signals, and a wait ends when the counter exceeds a number. So a signal that comes
//! before its wait is not lost. This module holds only the state: it reads no clock, does no I/O and keeps no waits.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Maximum length of the name of a channel in characters.
pub const CHANNEL_NAME_MAX: usize = 128;

/// Maximum length of a message in bytes.
pub const CHANNEL_MESSAGE_MAX: usize = 4 * 1024;

/// Maximum number of channels that are remembered. The channel that has received no signal for the longest time is
/// dropped first.
pub const CHANNELS_MAX: usize = 1_024;

/// Maximum number of signals of a channel that are remembered with their status and message.
pub const CHANNEL_SIGNALS_MAX: usize = 16;

/// The error for an invalid name or message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelError {
    /// The name, which is part of the error.
    Name(String),
    /// The message, with its length in bytes.
    Message(usize),
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelError::Name(name) => write!(
                f,
                "channel: {name:?} is not a name: use 1 to {CHANNEL_NAME_MAX} of A-Z a-z 0-9 . _ : -"
            ),
            ChannelError::Message(len) => write!(
                f,
                "message: it has {len} bytes, and {CHANNEL_MESSAGE_MAX} are allowed: write it to a file and send its path"
            ),
        }
    }
}

impl std::error::Error for ChannelError {}

/// One signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// Its number; the first is 1.
    pub number: u64,
    /// The status that the sender passed, such as an exit status.
    pub status: Option<i64>,
    /// The message that the sender passed.
    pub message: Option<String>,
    /// The session that the sender runs in, if any.
    pub session: Option<String>,
    /// The PID of the sender.
    pub pid: Option<u32>,
}

/// The result of a wait: the signals above its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signalled {
    /// The newest signal.
    pub newest: Signal,
    /// All signals that are remembered, oldest first, including the newest.
    pub all: Vec<Signal>,
}

#[derive(Clone, Debug, Default)]
struct Channel {
    count: u64,
    newest: VecDeque<Signal>,
    /// The newest number that a wait returned.
    given: u64,
    /// The value of `Channels::used` at its newest signal.
    used: u64,
}

/// The channels of a server.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    channels: BTreeMap<String, Channel>,
    /// The number of signals to all channels; orders the channels by age.
    used: u64,
}

/// Checks the name of a channel.
///
/// # Errors
/// If the name is invalid.
pub fn check_channel_name(name: &str) -> Result<(), ChannelError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    if (1..=CHANNEL_NAME_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(ChannelError::Name(name.chars().take(CHANNEL_NAME_MAX + 1).collect()))
}

impl Channels {
    /// Adds a signal with the next number, which it returns. The number in `signal` is ignored.
    ///
    /// # Errors
    /// If the name or the message is invalid. Nothing has changed then.
    pub fn signal(&mut self, name: &str, signal: Signal) -> Result<u64, ChannelError> {
        check_channel_name(name)?;
        if let Some(message) = signal.message.as_ref().filter(|m| m.len() > CHANNEL_MESSAGE_MAX) {
            return Err(ChannelError::Message(message.len()));
        }
        let number = self.count(name) + 1;
        self.restore(name, Signal { number, ..signal });
        Ok(number)
    }

    /// Adds a signal with the number that it has, as read from a journal.
    pub fn restore(&mut self, name: &str, signal: Signal) {
        self.used += 1;
        let channel = self.channels.entry(name.to_owned()).or_default();
        channel.used = self.used;
        channel.count = channel.count.max(signal.number);
        if channel.newest.len() == CHANNEL_SIGNALS_MAX {
            channel.newest.pop_front();
        }
        channel.newest.push_back(signal);
        if self.channels.len() > CHANNELS_MAX {
            let oldest = self.channels.iter().min_by_key(|(_, channel)| channel.used);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.channels.remove(&oldest);
            }
        }
    }

    /// Returns all channels: the name, the newest number that a wait returned, and the signals, oldest first.
    pub fn all(&self) -> impl Iterator<Item = (&str, u64, impl Iterator<Item = &Signal>)> {
        self.channels
            .iter()
            .map(|(name, channel)| (name.as_str(), channel.given, channel.newest.iter()))
    }

    /// Returns the newest number that a wait returned: the next wait is for a higher one by default.
    pub fn given(&self, name: &str) -> u64 {
        self.channels.get(name).map_or(0, |channel| channel.given)
    }

    /// Returns how many signals a channel has received.
    pub fn count(&self, name: &str) -> u64 {
        self.channels.get(name).map_or(0, |channel| channel.count)
    }

    /// Returns the signals above a number, without removing them.
    pub fn above(&self, name: &str, since: u64) -> Option<Signalled> {
        let channel = self.channels.get(name)?;
        let all: Vec<_> =
            channel.newest.iter().filter(|signal| signal.number > since).cloned().collect();
        Some(Signalled { newest: all.last()?.clone(), all })
    }

    /// Records that a wait returned this number.
    pub fn give(&mut self, name: &str, number: u64) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.given = channel.given.max(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(status: i64) -> Signal {
        Signal { status: Some(status), ..Signal::default() }
    }

    #[test]
    fn a_signal_is_returned_to_every_wait() {
        let mut channels = Channels::default();
        assert_eq!(channels.above("a", 0), None);
        assert_eq!(channels.signal("a", signal(7)), Ok(1));
        for _ in 0..2 {
            let signalled = channels.above("a", channels.given("a")).expect("it came before");
            assert_eq!((signalled.newest.number, signalled.newest.status), (1, Some(7)));
        }
        channels.give("a", 1);
        assert_eq!(channels.above("a", channels.given("a")), None);
        assert!(channels.above("a", 0).is_some());
    }

    #[test]
    fn two_signals_before_one_wait_are_both_returned() {
        let mut channels = Channels::default();
        assert_eq!(channels.signal("a", signal(1)), Ok(1));
        assert_eq!(channels.signal("a", signal(2)), Ok(2));
        let signalled = channels.above("a", 0).expect("there are two");
        assert_eq!(signalled.newest.number, 2);
        assert_eq!(signalled.all.iter().map(|s| s.status).collect::<Vec<_>>(), [Some(1), Some(2)]);
    }

    #[test]
    fn names_and_messages_at_their_limits() {
        let mut channels = Channels::default();
        for good in ["a", "A.b_c:d-9", &"n".repeat(CHANNEL_NAME_MAX)] {
            assert_eq!(channels.signal(good, Signal::default()), Ok(1), "{good}");
        }
        for bad in ["", "a b", "a/b", "ä", "a\n", &"n".repeat(CHANNEL_NAME_MAX + 1)] {
            assert!(channels.signal(bad, Signal::default()).is_err(), "{bad}");
        }
        let message = |len| Signal { message: Some("m".repeat(len)), ..Signal::default() };
        assert_eq!(channels.signal("m", message(CHANNEL_MESSAGE_MAX)), Ok(1));
        assert!(channels.signal("m", message(CHANNEL_MESSAGE_MAX + 1)).is_err());
        assert_eq!(channels.count("m"), 1);
    }

    #[test]
    fn channels_and_their_signals_are_bounded() {
        let mut channels = Channels::default();
        for number in 1..=CHANNEL_SIGNALS_MAX as u64 + 1 {
            assert_eq!(channels.signal("a", signal(0)), Ok(number));
        }
        let all = channels.above("a", 0).expect("some are left").all;
        assert_eq!((all.len(), all[0].number), (CHANNEL_SIGNALS_MAX, 2));
        for i in 0..CHANNELS_MAX {
            assert_eq!(channels.signal(&format!("c{i}"), signal(0)), Ok(1));
        }
        assert_eq!(channels.count("a"), 0, "the oldest is forgotten");
        assert_eq!(channels.count("c0"), 1);
    }
}
