//! What is being waited for, for whoever looks on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::sessions::wall_clock_ms;
use crate::text;

/// Characters of what is waited for that are told.
const WHAT_CHARS: usize = 120;

/// A wait that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Waiting {
    /// The session it names; none where it names none, and where there is but one.
    #[serde(skip)]
    pub(crate) session: Option<String>,
    /// The tool that waits.
    tool: String,
    /// What for.
    what: String,
    /// Since when, in milliseconds since 1970.
    since: u64,
}

/// The waits of a server that run.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    last: u64,
    calls: BTreeMap<u64, Vec<Waiting>>,
}

/// A call that waits, until it is dropped.
#[derive(Debug)]
pub(crate) struct Call {
    waits: Arc<Waits>,
    id: u64,
}

impl Waits {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins; nothing is taken down of one that does not wait.
    pub(crate) fn begin(self: &Arc<Self>, tool: &str, arguments: &Value) -> Option<Call> {
        let waits = describe(tool, arguments);
        if waits.is_empty() {
            return None;
        }
        let mut running = self.lock();
        running.last += 1;
        let id = running.last;
        running.calls.insert(id, waits);
        Some(Call { waits: Arc::clone(self), id })
    }

    /// All that run, oldest first.
    pub(crate) fn all(&self) -> Vec<Waiting> {
        self.lock().calls.values().flatten().cloned().collect()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.waits.lock().calls.remove(&self.id);
    }
}

/// What a call waits for.
fn describe(tool: &str, arguments: &Value) -> Vec<Waiting> {
    let one = |wait: &Value, what: Option<String>| {
        let named = wait["session_id"].as_str().or(arguments["session_id"].as_str());
        let what: String = text::visible(&what?).chars().take(WHAT_CHARS).collect();
        let (tool, since) = (tool.to_owned(), wall_clock_ms());
        Some(Waiting { session: named.map(str::to_owned), tool, what, since })
    };
    // As it was written: people read it.
    let quoted = |value: &Value| value.as_str().map(|text| format!("\"{text}\""));
    let waits = match tool {
        "wait_for_text" => {
            let gone = if arguments["gone"] == true { " to be gone" } else { "" };
            vec![one(arguments, quoted(&arguments["pattern"]).map(|text| text + gone))]
        }
        "wait_for_screen_change" => vec![one(arguments, Some("the screen to change".to_owned()))],
        "wait_for_exit" => vec![one(arguments, Some("its exit".to_owned()))],
        "wait_for_channel" => {
            let channel = arguments["channel"].as_str();
            vec![one(arguments, channel.map(|name| format!("a signal on {name}")))]
        }
        "run_command" => vec![one(arguments, quoted(&arguments["command"]))],
        "run_steps" => {
            let count = arguments["steps"].as_array().map_or(0, Vec::len);
            vec![one(arguments, Some(format!("the end of {count} steps")))]
        }
        "wait_for_command" => vec![one(arguments, Some("its command to end".to_owned()))],
        "wait_for_any" => {
            let waits = arguments["waits"].as_array().map_or(&[][..], Vec::as_slice);
            waits.iter().map(|wait| one(wait, condition(wait))).collect()
        }
        _ => vec![one(arguments, condition(&arguments["wait"]))],
    };
    waits.into_iter().flatten().collect()
}

/// A condition in words: `{"text": "passed"}`, `{"settled": 300}`.
fn condition(wait: &Value) -> Option<String> {
    const KINDS: [&str; 7] = ["text", "change", "settled", "exit", "ready", "channel", "command"];
    let named = |kind| Some((kind, wait.get(kind).filter(|it| !it.is_null())?));
    let (kind, value) = KINDS.into_iter().find_map(named)?;
    Some(match value {
        Value::Bool(_) | Value::Object(_) => kind.to_owned(),
        Value::String(text) => format!("{kind} \"{text}\""),
        value => format!("{kind} {value}"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_waited_for_is_told_while_it_is() {
        let waits = Arc::new(Waits::default());
        assert!(waits.begin("snapshot", &json!({})).is_none());
        assert!(waits.begin("send_input", &json!({"input": "secret\n"})).is_none());
        let told = |tool: &str, arguments: Value| {
            let _call = waits.begin(tool, &arguments);
            let told = |one: Waiting| (one.session.unwrap_or_default(), one.what);
            waits.all().into_iter().map(told).collect::<Vec<_>>()
        };
        let wait = |session: &str, what: &str| (session.to_owned(), what.to_owned());
        let text = json!({"session_id": "s1", "pattern": "a|\u{202e}b"});
        assert_eq!(told("wait_for_text", text), [wait("s1", "\"a|<U+202E>b\"")]);
        let any = json!({"waits": [{"session_id": "s2", "text": "x"}, {"channel": "c"}]});
        assert_eq!(
            told("wait_for_any", any),
            [wait("s2", "text \"x\""), wait("", "channel \"c\"")]
        );
        let send = json!({"session_id": "s1", "input": "x", "wait": {"settled": 300}});
        assert_eq!(told("send_input", send), [wait("s1", "settled 300")]);
        assert_eq!(told("wait_for_exit", json!({})), [wait("", "its exit")]);
        let long = json!({"session_id": "s1", "command": "x".repeat(1000)});
        assert_eq!(told("run_command", long)[0].1.chars().count(), WHAT_CHARS);
        assert_eq!(waits.all(), []);
    }
}
