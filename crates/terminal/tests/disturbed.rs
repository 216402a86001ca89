//! A terminal with disturbed timing: the same screens, waits and exit status as without.

use std::time::Duration;

use awaitty_terminal::blocking::Terminals;
use awaitty_terminal::terminals::Record;
use awaitty_terminal::{SpawnSpec, ToolError, WaitRequest};

/// Starts a shell script in a terminal that is disturbed and recorded.
fn spec(script: &str, seed: u64) -> SpawnSpec {
    SpawnSpec { disturbance: Some(seed), ..SpawnSpec::new(["sh", "-c", script]) }
}

#[test]
fn the_last_output_comes_before_the_exit() -> Result<(), ToolError> {
    let terminals = Terminals::new(Default::default()).expect("a thread starts");
    for seed in 0..5 {
        let script = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i + 1)); done; exit 3";
        let terminal = terminals.open(spec(script, seed))?;
        let ended = terminal.wait(WaitRequest::exit())?;
        assert_eq!(ended.exit_code(), Some(3), "{seed}");
        assert!(ended.text().contains("line 299"), "{seed}: {}", ended.text());
        terminal.close();
    }
    Ok(())
}

#[test]
fn a_program_with_output_on_its_way_is_not_settled() -> Result<(), ToolError> {
    let terminals = Terminals::new(Default::default()).expect("a thread starts");
    for seed in 0..5 {
        let script =
            r"seq 1 3000 | tr '\n' ' '; printf '\nlast line'; read answer; echo got $answer";
        let terminal = terminals.open(spec(script, seed))?;
        let quiet = Duration::from_millis(1);
        let settled = terminal.wait(WaitRequest::settled(quiet))?.met()?;
        assert!(settled.text().contains("last line"), "{seed}: {}", settled.text());
        let answered = terminal.type_and_wait("yes\n", WaitRequest::text("got yes")?)?.met()?;
        assert!(answered.matched().is_some(), "{seed}");
        terminal.close();
    }
    Ok(())
}

#[test]
fn a_recording_at_a_path_has_markers_in_order_with_the_output() -> Result<(), ToolError> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("menu.cast");
    let terminals = Terminals::new(Default::default()).expect("a thread starts");
    let record = Record { path: Some(path.clone()), with_input: true };
    let start = |record| SpawnSpec { record: Some(record), ..spec("read key; echo got $key", 1) };
    let terminal = terminals.open(start(record.clone()))?;
    terminal.mark("step 1")?;
    terminal.type_and_wait("a\n", WaitRequest::text("got a")?)?.met()?;
    terminal.mark("step 2")?;
    let status = terminal.flush_recording()?.expect("it is recorded");
    assert_eq!((status.path, status.note), (path.clone(), None));
    let written = std::fs::read_to_string(&path).expect("the recording");
    let place = |text: &str| written.find(text).unwrap_or_else(|| panic!("{text}: {written}"));
    assert!(place("step 1") < place("\"i\"") && place("\"i\"") < place("got a"), "{written}");
    assert!(place("got a") < place("step 2"), "{written}");
    let failed = terminals.open(start(record)).expect_err("the file exists");
    assert!(failed.message.contains("give the path of a new file"), "{}", failed.message);
    Ok(())
}
