//! Token files, readable by their owner only.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Random bytes in a generated token: twice the recommended 128 bits.
const TOKEN_BYTES: usize = 32;

/// Minimum characters of a token from a file: 128 bits at 6 bits each.
const TOKEN_CHARS_MIN: usize = 22;

/// Maximum bytes of a token file.
const TOKEN_CHARS_MAX: u64 = 4096;

/// Reads the token from a file; creates the file if it is missing.
///
/// # Errors
/// If other users can read the file, or it holds no token. The message names the next step.
pub(super) fn load_or_create(path: &Path) -> io::Result<String> {
    let wrong = |what: String| io::Error::other(format!("{}: {what}", path.display()));
    if !path.exists() {
        create(path).map_err(|error| wrong(error.to_string()))?;
    }
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(wrong("not a regular file that you own: give another token file".to_owned()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(wrong(
            "other users can read it: chmod 600 it, and replace the token if one may have read it"
                .to_owned(),
        ));
    }
    let mut token = String::new();
    file.take(TOKEN_CHARS_MAX)
        .read_to_string(&mut token)
        .map_err(|error| wrong(error.to_string()))?;
    let token = token.trim();
    if token.len() < TOKEN_CHARS_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong(format!(
            "it contains no token of at least {TOKEN_CHARS_MIN} characters in one line: delete it to get a new one"
        )));
    }
    Ok(token.to_owned())
}

/// Creates a token file unless another process was faster. The hard link makes it appear with its content.
fn create(path: &Path) -> io::Result<()> {
    let token = new_token()?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", &token[..16]));
    let temporary = Path::new(&name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
    let written = file.write_all(format!("{}\n", new_token()?).as_bytes());
    let linked = written.and_then(|()| std::fs::hard_link(temporary, path));
    std::fs::remove_file(temporary)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// Returns a new random token as hexadecimal digits.
pub(super) fn new_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_file_is_created_once_and_is_private() {
        let path = std::env::temp_dir().join(format!("awaitty-token-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let token = load_or_create(&path).unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(load_or_create(&path).unwrap(), token);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(load_or_create(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for (text, is_fit) in
            [("x".repeat(21), false), ("x".repeat(22), true), ("a b".repeat(20), false)]
        {
            fs::write(&path, &text).unwrap();
            assert_eq!(load_or_create(&path).is_ok(), is_fit, "{text}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(load_or_create(&path).is_err());
        fs::remove_dir(&path).unwrap();
    }
}
