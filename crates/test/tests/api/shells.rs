//! Commands in shells.

use std::time::Duration;

use awaitty_test::{Terminal, TraceMode, shell, text};

fn start(name: &str) -> Terminal {
    shell(name).size(80, 10).trace(TraceMode::Off).start().unwrap()
}

fn check_commands(name: &str) {
    let t = start(name);
    t.expect(text(r"^\$ $")).unwrap();
    let result = t.run("echo one; echo two").unwrap().ok().unwrap();
    assert_eq!((result.status, result.output.as_str()), (Some(0), "one\ntwo"), "{name}");
    let failed = t.run("sh -c 'echo wrong; exit 7'").unwrap();
    assert_eq!((failed.status, failed.output.as_str()), (Some(7), "wrong"), "{name}");
    let failure = failed.ok().unwrap_err();
    assert_eq!(failure.why(), "the exit status is 7, not 0", "{name}");
    assert!(failure.to_string().contains("note: output: wrong"), "{failure}");
    t.run("echo $HOME").unwrap().terminal().expect(text("awaitty-test-")).unwrap();
}

#[test]
fn bash_runs_commands() {
    check_commands("bash");
}

#[test]
fn sh_runs_commands() {
    check_commands("sh");
}

#[test]
fn zsh_runs_commands() {
    check_commands("zsh");
}

#[test]
fn fish_runs_commands() {
    check_commands("fish");
}

#[test]
fn commands_that_do_not_end_are_errors() {
    let t = start("bash");
    let failure = t.run("read answer").unwrap_err();
    assert!(failure.why().contains("waits for input"), "{failure}");
    t.press("ctrl+c").unwrap();
    let failure = t.run_within("tail -f /dev/null", Duration::from_millis(200)).unwrap_err();
    assert_eq!(failure.why(), "the command has not ended after 200ms");
    t.press("ctrl+c").unwrap();
    let failure = t.run("echo 'open").unwrap_err();
    assert!(failure.why().contains("is not closed"), "{failure}");
    t.run("true").unwrap().ok().unwrap();
    let failure = t.run("exit 4").unwrap_err();
    assert_eq!(failure.why(), "the shell exited");
    let failure = t.run("true").unwrap_err();
    assert!(failure.why().contains("the shell has exited"), "{failure}");
}

#[test]
fn a_half_typed_line_is_not_run() {
    let t = start("bash");
    t.expect(text(r"^\$ $")).unwrap();
    t.type_text("echo half").unwrap();
    let failure = t.run("true").unwrap_err();
    assert!(failure.why().contains("the line at the prompt is not empty"), "{failure}");
}

#[test]
fn the_environment_is_hermetic() {
    let t = start("bash");
    let names = t.run("env | sed 's/=.*//' | sort | grep -v '^_$'").unwrap().ok().unwrap().output;
    let expected = "AWAITTY_SESSION COLORTERM HOME LANG LC_CTYPE PATH PS1 PWD SHLVL TERM TZ";
    let names: Vec<&str> = names.split_whitespace().filter(|name| *name != "OLDPWD").collect();
    assert_eq!(names.join(" "), expected);
    let values = t.run("echo $TERM $COLORTERM $LANG $TZ").unwrap().ok().unwrap().output;
    assert_eq!(values, "xterm-256color truecolor C.UTF-8 UTC");
    let added = shell("bash").env("TZ", "Asia/Tokyo").env("EXTRA", "1").cwd("/usr");
    let t = added.trace(TraceMode::Off).start().unwrap();
    let values = t.run("echo $TZ $EXTRA $PWD").unwrap().ok().unwrap().output;
    assert_eq!(values, "Asia/Tokyo 1 /usr");
}
