//! The parameters of shells' marks (OSC 133).

/// The parameters of a mark.
#[derive(Debug, Default)]
pub(crate) struct Params<'m> {
    /// The nonce.
    pub(crate) aid: Option<&'m str>,
    /// The first parameter without a key.
    pub(crate) word: Option<&'m str>,
    /// That parameter as a number.
    pub(crate) status: Option<i32>,
    /// The mark is of a continuation prompt.
    pub(crate) is_secondary: bool,
    /// The mark is an end that the prompt repeats.
    pub(crate) is_repeated: bool,
    /// The working directory, escaped.
    cwd: Option<&'m str>,
    /// The working directory, not escaped.
    dir: Option<&'m str>,
    /// The text of the command.
    pub(crate) cmd: Option<&'m str>,
}

impl<'m> Params<'m> {
    /// Returns the working directory of the shell. Shells that can escape it send `cwd=`, the others `dir=`.
    pub(crate) fn directory(&self) -> Option<String> {
        self.dir.map(str::to_owned).or_else(|| self.cwd.map(unescape))
    }

    /// Parses the parameters.
    pub(crate) fn new(mut rest: &'m str) -> Params<'m> {
        let mut params = Params::default();
        while !rest.is_empty() {
            // These are last, and their values may hold any character.
            if let Some(cwd) = rest.strip_prefix("cwd=") {
                params.cwd = Some(cwd);
                break;
            }
            if let Some(dir) = rest.strip_prefix("dir=") {
                params.dir = Some(dir);
                break;
            }
            if let Some(cmd) = rest.strip_prefix("cmd=") {
                params.cmd = Some(cmd);
                break;
            }
            let (param, next) = rest.split_once(';').unwrap_or((rest, ""));
            rest = next;
            match param.split_once('=') {
                Some(("aid", aid)) => params.aid = Some(aid),
                Some(("k", "s")) => params.is_secondary = true,
                Some(("k", "r")) => params.is_repeated = true,
                Some(_) => {}
                None => {
                    params.status = param.parse().ok();
                    params.word = Some(param);
                }
            }
        }
        params
    }
}

/// Decodes a path in which percent signs and characters that would end a mark are written as `%XX`.
fn unescape(path: &str) -> String {
    let mut parts = path.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(&part[2..]);
            }
            None => {
                text.push('%');
                text.push_str(part);
            }
        }
    }
    text
}
