//! Traces: when they are written, and what they contain.

use std::path::Path;

use awaitty_test::{Builder, Failure, TraceMode, exit, program, text};

fn builder(script: &str, mode: TraceMode) -> Builder {
    program("sh").args(["-c", script]).size(40, 10).trace(mode)
}

fn fail(mode: TraceMode) -> Failure {
    let t = builder("echo shown; cat", mode).start().unwrap();
    t.expect(text("shown")).unwrap();
    t.type_secret("hunter2").unwrap();
    t.expect(text("absent").within(std::time::Duration::ZERO)).unwrap_err()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_failure_retains_the_trace_and_names_it() {
    let failure = fail(TraceMode::RetainOnFailure);
    let path = failure.trace().unwrap();
    let page = read(path);
    assert!(failure.to_string().ends_with(&format!("trace: {}", path.display())), "{failure}");
    assert!(page.contains("a_failure_retains_the_trace_and_names_it"));
    assert!(page.contains("expect(text(") && page.contains("tests/api/traces.rs"));
    assert!(!page.contains("hunter2"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_test_that_passes_has_a_trace_only_if_it_is_on() {
    let run = |mode| {
        let t = builder("echo shown", mode).start().unwrap();
        let path = t.trace_path().map(Path::to_owned);
        t.expect(exit(0)).unwrap();
        t.close().unwrap();
        path
    };
    let path = run(TraceMode::On).unwrap();
    assert!(read(&path).contains("expect(exit(0))"));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(run(TraceMode::RetainOnFailure), Some(path.clone()));
    assert!(!path.exists());
    assert_eq!(run(TraceMode::Off), None);
}

#[test]
fn a_panic_retains_the_trace() {
    let path = std::panic::catch_unwind(|| {
        let t = builder("echo shown; cat", TraceMode::RetainOnFailure).start().unwrap();
        t.expect(text("shown")).unwrap();
        std::panic::panic_any(t.trace_path().unwrap().to_owned());
    });
    let path = path.unwrap_err().downcast::<std::path::PathBuf>().unwrap();
    assert!(read(&path).contains("shown"));
    std::fs::remove_file(*path).unwrap();
}

#[test]
fn without_traces_a_failure_names_none() {
    let failure = fail(TraceMode::Off);
    assert_eq!(failure.trace(), None);
    assert!(!failure.to_string().contains("trace:"), "{failure}");
}
