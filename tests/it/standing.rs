//! What is done beside the prompt, from outside: how a session stands as its policies report it, to
//! people and to the agent, and the files of a session that goes (RULES 50, 1).

use epitome_upstream::Script;
use serde_json::{Value, json};

use crate::measure::count;
use crate::program::Place;
use crate::proxy::Serving;

const ARGS: [&str; 6] = ["--profile", "tiered", "--workspace", ".", "--prompt-limit", "4000"];

/// A page of about so many tokens.
fn page(number: u32, tokens: u64) -> String {
    let mut text = String::new();
    for line in 0.. {
        if count(&text) >= tokens {
            break;
        }
        text.push_str(&format!("Line {line} of page {number} tells of house {line}{number}.\n"));
    }
    text
}

/// A history with a large result, and so many pages of talk behind it.
fn history(pages: u32) -> Value {
    // As providers draw it: it proves that the longer history goes on from the shorter one.
    let id = "toolu_01A7xK3mQ9rT2bV5";
    let call = json!({"type": "tool_use", "id": id, "name": "fetch", "input": {"page": 1}});
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": page(1, 1500)});
    let mut messages = vec![
        json!({"role": "user", "content": "Write the chapter on herons into heron.md."}),
        json!({"role": "assistant", "content": [call]}),
        json!({"role": "user", "content": [result]}),
    ];
    for number in 2..2 + pages {
        messages.push(json!({"role": "assistant", "content": page(number, 400)}));
        messages.push(json!({"role": "user", "content": format!("Good, take page {number}.")}));
    }
    json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages})
}

/// The Markdown files below `.epitome`, sorted.
fn files(place: &Place) -> Vec<String> {
    let (mut folders, mut found) = (vec![".epitome".to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(place.path(&folder)).unwrap() {
            let file = file.unwrap();
            let name = format!("{folder}/{}", file.file_name().into_string().unwrap());
            match file.file_type().unwrap().is_dir() {
                true => folders.push(name),
                false if name.ends_with(".md") => found.push(name),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// A proxy that offloaded a result and compressed once, and the name of its session.
fn served() -> (Serving, String) {
    let serving = Serving::start(Script::default(), &ARGS);
    serving.post_one("/v1/messages", &history(1));
    serving.post_one("/v1/messages", &history(8));
    let all =
        serving.place.run(["session", "list", "--store", "s.db", "--profile", "tiered", "--json"]);
    let name = all.json()[0]["name"].as_str().unwrap().to_owned();
    (serving, name)
}

/// "The report: time, usage, level, results offloaded and inputs truncated with tokens saved,
/// summaries made, a recommendation, and the compression history as a table"
#[test]
fn policies_report_how_a_session_stands() {
    let (serving, name) = served();
    let args = ["status", "--session", &name, "--store", "s.db", "--profile", "tiered"];
    let shown = serving.place.run(args);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    let told = serving.place.run([&args[..], &["--json"]].concat()).json();
    let report = told["said"]["report"].as_str().unwrap();
    // It says the time, too.
    for line in report.lines().filter(|line| !line.starts_with("- Time: ")) {
        assert!(shown.text().contains(line.trim_end()), "{line}: {}", shown.text());
    }
    let advice = told["said"]["advice"].as_str().unwrap();
    assert!(report.contains(advice), "{report}");
    // A row for the result and one for the compression, in order, each with its time.
    let rows: Vec<Vec<&str>> = report
        .lines()
        .filter(|line| line.starts_with("| 20"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let kinds: Vec<_> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(kinds, ["result offloaded", "summary"], "{report}");
    let saved = told["offloaded"]["tokens"].as_u64().unwrap();
    assert!(saved > 1000 && rows[0][2].replace(',', "") == saved.to_string(), "{report}");
    assert!(rows.is_sorted_by(|one, next| one[0] <= next[0]), "{report}");

    // The agent reads the same, made at another time.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "context_status", "arguments": {"session": name}}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let asked = [hello, ready, call].map(|line| format!("{line}\n")).concat();
    let args = ["mcp", "--store", "s.db", "--profile", "tiered"];
    let answers = serving.place.feed(args, asked.as_bytes());
    let answer = answers.text().lines().last().unwrap().to_owned();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let read = answer["result"]["structuredContent"]["report"].as_str().unwrap();
    let table = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with('|')).map(str::to_owned).collect()
    };
    assert_eq!(table(read), table(report));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(read.trim()));
}

/// What a session wrote goes with it, and nothing of another one.
#[test]
fn a_sessions_files_go_with_it() {
    let (serving, name) = served();
    let before = files(&serving.place);
    let kinds = ["offloaded/", "archive/"].map(|kind| before.iter().any(|one| one.contains(kind)));
    assert_eq!(kinds, [true; 2], "{before:?}");
    serving.place.write(".epitome/archive/mine.md", "# Mine\n");
    serving.place.write(
        ".epitome/LOG.md",
        format!("<!-- session {name} -->\nhis\n<!-- session x -->\nother\n"),
    );
    let args = ["session", "delete", &name, "--forever", "--store", "s.db", "--profile", "tiered"];
    let gone = serving.place.run(args);
    assert_eq!(gone.code, 0, "{}", gone.err);
    assert_eq!(files(&serving.place), [".epitome/LOG.md", ".epitome/archive/mine.md"]);
    assert_eq!(serving.place.read(".epitome/LOG.md"), b"<!-- session x -->\nother\n");
}
