//! The channels of a server: the counters of `awaitty-core` behind a lock, with waits.
//!
//! The daemon writes a journal of them, so that signals survive a restart of the daemon.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use awaitty_core::{ChannelError, Channels, Signal, Signalled};
use tokio::sync::watch;

/// The maximum size of the journal in bytes. A longer one is rewritten with the signals still kept.
const JOURNAL_MAX: u64 = 1 << 20;

/// The channels of a server.
#[derive(Debug)]
pub struct Signals {
    state: Mutex<ChannelState>,
    /// Wakes all waits after a signal. Signals are rare, and a check is cheap.
    changed: watch::Sender<()>,
}

/// The counters and their journal.
#[derive(Debug, Default)]
struct ChannelState {
    channels: Channels,
    journal: Option<Journal>,
}

impl Default for Signals {
    fn default() -> Signals {
        Signals { state: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restores the signals of a journal and continues to write it.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn keep_journal(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let written = std::fs::read(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(Vec::new()),
            _ => Err(error),
        })?;
        // A line that a crash truncated is skipped: its call did not return.
        let written = String::from_utf8_lossy(&written);
        for line in written.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            restore(&mut state.channels, line);
        }
        let mut journal = Journal { path: path.to_owned(), file: None };
        journal.rewrite(&state.channels)?;
        state.journal = Some(journal);
        Ok(())
    }

    /// Signals a channel and returns the number of its signals so far.
    ///
    /// # Errors
    /// If the name or the message is invalid.
    pub fn signal(&self, name: &str, signal: Signal) -> Result<u64, ChannelError> {
        let mut state = self.lock();
        let count = state.channels.signal(name, signal.clone())?;
        state.write(&signal_line(name, &Signal { number: count, ..signal }));
        drop(state);
        self.changed.send_replace(());
        Ok(count)
    }

    /// Returns the number of the last signal that a wait returned: the default anchor.
    pub fn given(&self, name: &str) -> u64 {
        self.lock().channels.given(name)
    }

    /// Returns the number of signals so far.
    pub fn count(&self, name: &str) -> u64 {
        self.lock().channels.count(name)
    }

    /// Returns the signals after a number and marks them as returned.
    pub fn take_above(&self, name: &str, since: u64) -> Option<Signalled> {
        let mut state = self.lock();
        let signalled = state.channels.above(name, since)?;
        let number = signalled.newest.number;
        if number > state.channels.given(name) {
            state.channels.give(name, number);
            state.write(&given_line(name, number));
        }
        Some(signalled)
    }

    /// Waits until there are more than `count` signals.
    pub async fn counted_above(&self, name: &str, count: u64) {
        let mut changed = self.changed.subscribe();
        while self.count(name) <= count && changed.changed().await.is_ok() {}
    }

    /// Waits for signals after a number. A dropped wait takes none.
    pub async fn above(&self, name: &str, since: u64) -> Signalled {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(signalled) = self.take_above(name, since) {
                return signalled;
            }
            if changed.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

impl ChannelState {
    /// Appends a line to the journal. After an error the journal is dropped, so that signals still reach waits.
    fn write(&mut self, line: &str) {
        let Some(journal) = &mut self.journal else { return };
        if let Err(error) = journal.append(line, &self.channels) {
            log::warn!("{}: {error}; signals are kept in memory only", journal.path.display());
            self.journal = None;
        }
    }
}

/// A file with a line for each signal and each return of a wait. Fields are separated by tabs.
#[derive(Debug)]
struct Journal {
    path: PathBuf,
    file: Option<File>,
}

impl Journal {
    fn append(&mut self, line: &str, channels: &Channels) -> io::Result<()> {
        let Some(file) = &mut self.file else { return self.rewrite(channels) };
        if file.metadata()?.len() > JOURNAL_MAX {
            return self.rewrite(channels);
        }
        file.write_all(line.as_bytes())
    }

    /// Replaces the file by one with the signals still kept.
    fn rewrite(&mut self, channels: &Channels) -> io::Result<()> {
        let mut text = String::new();
        for (name, given, signals) in channels.all() {
            for signal in signals {
                text += &signal_line(name, signal);
            }
            text += &given_line(name, given);
        }
        let fresh = self.path.with_extension("new");
        std::fs::write(&fresh, text)?;
        std::fs::rename(&fresh, &self.path)?;
        self.file = Some(File::options().append(true).open(&self.path)?);
        Ok(())
    }
}

fn given_line(name: &str, number: u64) -> String {
    format!("given\t{name}\t{number}\n")
}

fn signal_line(name: &str, signal: &Signal) -> String {
    let Signal { number, status, message, session, pid } = signal;
    let field = |value: Option<String>| value.map_or_else(String::new, |value| format!("={value}"));
    let text = |value: &Option<String>| field(value.as_deref().map(escape));
    let (status, pid) = (status.map(|status| status.to_string()), pid.map(|pid| pid.to_string()));
    let (status, pid, session, message) = (field(status), field(pid), text(session), text(message));
    format!("signal\t{name}\t{number}\t{status}\t{pid}\t{session}\t{message}\n")
}

/// Escapes the separators of fields and lines.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

fn unescape(text: &str) -> String {
    let mut chars = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    plain
}

/// Restores a line of the journal. Skips a line of another version.
fn restore(channels: &mut Channels, line: &str) {
    let fields: Vec<&str> = line.split('\t').collect();
    let value = |field: &str| field.strip_prefix('=').map(unescape);
    match fields[..] {
        ["given", name, number] => channels.give(name, number.parse().unwrap_or_default()),
        ["signal", name, number, status, pid, session, message] => channels.restore(
            name,
            Signal {
                number: number.parse().unwrap_or_default(),
                status: value(status).and_then(|status| status.parse().ok()),
                message: value(message),
                session: value(session),
                pid: value(pid).and_then(|pid| pid.parse().ok()),
            },
        ),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_over_the_limit_is_rewritten() {
        let path = std::env::temp_dir().join(format!("awaitty-long-{}", std::process::id()));
        let signals = Signals::default();
        signals.keep_journal(&path).expect("the directory is there");
        let long = || Signal { message: Some("m".repeat(4096)), ..Signal::default() };
        let len = || std::fs::metadata(&path).expect("it is there").len();
        let mut longest = 0;
        while len() >= longest {
            longest = len();
            signals.signal("a", long()).expect("the message has the maximum length");
        }
        // The signal that exceeds the limit is the last one appended; then only the newest signals are kept.
        assert!(longest > JOURNAL_MAX && longest <= JOURNAL_MAX + 5_000, "{longest}");
        assert!(len() < 100_000);
        let again = Signals::default();
        again.keep_journal(&path).expect("the directory is there");
        assert_eq!(again.count("a"), signals.count("a"));
        std::fs::remove_file(&path).expect("it is there");
    }

    #[test]
    fn a_journal_restores_signals_and_anchors() {
        let path = std::env::temp_dir().join(format!("awaitty-journal-{}", std::process::id()));
        let restored = || {
            let signals = Signals::default();
            signals.keep_journal(&path).expect("the directory is there");
            signals
        };
        let signal = |status| Signal { status: Some(status), ..Signal::default() };
        let first = restored();
        assert_eq!(first.signal("a", signal(1)), Ok(1));
        assert!(first.take_above("a", 0).is_some());
        assert_eq!(first.signal("a", signal(2)), Ok(2));
        drop(first);
        for _ in 0..2 {
            let second = restored();
            assert_eq!((second.count("a"), second.given("a")), (2, 1));
            let newest = second.lock().channels.above("a", 1).expect("it is kept").newest;
            assert_eq!((newest.number, newest.status), (2, Some(2)));
        }
        std::fs::remove_file(&path).expect("it is there");
    }
}
