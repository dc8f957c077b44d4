//! `epitome mcp` on pipes, as clients start it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::{TOOLS, augments, call, hello, refused, request, result};
use crate::program::Place;

/// A client with its server.
pub(super) struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    pub(super) fn start(place: &Place) -> Self {
        Self::begin(Self::silent(place))
    }

    /// One whose server goes by this profile, and by none in particular where it is empty.
    fn of_profile(place: &Place, profile: &str) -> Self {
        let flag: &[&str] = if profile.is_empty() { &[] } else { &["--profile", profile] };
        Self::begin(Self::spawned(place, &[&["mcp", "--store", "s.db"], flag].concat()))
    }

    fn begin(mut client: Self) -> Self {
        let answer = client.ask(hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "epitome", "{answer}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    /// One that has not said anything.
    fn silent(place: &Place) -> Self {
        Self::spawned(place, &["mcp", "--store", "s.db"])
    }

    fn spawned(place: &Place, line: &[&str]) -> Self {
        let mut command = place.command(line);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from, next: 0 }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line:?}"))
    }

    #[track_caller]
    fn ask(&mut self, message: impl Fn(u64) -> Value) -> Value {
        self.next += 1;
        self.say(&message(self.next).to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], self.next, "{answer}");
        answer
    }

    #[track_caller]
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(|id| call(id, tool, &arguments))
    }

    #[track_caller]
    pub(super) fn read(&mut self, uri: &str) -> Value {
        self.ask(|id| request(id, "resources/read", &json!({"uri": uri})))
    }

    /// Closes standard input, as clients do that are done.
    fn end(mut self) -> i32 {
        self.to.take();
        self.child.wait().unwrap().code().unwrap()
    }
}

/// A folder with a session and two augments.
fn place() -> Place {
    let place = Place::new();
    augments(&place);
    let log: String = (0..400).map(|line| format!("line {line}: handled a request\n")).collect();
    let messages = json!([
        {"role": "user", "content": "Mend the parser. Never push to main."},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
            "function": {"name": "read", "arguments": "{\"path\": \"src/parser.rs\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": log},
        {"role": "assistant", "content": "The parser stumbles over the tab in line 7."},
    ]);
    place.write("c.json", messages.to_string());
    let ran = place.run(["session", "import", "c.json", "--name", "demo", "--store", "s.db"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    place
}

#[test]
fn every_tool_is_listed_and_answers() {
    let place = place();
    let mut client = Client::start(&place);
    let listed = client.ask(|id| request(id, "tools/list", &json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for tool in tools {
        let required = tool["outputSchema"]["required"].as_array().unwrap();
        let (name, arguments) = match tool["name"].as_str().unwrap() {
            name @ ("activate_augments" | "deactivate_augments") => {
                (name, json!({"patterns": ["refactoring/*"]}))
            }
            "recall" => ("recall", json!({"query": "parser"})),
            "pin" => ("pin", json!({"entries": ["e0"]})),
            name => (name, json!({})),
        };
        let answer = client.call(name, arguments);
        let structured = result(&answer).as_object().unwrap();
        for field in required {
            assert!(structured.contains_key(field.as_str().unwrap()), "{name}: {answer}");
        }
    }
    assert_eq!(client.end(), 0);
}

#[test]
fn what_one_client_does_another_sees_and_a_restart_keeps() {
    let place = place();
    let (mut one, mut other) = (Client::start(&place), Client::start(&place));
    let loaded = one.call("activate_augments", json!({"patterns": ["refactoring/small"]}));
    let loaded = result(&loaded);
    assert_eq!(loaded["active"], json!(["refactoring/tests", "refactoring/small"]));
    assert_eq!(loaded["loaded"][1]["text"], "One by one.");
    one.call("goal", json!({"action": "set", "text": "The parser reads tabs."}));
    one.call("goal", json!({"action": "decide", "text": "No new crate.", "locked": true}));
    one.call("compress_to_checkpoint", json!({}));
    // It disappears; what it did is there.
    one.child.kill().unwrap();
    one.child.wait().unwrap();
    let status = other.call("context_status", json!({}));
    let status = result(&status);
    assert_eq!(status["session"], "demo");
    assert_eq!(status["goal"], "The parser reads tabs.");
    assert_eq!(status["asked"], "compress_to_checkpoint");
    assert_eq!(status["augments"], json!(["refactoring/tests", "refactoring/small"]));
    assert_eq!(other.end(), 0);

    // An edit on disk holds at once (RULES 40).
    place.write("augments/refactoring/small.md", "Alone.\n");
    let mut next = Client::start(&place);
    let gone = next.call("deactivate_augments", json!({"patterns": "refactoring/*"}));
    assert_eq!(result(&gone)["unloaded"], json!(["refactoring/small"]));
    let goals = next.read("epitome://goal");
    let goals = goals["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(goals.contains("No new crate. (locked)"), "{goals}");
}

/// A session is found whatever profile recorded it; one that is named is meant, and no other.
#[test]
fn a_session_of_another_profile_is_found() {
    let place = place();
    let line = ["session", "import", "c.json", "--name", "talk", "--store", "s.db"];
    let ran = place.run([&line[..], &["--profile", "ollm"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut client = Client::of_profile(&place, "");
    for arguments in [json!({}), json!({"session": "talk"})] {
        let with = |more: Value| {
            let mut all = arguments.as_object().unwrap().clone();
            all.extend(more.as_object().unwrap().clone());
            Value::from(all)
        };
        for (tool, more) in [
            ("context_status", json!({})),
            ("goal", json!({"action": "set", "text": "It reads tabs."})),
            ("pin", json!({"entries": ["e0"]})),
            ("snapshot", json!({})),
            ("compress_to_checkpoint", json!({})),
        ] {
            let answer = client.call(tool, with(more));
            assert_eq!(result(&answer)["session"], "talk", "{tool}");
        }
    }
    for document in ["goal", "ledger", "status", "transcript"] {
        let named = client.read(&format!("epitome://{document}/talk"));
        let newest = client.read(&format!("epitome://{document}"));
        let text = named["result"]["contents"][0]["text"].as_str();
        assert!(
            text.is_some()
                && named["result"]["contents"][0]["text"]
                    == newest["result"]["contents"][0]["text"],
            "{named} {newest}"
        );
    }
    assert_eq!(client.end(), 0);
    // The command sees what was done, in the session of that profile.
    let ran = place.run(["goal", "list", "--store", "s.db", "--profile", "ollm"]);
    assert!(ran.text().contains("It reads tabs."), "{ran:?}");
    let mut alone = Client::of_profile(&place, "default");
    assert_eq!(result(&alone.call("context_status", json!({})))["session"], "demo");
    let answer = alone.call("context_status", json!({"session": "talk"}));
    assert!(refused(&answer).contains("no session `talk`"), "{answer}");
}

/// The command that a person is told of means the store and the session that the server has.
#[test]
fn the_command_of_a_snapshot_works_as_printed() {
    let place = place();
    let line = ["session", "import", "c.json", "--name", "talk", "--store", "s.db"];
    let ran = place.run([&line[..], &["--profile", "ollm"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    for profile in ["default", "ollm"] {
        let mut client = Client::of_profile(&place, profile);
        let answer = client.call("snapshot", json!({}));
        let said = answer["result"]["content"][0]["text"].as_str().unwrap();
        let command = said.split('`').nth(1).unwrap();
        let ran = place.run(command.split(' ').skip(1));
        assert_eq!(ran.code, 0, "{command}: {ran:?}");
    }
}

#[test]
fn what_left_is_recalled_by_words_and_by_id() {
    let place = place();
    let mut client = Client::start(&place);
    let found = client.call("recall", json!({"query": "handled a request", "max_tokens": 200}));
    let found = result(&found)["found"][0].clone();
    assert_eq!(found["source"], "demo: e2 read result");
    let lines = json!({"id": found["id"], "lines": "7-8"});
    let lines = client.call("recall", lines);
    let expected = "line 6: handled a request\nline 7: handled a request\n";
    assert_eq!(result(&lines)["found"][0]["text"], expected);
    let cut = client.call("recall", json!({"id": found["id"], "max_tokens": 50}));
    assert!(result(&cut)["more"].as_str().unwrap().starts_with("go on with lines "), "{cut}");
}

#[test]
fn wrong_arguments_are_explained() {
    let place = place();
    let mut client = Client::start(&place);
    for (tool, arguments, expected) in [
        (
            "recall",
            json!({}),
            "one of `query`, `queries` and `id` is needed. Arguments like {\"query\":",
        ),
        ("recall", json!({"id": "ffffffff"}), "ffffffff"),
        ("recall", json!({"query": "x", "max_tokens": 0}), "it may be 1 to 8000"),
        (
            "recall",
            json!({"query": "x", "max_tokens": -1}),
            "`max_tokens` is -1; it may be 1 to 8000",
        ),
        ("recall", json!({"query": 5}), "`query` is 5; expected a text"),
        ("recall", json!({"query": " "}), "`query` is empty"),
        ("recall", json!({"id": "abcd", "lines": "8-3"}), "`lines`: expected lines counted from 1"),
        (
            "activate_augments",
            json!({"patterns": ["tests/*"]}),
            "no augment is called `tests/*`; there is",
        ),
        (
            "activate_augments",
            json!({"pattern": "x"}),
            "unknown field `pattern`, expected `patterns`",
        ),
        ("pin", json!({"entries": ["e99"]}), "session `demo` has no entry `e99`"),
        ("goal", json!({"action": "pause"}), "goal"),
        ("goal", json!({"action": "finish"}), "`action` is \"finish\"; it may be `list`, `set`"),
        ("context_status", json!({"session": "x"}), "no session `x`; those used last are demo"),
        (
            "no_such_tool",
            json!({}),
            "there is no tool `no_such_tool`; there is compress_to_checkpoint",
        ),
    ] {
        let answer = client.call(tool, arguments);
        let words = refused(&answer);
        assert!(words.contains(expected), "{tool}: {words}");
    }
    let unknown = client.read("epitome://nothing");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("there is epitome://goal"));
    let unknown = client.ask(|id| request(id, "nothing/list", &json!({})));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let words = unknown["error"]["message"].as_str().unwrap();
    assert!(
        words.starts_with("there is no method `nothing/list`; there are initialize, "),
        "{words}"
    );
    // Messages that are none do no harm.
    client.say("{\"jsonrpc\": \"2.0\", \"id\":");
    client.say("no JSON at all");
    assert_eq!(result(&client.call("context_status", json!({})))["session"], "demo");
}

#[test]
fn documents_are_read_of_any_session() {
    let place = place();
    let mut client = Client::start(&place);
    let listed = client.ask(|id| request(id, "resources/list", &json!({})));
    let listed = listed["result"]["resources"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 4);
    for resource in listed {
        let uri = resource["uri"].as_str().unwrap();
        let read = client.read(uri);
        assert_eq!(read["result"]["contents"][0]["mimeType"], resource["mimeType"], "{read}");
        let named = client.read(&format!("{uri}/demo"));
        let text = |answer: &Value| answer["result"]["contents"][0]["text"].clone();
        assert_eq!(text(&named), text(&read));
    }
    let ledger = client.read("epitome://ledger/demo");
    let ledger = ledger["result"]["contents"][0]["text"].as_str().unwrap();
    let ledger: Value = serde_json::from_str(ledger).unwrap();
    assert_eq!(ledger["constraints"], json!(["Never push to main."]));
    let missing = client.read("epitome://goal/no%20such");
    assert!(missing["error"]["message"].as_str().unwrap().contains("no session `no such`"));
}

#[test]
fn a_server_needs_no_session_and_no_store() {
    let place = Place::new();
    let mut client = Client::start(&place);
    let answer = client.call("context_status", json!({}));
    assert!(refused(&answer).contains("no session is recorded yet"));
    let shelf = client.call("list_augments", json!({}));
    assert_eq!(result(&shelf)["augments"], json!([]));
    assert_eq!(client.end(), 0);
    // One that goes before it says anything, and one that does not say who it is.
    assert_eq!(Client::silent(&place).end(), 0);
    let mut stranger = Client::silent(&place);
    let answer = stranger.call("context_status", json!({}));
    assert!(answer["error"]["message"].is_string(), "{answer}");
    assert_eq!(stranger.end(), 0);
}
