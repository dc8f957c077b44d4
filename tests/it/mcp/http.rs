//! `/mcp` of `epitome serve`.

use std::io::Write;
use std::net::TcpStream;

use epitome_upstream::{Call, Script, Turn};
use serde_json::{Value, json};

use super::{TOOLS, augments, call, hello, refused, request, result};
use crate::proxy::{Answer, Ask, Serving};

/// A message as clients post it.
fn ask(message: &Value) -> Ask {
    Ask::post("/mcp", message.to_string()).header("accept", "application/json, text/event-stream")
}

#[track_caller]
fn answered(serving: &Serving, message: &Value) -> Value {
    let answer = ask(message).send(serving.address()).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

/// A conversation of one question, labelled.
fn say(serving: &Serving, label: &str, text: &str) {
    ask_upstream(serving, label, text);
}

/// The same; gives the answer.
fn ask_upstream(serving: &Serving, label: &str, text: &str) -> Value {
    let tools = json!([{"name": "mcp__epitome__goal", "input_schema": {"type": "object"}}]);
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "tools": tools,
        "messages": [{"role": "user", "content": text}]});
    let ask = Ask::post("/v1/messages", body.to_string());
    let answer = serving.send(ask.header("x-claude-code-session-id", label));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn session(serving: &Serving) -> String {
    let status = answered(serving, &call(9, "context_status", &json!({})));
    result(&status)["session"].as_str().unwrap().to_owned()
}

#[test]
fn levers_are_pulled_beside_the_conversation() {
    let serving = Serving::start(Script::default(), &["--workspace", "."]);
    augments(&serving.place);
    let initialized = answered(&serving, &hello(1));
    assert_eq!(initialized["result"]["serverInfo"]["name"], "epitome");
    let listed = answered(&serving, &request(2, "tools/list", &json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), TOOLS.len());
    let none = answered(&serving, &call(3, "context_status", &json!({})));
    assert!(refused(&none).contains("no session is recorded yet"));

    // A call is of the conversation that this proxy heard of last, whoever else writes the store.
    say(&serving, "first", "Mend the parser.");
    say(&serving, "second", "Mend the printer.");
    let newest = session(&serving);
    serving.place.write("c.json", r#"[{"role":"user","content":"Something else."}]"#);
    serving.place.run(["session", "import", "c.json", "--name", "other", "--store", "s.db"]);
    assert_eq!(session(&serving), newest);
    let loaded = call(4, "activate_augments", &json!({"patterns": ["refactoring/*"]}));
    assert_eq!(result(&answered(&serving, &loaded))["session"], newest);

    // The command sees what the agent did.
    answered(&serving, &call(5, "goal", &json!({"action": "set", "text": "It prints."})));
    let goals = serving.place.run(["goal", "list", "--session", &newest, "--store", "s.db"]);
    assert!(goals.text().contains("It prints."), "{goals:?}");
    // No message of the protocol went to the provider.
    assert_eq!(serving.prompts().len(), 2);
}

/// The same as a call of this id, as Claude Code makes it.
fn call_of(id: &str, tool: &str, arguments: &Value) -> Value {
    let mut call = call(7, tool, arguments);
    call["params"]["_meta"] = json!({"claudecode/toolUseId": id});
    call
}

#[test]
fn a_call_with_an_id_is_of_the_answer_that_holds_it_and_of_no_other() {
    let call = Call::new("mcp__epitome__goal", json!({"action": "set"}));
    let turn = Turn { text: "I set it.".into(), calls: vec![call], ..Turn::default() };
    let script = Script { turns: vec![turn, Turn::default()], ..Script::default() };
    let serving = Serving::start(script, &[]);
    let answer = ask_upstream(&serving, "first", "Mend the parser.");
    let block = answer["content"].as_array().unwrap().iter().find(|it| it["type"] == "tool_use");
    let id = block.unwrap()["id"].as_str().unwrap().to_owned();
    say(&serving, "second", "Mend the printer.");
    let goals = |label: &str| {
        let ran = serving.place.run(["goal", "list", "--session", label, "--store", "s.db"]);
        ran.text().to_owned()
    };
    // What it sets may be written in another way than the model wrote it.
    let set = json!({"action": "set", "text": "It parses."});
    result(&answered(&serving, &call_of(&id, "goal", &set)));
    assert!(goals("first").contains("It parses.") && !goals("second").contains("It parses."));
    let unknown = answered(&serving, &call_of("toolu_of_nobody", "goal", &set));
    assert!(refused(&unknown).contains("nobody knows whose it is"), "{unknown}");
    assert!(!goals("second").contains("It parses."));
    let named = json!({"action": "set", "text": "It prints.", "session": "second"});
    result(&answered(&serving, &call_of("toolu_of_nobody", "goal", &named)));
    assert!(goals("second").contains("It prints."));
}

#[test]
fn what_a_lever_brought_back_is_not_made_smaller_again() {
    // RULES 120: a digest of what was recalled would have to be recalled again.
    let serving = Serving::start(Script::default(), &[]);
    let log: String = (0..1500).map(|line| format!("line {line}: handled a request\n")).collect();
    let sent = |tool: &str| {
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": [
            {"role": "user", "content": format!("Why did {tool} stop?")},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "t1", "name": tool, "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": log}]}]});
        serving.post("/v1/messages", &body);
        serving.last().body["messages"][2]["content"][0]["content"].to_string()
    };
    assert!(sent("mcp__epitome__recall").len() > log.len());
    assert!(sent("mcp__other__recall").len() < log.len() / 2);
}

#[test]
fn no_web_page_pulls_a_lever() {
    let serving = Serving::start(Script::default(), &[]);
    let status = |ask: Ask| ask.send(serving.address()).unwrap().status;
    let list = request(1, "tools/list", &json!({}));
    assert_eq!(status(ask(&list).header("host", "evil.example.com")), 403);
    assert_eq!(status(ask(&list).header("origin", "http://evil.example.com")), 403);
    assert_eq!(status(ask(&list).header("origin", "null")), 403);
    assert_eq!(status(ask(&list).header("origin", "http://localhost:3000")), 200);
    assert_eq!(status(ask(&list)), 200);
}

#[test]
fn a_token_is_asked_for_and_parts_tenants() {
    let tokens = "anna 0123456789abcdef\nben fedcba9876543210\n";
    let place = crate::program::Place::new();
    place.write("tokens", tokens);
    let file = place.path("tokens").display().to_string();
    let serving = Serving::start(Script::default(), &["--token-file", &file]);
    let list = ask(&request(1, "tools/list", &json!({})));
    assert_eq!(list.clone().send(serving.address()).unwrap().status, 401);
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64,
        "messages": [{"role": "user", "content": "Mend the parser."}]});
    let said = Ask::post("/v1/messages", body.to_string());
    let said = serving.send(said.header("x-epitome-token", "0123456789abcdef"));
    assert_eq!(said.status, 200, "{}", said.text());
    let of = |token: &str| -> Value {
        let ask = ask(&call(2, "context_status", &json!({})));
        let answer = ask.header("authorization", &format!("Bearer {token}"));
        let answer = answer.header("host", "gate.example").send(serving.address()).unwrap();
        serde_json::from_slice(&answer.body).unwrap()
    };
    assert!(result(&of("0123456789abcdef"))["session"].is_string());
    assert!(refused(&of("fedcba9876543210")).contains("no session is recorded yet"));
}

#[test]
fn what_is_no_message_is_refused_in_words() {
    let serving = Serving::start(Script::default(), &[]);
    let check = |body: &str, code: i64, words: &str| {
        let ask = Ask::post("/mcp", body).header("accept", "application/json, text/event-stream");
        let answer = ask.send(serving.address()).unwrap();
        let told: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, told["error"]["code"].as_i64()), (400, Some(code)), "{told}");
        assert!(told["error"]["message"].as_str().unwrap().contains(words), "{told}");
    };
    check("{\"jsonrpc\":", -32700, "the body is no JSON: ");
    check("", -32700, "the body is no JSON: ");
    check("[]", -32600, "send one message");
    check("{\"id\": 1}", -32600, "no message of JSON-RPC 2.0");
    let unknown = answered(&serving, &request(7, "no/such", &json!({})));
    assert_eq!(
        (unknown["id"].as_i64(), unknown["error"]["code"].as_i64()),
        (Some(7), Some(-32601))
    );
    let get: Answer = Ask::new("GET", "/mcp").send(serving.address()).unwrap();
    assert_eq!((get.status, get.header("allow")), (405, Some("POST")));
}

#[test]
fn many_clients_at_once_and_some_that_leave() {
    let serving = Serving::start(Script::default(), &[]);
    say(&serving, "work", "Mend the parser.");
    let address = serving.address();
    std::thread::scope(|scope| {
        for client in 0..8_u64 {
            scope.spawn(move || {
                for turn in 0..6 {
                    let text = format!("step {client}.{turn}");
                    let note = json!({"action": "decide", "text": text});
                    if turn % 3 == 2 {
                        // In the middle of its message, and before the answer.
                        let bytes = ask(&call(1, "context_status", &json!({}))).bytes();
                        let mut stream = TcpStream::connect(address).unwrap();
                        stream.write_all(&bytes[..bytes.len() - client as usize]).unwrap();
                        continue;
                    }
                    let answer = ask(&call(client, "goal", &note)).send(address).unwrap();
                    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
                    assert_eq!(answer["id"], client);
                    result(&answer);
                }
            });
        }
    });
    let goals = answered(&serving, &call(1, "goal", &json!({})));
    assert_eq!(result(&goals)["decisions"].as_array().unwrap().len(), 8 * 4);
}

#[test]
fn a_conversation_of_before_there_were_projects_keeps_its_levers() {
    // Served for no folder, `old` belongs to no project, and stays there once its folder is named.
    let mut serving = Serving::start(Script::default(), &[]);
    let asked = |text: &str| json!({"role": "user", "content": text});
    let body = |messages: Vec<Value>| {
        json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages}).to_string()
    };
    let send = |serving: &Serving, messages: Vec<Value>| {
        let ask = Ask::post("/v1/messages", body(messages));
        let answer = serving.send(ask.header("x-claude-code-session-id", "old"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        json!({"role": "assistant", "content": answer.json()["content"]})
    };
    let answer = send(&serving, vec![asked("Mend the parser.")]);
    let old = session(&serving);
    serving.kill();
    serving.go_on_with(&["--workspace", "."]);
    say(&serving, "new", "Mend the printer.");
    let new = session(&serving);
    assert_ne!(old, new);
    send(&serving, vec![asked("Mend the parser."), answer, asked("Go on.")]);
    assert_eq!(session(&serving), old);
    answered(&serving, &call(5, "goal", &json!({"action": "set", "text": "It parses."})));
    let goals = |name: &str| {
        let of = json!({"session": name});
        result(&answered(&serving, &call(6, "goal", &of)))["goals"].as_array().unwrap().len()
    };
    assert_eq!((goals(&old), goals(&new)), (1, 0));
}

#[test]
fn what_was_heard_and_is_gone_is_no_other_conversation() {
    let serving = Serving::start(Script::default(), &[]);
    say(&serving, "first", "Mend the parser.");
    let first = session(&serving);
    say(&serving, "second", "Mend the printer.");
    let second = session(&serving);
    let gone = ["session", "delete", "--forever", &second, "--store", "s.db"];
    assert_eq!(serving.place.run(gone).code, 0);
    let set = call(5, "goal", &json!({"action": "set", "text": "It prints."}));
    let set = answered(&serving, &set);
    assert!(refused(&set).contains(&format!("no session `{second}`")), "{set}");
    let goals = answered(&serving, &call(6, "goal", &json!({"session": first})));
    assert_eq!(result(&goals)["goals"], json!([]));
}

#[test]
fn an_agent_in_a_folder_finds_what_was_served_for_none() {
    let serving = Serving::start(Script::default(), &[]);
    say(&serving, "work", "Mend the parser.");
    let heard = session(&serving);
    let mut client = super::pipes::Client::start(&serving.place);
    let status = client.call("context_status", json!({}));
    assert_eq!(result(&status)["session"], heard);
    let set = client.call("goal", json!({"action": "set", "text": "It parses."}));
    assert_eq!(result(&set)["session"], heard);
    let pinned = client.call("pin", json!({"entries": ["e0"]}));
    assert_eq!(result(&pinned)["session"], heard);
    let ledger = client.read(&format!("epitome://ledger/{heard}"));
    assert!(ledger["result"].is_object(), "{ledger}");
}
