//! `awaitty attach`: connects the user's terminal to a session.
//!
//! The screen is drawn from snapshots whenever a wait reports a change. Keystrokes are sent to the program. The session
//! keeps its size unless `--resize` is given.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use serde_json::{Value, json};

use crate::client::{CallResult, Client};
use crate::export::key_names;

/// Ctrl+], which detaches.
const DETACH: u8 = 0x1d;

/// The reason for the end of `attach`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachEnd {
    /// The user pressed the detach key.
    Detached,
    /// The program exited, or its session was closed.
    Ended,
}

/// Attaches the terminal to a session until the user detaches or the session ends.
///
/// # Errors
/// If standard input or output is not a terminal, the session does not exist, or the daemon closes the connection.
pub fn run(session: Option<&str>, resize: bool) -> io::Result<AttachEnd> {
    if !rustix::termios::isatty(io::stdin()) || !rustix::termios::isatty(io::stdout()) {
        return Err(io::Error::other(
            "attach needs a terminal for input and output: use snapshot to show the screen without one",
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
    let draw_lock = Arc::new(DrawLock::default());
    draw(&draw_lock, &first)?;
    // The first of these threads that ends provides the result; the others end with the process.
    let (ends, first_end) = mpsc::channel();
    let (typing_id, typing_ends, typing_lock) = (id.clone(), ends.clone(), Arc::clone(&draw_lock));
    thread::spawn(move || typing_ends.send(type_into(&typing_id, &typing_lock)));
    let (person_id, person_lock) = (id.clone(), Arc::clone(&draw_lock));
    thread::spawn(move || follow_requests(&person_id, &person_lock));
    thread::spawn(move || {
        ends.send(watch(&mut client, &id, &first, &draw_lock).map(|()| AttachEnd::Ended))
    });
    first_end.recv().unwrap_or(Ok(AttachEnd::Ended))
}

/// Serializes drawing. Contains the description of the secret that an agent asks for.
#[derive(Debug, Default)]
struct DrawLock(Mutex<Option<String>>);

impl DrawLock {
    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls a tool; returns a failed call as an error.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> io::Result<Value> {
    let result = client.call(tool, arguments, &mut |_| {})?;
    if result.is_error {
        return Err(io::Error::other(result.text));
    }
    Ok(result.structured)
}

fn snapshot(client: &mut Client, session: Option<&str>) -> io::Result<Value> {
    let mut arguments = json!({"format": "styled"});
    if let Some(session) = session {
        arguments["session_id"] = json!(session);
    }
    call(client, "snapshot", &arguments)
}

/// Draws each change until the program exits.
fn watch(client: &mut Client, id: &Value, first: &Value, draw_lock: &DrawLock) -> io::Result<()> {
    let mut seq = first["seq"].clone();
    loop {
        let change = json!({"session_id": id, "since": seq, "stable_ms": 0, "styles": true, "timeout_ms": 86_400_000, "diff": true});
        let ended = match call(client, "wait_for_screen_change", &change) {
            Ok(ended) => ended,
            // The session was closed.
            Err(_) => return Ok(()),
        };
        if let Ok(shown) = snapshot(client, id.as_str()) {
            draw(draw_lock, &shown)?;
            seq = shown["seq"].clone();
        }
        if ended["exited"] == json!(true) {
            return Ok(());
        }
    }
}

/// Registers a person at the session, and shows which secret an agent asks for.
fn follow_requests(id: &Value, draw_lock: &DrawLock) -> io::Result<()> {
    let mut client = Client::daemon()?;
    let mut request = Value::Null;
    loop {
        let result = call(&mut client, "attend", &json!({"session_id": id, "known": request}))?;
        request = result["asked"].clone();
        *draw_lock.lock() = request.as_str().map(str::to_owned);
        draw(draw_lock, &snapshot(&mut client, id.as_str())?)?;
    }
}

/// Sends typed keys. Draws after each one, because a cursor movement alone does not end the wait in `watch`.
fn type_into(id: &Value, draw_lock: &DrawLock) -> io::Result<AttachEnd> {
    let mut client = Client::daemon()?;
    let mut buffer = [0; 4096];
    let mut incomplete = Vec::new();
    loop {
        let count = io::stdin().read(&mut buffer)?;
        let detach = buffer[..count].iter().position(|&byte| byte == DETACH);
        incomplete.extend(&buffer[..detach.unwrap_or(count)]);
        let whole = match std::str::from_utf8(&incomplete) {
            Ok(text) => text.len(),
            // The rest of the character has not been read yet. Invalid bytes are sent as replacement characters.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => incomplete.len(),
        };
        let typed: Vec<u8> = incomplete.drain(..whole).collect();
        if !typed.is_empty() {
            let keys = keys(&String::from_utf8_lossy(&typed));
            let input = json!({"session_id": id, "keys": keys, "diff": true, "wait": {"settled": 20, "timeout_ms": 100}});
            let Ok(sent) = client.call("send_input", &input, &mut |_| {}) else {
                return Ok(AttachEnd::Ended);
            };
            // Another person has control. The input is lost, but attach continues.
            if sent.is_error && sent.structured["code"] != "denied" {
                return Ok(AttachEnd::Ended);
            }
            draw(draw_lock, &snapshot(&mut client, id.as_str())?)?;
        }
        if detach.is_some() || count == 0 {
            return Ok(AttachEnd::Detached);
        }
    }
}

/// Converts input to keys. Keys with escape sequences go by their names, since the program may have requested other
/// sequences for them than this terminal sends. A line feed becomes ctrl+j, since text with it would be sent as Enter.
fn keys(typed: &str) -> Vec<Value> {
    if let Some(names) = key_names(typed) {
        return names.into_iter().map(Value::from).collect();
    }
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

/// Draws the part of a screen that fits, with a status line below.
fn draw(draw_lock: &DrawLock, shown: &Value) -> io::Result<()> {
    let request = draw_lock.lock();
    let size = tcgetwinsize(io::stdout())?;
    let (height, width) = (usize::from(size.ws_row.max(2)) - 1, usize::from(size.ws_col.max(1)));
    let rows = shown["styled"].as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or(1) as usize;
    let (row, col) = (number(&shown["cursor"]["row"]), number(&shown["cursor"]["col"]));
    // If the screen is higher than the terminal, shows the rows around the cursor.
    let top = row.saturating_sub(height);
    let mut text = String::from("\x1b[?2026h\x1b[?25l\x1b[H");
    for i in 0..height {
        let runs = rows.get(top + i).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        text += &format!("\x1b[{};1H\x1b[m{}\x1b[m\x1b[K", i + 1, with_sgr(runs, width));
    }
    let id = shown["session_id"].as_str().unwrap_or_default();
    let (cols, lines) = (&shown["size"]["cols"], &shown["size"]["rows"]);
    let state = shown["state"].as_str().unwrap_or_default();
    let status = match &*request {
        Some(secret) => format!("the agent asks you for {secret}: type it and press Enter"),
        None => format!("{cols}x{lines} {state}"),
    };
    let line: String = format!(" {id} {status} | ctrl+] detaches ").chars().take(width).collect();
    text += &format!("\x1b[{};1H\x1b[7m{line}\x1b[m\x1b[K", height + 1);
    if shown["cursor"]["visible"] == json!(true) {
        text += &format!("\x1b[{};{}H\x1b[?25h", row - top, col);
    }
    text += "\x1b[?2026l";
    let mut stdout = io::stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Formats a screen with colours, below a header.
pub(super) fn coloured(result: &CallResult) -> String {
    let rows = result.structured["styled"].as_array().cloned().unwrap_or_default();
    let end = rows.iter().rposition(|row| row.as_array().is_some_and(|runs| !runs.is_empty()));
    let mut text = format!("\x1b[1;36m{}\x1b[m\n", result.text);
    for (i, row) in rows.iter().take(end.map_or(0, |last| last + 1)).enumerate() {
        let runs = row.as_array().map_or(&[][..], Vec::as_slice);
        text += &format!("\x1b[2m{}\x1b[m\t{}\x1b[m\n", i + 1, with_sgr(runs, usize::MAX));
    }
    text
}

/// Formats runs with SGR sequences.
pub(super) fn with_sgr(runs: &[Value], width: usize) -> String {
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

/// Raw mode and alternate screen, restored on drop.
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
    fn runs_become_sgr_sequences() {
        let runs = [
            json!({"text": "ab", "fg": 1, "attrs": ["bold"]}),
            json!({"text": "cd", "bg": "#0102ff"}),
        ];
        assert_eq!(with_sgr(&runs, 3), "\x1b[0;1;38;5;1mab\x1b[0;48;2;1;2;255mc");
    }

    #[test]
    fn keys_with_escape_sequences_go_by_their_names() {
        assert_eq!(keys("\x1b[A\x1bOB\x1b[3~"), ["up", "down", "delete"].map(Value::from));
        for other in ["\x1b", "\x1bx", "\x1b[A.", "\x1b[200~a\x1b[201~", "\x1b[?1;2c"] {
            assert_eq!(keys(other), [json!({ "text": other })]);
        }
    }

    #[test]
    fn a_line_feed_is_a_key() {
        assert_eq!(keys("a\r\nb"), [json!({"text": "a\r"}), json!("ctrl+j"), json!({"text": "b"})]);
    }
}
