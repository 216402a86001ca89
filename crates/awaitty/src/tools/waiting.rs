//! The running waits, for the web page and `awaitty attach`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use super::spec::{ToolSpec, WaitDescription};
use crate::sessions::wall_clock_ms;
use crate::text;

/// The maximum length of a wait's description, in characters.
const WHAT_CHARS: usize = 120;

/// A running wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WaitInfo {
    /// The session id or name in the arguments, if there is one.
    #[serde(skip)]
    pub(crate) session: Option<String>,
    /// The name of the tool.
    tool: String,
    /// The description of the condition.
    what: String,
    /// The start, in milliseconds since 1970.
    since: u64,
}

/// The running waits of a server.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    last: u64,
    calls: BTreeMap<u64, Vec<WaitInfo>>,
}

/// The registration of a call that waits. Dropping it removes the call.
#[derive(Debug)]
pub(crate) struct Call {
    waits: Arc<Waits>,
    id: u64,
}

impl Waits {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call. Returns `None` for one that does not wait.
    pub(crate) fn begin(self: &Arc<Self>, tool: &ToolSpec, arguments: &Value) -> Option<Call> {
        let wait = |WaitDescription { session, what }| {
            let what = text::visible(&what).chars().take(WHAT_CHARS).collect();
            WaitInfo { session, tool: tool.name.to_owned(), what, since: wall_clock_ms() }
        };
        let waits: Vec<WaitInfo> = (tool.describe_waits)(arguments).into_iter().map(wait).collect();
        if waits.is_empty() {
            return None;
        }
        let mut running = self.lock();
        running.last += 1;
        let id = running.last;
        running.calls.insert(id, waits);
        Some(Call { waits: Arc::clone(self), id })
    }

    /// Returns all running waits, oldest first.
    pub(crate) fn all(&self) -> Vec<WaitInfo> {
        self.lock().calls.values().flatten().cloned().collect()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.waits.lock().calls.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(name: &str) -> &'static ToolSpec {
        super::super::find(name).expect("a tool").spec
    }

    #[test]
    fn waits_are_listed_while_they_run() {
        let waits = Arc::new(Waits::default());
        assert!(waits.begin(spec("snapshot"), &json!({})).is_none());
        assert!(waits.begin(spec("send_input"), &json!({"input": "secret\n"})).is_none());
        let listed = |tool: &str, arguments: Value| {
            let _call = waits.begin(spec(tool), &arguments);
            let parts = |one: WaitInfo| (one.session.unwrap_or_default(), one.what);
            waits.all().into_iter().map(parts).collect::<Vec<_>>()
        };
        let wait = |session: &str, what: &str| (session.to_owned(), what.to_owned());
        let text = json!({"session_id": "s1", "pattern": "a|\u{202e}b"});
        assert_eq!(listed("wait_for_text", text), [wait("s1", "\"a|<U+202E>b\"")]);
        let any = json!({"waits": [{"session_id": "s2", "text": "x"}, {"channel": "c"}]});
        assert_eq!(
            listed("wait_for_any", any),
            [wait("s2", "text \"x\""), wait("", "channel \"c\"")]
        );
        let send = json!({"session_id": "s1", "input": "x", "wait": {"settled": 300}});
        assert_eq!(listed("send_input", send), [wait("s1", "settled 300")]);
        let several = json!({"input": "x", "wait": {"text": "ok", "flags": "i", "exit": true, "timeout_ms": 5}});
        assert_eq!(listed("send_input", several), [wait("", "exit or text \"ok\"")]);
        assert_eq!(listed("wait_for_exit", json!({})), [wait("", "the program to exit")]);
        let long = json!({"session_id": "s1", "command": "x".repeat(1000)});
        assert_eq!(listed("run_command", long)[0].1.chars().count(), WHAT_CHARS);
        assert_eq!(waits.all(), []);
    }
}
