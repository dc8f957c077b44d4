//! The upstream over real sockets: scripts and logs, streams, faults.
#![expect(clippy::unwrap_used, reason = "a test, and so are its helpers")]

use std::io::{Read, Write};
use std::net::TcpStream;

use epitome_upstream::{Call, Ended, Fault, Script, Upstream};
use serde_json::{Value, json};

/// Sends one request and reads until the other side closes; empty if it closes at once.
fn ask(upstream: &Upstream, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(upstream.address()).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A connection that is cut gives what came before.
    stream.read_to_end(&mut answer).ok();
    String::from_utf8(answer).unwrap()
}

fn prompt(stream: bool) -> String {
    json!({"model": "m", "max_tokens": 9, "stream": stream, "tools": [{"name": "ls"}],
        "messages": [{"role": "user", "content": "tag:one go"}]})
    .to_string()
}

#[test]
fn a_stream_is_answered_by_the_script() {
    let upstream = Upstream::start(Script::agent(1, vec![Call::new("ls", json!({}))])).unwrap();
    let answer = ask(&upstream, "POST", "/v1/messages?beta=true", &prompt(true));
    for piece in ["HTTP/1.1 200", "message_start", "input_json_delta", "message_stop", "\r\n0\r\n"]
    {
        assert!(answer.contains(piece), "{piece}: {answer}");
    }
    let records = upstream.prompts();
    assert_eq!(records[0].ended, Ended::Whole);
    assert_eq!(records[0].raw, prompt(true));
    assert!(records[0].usage.uncached > 0);
}

#[test]
fn what_providers_refuse_is_refused_in_their_words() {
    let upstream = Upstream::start(Script { limit: Some(10), ..Script::default() }).unwrap();
    let answer = ask(&upstream, "POST", "/v1/messages", r#"{"model":"m","messages":[]}"#);
    assert!(answer.contains("400") && answer.contains(r#"{"type":"error""#), "{answer}");
    let answer = ask(&upstream, "POST", "/v1/chat/completions", &prompt(false));
    assert!(answer.contains("maximum context length is 10 tokens"), "{answer}");
    let too_long: Vec<bool> = upstream.prompts().iter().map(|it| it.too_long).collect();
    assert_eq!(too_long, [false, true]);
    let answer = ask(&upstream, "POST", "/api/chat", &prompt(false));
    assert!(answer.contains("\"prompt_eval_count\":10,"), "{answer}");
}

#[test]
fn faults_are_used_up_in_order() {
    let faults = vec![Fault::Status(429), Fault::Drop, Fault::Cut, Fault::Error];
    let upstream = Upstream::start(Script { faults, ..Script::default() }).unwrap();
    let answer = ask(&upstream, "POST", "/v1/responses", &prompt(true));
    assert!(answer.contains("429") && answer.contains("retry-after: 1"), "{answer}");
    assert_eq!(ask(&upstream, "POST", "/v1/messages", &prompt(true)), "");
    let cut = ask(&upstream, "POST", "/v1/messages", &prompt(true));
    assert!(cut.contains("message_start") && !cut.contains("message_stop"), "{cut}");
    assert!(!cut.ends_with("0\r\n\r\n"), "{cut}");
    let failed = ask(&upstream, "POST", "/v1/messages", &prompt(true));
    assert!(failed.contains("event: error") && failed.contains("overloaded_error"), "{failed}");
    let whole = ask(&upstream, "POST", "/v1/messages", &prompt(true));
    assert!(whole.contains("message_stop"), "{whole}");
}

#[test]
fn one_event_can_be_huge() {
    let faults = vec![Fault::Huge(100_000)];
    let upstream = Upstream::start(Script { faults, ..Script::default() }).unwrap();
    let answer = ask(&upstream, "POST", "/v1/messages", &prompt(true));
    let longest = answer.lines().map(str::len).max().unwrap();
    assert!(longest > 100_000, "{longest}");
}

#[test]
fn scripts_drive_it_over_http() {
    let upstream = Upstream::start(Script::default()).unwrap();
    let answer = ask(&upstream, "POST", "/__script", r#"{"faults":["status 529"]}"#);
    assert!(answer.contains("200"), "{answer}");
    assert!(ask(&upstream, "POST", "/__script", r#"{"fault":1}"#).contains("400"));
    assert!(ask(&upstream, "POST", "/api/chat", &prompt(false)).contains("529"));
    assert!(ask(&upstream, "GET", "/v1/models/mock-1", "").contains(r#"id":"mock-1"#));
    assert!(ask(&upstream, "PATCH", "/any/thing?x=1", "body").ends_with("body"));
    let log = ask(&upstream, "GET", "/__log", "");
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["status"], &lines[0]["fault"]), (&json!(529), &json!("status 529")));
    assert_eq!(lines[2]["path"], "/any/thing?x=1");
    ask(&upstream, "DELETE", "/__log", "");
    assert!(upstream.records().is_empty());
}
