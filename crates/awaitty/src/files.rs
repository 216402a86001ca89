//! Writes files for callers: only in allowed directories, never over an existing file, and never through a symbolic
//! link, which a program could have created.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use awaitty_terminal::ToolError;
use awaitty_terminal::platform::files;

/// Command line options for the directories in which callers may write files.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Files")]
pub struct Directories {
    /// Directory in which callers may write files. Default: the working directory of the server, and the directory for
    /// temporary files.
    #[arg(
        long = "write-dir",
        env = "AWAITTY_WRITE_DIR",
        value_name = "DIR",
        value_delimiter = ':'
    )]
    pub write_dir: Vec<PathBuf>,
}

impl Directories {
    /// Resolves the directories; without any, the current directory and the one for temporary files.
    ///
    /// # Errors
    /// If a directory does not exist; the error names it.
    pub fn resolve(&self) -> Result<AllowedDirectories, String> {
        if self.write_dir.is_empty() {
            return Ok(AllowedDirectories::default());
        }
        let resolve = |directory: &PathBuf| {
            directory
                .canonicalize()
                .map_err(|error| format!("--write-dir {}: {error}", directory.display()))
        };
        let paths = self.write_dir.iter().map(resolve).collect::<Result<_, _>>()?;
        Ok(AllowedDirectories { paths })
    }
}

/// The directories in which callers may have files written.
#[derive(Clone, Debug)]
pub struct AllowedDirectories {
    paths: Vec<PathBuf>,
}

impl Default for AllowedDirectories {
    fn default() -> AllowedDirectories {
        // The daemon runs in the root directory, which is not for files of callers.
        let own = std::env::current_dir().ok().filter(|directory| directory.parent().is_some());
        let temporary = std::env::temp_dir().canonicalize().ok();
        AllowedDirectories { paths: own.into_iter().chain(temporary).collect() }
    }
}

impl AllowedDirectories {
    /// Writes a new file, all of it or nothing. Returns its path.
    ///
    /// # Errors
    /// If it may not be written there, or cannot be.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<PathBuf, ToolError> {
        self.write_with(path, |file| file.write_all(bytes)).map(|(path, ())| path)
    }

    /// Writes a new file as [`write`](Self::write) does, with the bytes that `fill` writes.
    ///
    /// # Errors
    /// If it may not be written there, or cannot be; also if `fill` fails.
    pub fn write_with<T>(
        &self,
        path: &str,
        fill: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> Result<(PathBuf, T), ToolError> {
        write_in(&self.paths, path, fill)
    }
}

fn write_in<T>(
    directories: &[PathBuf],
    path: &str,
    fill: impl FnOnce(&mut File) -> io::Result<T>,
) -> Result<(PathBuf, T), ToolError> {
    let (directory, inside) = locate(directories, path)?;
    let whole = directory.join(&inside);
    let root = open_directory(&directory).map_err(|error| failed(&whole, error))?;
    let file = files::create_beneath(&root, &inside);
    let mut file = file.map_err(|error| failed(&whole, error))?;
    match fill(&mut file).and_then(|filled| file.sync_all().map(|()| filled)) {
        Ok(filled) => Ok((whole, filled)),
        Err(error) => {
            let _ = rustix::fs::unlinkat(&root, &inside, AtFlags::empty());
            let message =
                format!("path: {}: {error}; the partial file was removed", whole.display());
            Err(ToolError::new("write_failed", message))
        }
    }
}

fn open_directory(directory: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(directory, flags, Mode::empty())
}

/// Returns the allowed directory of a path, and the path relative to it.
fn locate(directories: &[PathBuf], path: &str) -> Result<(PathBuf, PathBuf), ToolError> {
    let given = Path::new(path);
    if given.file_name().is_none() || path.ends_with('/') || path.contains('\0') {
        return Err(ToolError::argument(format!("path: {path:?} is not a file name: give one")));
    }
    let shown: Vec<String> =
        directories.iter().map(|directory| directory.display().to_string()).collect();
    let next = format!(
        "give a path in {}, or start the server with --write-dir",
        if shown.is_empty() { "an allowed directory".to_owned() } else { shown.join(" or ") }
    );
    if given.components().any(|part| part == Component::ParentDir) {
        return Err(ToolError::new("denied", format!("path: {path:?} contains `..`: {next}")));
    }
    let found = match (given.is_absolute(), directories.first()) {
        (true, _) => directories.iter().find_map(|directory| {
            Some((directory.clone(), given.strip_prefix(directory).ok()?.to_owned()))
        }),
        (false, Some(first)) => Some((first.clone(), given.to_owned())),
        (false, None) => None,
    };
    found.ok_or_else(|| {
        let message = format!("path: {path:?} is outside of the allowed directories: {next}");
        ToolError::new("denied", message)
    })
}

fn failed(path: &Path, error: Errno) -> ToolError {
    let path = path.display();
    match error {
        Errno::EXIST => {
            ToolError::new("denied", format!("path: {path} already exists: give another name"))
        }
        Errno::LOOP | Errno::XDEV => {
            let message =
                format!("path: {path} contains a symbolic link: give the path without it");
            ToolError::new("denied", message)
        }
        Errno::NOENT => {
            ToolError::argument(format!("path: the directory of {path} does not exist: create it"))
        }
        error => ToolError::new("write_failed", format!("path: {path}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    /// Returns a directory in which `in` may be written and `out` not.
    fn directory() -> TempDir {
        let directory = tempfile::tempdir_in(std::env::temp_dir().canonicalize().unwrap()).unwrap();
        fs::create_dir_all(directory.path().join("in/sub")).unwrap();
        fs::create_dir_all(directory.path().join("out")).unwrap();
        directory
    }

    fn write(directory: &TempDir, path: &str) -> Result<PathBuf, &'static str> {
        let allowed = [directory.path().join("in")];
        let written = write_in(&allowed, path, |file| file.write_all(b"bytes"));
        written.map(|(path, ())| path).map_err(|error| error.code)
    }

    #[test]
    fn a_file_is_written_once_and_is_private() {
        let directory = directory();
        let path = write(&directory, "sub/a.png").unwrap();
        assert_eq!(path, directory.path().join("in/sub/a.png"));
        assert_eq!(fs::read(&path).unwrap(), b"bytes");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(write(&directory, "sub/a.png"), Err("denied"));
        let whole = directory.path().join("in/b.png");
        assert_eq!(write(&directory, whole.to_str().unwrap()), Ok(whole));
        assert_eq!(write(&directory, "none/a.png"), Err("bad_argument"));
        for path in ["", "sub/", "/", "a\0b"] {
            assert_eq!(write(&directory, path), Err("bad_argument"), "{path:?}");
        }
    }

    #[test]
    fn a_file_whose_write_fails_is_removed() {
        let directory = directory();
        let allowed = [directory.path().join("in")];
        let failed = write_in(&allowed, "a", |file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        let failed = failed.unwrap_err();
        assert!(failed.code == "write_failed" && failed.message.contains("no more"), "{failed:?}");
        assert!(!directory.path().join("in/a").exists());
    }

    #[test]
    fn paths_outside_the_directory_and_links_are_rejected() {
        let directory = directory();
        let (inside, outside) = (directory.path().join("in"), directory.path().join("out"));
        symlink(&outside, inside.join("link")).unwrap();
        symlink(outside.join("new"), inside.join("to_new")).unwrap();
        symlink("sub", inside.join("harmless")).unwrap();
        let absolute = outside.join("x");
        let around = inside.join("../out/x");
        let paths =
            ["../out/x", "sub/../../out/x", "link/x", "to_new", "harmless/x", "/etc/awaitty"];
        for path in paths.into_iter().chain([&absolute, &around].map(|path| path.to_str().unwrap()))
        {
            assert_eq!(write(&directory, path), Err("denied"), "{path:?}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read_dir(inside.join("sub")).unwrap().count(), 0);
    }
}
