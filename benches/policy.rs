//! The cost of an operator's policy with an audit log: calls to a server with both against a server with neither.

use serde_json::json;

use crate::clients::{Directory, Piped};
use crate::report::{Goal, Report, percentile};
use crate::terminal::took;

const ROUNDS: usize = 5;
const CALLS: usize = 10_000;

/// A policy that uses every kind of rule.
const RULES: &str = r#"
[spawn]
allow = ["cat", "/usr/bin/*"]
deny = ["nc", "/usr/sbin/**"]
dirs = ["/**"]
env = "minimal"
pass = ["CARGO_*"]
[tools]
allow = ["*"]
deny = ["save_recording"]
[sessions]
see = ["quiet", "web-*", "tmux:%*"]
type = ["quiet"]
[limits]
sessions = 10
calls = 10
[audit]
file = "audit.log"
"#;

/// Alternates calls to a server with a policy and an audit log with calls to a server without.
pub(crate) fn policy(report: &mut Report) {
    let directory = Directory::new("policy");
    let file = directory.0.join("policy.toml");
    std::fs::write(&file, RULES).unwrap();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let mut servers = [Piped::start(&["--policy", file.to_str().unwrap()]), Piped::start(&[])];
        for server in &mut servers {
            server.call("spawn", &json!({"command": "cat", "args": [], "name": "quiet"}));
        }
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..CALLS {
            for (server, times) in servers.iter_mut().zip(&mut times) {
                let quiet = json!({"session_id": "quiet"});
                times.push(took(|| server.call("snapshot", &quiet)));
            }
        }
        let [with, without] = times.map(|times| percentile(&times, 0.5));
        rounds.push((with, without));
    }
    report.ratio(
        "a call with a policy and an audit log, p50 of 10 000",
        "µs",
        &rounds,
        Goal::AtMost(1.05),
    );
}
