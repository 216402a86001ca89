//! Recordings: output with timestamps, written to a file while the program runs.
//!
//! The file is an asciicast (version 3) with one event per line, so it is readable even if the server is killed. A
//! thread writes it, because a slow disk must not block the terminal or its callers. A write error ends the recording
//! with a note, and nothing else.

mod cast;
mod retention;

use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, SystemTime};

use awaitty_core::Time;
use rustix::fs::FlockOperation;
use tokio::sync::oneshot;

use crate::limits::Limits;

/// The maximum size of a recording in bytes: hours of a busy screen.
pub const RECORDING_MAX: u64 = 1 << 30;

/// The maximum number of recordings of one session that start within the same second. A restart takes longer than 10
/// ms.
const RESTARTS_MAX: usize = 100;

/// The maximum size of the writer's queue in bytes. A disk that is that far behind does not catch up.
pub const QUEUE_MAX: usize = 8 << 20;

/// The environment variable with the directory for recordings.
pub const FOLDER_VARIABLE: &str = "AWAITTY_RECORDINGS";

enum WriterJob {
    Line(String),
    /// Acknowledges that all earlier jobs are in the file.
    Flush(oneshot::Sender<()>),
}

/// State shared by the recorder and the writer thread.
#[derive(Debug, Default)]
struct Shared {
    queued: AtomicUsize,
    written: AtomicU64,
    /// The reason why the recording ended early.
    note: OnceLock<String>,
}

/// Records the events of a terminal.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    jobs: mpsc::Sender<WriterJob>,
    shared: Arc<Shared>,
    /// Whether input is recorded.
    with_input: bool,
    last: Time,
    /// The first bytes of an incomplete UTF-8 character.
    incomplete: Vec<u8>,
}

/// The status of a recording.
#[derive(Clone, Debug)]
pub struct RecordingStatus {
    /// Path of the file.
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// The reason why the recording ended before the program, if it did.
    pub note: Option<String>,
}

/// Metadata of a recording.
#[derive(Clone, Debug)]
pub struct Head<'a> {
    /// Columns and rows of the terminal.
    pub size: (usize, usize),
    /// The command line.
    pub command: &'a str,
    /// Seconds since 1970.
    pub timestamp: u64,
}

impl Recorder {
    /// Starts a recording in the directory for recordings.
    ///
    /// # Errors
    /// If the file cannot be created. The message contains its path.
    pub fn start(
        name: &str,
        head: &Head<'_>,
        with_input: bool,
        limits: &Limits,
    ) -> io::Result<Recorder> {
        let directory = directory()?;
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(head.timestamp);
        retention::remove_old(&directory, now, limits.recording_days, limits.recordings_bytes);
        // tmux pane IDs contain characters that are unsafe in file names.
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c), "_");
        let start = format!("{}-{}-{name}", head.timestamp, std::process::id());
        // A session that is restarted within a second has the same name.
        for number in 1..=RESTARTS_MAX {
            let path = directory.join(match number {
                1 => format!("{start}.cast"),
                number => format!("{start}-{number}.cast"),
            });
            match Recorder::start_at(path, head, with_input) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                started => return started,
            }
        }
        let message = format!("{RESTARTS_MAX} recordings named {start} already exist");
        Err(io::Error::other(message))
    }

    /// Deletes the file: the program could not be started.
    pub fn forget(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Starts a recording in a new file.
    ///
    /// # Errors
    /// If the file exists or cannot be created. The message contains its path.
    pub fn start_at(path: PathBuf, head: &Head<'_>, with_input: bool) -> io::Result<Recorder> {
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|error| named(&path, &error))?;
        // Shows other processes that the file is being written.
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        let (jobs, received) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let writer_shared = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || write_all(file, &received, &writer_shared))?;
        let last = Time::default();
        let recorder = Recorder { path, jobs, shared, with_input, last, incomplete: Vec::new() };
        recorder.push(cast::header(head));
        Ok(recorder)
    }

    fn push(&self, line: String) {
        if self.shared.note.get().is_some() {
            return;
        }
        let waiting = self.shared.queued.fetch_add(line.len(), Ordering::Relaxed) + line.len();
        if waiting > QUEUE_MAX {
            let note = format!("the disk is too slow: {waiting} bytes were waiting to be written");
            let _ = self.shared.note.set(note);
            return;
        }
        // The writer thread only ends after it has set a note.
        let _ = self.jobs.send(WriterJob::Line(line));
    }

    fn event(&mut self, now: Time, kind: char, data: &str) {
        let after = now.since(self.last);
        self.last = self.last.max(now);
        self.push(cast::event(after, kind, data));
    }

    /// Records output.
    pub fn output(&mut self, now: Time, bytes: &[u8]) {
        self.incomplete.extend(bytes);
        let whole = whole_characters(&self.incomplete);
        let printed: Vec<u8> = self.incomplete.drain(..whole).collect();
        if !printed.is_empty() {
            self.event(now, 'o', &String::from_utf8_lossy(&printed));
        }
    }

    /// Records input, if enabled. Must not be called with a secret.
    pub fn input(&mut self, now: Time, bytes: &[u8]) {
        if self.with_input {
            self.event(now, 'i', &String::from_utf8_lossy(bytes));
        }
    }

    /// Records a resize.
    pub fn resize(&mut self, now: Time, cols: usize, rows: usize) {
        self.event(now, 'r', &format!("{cols}x{rows}"));
    }

    /// Records a marker.
    pub fn mark(&mut self, now: Time, label: &str) {
        self.event(now, 'm', label);
    }

    /// Records the exit status.
    pub fn exit(&mut self, now: Time, status: i32) {
        self.event(now, 'x', &status.to_string());
    }

    /// Returns the status.
    pub fn status(&self) -> RecordingStatus {
        RecordingStatus {
            path: self.path.clone(),
            bytes: self.shared.written.load(Ordering::Relaxed),
            note: self.shared.note.get().cloned(),
        }
    }

    /// Returns a receiver that resolves once all events so far are in the file, or the recording has failed.
    pub fn flushed(&self) -> oneshot::Receiver<()> {
        let (done, flushed) = oneshot::channel();
        let _ = self.jobs.send(WriterJob::Flush(done));
        flushed
    }
}

/// Returns the number of bytes before an incomplete UTF-8 character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    // A character has at most four bytes, so an incomplete one starts in the last three.
    let from = bytes.len().saturating_sub(3);
    let begins = (from..bytes.len()).rev().find(|&i| bytes[i] & 0b1100_0000 != 0b1000_0000);
    match begins {
        Some(i) if std::str::from_utf8(&bytes[i..]).is_err_and(|e| e.error_len().is_none()) => i,
        _ => bytes.len(),
    }
}

/// Writes until the recorder is dropped, or a write fails.
fn write_all(file: File, jobs: &mpsc::Receiver<WriterJob>, shared: &Shared) {
    let mut file = BufWriter::new(file);
    // Dropped after the note is set, so that a pending flush sees the note.
    let mut waiting = Vec::new();
    if let Err(error) = write_jobs(&mut file, jobs, shared, &mut waiting) {
        let _ = shared.note.set(error.to_string());
    }
}

fn write_jobs(
    file: &mut BufWriter<File>,
    jobs: &mpsc::Receiver<WriterJob>,
    shared: &Shared,
    waiting: &mut Vec<oneshot::Sender<()>>,
) -> io::Result<()> {
    while let Ok(first) = jobs.recv() {
        // Writes all queued jobs, then flushes, so that a killed server leaves whole lines.
        for job in std::iter::once(first).chain(jobs.try_iter()) {
            match job {
                WriterJob::Line(line) => {
                    file.write_all(line.as_bytes())?;
                    shared.queued.fetch_sub(line.len(), Ordering::Relaxed);
                    shared.written.fetch_add(line.len() as u64, Ordering::Relaxed);
                }
                WriterJob::Flush(flushed) => waiting.push(flushed),
            }
        }
        file.flush()?;
        // Writes to a deleted file succeed without effect.
        if file.get_ref().metadata()?.nlink() == 0 {
            return Err(io::Error::other("the file was deleted"));
        }
        let written = shared.written.load(Ordering::Relaxed);
        if written > RECORDING_MAX {
            let most = RECORDING_MAX >> 20;
            let message = format!("the recording has reached the limit of {most} MiB");
            return Err(io::Error::other(message));
        }
        for flushed in waiting.drain(..) {
            let _ = flushed.send(());
        }
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns the directory for recordings, accessible to its owner only; creates it if it is missing.
fn directory() -> io::Result<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let path = match (given(FOLDER_VARIABLE), given("XDG_STATE_HOME"), given("HOME")) {
        (Some(directory), _, _) => PathBuf::from(directory),
        (None, Some(state), _) => Path::new(&state).join("awaitty/recordings"),
        (None, None, Some(home)) => Path::new(&home).join(".local/state/awaitty/recordings"),
        (None, None, None) => crate::runtime::runtime_dir()?.join("recordings"),
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
    made.map_err(|error| named(&path, &error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(name: &str) -> (Recorder, PathBuf) {
        let path = std::env::temp_dir().join(format!("awaitty-{name}-{}.cast", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let head = Head { size: (80, 24), command: "sh", timestamp: 7 };
        (Recorder::start_at(path.clone(), &head, false).unwrap(), path)
    }

    async fn lines(recorder: &Recorder) -> Vec<String> {
        let _ = recorder.flushed().await;
        let text = std::fs::read_to_string(&recorder.path).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn each_event_is_a_line() {
        let (mut recorder, path) = recorder("lines");
        recorder.output(Time::from_ms(10), b"a\x1b[m\r\n");
        recorder.input(Time::from_ms(20), b"typed");
        recorder.resize(Time::from_ms(30), 100, 30);
        recorder.mark(Time::from_ms(30), "make");
        recorder.exit(Time::from_ms(1030), 3);
        let wanted = [
            r#"[0.010000, "o", "a\u001b[m\r\n"]"#,
            r#"[0.020000, "r", "100x30"]"#,
            r#"[0.000000, "m", "make"]"#,
            r#"[1.000000, "x", "3"]"#,
        ];
        assert_eq!(lines(&recorder).await, wanted);
        std::fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn an_incomplete_character_waits_for_its_rest() {
        let (mut recorder, path) = recorder("cut");
        for byte in "é世🚀".as_bytes() {
            recorder.output(Time::default(), &[*byte]);
        }
        recorder.output(Time::default(), b"\xff\xe4x");
        let lines = lines(&recorder).await;
        let shown: Vec<&str> = lines.iter().filter_map(|line| line.split('"').nth(3)).collect();
        assert_eq!(shown, ["é", "世", "🚀", "\u{fffd}\u{fffd}x"]);
        std::fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn a_file_that_is_deleted_ends_the_recording_with_a_note() {
        let (mut recorder, path) = recorder("deleted");
        let _ = recorder.flushed().await;
        std::fs::remove_file(path).unwrap();
        recorder.output(Time::default(), b"x");
        let _ = recorder.flushed().await;
        assert_eq!(recorder.status().note.as_deref(), Some("the file was deleted"));
        recorder.output(Time::default(), b"y");
    }

    #[tokio::test]
    async fn a_full_disk_ends_the_recording_with_a_note() {
        let (jobs, received) = mpsc::channel();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let shared = Arc::new(Shared::default());
        jobs.send(WriterJob::Line("x".to_owned())).unwrap();
        write_all(full, &received, &shared);
        assert!(shared.note.get().unwrap().contains("No space left"), "{shared:?}");
    }

    #[tokio::test]
    async fn a_recording_ends_at_its_limit_with_a_note() {
        let (mut recorder, path) = recorder("limit");
        let _ = recorder.flushed().await;
        let line = cast::event(Default::default(), 'o', "x").len() as u64;
        recorder.shared.written.store(RECORDING_MAX - line, Ordering::Relaxed);
        recorder.output(Time::default(), b"x");
        let _ = recorder.flushed().await;
        assert_eq!(recorder.status().note, None);
        recorder.output(Time::default(), b"x");
        let _ = recorder.flushed().await;
        assert!(recorder.status().note.unwrap().contains("1024 MiB"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_disk_that_is_too_slow_ends_the_recording_with_a_note() {
        let (jobs, _received) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let last = Time::default();
        let path = PathBuf::new();
        let mut recorder =
            Recorder { path, jobs, shared, with_input: false, last, incomplete: Vec::new() };
        let most = "x".repeat(QUEUE_MAX - cast::event(Default::default(), 'o', "").len());
        recorder.output(Time::default(), most.as_bytes());
        assert_eq!(recorder.status().note, None);
        recorder.output(Time::default(), b"x");
        assert!(recorder.status().note.unwrap().contains("too slow"));
    }
}
