//! The baseline: a terminal whose output is read but not parsed, and helper programs that run in both terminals.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::time::{ClockId, clock_gettime};

/// The variable that makes this program run as one of its helpers, and names the helper.
pub(crate) const PART: &str = "AWAITTY_BENCH_PART";
/// The variable with the path of the socket that triggers the helper.
const SOCKET: &str = "AWAITTY_BENCH_SOCKET";

/// Returns the monotonic time in nanoseconds, which all processes share.
pub(crate) fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Measures how long a closure takes, in microseconds.
pub(crate) fn took<T>(act: impl FnOnce() -> T) -> f64 {
    let start = now();
    act();
    (now() - start) / 1e3
}

/// Runs as a helper if this process was started as one. Returns whether it was.
pub(crate) fn run_as_helper() -> bool {
    let Ok(part) = std::env::var(PART) else { return false };
    let mut socket = UnixStream::connect(std::env::var(SOCKET).unwrap()).unwrap();
    if part == "poke" {
        socket.write_all(b"x").unwrap();
        return true;
    }
    // Prints the time at each byte from the socket.
    let mut stdout = std::io::stdout();
    while let Ok(1) = socket.read(&mut [0]) {
        stdout.write_all(format!("T{:.0}\n", now()).as_bytes()).unwrap();
        stdout.flush().unwrap();
    }
    true
}

/// Returns the variables that make a process of this program run as a helper.
pub(crate) fn part(part: &str, socket: &Path) -> [(&'static str, String); 2] {
    [(PART, part.to_owned()), (SOCKET, socket.display().to_string())]
}

/// The benchmark's side of a helper: triggers it to print, or waits until it connects.
pub(crate) struct Printer {
    listener: UnixListener,
    stream: Option<UnixStream>,
}

impl Printer {
    pub(crate) fn new(path: &Path) -> Printer {
        Printer { listener: UnixListener::bind(path).unwrap(), stream: None }
    }

    pub(crate) fn print(&mut self) {
        let listener = &self.listener;
        let stream = self.stream.get_or_insert_with(|| listener.accept().unwrap().0);
        stream.write_all(b"x").unwrap();
    }

    /// Waits for a byte from a new connection.
    pub(crate) fn wait_for_poke(&self) {
        self.listener.accept().unwrap().0.read_exact(&mut [0]).unwrap();
    }
}

/// A terminal whose output is not parsed.
pub(crate) struct Raw {
    master: File,
    child: Child,
}

impl Raw {
    pub(crate) fn start(command: &mut Command) -> Raw {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let copy = || Stdio::from(slave.try_clone().unwrap());
        let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().unwrap();
        // `command` holds copies of the slave too; with those open the master never reports EOF.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Raw { master: File::from(master), child }
    }

    /// Reads a line.
    pub(crate) fn line(&mut self) -> String {
        let (mut text, mut buffer) = (String::new(), [0; 4096]);
        while !text.ends_with('\n') {
            let count = self.master.read(&mut buffer).unwrap();
            text += std::str::from_utf8(&buffer[..count]).unwrap();
        }
        text
    }

    /// Reads until the program has exited. Returns the number of bytes.
    pub(crate) fn drain(mut self) -> u64 {
        let (mut all, mut buffer) = (0, vec![0; 65536]);
        while let Ok(count) = self.master.read(&mut buffer) {
            all += count as u64;
        }
        all
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
