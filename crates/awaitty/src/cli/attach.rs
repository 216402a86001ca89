//! `awaitty attach`: a person at a session's terminal.
//!
//! The screen is drawn from snapshots when it changes, which a wait tells; what is typed goes to the program,
//! key by key. The session keeps its size unless it is asked to take this terminal's.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use serde_json::{Value, json};

use crate::client::{Answered, Client};

/// The key that leaves the session alone again: ctrl+].
const DETACH: u8 = 0x1d;

/// How a person left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// By the key.
    Detached,
    /// The program exited, or its session was closed.
    Ended,
}

/// Puts the person on a session until they detach, or it ends.
///
/// # Errors
/// If this is no terminal, there is no such session, or the daemon goes away.
pub fn run(session: Option<&str>, resize: bool) -> io::Result<Left> {
    if !rustix::termios::isatty(io::stdin()) || !rustix::termios::isatty(io::stdout()) {
        return Err(io::Error::other(
            "attach needs a terminal: snapshot shows the screen without one",
        ));
    }
    let mut client = Client::daemon()?;
    if resize {
        let size = tcgetwinsize(io::stdout())?;
        let size = json!({"session_id": session, "cols": size.ws_col, "rows": size.ws_row.saturating_sub(1).max(1)});
        call(&mut client, "resize_session", &size)?;
    }
    let first = snapshot(&mut client, session)?;
    let id = first["session_id"].clone();
    let _raw = RawMode::enter()?;
    let drawer = Arc::new(Drawer::default());
    draw(&drawer, &first)?;
    // Whichever comes first ends it; the other ends with the process.
    let (left, leaving) = mpsc::channel();
    let (typed_to, typed_left, typed_drawer) = (id.clone(), left.clone(), Arc::clone(&drawer));
    thread::spawn(move || typed_left.send(type_into(&typed_to, &typed_drawer)));
    let (asked_at, asked_drawer) = (id.clone(), Arc::clone(&drawer));
    thread::spawn(move || attend(&asked_at, &asked_drawer));
    thread::spawn(move || {
        left.send(watch(&mut client, &id, &first, &drawer).map(|()| Left::Ended))
    });
    leaving.recv().unwrap_or(Ok(Left::Ended))
}

/// Who draws holds it; in it is what the person is asked for.
#[derive(Debug, Default)]
struct Drawer(Mutex<Option<String>>);

impl Drawer {
    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls a tool; a mistake is an error here.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> io::Result<Value> {
    let answered = client.call(tool, arguments, &mut |_| {})?;
    if answered.is_error {
        return Err(io::Error::other(answered.text));
    }
    Ok(answered.structured)
}

fn snapshot(client: &mut Client, session: Option<&str>) -> io::Result<Value> {
    let mut asked = json!({"format": "styled"});
    if let Some(session) = session {
        asked["session_id"] = json!(session);
    }
    call(client, "snapshot", &asked)
}

/// Draws each change until the program exits.
fn watch(client: &mut Client, id: &Value, first: &Value, drawer: &Drawer) -> io::Result<()> {
    let mut seq = first["seq"].clone();
    loop {
        let change = json!({"session_id": id, "since": seq, "stable_ms": 0, "styles": true, "timeout_ms": 86_400_000, "diff": true});
        let ended = match call(client, "wait_for_screen_change", &change) {
            Ok(ended) => ended,
            // It was closed.
            Err(_) => return Ok(()),
        };
        if let Ok(shown) = snapshot(client, id.as_str()) {
            draw(drawer, &shown)?;
            seq = shown["seq"].clone();
        }
        if ended["exited"] == json!(true) {
            return Ok(());
        }
    }
}

/// Says that somebody is here, and shows what they are asked for.
fn attend(id: &Value, drawer: &Drawer) -> io::Result<()> {
    let mut client = Client::daemon()?;
    let mut asked = Value::Null;
    loop {
        let told = call(&mut client, "attend", &json!({"session_id": id, "known": asked}))?;
        asked = told["asked"].clone();
        *drawer.lock() = asked.as_str().map(str::to_owned);
        draw(drawer, &snapshot(&mut client, id.as_str())?)?;
    }
}

/// Sends what is typed, and draws afterwards: a cursor that moved is no change of the screen.
fn type_into(id: &Value, drawer: &Drawer) -> io::Result<Left> {
    let mut client = Client::daemon()?;
    let mut buffer = [0; 4096];
    let mut begun = Vec::new();
    loop {
        let count = io::stdin().read(&mut buffer)?;
        let detach = buffer[..count].iter().position(|&byte| byte == DETACH);
        begun.extend(&buffer[..detach.unwrap_or(count)]);
        let whole = match std::str::from_utf8(&begun) {
            Ok(text) => text.len(),
            // A character that is not all there yet; what is none at all goes as it is shown.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => begun.len(),
        };
        let typed: Vec<u8> = begun.drain(..whole).collect();
        if !typed.is_empty() {
            let keys = keys(&String::from_utf8_lossy(&typed));
            let input = json!({"session_id": id, "keys": keys, "diff": true, "wait": {"settled": 20, "timeout_ms": 100}});
            let Ok(sent) = client.call("send_input", &input, &mut |_| {}) else {
                return Ok(Left::Ended);
            };
            // Somebody else may have control for a while; what is typed here is lost then, and nothing else.
            if sent.is_error && sent.structured["code"] != "denied" {
                return Ok(Left::Ended);
            }
            draw(drawer, &snapshot(&mut client, id.as_str())?)?;
        }
        if detach.is_some() || count == 0 {
            return Ok(Left::Detached);
        }
    }
}

/// Text as it is, but a line feed as the key that it was.
fn keys(typed: &str) -> Vec<Value> {
    let mut keys = Vec::new();
    for (i, part) in typed.split('\n').enumerate() {
        if i > 0 {
            keys.push(json!("ctrl+j"));
        }
        if !part.is_empty() {
            keys.push(json!({"text": part}));
        }
    }
    keys
}

/// Draws a screen as far as it fits, with a line below that says how to leave.
fn draw(drawer: &Drawer, shown: &Value) -> io::Result<()> {
    let asked = drawer.lock();
    let size = tcgetwinsize(io::stdout())?;
    let (height, width) = (usize::from(size.ws_row.max(2)) - 1, usize::from(size.ws_col.max(1)));
    let rows = shown["styled"].as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or(1) as usize;
    let (row, col) = (number(&shown["cursor"]["row"]), number(&shown["cursor"]["col"]));
    // Where it does not fit, what is around the cursor is shown.
    let top = row.saturating_sub(height);
    let mut text = String::from("\x1b[?2026h\x1b[?25l\x1b[H");
    for i in 0..height {
        let runs = rows.get(top + i).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        text += &format!("\x1b[{};1H\x1b[m{}\x1b[m\x1b[K", i + 1, paint(runs, width));
    }
    let id = shown["session_id"].as_str().unwrap_or_default();
    let (cols, lines) = (&shown["size"]["cols"], &shown["size"]["rows"]);
    let state = shown["state"].as_str().unwrap_or_default();
    let what = match &*asked {
        Some(question) => format!("the agent asks you for {question}: type it and press Enter"),
        None => format!("{cols}x{lines} {state}"),
    };
    let note: String = format!(" {id} {what} | ctrl+] detaches ").chars().take(width).collect();
    text += &format!("\x1b[{};1H\x1b[7m{note}\x1b[m\x1b[K", height + 1);
    if shown["cursor"]["visible"] == json!(true) {
        text += &format!("\x1b[{};{}H\x1b[?25h", row - top, col);
    }
    text += "\x1b[?2026l";
    let mut stdout = io::stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// A screen for a person: the header, and the rows in their colours.
pub(super) fn painted(answered: &Answered) -> String {
    let rows = answered.structured["styled"].as_array().cloned().unwrap_or_default();
    let end = rows.iter().rposition(|row| row.as_array().is_some_and(|runs| !runs.is_empty()));
    let mut text = format!("\x1b[1;36m{}\x1b[m\n", answered.text);
    for (i, row) in rows.iter().take(end.map_or(0, |last| last + 1)).enumerate() {
        let runs = row.as_array().map_or(&[][..], Vec::as_slice);
        text += &format!("\x1b[2m{}\x1b[m\t{}\x1b[m\n", i + 1, paint(runs, usize::MAX));
    }
    text
}

/// Runs as a terminal draws them.
pub(super) fn paint(runs: &[Value], width: usize) -> String {
    let (mut text, mut left) = (String::new(), width);
    for run in runs {
        let shown: String = run["text"].as_str().unwrap_or_default().chars().take(left).collect();
        left -= shown.chars().count();
        text += &format!("\x1b[0{}m{shown}", sgr(run));
    }
    text
}

fn sgr(run: &Value) -> String {
    let mut sgr = String::new();
    for attr in run["attrs"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        sgr += match attr {
            "bold" => ";1",
            "dim" => ";2",
            "italic" => ";3",
            "underline" => ";4",
            "blink" => ";5",
            "inverse" => ";7",
            "conceal" => ";8",
            "strike" => ";9",
            _ => "",
        };
    }
    for (field, base) in [("fg", 38), ("bg", 48)] {
        match &run[field] {
            Value::Number(number) => sgr += &format!(";{base};5;{number}"),
            Value::String(hex) => {
                let part = |at: usize| {
                    hex.get(at..at + 2).and_then(|part| u8::from_str_radix(part, 16).ok())
                };
                if let (Some(r), Some(g), Some(b)) = (part(1), part(3), part(5)) {
                    sgr += &format!(";{base};2;{r};{g};{b}");
                }
            }
            _ => {}
        }
    }
    sgr
}

/// The person's terminal in raw mode and on its other screen, until it is dropped.
struct RawMode {
    before: Termios,
}

impl RawMode {
    fn enter() -> io::Result<RawMode> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        io::stdout().write_all(b"\x1b[?1049h")?;
        Ok(RawMode { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = io::stdout().write_all(b"\x1b[m\x1b[?25h\x1b[?1049l");
        let _ = io::stdout().flush();
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_become_what_a_terminal_draws() {
        let runs = [
            json!({"text": "ab", "fg": 1, "attrs": ["bold"]}),
            json!({"text": "cd", "bg": "#0102ff"}),
        ];
        assert_eq!(paint(&runs, 3), "\x1b[0;1;38;5;1mab\x1b[0;48;2;1;2;255mc");
    }

    #[test]
    fn a_line_feed_is_a_key() {
        assert_eq!(keys("a\r\nb"), [json!({"text": "a\r"}), json!("ctrl+j"), json!({"text": "b"})]);
    }
}
