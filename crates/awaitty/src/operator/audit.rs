//! The audit log: one line of JSON per call, appended by a thread.
//!
//! A call never waits for the log. If the disk is too slow, entries are dropped, and the next line contains their
//! number.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::Thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Entries waiting to be written: several seconds of a fast client.
const QUEUE_MAX: usize = 10_000;

/// Bytes of a log before it is rotated: about 100,000 calls.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// Rotated logs that are kept; `FILE.1` is the newest.
const ROTATED_MAX: u32 = 5;

/// Characters of a logged text argument. The rest of a long paste is of little use.
const TEXT_CHARS_MAX: usize = 1_000;

/// Time for which the thread collects entries, so that a busy client wakes it 50 times a second instead of with each
/// call. An entry is in the file within this time.
const GATHER: Duration = Duration::from_millis(20);

/// Time for which the server's shutdown waits for the log.
const FINISH_MAX: Duration = Duration::from_millis(500);

/// Parameters that contain typed text.
const TYPED_PARAMETERS: [&str; 5] = ["input", "keys", "paste", "text", "run"];

/// The client that made a call.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Who {
    /// The transport of its connection.
    pub via: &'static str,
    /// The name that it reported.
    pub client: Option<String>,
    /// The process at the other end of a socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
}

/// A logged call.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry {
    /// Time of the end of the call, in milliseconds since 1970.
    pub time_ms: u64,
    /// The client.
    pub who: Who,
    /// The tool.
    pub tool: String,
    /// The arguments, without secrets.
    pub arguments: Value,
    /// The session, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The outcome of a wait, `ok`, or an error code.
    pub outcome: String,
    /// The error message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The seq of the frame in the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Duration of the call.
    pub elapsed_ms: u64,
}

/// Removes data from arguments that the log must not contain: the values of variables, text that was typed while echo
/// was off, and the rest of long texts.
pub(crate) fn redact(arguments: &mut Value, is_typed_hidden: bool) {
    match arguments {
        Value::Object(all) => {
            for (name, value) in all {
                match value {
                    Value::Object(variables) if name == "env" || name == "inherit_env" => {
                        variables.values_mut().for_each(|value| *value = json!("…"));
                    }
                    Value::Bool(_) | Value::Null => {}
                    _ if is_typed_hidden && TYPED_PARAMETERS.contains(&name.as_str()) => {
                        *value = json!("(echo off)");
                    }
                    value => redact(value, is_typed_hidden),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| redact(value, is_typed_hidden)),
        Value::String(text) => {
            if let Some((at, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
                *text = format!("{}… ({} bytes)", &text[..at], text.len());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

enum WriterJob {
    Write(Box<Entry>),
    Finish(oneshot::Sender<()>),
}

/// An open audit log.
#[derive(Clone, Debug)]
pub struct AuditLog {
    jobs: SyncSender<WriterJob>,
    dropped: Arc<AtomicU64>,
    thread: Thread,
}

impl AuditLog {
    /// Opens a log with mode 0600, and starts its thread.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<AuditLog> {
        AuditLog::with_limits(path, QUEUE_MAX, FILE_BYTES_MAX)
    }

    fn with_limits(path: &Path, queue_max: usize, bytes_max: u64) -> io::Result<AuditLog> {
        let named = |error: io::Error| {
            let what = format!("the audit log {}: {error}", path.display());
            io::Error::new(error.kind(), what)
        };
        let mut writer = Writer::open(path, bytes_max).map_err(named)?;
        let (jobs, received) = sync_channel(queue_max);
        let dropped = Arc::new(AtomicU64::new(0));
        let thread_dropped = Arc::clone(&dropped);
        let thread = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run(&received, &thread_dropped))
            .map_err(named)?;
        Ok(AuditLog { jobs, dropped, thread: thread.thread().clone() })
    }

    /// Queues an entry, or drops it if the queue is full.
    pub fn write(&self, entry: Entry) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.jobs.try_send(WriterJob::Write(Box::new(entry)))
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all entries are written, up to `FINISH_MAX`.
    pub async fn finish(&self) {
        let (done, is_done) = oneshot::channel();
        let jobs = self.jobs.clone();
        let finish = async {
            // Sending to a full queue blocks.
            let sent = tokio::task::spawn_blocking(move || jobs.send(WriterJob::Finish(done)));
            let _ = sent.await;
            self.thread.unpark();
            let _ = is_done.await;
        };
        let _ = tokio::time::timeout(FINISH_MAX, finish).await;
    }
}

/// Lines that are written together.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    lines: u64,
}

struct Writer {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
    /// The last write failed.
    failed: bool,
}

impl Writer {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Writer> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        // An existing log may have another mode.
        if file.metadata()?.is_file() {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        let bytes = file.metadata()?.len();
        Ok(Writer { path: path.to_owned(), file, bytes, bytes_max, failed: false })
    }

    fn run(&mut self, jobs: &Receiver<WriterJob>, dropped: &AtomicU64) {
        while let Ok(first) = jobs.recv() {
            if matches!(first, WriterJob::Write(_)) {
                // A debounce: an entry wakes a thread that waits for the queue, but not a parked one. `finish` wakes
                // both.
                std::thread::park_timeout(GATHER);
            }
            let mut batch = Batch::default();
            for job in std::iter::once(first).chain(jobs.try_iter()) {
                match job {
                    WriterJob::Finish(done) => {
                        self.write(std::mem::take(&mut batch), dropped);
                        let _ = done.send(());
                    }
                    WriterJob::Write(entry) => {
                        let lost = dropped.swap(0, Ordering::Relaxed);
                        if lost > 0 {
                            self.add(
                                &mut batch,
                                &json!({"time_ms": entry.time_ms, "dropped": lost}),
                                dropped,
                            );
                        }
                        self.add(&mut batch, &entry, dropped);
                    }
                }
            }
            self.write(batch, dropped);
        }
    }

    /// Adds a line to a batch. Writes the batch first and rotates the file if they would exceed its maximum size.
    fn add(&mut self, batch: &mut Batch, line: &impl Serialize, dropped: &AtomicU64) {
        let Ok(mut line) = serde_json::to_vec(line) else {
            dropped.fetch_add(1, Ordering::Relaxed);
            return;
        };
        line.push(b'\n');
        let written = self.bytes + batch.bytes.len() as u64;
        if written > 0 && written + line.len() as u64 > self.bytes_max {
            self.write(std::mem::take(batch), dropped);
            if let Err(error) = self.rotate() {
                self.note_failure(&error);
            }
        }
        batch.bytes.append(&mut line);
        batch.lines += 1;
    }

    fn write(&mut self, batch: Batch, dropped: &AtomicU64) {
        match self.file.write_all(&batch.bytes) {
            Ok(()) => {
                self.bytes += batch.bytes.len() as u64;
                self.failed = false;
            }
            Err(error) => {
                dropped.fetch_add(batch.lines, Ordering::Relaxed);
                self.note_failure(&error);
            }
        }
    }

    /// Logs the first of several consecutive failures.
    fn note_failure(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.failed, true) {
            crate::log(&format!("the audit log {}: {error}", self.path.display()));
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        let rotated = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..ROTATED_MAX).rev() {
            let _ = fs::rename(rotated(number), rotated(number + 1));
        }
        fs::rename(&self.path, rotated(1))?;
        *self = Writer { failed: self.failed, ..Writer::open(&self.path, self.bytes_max)? };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(tool: &str) -> Entry {
        Entry { tool: tool.to_owned(), outcome: "ok".to_owned(), ..Entry::default() }
    }

    fn redacted(arguments: &Value, is_typed_hidden: bool) -> Value {
        let mut arguments = arguments.clone();
        redact(&mut arguments, is_typed_hidden);
        arguments
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn entries_are_appended_to_a_private_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        fs::write(&path, "{\"tool\":\"old\"}\n").unwrap();
        let log = AuditLog::open(&path).unwrap();
        log.write(entry("spawn"));
        log.write(entry("snapshot"));
        log.finish().await;
        let tools: Vec<_> = lines(&path).into_iter().map(|line| line["tool"].clone()).collect();
        assert_eq!(tools, ["old", "spawn", "snapshot"]);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_log_is_rotated_at_its_limit_and_only_the_newest_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let line = serde_json::to_string(&entry("x")).unwrap().len() as u64 + 1;
        let log = AuditLog::with_limits(&path, 100, 2 * line).unwrap();
        for _ in 0..2 {
            log.write(entry("x"));
        }
        log.finish().await;
        assert_eq!((lines(&path).len(), fs::read_dir(directory.path()).unwrap().count()), (2, 1));
        for _ in 0..2 * ROTATED_MAX + 1 {
            log.write(entry("y"));
        }
        log.finish().await;
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1 + ROTATED_MAX as usize);
        assert_eq!(lines(&path).len(), 1);
        let oldest = lines(&directory.path().join(format!("audit.log.{ROTATED_MAX}")));
        assert!(oldest.iter().all(|line| line["tool"] == "y"), "{oldest:?}");
    }

    #[tokio::test]
    async fn a_full_queue_drops_and_counts_entries() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        // An unread pipe fills up and then blocks the writer.
        let mut reader = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let log = AuditLog::with_limits(&path, 10, u64::MAX).unwrap();
        let count = 10_000;
        for _ in 0..count {
            log.write(entry("x"));
        }
        let dropped = log.dropped.load(Ordering::Relaxed);
        assert!(dropped > 0, "{dropped}");
        let (mut read, mut seen) = (Vec::new(), 0);
        let mut buffer = [0; 65_536];
        // Reads all entries that were not dropped, then the count in the next one.
        while seen < count {
            let bytes = io::Read::read(&mut reader, &mut buffer).unwrap();
            read.extend_from_slice(&buffer[..bytes]);
            let whole = read.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            for line in read.drain(..whole).collect::<Vec<_>>().split(|&byte| byte == b'\n') {
                if let Ok(line) = serde_json::from_slice::<Value>(line) {
                    seen += line["dropped"].as_u64().unwrap_or(1);
                }
            }
            if seen + log.dropped.load(Ordering::Relaxed) >= count {
                log.write(entry("last"));
                seen += u64::from(seen >= count);
            }
        }
    }

    #[test]
    fn secrets_variables_and_long_texts_are_left_out() {
        let arguments = json!({"command": "x", "env": {"API_KEY": "hunter2"}, "input": "hunter2",
            "paste": true, "steps": [{"input": "hunter2", "wait": {"text": "hunter2"}}, {"secret": "db"}]});
        let logged = redacted(&arguments, true).to_string();
        assert!(!logged.contains("hunter2"), "{logged}");
        assert!(logged.contains("API_KEY") && logged.contains("\"db\""), "{logged}");
        let visible = redacted(&arguments, false);
        assert!(visible["input"] == "hunter2" && visible["env"]["API_KEY"] == "…", "{visible}");
        let text = |count| json!("x".repeat(count));
        assert_eq!(redacted(&text(TEXT_CHARS_MAX), false), text(TEXT_CHARS_MAX));
        assert!(redacted(&text(TEXT_CHARS_MAX + 1), false).as_str().unwrap().ends_with("bytes)"));
    }
}
