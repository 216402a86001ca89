//! Two sets of terminals in one process do not touch each other's programs.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Outcome, Since, Spec};
use awaitty_terminal::platform::exit_watch::ExitWatch;
use awaitty_terminal::terminals::{Ending, Entry, IfExists, SpawnSpec, Terminals};
use rustix::process::Signal;

async fn spawn(terminals: &Arc<Terminals>, name: &str) -> Arc<Entry> {
    let spec =
        SpawnSpec { name: Some(name.to_owned()), ..SpawnSpec::new(["sh", "-c", "sleep 60 & cat"]) };
    terminals.spawn(spec, IfExists::Error).await.unwrap().entry
}

async fn answers(entry: &Entry) -> bool {
    let pattern = awaitty_core::Pattern::new("^ping$", "").unwrap();
    let spec =
        Spec { condition: Condition::Text(pattern.into()), since: Since::Input, deadline: None };
    let wait = entry.handle.start_wait(move |driver| {
        driver.send(b"ping\r", "ping\r").unwrap();
        driver.start_wait(spec, Duration::from_secs(10))
    });
    wait.await.unwrap().unwrap().ended().await.unwrap().outcome == Outcome::Met
}

#[tokio::test]
async fn closing_a_terminal_leaves_one_of_the_same_name_in_another_set_alone() {
    let sets = [Arc::new(Terminals::default()), Arc::new(Terminals::default())];
    let kill = Ending::Kill(Signal::KILL, Duration::ZERO);
    for _ in 0..3 {
        let [first, second] = [&sets[0], &sets[1]];
        let (a, b) = (spawn(first, "same").await, spawn(second, "same").await);
        assert_eq!(a.id, b.id, "both sets count from the same number");
        assert!(answers(&a).await && answers(&b).await);
        assert!(first.close(&a, kill, false).await.is_empty());
        assert!(answers(&b).await, "the other set's program lives");
        assert!(second.close(&b, kill, false).await.is_empty());
    }
    for set in sets {
        set.shut_down().await;
    }
}

#[tokio::test]
async fn closing_a_terminal_does_not_reap_children_of_the_host() {
    let mut child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    ExitWatch::new(pid).unwrap().exited().await.unwrap();
    let set = Arc::new(Terminals::default());
    let entry = spawn(&set, "any").await;
    set.close(&entry, Ending::Kill(Signal::KILL, Duration::ZERO), false).await;
    assert_eq!(child.wait().unwrap().code(), Some(7));
    set.shut_down().await;
}
