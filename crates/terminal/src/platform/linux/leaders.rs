//! The file of the session leaders that a daemon has started, and the processes of their sessions after the daemon was
//! killed.
//!
//! A PID alone does not identify a process: after a reboot, or when PIDs wrap around, it belongs to another process. So
//! the file starts with the boot ID, and each leader has its PID and its start time. The kernel does not reuse a PID
//! while a session has it as its ID. So if the PID of a leader belongs to a live process with another start time, all
//! processes of the leader's session have exited, and a session with that ID is a new one. If the leader of the new
//! session has exited too, the two sessions cannot be distinguished; therefore a leader is removed from the file when
//! its session is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

use super::proc::{self, Process};

/// A session leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Its PID, which is also the ID of its session.
    pid: i32,
    /// Its start time, in the kernel's ticks since the boot.
    start_time: u64,
}

/// The file of the leaders whose sessions are not closed.
#[derive(Debug)]
pub struct LeadersFile {
    path: PathBuf,
    boot_id: String,
    leaders: Mutex<Vec<Leader>>,
}

impl LeadersFile {
    /// Creates the file without a leader. Replaces an existing file.
    ///
    /// # Errors
    /// If the boot ID cannot be read or the file cannot be written.
    pub fn create(path: PathBuf) -> io::Result<LeadersFile> {
        let file = LeadersFile { path, boot_id: boot_id()?, leaders: Mutex::default() };
        file.write(&[])?;
        Ok(file)
    }

    /// Adds a leader that is not reaped yet. Ignores a failed write: then fewer processes are found after a kill, and
    /// nothing else depends on the file.
    pub fn add(&self, pid: Pid) -> Option<Leader> {
        let pid = pid.as_raw_nonzero().get();
        let leader = Leader { pid, start_time: proc::start_time(pid)? };
        let mut leaders = self.leaders.lock().unwrap_or_else(PoisonError::into_inner);
        leaders.push(leader);
        let file = fs::File::options().append(true).open(&self.path);
        let _ = file.and_then(|mut file| file.write_all(line(leader).as_bytes()));
        Some(leader)
    }

    /// Removes a leader whose session was closed, because the kernel may reuse its PID.
    pub fn remove(&self, leader: Leader) {
        let mut leaders = self.leaders.lock().unwrap_or_else(PoisonError::into_inner);
        leaders.retain(|other| *other != leader);
        let _ = self.write(&leaders);
    }

    /// Replaces the file atomically, so that a kill leaves either the old or the new file.
    fn write(&self, leaders: &[Leader]) -> io::Result<()> {
        let lines: String = leaders.iter().map(|&leader| line(leader)).collect();
        let new = self.path.with_extension("new");
        fs::write(&new, format!("{}\n{lines}", self.boot_id))?;
        fs::rename(&new, &self.path)
    }
}

fn line(Leader { pid, start_time }: Leader) -> String {
    format!("{pid} {start_time}\n")
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Reads the leaders of a killed daemon. Empty if the file is of another boot or of an older version.
pub fn read(path: &Path) -> Vec<Leader> {
    let text = fs::read_to_string(path).unwrap_or_default();
    boot_id().map_or_else(|_| Vec::new(), |boot_id| parse(&text, &boot_id))
}

/// Parses the file. Ignores a line without a line feed: its start time may be cut off.
fn parse(text: &str, boot_id: &str) -> Vec<Leader> {
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    if boot_id.is_empty() || lines.next() != Some(boot_id) {
        return Vec::new();
    }
    let leader = |line: &str| {
        let (pid, start_time) = line.split_once(' ')?;
        let leader = Leader { pid: pid.parse().ok()?, start_time: start_time.parse().ok()? };
        // Sessions 0 and 1 belong to the kernel and to init.
        (leader.pid > 1).then_some(leader)
    };
    lines.filter_map(leader).collect()
}

/// Returns the processes in the sessions of these leaders, and in the sessions of the processes `marked`.
pub(super) fn strays(
    table: &BTreeMap<i32, Process>,
    leaders: &[Leader],
    marked: &BTreeSet<i32>,
) -> BTreeSet<i32> {
    // A process that has cleared its environment is still in the session of a marked process.
    let sessions: BTreeSet<i32> =
        marked.iter().filter_map(|pid| Some(table.get(pid)?.session)).collect();
    let is_recycled = |leader: &Leader| {
        table.get(&leader.pid).is_some_and(|now| now.start_time != leader.start_time)
    };
    let own: Vec<&Leader> = leaders.iter().filter(|leader| !is_recycled(leader)).collect();
    let is_of_leader = |process: &Process| {
        own.iter()
            .any(|leader| process.session == leader.pid && process.start_time >= leader.start_time)
    };
    let is_stray = |pid: &i32, process: &Process| {
        marked.contains(pid) || sessions.contains(&process.session) || is_of_leader(process)
    };
    table.iter().filter(|(pid, process)| is_stray(pid, process)).map(|(&pid, _)| pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [i32; 0] = [];
    const BOOT: &str = "6f1c1b4e-3a54-4b0e-9d0b-3f0a4c5c0d11";

    fn leader(pid: i32, start_time: u64) -> Leader {
        Leader { pid, start_time }
    }

    /// A table of processes, each as its PID, its session and its start time.
    fn table<const N: usize>(processes: [(i32, i32, u64); N]) -> BTreeMap<i32, Process> {
        let process = |(pid, session, start_time)| {
            (pid, Process { parent: 1, session, is_zombie: false, start_time })
        };
        processes.map(process).into()
    }

    fn found(all: &BTreeMap<i32, Process>, leaders: &[Leader], marked: &[i32]) -> Vec<i32> {
        strays(all, leaders, &marked.iter().copied().collect()).into_iter().collect()
    }

    #[test]
    fn a_file_of_this_boot_is_read() {
        let text = format!("{BOOT}\n100 5000\n200 6000\n");
        assert_eq!(parse(&text, BOOT), [leader(100, 5000), leader(200, 6000)]);
        assert_eq!(parse(&format!("{BOOT}\n"), BOOT), []);
    }

    #[test]
    fn a_file_of_another_boot_or_an_old_version_is_ignored() {
        let other = BOOT.replace('6', "7");
        assert_eq!(parse(&format!("{other}\n100 5000\n"), BOOT), []);
        assert_eq!(parse("100\n200\n", BOOT), []);
        assert_eq!(parse("100 5000\n200 6000\n", BOOT), []);
        assert_eq!(parse("", BOOT), []);
        assert_eq!(parse("\n100 5000\n", ""), [], "a boot without an ID");
    }

    #[test]
    fn lines_that_are_cut_off_or_broken_are_ignored() {
        let text = format!("{BOOT}\n100\n0 1\n1 1\n-5 1\nx y\n200 6 7\n300 7000\n400 80");
        assert_eq!(parse(&text, BOOT), [leader(300, 7000)]);
        assert_eq!(parse(BOOT, BOOT), [], "the ID of the boot may be cut off");
    }

    #[test]
    fn leaders_are_in_the_file_until_their_sessions_are_closed() {
        let directory =
            std::env::temp_dir().join(format!("awaitty-leaders-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let path = directory.join("leaders");
        fs::write(&path, "100\n200\n").unwrap();
        assert_eq!(read(&path), [], "an old version");
        let file = LeadersFile::create(path.clone()).unwrap();
        assert_eq!(read(&path), []);
        let (own, parent) = (rustix::process::getpid(), rustix::process::getppid().unwrap());
        let (own, parent) = (file.add(own).unwrap(), file.add(parent).unwrap());
        assert_eq!(read(&path), [own, parent]);
        assert!(own.start_time >= parent.start_time);
        file.remove(own);
        assert_eq!(read(&path), [parent]);
        file.remove(Leader { start_time: parent.start_time + 1, ..parent });
        assert_eq!(read(&path), [parent], "another leader by the same PID");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_session_outlives_its_leader() {
        let all = table([(101, 100, 5000), (102, 100, 9000), (300, 300, 9000)]);
        assert_eq!(found(&all, &[leader(100, 5000)], &[]), [101, 102]);
    }

    #[test]
    fn a_leader_that_lives_is_found_by_its_start_time() {
        let all = table([(100, 100, 5000), (101, 100, 5001)]);
        assert_eq!(found(&all, &[leader(100, 5000)], &[]), [100, 101]);
    }

    #[test]
    fn a_recycled_pid_is_another_session() {
        let all = table([(100, 100, 7000), (101, 100, 7001)]);
        assert_eq!(found(&all, &[leader(100, 5000)], &[]), NONE);
        // It may lead no session, and a session of that ID cannot be there.
        let all = table([(100, 50, 7000)]);
        assert_eq!(found(&all, &[leader(100, 5000)], &[]), NONE);
    }

    #[test]
    fn a_recycled_pid_is_another_session_also_as_a_zombie() {
        let mut all = table([(100, 100, 7000), (101, 100, 7001)]);
        all.get_mut(&100).expect("it is there").is_zombie = true;
        assert_eq!(found(&all, &[leader(100, 5000)], &[]), NONE);
        // A zombie with the right start time is the leader.
        assert_eq!(found(&all, &[leader(100, 7000)], &[]), [100, 101]);
    }

    #[test]
    fn a_process_that_is_older_than_the_leader_is_not_of_its_session() {
        let all = table([(101, 100, 4999), (102, 100, 5000)]);
        assert_eq!(found(&all, &[leader(100, 5000)], &[]), [102]);
    }

    #[test]
    fn a_leader_is_known_by_the_newest_of_two_with_its_pid() {
        // The PID was given out again to another session of ours, which lives.
        let all = table([(100, 100, 7000), (101, 100, 7001)]);
        assert_eq!(found(&all, &[leader(100, 5000), leader(100, 7000)], &[]), [100, 101]);
    }

    #[test]
    fn a_marked_process_is_found_with_its_session() {
        let all = table([(500, 400, 9000), (501, 400, 9001), (600, 600, 9000)]);
        assert_eq!(found(&all, &[], &[500]), [500, 501]);
    }
}
