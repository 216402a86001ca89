//! Limits at their bounds, and how sessions behave under load, with real programs.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;
use std::time::Duration;

use awaitty::ToolError;
use awaitty::policy;
use awaitty::sessions::Sessions;
use awaitty::tools::{self, Context};
use awaitty_terminal::platform::processes;
use futures::FutureExt;
use serde_json::{Value, json};

/// Calls a tool. Returns its structured content.
async fn call(sessions: &Arc<Sessions>, name: &str, arguments: Value) -> Result<Value, ToolError> {
    let tool = tools::find(name).unwrap();
    let context = Context::new(sessions, arguments);
    Ok(tool.call(context).await?.structured)
}

fn code(result: Result<Value, ToolError>) -> &'static str {
    result.expect_err("the call exceeds a limit").code
}

#[tokio::test]
async fn sessions_are_limited() {
    let sessions = Arc::new(Sessions::default());
    for _ in 0..policy::SESSIONS_MAX {
        call(&sessions, "spawn", json!({"command": "cat"})).await.unwrap();
    }
    assert_eq!(code(call(&sessions, "spawn", json!({"command": "cat"})).await), "limit_reached");
    call(&sessions, "close_session", json!({"session_id": "s1", "grace_ms": 0})).await.unwrap();
    call(&sessions, "spawn", json!({"command": "cat"})).await.unwrap();
    sessions.shut_down().await;
}

#[tokio::test]
async fn scrollback_of_all_sessions_is_limited() {
    let sessions = Arc::new(Sessions::default());
    let spawn =
        |lines: usize| call(&sessions, "spawn", json!({"command": "cat", "scrollback": lines}));
    let most = policy::SCROLLBACK_SUM_MAX / policy::SCROLLBACK_MAX;
    for _ in 1..most {
        spawn(policy::SCROLLBACK_MAX).await.unwrap();
    }
    spawn(policy::SCROLLBACK_MAX - 1).await.unwrap();
    assert_eq!(code(spawn(2).await), "limit_reached");
    spawn(1).await.unwrap();
    assert_eq!(code(spawn(1).await), "limit_reached");
    spawn(0).await.unwrap();
    // A session that is kept after its exit counts, a closed one does not.
    let close = |keep: bool| json!({"session_id": "s1", "grace_ms": 0, "keep": keep});
    call(&sessions, "close_session", close(true)).await.unwrap();
    assert_eq!(code(spawn(1).await), "limit_reached");
    call(&sessions, "close_session", close(false)).await.unwrap();
    spawn(policy::SCROLLBACK_MAX).await.unwrap();
    sessions.shut_down().await;
}

#[tokio::test]
async fn waits_are_limited() {
    let sessions = Arc::new(Sessions::default());
    call(&sessions, "spawn", json!({"command": "cat"})).await.unwrap();
    let waits: Vec<_> = (0..policy::WAITS_MAX)
        .map(|_| {
            let sessions = Arc::clone(&sessions);
            tokio::spawn(async move {
                call(&sessions, "wait_for_text", json!({"pattern": "NEVER"})).await
            })
        })
        .collect();
    loop {
        // Tasks start the waits, so their number is polled.
        let list = call(&sessions, "list_sessions", json!({})).await.unwrap();
        if list["sessions"][0]["waits"] == json!(policy::WAITS_MAX) {
            break;
        }
        tokio::task::yield_now().await;
    }
    let one_more = call(&sessions, "wait_for_text", json!({"pattern": "NEVER"})).await;
    assert_eq!(code(one_more), "limit_reached");
    call(&sessions, "close_session", json!({"grace_ms": 0})).await.unwrap();
    for wait in waits {
        assert_eq!(wait.await.unwrap().unwrap()["outcome"], "closed");
    }
}

#[tokio::test]
async fn unread_input_is_limited() {
    let sessions = Arc::new(Sessions::default());
    let sleeper = json!({"command": "sh", "args": ["-c", "stty raw -echo; echo UP; exec sleep 1000"], "wait": {"text": "UP"}});
    call(&sessions, "spawn", sleeper).await.unwrap();
    let send = |len: usize| call(&sessions, "send_input", json!({"input": "x".repeat(len)}));
    assert_eq!(code(send(policy::INPUT_QUEUE_MAX + 1).await), "limit_reached");
    let sent = send(policy::INPUT_QUEUE_MAX).await.unwrap();
    assert_eq!(sent["sent_bytes"], json!(policy::INPUT_QUEUE_MAX));
    assert_eq!(code(send(policy::INPUT_QUEUE_MAX).await), "limit_reached");
    call(&sessions, "list_sessions", json!({})).await.unwrap();
    sessions.shut_down().await;
}

#[tokio::test]
async fn canonical_lines_are_limited() {
    let sessions = Arc::new(Sessions::default());
    let counter = json!({"command": "sh", "args": ["-c", "stty -echo; echo UP; exec awk '{print length($0)}'"], "wait": {"text": "UP"}});
    call(&sessions, "spawn", counter).await.unwrap();
    let line = |len: usize| "x".repeat(len) + "\n";
    let too_long = json!({"input": line(policy::CANONICAL_LINE_MAX + 1)});
    assert_eq!(code(call(&sessions, "send_input", too_long).await), "bad_argument");
    let longest = json!({"input": line(policy::CANONICAL_LINE_MAX), "wait": {"text": "^4095$"}});
    assert_eq!(call(&sessions, "send_input", longest).await.unwrap()["outcome"], "met");
    sessions.shut_down().await;
}

#[tokio::test]
async fn results_are_limited() {
    let sessions = Arc::new(Sessions::default());
    let wide = json!({"command": "sh", "args": ["-c", "seq -w 1 30000 | head -c 120000 | tr -d '\\n'; echo UP; cat"],
                      "cols": 1000, "rows": 100, "wait": {"text": "UP"}});
    let shown = call(&sessions, "spawn", wide).await.unwrap();
    let chars = |value: &Value| value.as_str().unwrap().chars().count();
    assert!(chars(&shown["screen_text"]) <= policy::RESULT_CHARS);
    assert!(shown["screen_text"].as_str().unwrap().contains("characters left out"));
    let snapshot =
        call(&sessions, "snapshot", json!({"max_chars": policy::RESULT_CHARS_MIN})).await.unwrap();
    assert!(chars(&snapshot["text"]) <= policy::RESULT_CHARS_MIN);
    let lines = call(&sessions, "read_output", json!({"from_line": 1})).await.unwrap();
    assert!(lines["lines"].as_array().unwrap().len() < 100);
    sessions.shut_down().await;
}

#[tokio::test]
async fn argument_bounds_are_checked() {
    let sessions = Arc::new(Sessions::default());
    let spawn = |more: Value| {
        let mut arguments = json!({"command": "cat"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&sessions, "spawn", arguments)
    };
    for good in [
        json!({"cols": 1, "rows": 1}),
        json!({"cols": 1000, "rows": 500, "scrollback": 0}),
        json!({"name": "n".repeat(policy::NAME_MAX)}),
        json!({"scrollback": policy::SCROLLBACK_MAX}),
        json!({"ttl_ms": 86_400_000}),
    ] {
        spawn(good).await.unwrap();
    }
    for bad in [
        json!({"cols": 0}),
        json!({"rows": 501}),
        json!({"name": "n".repeat(policy::NAME_MAX + 1)}),
        json!({"name": "a b"}),
        json!({"scrollback": policy::SCROLLBACK_MAX + 1}),
        json!({"ttl_ms": 86_400_001}),
    ] {
        assert_eq!(code(spawn(bad.clone()).await), "bad_argument", "{bad}");
    }
    for (name, bad) in [
        ("snapshot", json!({"session_id": "s1", "max_chars": 0})),
        ("read_output", json!({"limit": 0})),
        ("read_output", json!({"limit": policy::READ_LINES_MAX + 1})),
        ("close_session", json!({"session_id": "s1", "grace_ms": 60_001})),
        ("search_output", json!({"pattern": "x", "context": 21})),
    ] {
        let mut arguments = bad.clone();
        if name == "read_output" {
            arguments["session_id"] = json!("s1");
        }
        assert_eq!(code(call(&sessions, name, arguments).await), "bad_argument", "{name} {bad}");
    }
    assert_eq!(sessions.all().len(), 5, "refused calls change nothing");
    sessions.shut_down().await;
}

#[tokio::test]
async fn read_lines_and_search_matches_are_limited() {
    let sessions = Arc::new(Sessions::default());
    let counter =
        json!({"command": "sh", "args": ["-c", "seq 1000; echo UP; cat"], "wait": {"text": "UP"}});
    call(&sessions, "spawn", counter).await.unwrap();
    let lines = call(&sessions, "read_output", json!({"from_line": 1})).await.unwrap();
    assert_eq!(lines["lines"].as_array().unwrap().len(), policy::READ_LINES);
    assert_eq!(lines["next_line"], policy::READ_LINES + 1);
    let all = json!({"from_line": 1, "limit": policy::READ_LINES_MAX});
    let lines = call(&sessions, "read_output", all).await.unwrap();
    assert_eq!(lines["lines"].as_array().unwrap().len(), 1001);
    for (pattern, count, truncated) in [
        // 1, 10 to 19, 100 to 199 and 1000.
        ("^1", 112, false),
        ("^[12]..$", policy::SEARCH_MATCHES_MAX, false),
        ("^([12]..|300)$", policy::SEARCH_MATCHES_MAX, true),
    ] {
        let search = json!({"pattern": pattern, "context": 0});
        let found = call(&sessions, "search_output", search).await.unwrap();
        assert_eq!(found["matches"].as_array().unwrap().len(), count, "{pattern}");
        assert_eq!(found["truncated"] == json!(true), truncated, "{pattern}");
    }
    sessions.shut_down().await;
}

#[tokio::test]
async fn raw_output_is_limited() {
    let sessions = Arc::new(Sessions::default());
    let printer = |count: usize| {
        let script = format!("head -c {count} /dev/zero | tr '\\0' x; printf UP; cat");
        json!({"command": "sh", "args": ["-c", script], "wait": {"text": "UP"}})
    };
    // With "UP", the second program prints three bytes more than the buffer keeps.
    for (count, kept) in
        [(policy::RAW_MAX - 3, policy::RAW_MAX - 1), (policy::RAW_MAX, policy::RAW_MAX)]
    {
        let spawned = call(&sessions, "spawn", printer(count)).await.unwrap();
        let entry = sessions.find(spawned["session_id"].as_str()).await.unwrap();
        let raw = entry.handle.call(|driver| driver.raw()).await.unwrap();
        assert_eq!(raw.len(), kept);
        assert!(raw.ends_with(b"xUP"));
    }
    sessions.shut_down().await;
}

#[tokio::test]
async fn attend_and_secret_requests_time_out() {
    let sessions = Arc::new(Sessions::default());
    let asks = json!({"command": "sh", "args": ["-c", "stty -echo; echo UP; cat"], "wait": {"text": "UP"}});
    call(&sessions, "spawn", asks).await.unwrap();
    let attend = || {
        let context = Context::new(&sessions, json!({}));
        tools::find_own("attend").unwrap().call(context)
    };
    // The paused clock jumps to the next timer whenever all tasks are idle.
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    assert_eq!(attend().await.unwrap().structured["asked"], Value::Null);
    assert_eq!(before.elapsed().as_secs(), policy::ATTEND_MAX.as_secs());
    let _person = tokio::spawn(attend());
    let before = tokio::time::Instant::now();
    let denied = call(&sessions, "send_input", json!({"secret": "NO_SUCH_VARIABLE"})).await;
    assert_eq!(code(denied), "denied");
    assert_eq!(before.elapsed().as_secs(), policy::SECRET_TIMEOUT.as_secs());
    tokio::time::resume();
    sessions.shut_down().await;
}

/// A panic in the task of one session must not affect other sessions.
#[tokio::test]
async fn a_panicked_task_ends_only_its_session() {
    let sessions = Arc::new(Sessions::default());
    let spawn = json!({"command": "sh", "args": ["-c", "trap '' HUP; echo UP; exec cat"], "wait": {"text": "UP"}});
    let pid = call(&sessions, "spawn", spawn).await.unwrap()["pid"].as_i64().unwrap();
    call(&sessions, "spawn", json!({"command": "cat", "name": "other"})).await.unwrap();
    let waits = json!({"session_id": "s1", "pattern": "NEVER", "timeout_ms": 600_000});
    let waiting = tokio::spawn({
        let sessions = Arc::clone(&sessions);
        async move { call(&sessions, "wait_for_text", waits).await }
    });
    let entry = sessions.find(Some("s1")).await.unwrap();
    while entry.handle.call(|driver| driver.session().waits_running()).await != Some(1) {}
    assert_eq!(entry.handle.call(|_| -> () { panic!("on purpose") }).await, None);
    // A running wait and later calls report that the session is gone.
    assert_eq!(code(waiting.await.unwrap()), "unknown_session");
    assert_eq!(
        code(call(&sessions, "snapshot", json!({"session_id": "s1"})).await),
        "unknown_session"
    );
    let typed = json!({"session_id": "other", "input": "still here\n", "wait": {"text": "here"}});
    assert_eq!(call(&sessions, "send_input", typed).await.unwrap()["outcome"], "met");
    call(&sessions, "list_sessions", json!({"tmux": false})).await.unwrap();
    // The program ignores SIGHUP. Closing the session kills it, and no zombie remains.
    call(&sessions, "close_session", json!({"session_id": "s1", "grace_ms": 0})).await.unwrap();
    processes::become_reaper();
    processes::reap_orphans();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    sessions.shut_down().await;
}

/// A program that prints faster than we read delays other calls by a few reads at most.
#[tokio::test]
async fn a_flood_is_read_in_bounded_turns() {
    let sessions = Arc::new(Sessions::default());
    let line = "a".repeat(998);
    let spawn = json!({"command": "yes", "args": [line], "cols": 1000, "rows": 500, "wait": {"text": "aa"}});
    call(&sessions, "spawn", spawn).await.unwrap();
    // Patterns that span rows are searched for in all rows, which makes each read expensive.
    let entry = sessions.find(Some("s1")).await.unwrap();
    let waits = (0..20).map(|i| {
        let wait =
            json!({"session_id": "s1", "pattern": format!("a\\nb{i}"), "timeout_ms": 600_000});
        let sessions = Arc::clone(&sessions);
        tokio::spawn(async move { call(&sessions, "wait_for_text", wait).await })
    });
    let waits: Vec<_> = waits.collect();
    while entry.handle.call(|driver| driver.session().waits_running()).await != Some(20) {}
    let lines = || entry.handle.call(|driver| driver.session().screen().line(0).0);
    let mut seen = lines().await.unwrap();
    for _ in 0..50 {
        tokio::task::yield_now().await;
        let now = lines().await.unwrap();
        // One round of reads before the call is handled, and one after it.
        let most = 2 * policy::READS_IN_A_ROW * 4096 / 1000 + 1;
        assert!(now - seen <= most as u64, "{} lines in one turn", now - seen);
        seen = now;
    }
    waits.iter().for_each(tokio::task::JoinHandle::abort);
    sessions.shut_down().await;
}

/// Output that was printed before a timeout counts, even if the server reads it only after the timeout.
#[tokio::test]
async fn output_before_a_timeout_is_matched_before_it() {
    let sessions = Arc::new(Sessions::default());
    let printed = std::env::temp_dir().join(format!("awaitty-printed-{}", std::process::id()));
    let script = "stty -echo; echo UP; read x; echo LATE; : >\"$0\"; exec cat";
    let spawn = json!({"command": "sh", "args": ["-c", script, printed], "wait": {"text": "UP"}});
    call(&sessions, "spawn", spawn).await.unwrap();
    let entry = sessions.find(Some("s1")).await.unwrap();
    const TIMEOUT_MS: u64 = 100;
    let wait = json!({"session_id": "s1", "pattern": "LATE", "timeout_ms": TIMEOUT_MS});
    let waiting = tokio::spawn({
        let sessions = Arc::clone(&sessions);
        async move { call(&sessions, "wait_for_text", wait).await }
    });
    while entry.handle.call(|driver| driver.session().waits_running()).await != Some(1) {}
    // Blocks the driver until the program has printed, and then moves the clock past the timeout before the driver can
    // read. Twice the timeout, because timers have a resolution of 1 ms.
    let file = printed.clone();
    let delay = move |driver: &mut awaitty_terminal::terminal::Driver| {
        driver.send(b"\r", "\r").unwrap();
        while !file.exists() {
            std::thread::yield_now();
        }
        tokio::time::pause();
        // The first poll moves the clock; the rest of the future only yields.
        let _ = tokio::time::advance(Duration::from_millis(2 * TIMEOUT_MS)).now_or_never();
        tokio::time::resume();
    };
    entry.handle.call(delay).await.unwrap();
    std::fs::remove_file(printed).unwrap();
    assert_eq!(waiting.await.unwrap().unwrap()["outcome"], "met");
    sessions.shut_down().await;
}
