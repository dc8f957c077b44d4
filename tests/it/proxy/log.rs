//! The session log of `early` in the client's folder: a block for each action, with the figures of
//! what really was sent (RULES 44).

use epitome_upstream::Script;
use serde_json::{Value, json};

use super::serving::Serving;
use crate::program::read_file;

const LIMIT: f64 = 8000.0;

/// A conversation with so many questions, the first of them answered by rows of a query.
fn talk(questions: usize) -> Value {
    let rows: Vec<_> = (0..300).map(|at| json!({"sku": format!("P-{at}"), "units": at})).collect();
    let call = json!({"name": "run_sql", "arguments": "{\"query\":\"products\"}"});
    let mut messages = vec![
        json!({"role": "system", "content": "You are an analyst."}),
        json!({"role": "user", "content": "Which products sell?"}),
        json!({"role": "assistant", "content": null,
            "tool_calls": [{"id": "call_Zk3x9Q2mB7rT", "type": "function", "function": call}]}),
        json!({"role": "tool", "tool_call_id": "call_Zk3x9Q2mB7rT", "content": Value::from(rows).to_string()}),
    ];
    for at in 1..questions {
        let line =
            |row: usize| format!("In week {at}{row} shop {row} sold lamp {at} {row} times. ");
        messages
            .push(json!({"role": "assistant", "content": (0..80).map(line).collect::<String>()}));
        messages.push(json!({"role": "user", "content": format!("And in month {at}?")}));
    }
    json!({"model": "gpt-4o", "messages": messages})
}

/// A figure as people read it.
fn number(text: &str) -> f64 {
    text.replace(',', "").parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// The tokens of a line like `- Before: 4,200 / 8,000 (52.5%)`, whose share must be right.
#[track_caller]
fn usage(line: &str, name: &str) -> f64 {
    let rest = line.strip_prefix(&format!("- {name}: ")).unwrap_or_else(|| panic!("{line}"));
    let (tokens, rest) = rest.split_once(" / 8,000 (").unwrap();
    let tokens = number(tokens);
    assert_eq!(rest, format!("{:.1}%)", 100.0 * tokens / LIMIT), "{line}");
    tokens
}

/// What a block says: the action, the sizes before and after, and the messages.
#[track_caller]
fn read(block: &str) -> (String, [f64; 2], f64) {
    let lines: Vec<_> = block.lines().filter(|line| !line.is_empty()).collect();
    let (at, action) = lines[0].split_once(": ").unwrap();
    assert!(at.len() >= 20 && at.ends_with('Z') && at.as_bytes()[10] == b'T', "{at}");
    let sizes = [usage(lines[1], "Before"), usage(lines[2], "After")];
    let messages = number(lines[3].strip_prefix("- Messages: ").unwrap());
    assert!(lines[4].starts_with("- Summaries: "), "{block}");
    let saved = sizes[0] - sizes[1];
    let (tokens, rest) =
        lines[5].strip_prefix("- Savings: ").and_then(|it| it.split_once(" tokens (")).unwrap();
    let percent = (100.0 * saved / sizes[0]).round();
    assert_eq!((number(tokens), rest), (saved, &*format!("{percent}% reduction)")), "{block}");
    (action.to_owned(), sizes, messages)
}

#[test]
fn each_action_has_its_block_in_the_session_log() {
    let args = ["--profile", "early", "--prompt-limit", "8000", "--workspace", "."];
    let serving = Serving::start(Script::default(), &args);
    let log = || {
        let log = read_file(serving.place.path(".epitome/SESSION_LOG.md")).unwrap_or_default();
        String::from_utf8(log).unwrap()
    };
    let mut written = String::new();
    for questions in 1..=5 {
        serving.post_one("/v1/chat/completions", &talk(questions));
        // What was written is never touched again.
        assert!(log().starts_with(&written), "{}", log());
        written = log();
    }
    let blocks: Vec<_> = written.split("\n## ").skip(1).map(read).collect();
    let actions: Vec<_> = blocks.iter().map(|(action, ..)| action.as_str()).collect();
    assert_eq!(actions, ["digest of run_sql", "summary"], "{written}");
    let messages: Vec<_> = blocks.iter().map(|(_, _, messages)| *messages).collect();
    assert_eq!(messages[0], 4.0);
    let [before, after] = blocks[1].1;
    assert!(before >= LIMIT / 2.0 && after < LIMIT / 2.0, "{written}");
    // The summary stands first, behind the system prompt.
    let sent = &serving.last().body["messages"];
    let first = sent[1]["content"].as_str().unwrap();
    assert_eq!(sent[0]["content"], "You are an analyst.");
    assert!(first.starts_with("[SUMMARY]: .epitome/offloaded/"), "{first}");
    let ignored = read_file(serving.place.path(".epitome/.gitignore")).unwrap();
    assert!(String::from_utf8(ignored).unwrap().lines().any(|line| line == "/SESSION_LOG.md"));
}
