//! Tokens that a model reads after one action: the changes, against the whole screen.

use serde_json::{Value, json};

use crate::clients::{Directory, Piped};
use crate::report::{Goal, Report};
use crate::streams::{COLS, ROWS};

const ROUNDS: usize = 3;

/// The approximate length of a token of English text or code.
const CHARS_PER_TOKEN: f64 = 4.0;

/// An action in a real program: its name, its command line, a pattern for its first screen, input that fills the
/// screen, and the keys of the action.
struct Act(
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static [&'static str],
);

const ACTS: [Act; 10] = [
    Act("bash", &["bash", "--norc"], "[$%#>]", "seq 35\n", &["l", "s", "enter"]),
    Act("zsh", &["zsh", "-f"], "[$%#>]", "seq 35\n", &["l", "s", "enter"]),
    Act("fish", &["fish", "--no-config"], "[$%#>]", "seq 35\n", &["l", "s", "enter"]),
    Act(
        "python3",
        &["python3", "-q"],
        ">>>",
        "print(*range(35), sep=chr(10))\n",
        &["6", "*", "7", "enter"],
    ),
    Act("vim", &["vim", "-u", "NONE", "-N", "-n", "lines.txt"], "line 1", "", &["d", "d"]),
    Act("less", &["less", "lines.txt"], "line 1", "", &["j"]),
    Act("nano", &["nano", "-I", "lines.txt"], "line 1", "", &["ctrl+k"]),
    Act("htop", &["htop"], "PID", "", &["down"]),
    Act(
        "dialog",
        &[
            "dialog", "--menu", "Choose", "20", "60", "10", "1", "Paper", "2", "Copper", "3",
            "Lanterns",
        ],
        "Lanterns",
        "",
        &["down"],
    ),
    Act("mc", &["mc", "-u"], "Name", "", &["down"]),
];

/// Compares the result of one action in each program with a snapshot.
pub(crate) fn tokens(report: &mut Report) {
    let directory = Directory::new("tokens");
    let lines: String =
        (1..200).map(|i| format!("line {i} of a file that is longer than a screen\n")).collect();
    std::fs::write(directory.0.join("lines.txt"), lines).unwrap();
    let home = directory.0.to_str().unwrap();
    let (mut texts, mut structures) = (vec![(0.0, 0.0); ROUNDS], vec![(0.0, 0.0); ROUNDS]);
    for act in &ACTS {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let mut server = Piped::start(&[]);
            let (changed, whole) = act_once(&mut server, act, home);
            let (text, structure) =
                ((words(&changed), words(&whole)), (data(&changed), data(&whole)));
            rounds.push(text);
            texts[round] = (texts[round].0 + text.0, texts[round].1 + text.1);
            structures[round] =
                (structures[round].0 + structure.0, structures[round].1 + structure.1);
        }
        let row = format!("one act in {}, against the screen", act.0);
        report.ratio(&row, "tokens", &rounds, Goal::None);
    }
    report.ratio("one act in each of the ten, as text", "tokens", &texts, Goal::AtMost(0.5));
    report.ratio("one act in each of the ten, as data", "tokens", &structures, Goal::AtMost(0.5));
}

/// Runs an action. Returns its result and a snapshot after it.
fn act_once(server: &mut Piped, act: &Act, home: &str) -> (Value, Value) {
    let Act(name, argv, first, before, keys) = act;
    let env = json!({"HOME": home, "PS1": "$ "});
    server.call(
        "spawn",
        &json!({"command": argv[0], "args": argv[1..], "cwd": home, "env": env,
        "cols": COLS, "rows": ROWS, "wait": {"settled": 500}}),
    );
    let seen = json!({"pattern": first, "since": "screen", "timeout_ms": 20_000});
    assert_eq!(server.call("wait_for_text", &seen)["found"], true, "{name}");
    if !before.is_empty() {
        server.call("send_input", &json!({"input": before, "wait": {"settled": 300}}));
    }
    let id = server.send("send_input", &json!({"keys": keys, "wait": {"settled": 300}}));
    let changed = server.result(id);
    let id = server.send("snapshot", &json!({}));
    (changed, server.result(id))
}

/// Returns the tokens of the text block.
fn words(result: &Value) -> f64 {
    result["content"][0]["text"].as_str().unwrap().chars().count() as f64 / CHARS_PER_TOKEN
}

/// Returns the tokens of the structured content, which is all that some clients show.
fn data(result: &Value) -> f64 {
    result["structuredContent"].to_string().chars().count() as f64 / CHARS_PER_TOKEN
}
