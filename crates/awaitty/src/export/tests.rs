//! Tests of exported tests: what is in them is what their readers get back.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use awaitty_test::tape::{self, Action, Expectation, Setting, WaitScope};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::act::{Anchor, Pointer};
use super::script::Step;
use super::*;

/// Texts with quotes, backslashes, spaces, and characters of every kind except ASCII control characters.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ \"'`/\\\\#$-]{1,4}",
        "[a-z]{1,6}",
        any::<char>().prop_map(String::from),
        Just("\u{202e}".to_owned()),
        Just("\u{2028}".to_owned()),
        Just("\u{85}".to_owned()),
    ];
    let text = proptest::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat());
    text.prop_map(|text| text.replace(|c: char| c.is_ascii_control(), ""))
        .prop_filter("it has text", |text| !text.is_empty())
}

fn script_of(steps: Vec<Step>) -> Script {
    Script {
        name: "menu".to_owned(),
        argv: ["vim", "-u", "NONE"].map(str::to_owned).to_vec(),
        cwd: Some("/home/user/notes".to_owned()),
        env: [("EDITOR".to_owned(), Some("vi".to_owned())), ("TOKEN".to_owned(), None)].into(),
        has_clear_env: false,
        size: (80, 24),
        steps,
    }
}

/// Returns the actions of the tape of these steps, without its preamble.
fn actions(steps: Vec<Step>) -> Vec<Action> {
    let text = Target::Tape.write(&script_of(steps)).expect("a tape can have it");
    let load = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let tape = tape::parse(&text, &load).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let actions = tape.commands.into_iter().map(|command| command.action);
    actions.filter(|action| !action.is_preamble()).collect()
}

fn one_action(step: Step) -> Action {
    let mut actions = actions(vec![step]);
    assert_eq!(actions.len(), 1, "{actions:?}");
    actions.remove(0)
}

/// Returns all text that is typed.
fn typed(actions: &[Action]) -> String {
    let text = actions.iter().map(|action| match action {
        Action::Type { text, .. } => text.as_str(),
        _ => "",
    });
    text.collect()
}

proptest! {
    #[test]
    fn typed_and_pasted_text_survives_a_tape(text in texts()) {
        prop_assert_eq!(typed(&actions(vec![Step::Type(text.clone())])), text.clone());
        let pasted = actions(vec![Step::Paste(text.clone())]);
        match &pasted[..] {
            [Action::Copy(copied), Action::Paste] => prop_assert_eq!(copied, &text),
            other => prop_assert_eq!(typed(other), text),
        }
    }

    #[test]
    fn commands_survive_a_tape(command in texts()) {
        let ran = actions(vec![Step::Run(command.clone(), Some(0))]);
        match &ran[..] {
            [Action::Run { command: found, any_status: false, .. }] => prop_assert_eq!(found, &command),
            other => prop_assert_eq!(typed(other), command),
        }
    }

    #[test]
    fn patterns_survive_a_tape(text in texts()) {
        let pattern = escape(&text);
        let click = |action| match action {
            Action::Click { pattern, .. } => pattern.as_str().to_owned(),
            other => format!("{other:?}"),
        };
        let place = Place::Text(pattern.clone());
        let pointer = Pointer { place, button: "left", action: "click" };
        prop_assert_eq!(click(one_action(Step::Point(pointer))), pattern.clone());
        let step = Step::Gone { pattern: pattern.clone(), timeout: Some(Duration::from_secs(60)) };
        match one_action(step) {
            Action::Expect { expectation: Expectation::Gone(found), timeout } => {
                prop_assert_eq!(found.as_str(), pattern);
                prop_assert_eq!(timeout, Some(Duration::from_secs(60)));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn command_lines_survive_a_tape(words in proptest::collection::vec(texts(), 1..4)) {
        // The name of a program is not blank.
        let words = [vec!["program".to_owned()], words].concat();
        let script = Script { argv: words.clone(), ..script_of(Vec::new()) };
        let Ok(text) = Target::Tape.write(&script) else {
            let all = words.concat();
            prop_assert!(['"', '\'', '`'].into_iter().all(|quote| all.contains(quote)), "{}", all);
            return Ok(());
        };
        let load = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let tape = tape::parse(&text, &load).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let shell = tape.settings().find_map(|setting| match setting {
            Setting::Shell(shell) => Some(shell.clone()),
            _ => None,
        });
        prop_assert_eq!(shell_words::split(&shell.unwrap_or_default()).ok(), Some(words));
    }

    #[test]
    fn texts_are_rust_literals(text in texts()) {
        let literal = rust::literal(&text);
        let parsed: syn::LitStr = syn::parse_str(&literal).unwrap();
        prop_assert_eq!(parsed.value(), text);
        prop_assert!(!literal.contains('\u{202e}'), "the compiler rejects it");
    }
}

#[test]
fn texts_are_python_literals() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut texts: Vec<String> =
        (0..2_000).map(|_| texts().new_tree(&mut runner).unwrap().current()).collect();
    texts.extend((0..=0xff_u8).map(|byte| format!("a{}\\", char::from(byte))));
    let source: String = texts.iter().map(|text| pytest::literal(text) + ",\n").collect();
    let check = "import ast, json, sys; print(json.dumps(ast.literal_eval(sys.stdin.buffer.read().decode())))";
    let mut python = Command::new("python3")
        .args(["-c", check])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = python.stdin.take().unwrap();
    stdin.write_all(format!("[{source}]").as_bytes()).unwrap();
    drop(stdin);
    let found = python.wait_with_output().unwrap().stdout;
    let found: Vec<String> = serde_json::from_slice(&found).unwrap();
    assert_eq!(found, texts);
}

#[test]
fn every_key_survives_a_tape() {
    let named =
        "enter tab esc space backspace delete insert up down left right home end pageup pagedown";
    let plain = named.split(' ').map(str::to_owned).chain((1..=24).map(|n| format!("f{n}")));
    let controls = ('!'..='~').map(|c| format!("ctrl+{c}"));
    let more =
        ["ctrl+alt+left", "shift+tab", "alt+enter", "alt+x", "ctrl+shift+f2", "alt++", "ctrl+世"];
    for name in plain.chain(controls).chain(more.map(str::to_owned)) {
        let canonical = awaitty_core::Key::parse(&name).unwrap().to_string();
        let Action::Press { key, count, .. } = one_action(Step::Press(name.clone(), 3)) else {
            panic!("{name} is not pressed")
        };
        let parsed = awaitty_core::Key::parse(&key.name()).unwrap();
        assert_eq!((parsed.to_string(), count), (canonical, 3), "{name}");
    }
    for c in (' '..='~').chain("世é".chars()) {
        assert_eq!(typed(&actions(vec![Step::Press(c.to_string(), 2)])), format!("{c}{c}"));
    }
    assert_eq!(actions(vec![Step::Press("meta+x".to_owned(), 1)]), [], "a comment");
}

/// One step of each kind.
fn all_steps() -> Vec<Step> {
    let expect = |anchor, timeout| Step::Expect { pattern: "a/b".to_owned(), anchor, timeout };
    let pointer = |button, pattern: &str| {
        let place = Place::Cell { row: 2, col: 5, pattern: Some(pattern.to_owned()) };
        Step::Point(Pointer { place, button, action: "click" })
    };
    let gone = Step::Gone { pattern: "Loading".to_owned(), timeout: None };
    vec![
        Step::Settle(Duration::from_millis(300), None),
        Step::Type("say \"hi\"".to_owned()),
        Step::Press("enter".to_owned(), 1),
        Step::Press("ctrl+x".to_owned(), 2),
        Step::Paste("two\nlines".to_owned()),
        pointer("left", "OK"),
        pointer("right", "OK"),
        expect(Anchor::Input, None),
        expect(Anchor::Frame, None),
        expect(Anchor::Screen, Some(Duration::from_millis(12_500))),
        gone,
        Step::Run("make".to_owned(), Some(0)),
        Step::Run("false".to_owned(), Some(1)),
        Step::Run("cd".to_owned(), None),
        Step::Resize(100, 30),
        Step::Note("a\nnote".to_owned()),
        Step::Exit(Some(3), Some(Duration::from_secs(30))),
    ]
}

const TAPE: &str = r#"# Exported by awaitty from the session menu: vim -u NONE
# The program ran in /home/user/notes. Here it runs in the working directory of `awaitty test`.
Set Shell "vim -u NONE"
Set Columns 80
Set Rows 24
Env EDITOR "vi"
# The variable TOKEN was set to a secret.

Settle 300ms
Type `say "hi"`
Enter
Ctrl+x 2
# This was pasted. A tape cannot have the text in one paste.
Type "two"
Enter
Type "lines"
Click /OK/
# The mouse was used: click of right. A tape has only clicks on text.
Expect /a\/b/
Expect Frame /a\/b/
Wait+Screen@12500ms /a\/b/
Expect Gone /Loading/
Run "make"
# Its exit status was 1.
Run! "false"
Run! "cd"
Resize 100 30
# a\nnote
Expect@30000ms Exit 3
"#;

const RUST: &str = r##"//! Exported by awaitty from the session menu: vim -u NONE
//! The program ran in /home/user/notes. Here it runs in the directory of the package.

use std::time::Duration;

use awaitty_test::{Failure, exit, program, text};

#[test]
fn session_menu() -> Result<(), Failure> {
    // The variable TOKEN was set to a secret.
    let t = program("vim").args(["-u", "NONE"])
        .env("EDITOR", "vi").size(80, 24).start()?;
    t.settle(Duration::from_millis(300))?;
    t.type_text(r#"say "hi""#)?;
    t.press("enter")?;
    t.press("ctrl+x ctrl+x")?;
    t.paste("two\nlines")?;
    t.click(text("OK"))?;
    // The mouse was used: click of right. A test has only clicks on text.
    t.expect(text("a/b"))?;
    t.expect(text("a/b").in_frame())?;
    t.expect(text("a/b").on_screen().within(Duration::from_millis(12500)))?;
    t.expect_gone(text("Loading"))?;
    t.run("make")?.ok()?;
    assert_eq!(t.run("false")?.status, Some(1));
    t.run("cd")?;
    t.resize(100, 30)?;
    // a\nnote
    t.expect(exit(3).within(Duration::from_secs(30)))?;
    Ok(())
}
"##;

const PYTEST: &str = r#"

def test_menu():
    # The variable TOKEN was set to a secret.
    with Terminal(["vim", "-u", "NONE"], 80, 24, env={"EDITOR": "vi"}) as t:
        t.settle(300)
        t.type("say \"hi\"")
        t.press("enter")
        t.press(*["ctrl+x"] * 2)
        t.send({"paste": "two\nlines"})
        t.send({"mouse": {"action": "click", "button": "left", "col": 5, "row": 2}})
        t.send({"mouse": {"action": "click", "button": "right", "col": 5, "row": 2}})
        t.expect("a/b")
        t.expect("a/b", since="frame")
        t.expect("a/b", since="screen", timeout_ms=12500)
        t.expect_gone("Loading")
        t.run("make", 0)
        t.run("false", 1)
        t.run("cd", None)
        t.resize(100, 30)
        # a\nnote
        t.expect_exit(3, timeout_ms=30000)
"#;

#[test]
fn every_step_has_its_form_in_each_target() {
    let script = script_of(all_steps());
    assert_eq!(Target::Tape.write(&script).as_deref(), Ok(TAPE));
    assert_eq!(Target::Rust.write(&script).as_deref(), Ok(RUST));
    let python = Target::Pytest.write(&script).unwrap();
    let (head, test) = python.split_once(include_str!("helper.py")).unwrap();
    assert_eq!(head.lines().count(), 2, "{head}");
    assert_eq!(test, PYTEST);
    let parsed = actions(all_steps());
    assert!(
        parsed.iter().any(|action| matches!(action, Action::Wait { scope: WaitScope::Screen, .. }))
    );
}

#[test]
fn a_secret_is_a_variable() {
    let script = script_of(vec![Step::Secret("DB_WORD".to_owned())]);
    assert!(Target::Tape.write(&script).is_err_and(|why| why.contains("DB_WORD")));
    let rust = Target::Rust.write(&script).unwrap();
    assert!(rust.contains("t.type_secret(&std::env::var(\"DB_WORD\")"), "{rust}");
    let python = Target::Pytest.write(&script).unwrap();
    assert!(python.contains("t.type(os.environ[\"DB_WORD\"])"), "{python}");
}

#[test]
fn a_form_is_chosen_by_its_name_or_by_the_path() {
    let choose = |name, path: Option<&str>| Target::choose(name, path.map(Path::new));
    assert_eq!(choose(None, None), Ok(Target::Tape));
    assert_eq!(choose(None, Some("a/test_b.py")), Ok(Target::Pytest));
    assert_eq!(choose(None, Some("a.txt")), Ok(Target::Tape));
    assert_eq!(choose(Some("rust"), Some("a.py")), Ok(Target::Rust));
    assert!(choose(Some("vhs"), None).is_err_and(|error| error.contains("\"vhs\"")));
    for (target, name, _) in Target::ALL {
        assert_eq!(target.name(), name);
    }
}

#[test]
fn a_pattern_matches_its_text_and_no_other() {
    let text = "a.b*[c] (d) ^$ | \\ {e} + ? # & - ~ / \"q\" 世";
    let pattern = awaitty_core::Pattern::new(&format!("^{}$", escape(text)), "").unwrap();
    let mut screen = awaitty_core::Screen::new(80, 1, 0);
    screen.feed(text.as_bytes());
    assert_eq!(awaitty_core::spans_on_screen(&pattern, &screen).len(), 1);
}

#[test]
fn a_variable_and_a_function_have_valid_names() {
    assert_eq!(variable("db.word"), "DB_WORD");
    assert_eq!(variable("AWAITTY_SECRET_PIN"), "PIN");
    assert_eq!(variable("2fa"), "SECRET_2FA");
    assert_eq!(function_name("my-Session.1"), "my_session_1");
}

#[tokio::test]
async fn a_session_whose_log_is_full_is_not_exported() {
    let sessions = std::sync::Arc::new(crate::sessions::Sessions::default());
    let call = async |tool: &str, arguments| {
        let context = crate::tools::Context::new(&sessions, arguments);
        crate::tools::find(tool).unwrap().call(context).await
    };
    call("spawn", serde_json::json!({"command": "cat"})).await.unwrap();
    let export = async || call("export_session", serde_json::json!({})).await;
    assert!(export().await.is_ok());
    for _ in 0..=log::ACTS_MAX {
        sessions.logs.add("s1", Act::Typed("x".to_owned()));
    }
    let error = export().await.unwrap_err();
    assert_eq!(error.code, "limit_reached", "{error:?}");
    sessions.shut_down().await;
}
