//! MCP beyond tool calls: prompts, resources, subscriptions, completion and the `--tools` flag.

use serde_json::{Value, json};

use crate::client::{Home, Server};

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn tools_flag_selects_tools() {
    let home = Home::new("choice");
    for (choice, count) in [("all", 20), ("core", 10), ("spawn,snapshot", 2)] {
        let mut server = Server::start(home.command().args(["mcp", "--tools", choice]));
        let list = server.request("tools/list", json!({}))["result"]["tools"].clone();
        assert_eq!(names(&list).len(), count, "{choice}");
        let call = json!({"name": "signal_channel", "arguments": {"channel": "a"}});
        let known = server.request("tools/call", call)["error"].is_null();
        assert_eq!(known, choice == "all", "{choice}");
    }
    let (status, _, errors) = home.run(&["mcp", "--tools", "spawn,nope"]);
    assert!(status == 2 && errors.contains("\"nope\" is not a tool"), "{errors}");
}

#[test]
fn prompts() {
    let home = Home::new("prompts");
    let mut server = Server::start(home.command().arg("mcp"));
    let list = server.request("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(names(&list).len(), 3);
    let get = json!({"name": "run_and_watch", "arguments": {"command": "make test"}});
    let got = server.request("prompts/get", get)["result"].clone();
    assert!(got["messages"][0]["content"]["text"].as_str().unwrap().contains("`make test`"));
    assert_eq!(server.request("prompts/get", json!({"name": "nope"}))["error"]["code"], -32602);
}

#[test]
fn resources_are_listed_read_completed_and_subscribed() {
    let home = Home::new("resources");
    let mut server = Server::start(home.command().arg("mcp"));
    let script = "seq 30; echo UP; cat";
    server.call("spawn", json!({"command": "sh", "args": ["-c", script], "name": "build", "rows": 5, "wait": {"text": "UP"}}));
    let listed = server.request("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> =
        listed.as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["screen://s1", "output://s1"]);
    let templates = server.request("resources/templates/list", json!({}))["result"].clone();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "screen://{session_id}");
    let mut read = |uri: &str| {
        let read = server.request("resources/read", json!({ "uri": uri }))["result"].clone();
        read["contents"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(read("screen://build"), "28\n29\n30\nUP");
    assert!(read("output://s1").starts_with("1\n2\n3\n"));
    let unknown = server.request("resources/read", json!({"uri": "screen://nope"}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("There are: s1 (build)"));

    let complete = json!({"ref": {"type": "ref/resource", "uri": "screen://{session_id}"},
        "argument": {"name": "session_id", "value": "b"}});
    let completed = server.request("completion/complete", complete)["result"].clone();
    assert_eq!(completed["completion"]["values"], json!(["build"]));

    server.request("resources/subscribe", json!({"uri": "screen://s1"}));
    let sent =
        server.send("tools/call", json!({"name": "send_input", "arguments": {"input": "x\n"}}));
    // The response and the notification arrive in either order.
    let both = [server.next(), server.next()];
    assert!(both.iter().any(|message| message["id"] == json!(sent)), "{both:?}");
    let updated = |message: &&Value| message["method"] == "notifications/resources/updated";
    let notification = both.iter().find(updated).unwrap();
    assert_eq!(notification["params"]["uri"], "screen://s1");
    server.request("resources/unsubscribe", json!({"uri": "screen://s1"}));
    let sessions = server.call("list_sessions", json!({}));
    server.call("send_input", json!({"input": "y\n", "wait": {"text": "y"}}));
    assert!(sessions["sessions"][0]["waits"].as_u64().unwrap() <= 1);
}

#[test]
fn a_subscription_stream_reports_resource_updates() {
    let home = Home::new("modern");
    let mut server = Server::start_modern(home.command().arg("mcp"));
    server.call("spawn", json!({"command": "cat"}));
    let listen = json!({"notifications": {"resourceSubscriptions": ["screen://s1"]}});
    let stream = server.send("subscriptions/listen", listen);
    assert_eq!(server.next()["method"], "notifications/subscriptions/acknowledged");
    server.call("send_input", json!({"input": "x\n"}));
    let updated = server.next();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "screen://s1");
    server.notify("notifications/cancelled", json!({"requestId": stream}));
    // The cancelled subscription leaves no wait: the call below is the only one.
    let running = json!({"name": "wait_for_exit", "arguments": {"timeout_ms": 60_000}});
    server.send("tools/call", running);
    let waits = |server: &mut Server| {
        server.call("list_sessions", json!({}))["sessions"][0]["waits"].clone()
    };
    while waits(&mut server) != json!(1) {}
}

#[test]
fn a_pending_wait_can_be_continued() {
    let home = Home::new("pending");
    let mut server = Server::start(home.command().args(["mcp", "--call-limit-ms", "100"]));
    let script = "stty -echo; echo UP; cat >/dev/null";
    server.call("spawn", json!({"command": "sh", "args": ["-c", script], "wait": {"text": "UP"}}));
    let mut result = server.call("send_input", json!({"input": "x\n", "wait": {"settled": 350}}));
    assert_eq!(result["outcome"], "pending");
    while result["outcome"] == "pending" {
        let tool = result["retry_tool"].as_str().unwrap().to_owned();
        result = server.call(&tool, result["retry"].clone());
    }
    assert_eq!(
        (&result["outcome"], &result["results"][0]["settled"]),
        (&json!("met"), &json!(true))
    );
}

#[test]
fn identical_output_notifies_subscribers() {
    let home = Home::new("same");
    let mut server = Server::start(home.command().arg("mcp"));
    let script = "stty -echo; echo UP; while read n; do yes | head -n $n; done";
    server.call(
        "spawn",
        json!({"command": "sh", "args": ["-c", script], "rows": 5, "wait": {"text": "UP"}}),
    );
    server.call("send_input", json!({"input": "20\n", "wait": {"text": "y\ny\ny\ny"}}));
    server.request("resources/subscribe", json!({"uri": "output://s1"}));
    server.send("tools/call", json!({"name": "send_input", "arguments": {"input": "20\n"}}));
    let both = [server.next(), server.next()];
    assert!(both.iter().any(|message| message["params"]["uri"] == "output://s1"), "{both:?}");
}

#[test]
fn daemon_clients_cannot_set_server_options() {
    let home = Home::new("refused");
    for option in [["--tools", "core"], ["--call-limit-ms", "100"], ["--max-sessions", "3"]] {
        let (status, _, errors) = home.run(&["mcp", "--daemon", option[0], option[1]]);
        assert!(status == 2 && errors.contains("cannot be used with"), "{errors}");
    }
}

#[test]
fn waits_per_call_and_completions_are_limited() {
    let home = Home::new("many");
    let mut server = Server::start(home.command().arg("mcp"));
    let waits =
        |count: usize| json!({"waits": vec![json!({"channel": "a"}); count], "timeout_ms": 0});
    assert_eq!(server.call("wait_for_any", waits(100))["outcome"], "timeout");
    assert_eq!(server.call("wait_for_any", waits(101))["code"], "bad_argument");
    // Sessions without a name complete to their ids.
    for _ in 0..101 {
        server.call("spawn", json!({"command": "cat", "cols": 1, "rows": 1, "scrollback": 0}));
    }
    let complete = json!({"ref": {"type": "ref/resource", "uri": "screen://{session_id}"},
        "argument": {"name": "session_id", "value": "s"}});
    let completed = server.request("completion/complete", complete)["result"].clone();
    assert_eq!(completed["completion"]["values"].as_array().unwrap().len(), 100);
}
