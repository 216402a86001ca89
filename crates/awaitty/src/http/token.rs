//! Tokens, which are in files that only their owner can read, and nowhere else.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of chance in a token that we make: twice what is asked for.
const TOKEN_BYTES: usize = 32;

/// Characters of a token that somebody else made: 128 bits, if each has six.
const TOKEN_CHARS_MIN: usize = 22;

/// A file with more than that is no token.
const TOKEN_CHARS_MAX: u64 = 4096;

/// The token of a file, which is made if it is not there.
///
/// # Errors
/// If others can read the file, or it holds no token; it says what to do.
pub(super) fn of_file(path: &Path) -> io::Result<String> {
    let wrong = |what: String| io::Error::other(format!("{}: {what}", path.display()));
    if !path.exists() {
        make(path).map_err(|error| wrong(error.to_string()))?;
    }
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(wrong("a token file must be a file of yours".to_owned()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(wrong("others can read it: chmod 600, and a new token if they did".to_owned()));
    }
    let mut token = String::new();
    file.take(TOKEN_CHARS_MAX)
        .read_to_string(&mut token)
        .map_err(|error| wrong(error.to_string()))?;
    let token = token.trim();
    if token.len() < TOKEN_CHARS_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong(format!(
            "not a token of at least {TOKEN_CHARS_MIN} characters in one line: delete it, and one is made"
        )));
    }
    Ok(token.to_owned())
}

/// Makes a file with a new token, unless somebody else was faster. It is there only with its token in it.
fn make(path: &Path) -> io::Result<()> {
    let token = new_token()?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", &token[..16]));
    let begun = Path::new(&name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(begun)?;
    let written = file.write_all(format!("{}\n", new_token()?).as_bytes());
    let linked = written.and_then(|()| std::fs::hard_link(begun, path));
    std::fs::remove_file(begun)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// A new one, for whatever nobody must guess.
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
    fn a_token_is_made_once_and_is_for_its_owner() {
        let path = std::env::temp_dir().join(format!("awaitty-token-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let token = of_file(&path).unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(of_file(&path).unwrap(), token);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(of_file(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for (text, is_fit) in
            [("x".repeat(21), false), ("x".repeat(22), true), ("a b".repeat(20), false)]
        {
            fs::write(&path, &text).unwrap();
            assert_eq!(of_file(&path).is_ok(), is_fit, "{text}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(of_file(&path).is_err());
        fs::remove_dir(&path).unwrap();
    }
}
