//! Removes old recordings by age and by total size.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

/// The end of the name of a trace, the page that shows a recording.
const TRACE_ENDING: &str = ".trace.html";

/// A recording or a trace in the directory.
struct Recording {
    path: PathBuf,
    modified: SystemTime,
    bytes: u64,
}

/// Removes recordings and traces last written more than `days` before `now`, then the oldest until the total is at most
/// `bytes_max`. Keeps recordings that are being written, and files that are not named like a recording.
pub(super) fn remove_old(directory: &Path, now: SystemTime, days: u64, bytes_max: u64) {
    let mut found: Vec<Recording> =
        fs::read_dir(directory).into_iter().flatten().flatten().filter_map(recording).collect();
    found.sort_by_key(|recording| recording.modified);
    let age_max = Duration::from_secs(days.saturating_mul(24 * 60 * 60));
    let mut bytes: u64 = found.iter().map(|recording| recording.bytes).sum();
    for recording in found {
        let age = now.duration_since(recording.modified).unwrap_or_default();
        let is_surplus = age > age_max || bytes > bytes_max;
        if is_surplus && !is_being_written(&recording.path) {
            match fs::remove_file(&recording.path) {
                Ok(()) => bytes -= recording.bytes,
                Err(error) => log::warn!("{}: {error}", recording.path.display()),
            }
        }
    }
}

fn recording(entry: fs::DirEntry) -> Option<Recording> {
    let path = entry.path();
    let name = path.file_name()?.to_str()?;
    let has_timestamp = name.split('-').next().is_some_and(|first| first.parse::<u64>().is_ok());
    let data = entry.metadata().ok()?;
    let has_ending = [".cast", TRACE_ENDING].iter().any(|ending| name.ends_with(ending));
    let is_recording = has_timestamp && has_ending && data.is_file();
    let modified = data.modified().ok()?;
    is_recording.then(|| Recording { path, modified, bytes: data.size() })
}

/// Returns whether a recorder holds the lock of the file.
fn is_being_written(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn add(directory: &TempDir, name: &str, modified: SystemTime, bytes: usize) -> File {
        let path = directory.path().join(name);
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        file
    }

    fn names(directory: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(directory.path()).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn recordings_past_the_age_are_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + 1000 * DAY;
        let second = Duration::from_secs(1);
        add(&directory, "1-2-edge.cast", now - 30 * DAY, 1);
        add(&directory, "1-2-past.cast", now - 30 * DAY - second, 1);
        add(&directory, "notes.cast", now - 300 * DAY, 1);
        add(&directory, "1-2-sh.txt", now - 300 * DAY, 1);
        add(&directory, "1-2-edge.trace.html", now - 30 * DAY, 1);
        add(&directory, "1-2-past.trace.html", now - 30 * DAY - second, 1);
        let written = add(&directory, "1-2-written.cast", now - 300 * DAY, 1);
        rustix::fs::flock(&written, FlockOperation::LockExclusive).unwrap();
        remove_old(directory.path(), now, 30, u64::MAX);
        let edge = ["1-2-edge.cast", "1-2-edge.trace.html"];
        let kept = [&edge[..], &["1-2-sh.txt", "1-2-written.cast", "notes.cast"]].concat();
        assert_eq!(names(&directory), kept);
        drop(written);
        remove_old(directory.path(), now, 30, u64::MAX);
        assert_eq!(names(&directory), [&edge[..], &["1-2-sh.txt", "notes.cast"]].concat());
    }

    #[test]
    fn the_oldest_recordings_are_removed_until_the_rest_fits() {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + 1000 * DAY;
        for age in 1..=4 {
            add(&directory, &format!("{age}-2-sh.cast"), now - age * DAY, 100);
        }
        remove_old(directory.path(), now, 30, 400);
        assert_eq!(names(&directory).len(), 4);
        remove_old(directory.path(), now, 30, 399);
        assert_eq!(names(&directory), ["1-2-sh.cast", "2-2-sh.cast", "3-2-sh.cast"]);
        remove_old(directory.path(), now, 30, 100);
        assert_eq!(names(&directory), ["1-2-sh.cast"]);
    }
}
