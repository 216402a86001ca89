//! The parameters of shells' marks (OSC 133).

/// What a mark says besides its kind.
#[derive(Debug, Default)]
pub(crate) struct Params<'m> {
    pub(crate) aid: Option<&'m str>,
    pub(crate) word: Option<&'m str>,
    pub(crate) status: Option<i32>,
    pub(crate) is_secondary: bool,
    /// An end that the prompt repeats.
    pub(crate) is_repeated: bool,
    cwd: Option<&'m str>,
    dir: Option<&'m str>,
    pub(crate) cmd: Option<&'m str>,
}

impl<'m> Params<'m> {
    /// Where the shell is: written with escapes by those who can, as it is by others.
    pub(crate) fn directory(&self) -> Option<String> {
        self.dir.map(str::to_owned).or_else(|| self.cwd.map(unescape))
    }

    pub(crate) fn new(mut rest: &'m str) -> Params<'m> {
        let mut params = Params::default();
        while !rest.is_empty() {
            // These are the last, and may hold anything.
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

/// A path in which percent signs and what would end a mark are written as `%XX`.
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
