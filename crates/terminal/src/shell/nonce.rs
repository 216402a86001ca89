//! The nonce of a shell's marks, and the file that passes it to the shell.
//!
//! The initial environment of a process stays readable in `/proc` until the process exits, so the nonce must not be in
//! it. The shell reads it from a file and empties the file, which is removed at the first mark.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::platform::proc;

/// The length of a nonce in bytes: too long to guess.
const NONCE_BYTES: usize = 16;

/// The prefix of nonce file names. The PID of the server follows.
const FILE_PREFIX: &str = "nonce-";

/// A random number in the marks of a shell, so that no program can forge them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// Generates a nonce.
    ///
    /// # Errors
    /// If `/dev/urandom` cannot be read.
    pub fn new() -> io::Result<Nonce> {
        let mut bytes = [0; NONCE_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Nonce(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Wraps an existing nonce.
    pub fn known(nonce: &str) -> Nonce {
        Nonce(nonce.to_owned())
    }

    /// Returns the hexadecimal text that marks contain.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A file that passes a nonce to a shell. Dropping it removes the file.
#[derive(Debug)]
pub struct NonceFile {
    path: PathBuf,
}

impl NonceFile {
    /// Writes a nonce to a new file that only its owner can read.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(directory: &Path, nonce: &Nonce) -> io::Result<NonceFile> {
        remove_stale(directory);
        // The file name is public, so it must not derive from the nonce inside.
        let name = Nonce::new()?;
        let path = directory.join(format!("{FILE_PREFIX}{}-{}", std::process::id(), name.as_str()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        // Created before the write, so that a failed write removes the file.
        let nonce_file = NonceFile { path };
        writeln!(file, "{}", nonce.as_str())?;
        Ok(nonce_file)
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for NonceFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the files of servers that no longer run.
fn remove_stale(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(FILE_PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !pid.parse().is_ok_and(proc::exists)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn nonces_differ_and_are_long() {
        let (one, other) = (Nonce::new().unwrap(), Nonce::new().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.as_str().len(), 2 * NONCE_BYTES);
    }

    #[test]
    fn a_nonce_file_is_private_and_removed_on_drop() {
        let directory = std::env::temp_dir().join(format!("awaitty-nonce-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        // No process has that PID: it is above the kernel's maximum.
        let stale = directory.join(format!("{FILE_PREFIX}4194305-ff"));
        fs::write(&stale, "left by a server that was killed").unwrap();
        let nonce = Nonce::new().unwrap();
        let file = NonceFile::write(&directory, &nonce).unwrap();
        assert_eq!(fs::read_to_string(file.path()).unwrap().trim_end(), nonce.as_str());
        assert_eq!(file.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!file.path().to_string_lossy().contains(nonce.as_str()));
        drop(file);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        fs::remove_dir_all(&directory).unwrap();
    }
}
