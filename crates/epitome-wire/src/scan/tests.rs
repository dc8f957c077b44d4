//! Tests of the scan.

use super::*;

fn check(body: &str, messages: &[&str]) {
    let scan = scan(body.as_bytes(), Format::OpenAi).unwrap();
    let found: Vec<_> = scan.messages.iter().map(|message| &body[message.range.clone()]).collect();
    assert_eq!(found, messages);
    let hashes = messages.iter().map(|message| xxh3_128(message.as_bytes()));
    assert!(scan.messages.iter().map(|message| message.hash).eq(hashes));
}

#[test]
fn finds_the_messages_of_a_body_and_of_a_bare_array() {
    check(
        r#"{"tools":[{"a":1}],"messages":[ {"role":"user"} , {"x":[1.0]}],"n":2}"#,
        &[r#"{"role":"user"}"#, r#"{"x":[1.0]}"#],
    );
    check(r#" [{"role":"user"},{}] "#, &[r#"{"role":"user"}"#, "{}"]);
    check("[]", &[]);
    check(r#"{"messages":[1],"messages":[2]}"#, &["2"]);
    check(r#"{"m\u0065ssages":[1]}"#, &["1"]);
}

/// Both messages are known as the same.
#[track_caller]
fn check_alike(one: &str, other: &str, alike: bool) {
    let hash = |message: &str| {
        let body = format!("{{\"messages\":[{message}]}}");
        scan(body.as_bytes(), Format::Anthropic).unwrap().messages[0].hash
    };
    assert_eq!(hash(one) == hash(other), alike, "{one} {other}");
}

#[test]
fn a_message_is_known_without_the_marks_in_it() {
    const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;
    let plain = r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#;
    let check = |marked: &str| check_alike(plain, &marked.replace("MARK", MARK), true);
    check(r#"{"role":"user","content":[{"type":"text","text":"a",MARK}]}"#);
    check(r#"{"role":"user","content":[{"type":"text","text":"a", MARK}]}"#);
    check(r#"{"role":"user","content":[{"type":"text",MARK,"text":"a"}]}"#);
    check(r#"{"role":"user","content":[{MARK,"type":"text","text":"a"}]}"#);
    check(r#"{"role":"user",MARK,"content":[{MARK,"type":"text","text":"a",MARK}]}"#);
    let inner = r#"{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"a"}]}]}"#;
    check_alike(inner, &inner.replace(r#""a""#, &format!(r#""a",{MARK}"#)), true);
    // What is data stays data.
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","input":{"a":1}}]}"#;
    check_alike(call, &call.replace(r#""a":1"#, &format!(r#""a":1,{MARK}"#)), false);
    check_alike(plain, &plain.replace(r#""a""#, r#""b""#), false);
    check_alike(r#"{"content":[{}]}"#, &r#"{"content":[{MARK}]}"#.replace("MARK", MARK), true);
}

#[test]
fn tells_what_else_a_body_says() {
    let body = r#"{"model":"m","stream":true,"system":[{"type":"text","text":"s"}],"messages":[],
        "tools":[{"name":"a"} , {"name":"b"}]}"#;
    let all = scan(body.as_bytes(), Format::Anthropic).unwrap();
    assert_eq!((all.model.as_deref(), all.stream, all.continued), (Some("m"), Some(true), false));
    let at = |span: Option<MessageSpan>| span.map(|span| &body[span.range]);
    assert_eq!(at(all.system.clone()), Some(r#"[{"type":"text","text":"s"}]"#));
    assert_eq!(all.tool_schemas(body.as_bytes()), [r#"{"name":"a"}"#, r#"{"name":"b"}"#]);
    let none = r#"{"messages":[],"system":null,"tools":null}"#;
    let none = scan(none.as_bytes(), Format::Anthropic).unwrap();
    assert_eq!((none.system, none.tools), (None, None));
    let body = r#"{"input":"hello","previous_response_id":"r"}"#;
    let all = scan(body.as_bytes(), Format::Responses).unwrap();
    assert!(all.continued && all.list == (9..16) && all.messages[0].range == (9..16));
    let body = r#"{"messages":[],"options":{"num_ctx":8192}}"#;
    let all = scan(body.as_bytes(), Format::Ollama).unwrap();
    assert_eq!(all.context_size, Some(8192));
}

#[test]
fn an_hour_is_asked_for_by_a_mark() {
    let check = |body: &str, expected| {
        let first = scan(body.as_bytes(), Format::Anthropic).unwrap();
        assert_eq!(first.keeps_an_hour(), expected, "{body}");
        let again = scan_after(body.as_bytes(), Format::Anthropic, &first).unwrap();
        assert_eq!(again, first, "{body}");
    };
    let with = |hour: &str| format!(r#""cache_control":{{"type":"ephemeral"{hour}}}"#);
    let (hour, minutes) = (with(r#","ttl" : "1h""#), with(r#","ttl":"5m""#));
    for (mark, expected) in [(&hour, true), (&minutes, false)] {
        let block = format!(r#"{{"type":"text","text":"a",{mark}}}"#);
        check(&format!(r#"{{"messages":[{{"role":"user","content":[{block}]}}]}}"#), expected);
        check(&format!(r#"{{"system":[{block}],"messages":[]}}"#), expected);
        check(&format!(r#"{{"tools":[{{"name":"a",{mark}}}],"messages":[]}}"#), expected);
        check(&format!(r#"{{{mark},"messages":[]}}"#), expected);
    }
    check(r#"{"messages":[{"role":"user","content":"\"cache_control\" \"1h\""}]}"#, false);
    check(r#"{"messages":[{"role":"user","content":"1h"}],"tools":[{"name":"1h"}]}"#, false);
    let tools = format!(r#"[{{"name":"a",{minutes}}},{{"name":"1h"}}]"#);
    check(&format!(r#"{{"messages":[],"tools":{tools}}}"#), false);
}

#[test]
fn splices_whole_messages() {
    let body = br#"{"messages":[{"a":1.0}, {"b":2} ,{}]}"#;
    let scan = scan(body, Format::OpenAi).unwrap();
    assert_eq!(scan.splice(body, &[]), body);
    let spliced = scan.splice(body, &[(1, b"B"), (2, b"C"), (0, b"late"), (9, b"far")]);
    assert_eq!(spliced, br#"{"messages":[{"a":1.0}, B ,C]}"#);
}

#[test]
fn what_was_scanned_before_changes_nothing() {
    const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
    let body = |system: &str, messages: &str| {
        format!(r#"{{"tools":[{{"a":1}}],"system":{system},"messages":[{messages}],"n":1}}"#)
    };
    let blocks = |mark: &str| {
        let blocks = format!(r#"[{{"type":"text","text":"b"{mark}}}]"#);
        format!(r#"{{"role":"user","content":{blocks}}}"#)
    };
    let (plain, marked) = (blocks(""), blocks(MARK));
    let one = r#"{"role":"user","content":"a"}"#;
    let bodies = [
        body("\"s\"", &format!("{one} , {plain}")),
        body("\"s\"", &format!("{one},{marked}")),
        body("\"s\"", &format!("{one},{plain},{one}")),
        body("[]", &format!("{plain},{one}")),
        body("null", "1,12"),
        body("\"s\"", "12,1"),
        body("\"so\"", "\"1\",\"12\""),
        body("1", ""),
        format!("[{plain},{one}]"),
        r#"{"input":"hello"}"#.to_owned(),
    ];
    for format in [Format::Anthropic, Format::OpenAi, Format::Responses] {
        for before in bodies.iter().filter_map(|body| scan(body.as_bytes(), format).ok()) {
            for body in &bodies {
                let (now, alone) =
                    (scan_after(body.as_bytes(), format, &before), scan(body.as_bytes(), format));
                assert_eq!(now, alone, "{before:?} {body}");
            }
        }
    }
}

#[test]
fn refuses_what_is_no_body() {
    let check = |body: &[u8], expected: &str| {
        assert_eq!(scan(body, Format::OpenAi).unwrap_err().to_string(), expected);
    };
    check(b"{\"messages\":[{}]", "byte 16: expected `,` or `}`");
    check(b"{}", "byte 0: expected an object with `messages`, or an array, found an object");
    check(b"{\"messages\":3}", "byte 12: expected an array");
    check(b"[\"\xff\"]", "byte 2: expected UTF-8 text");
    check(b"[1]]", "byte 3: expected the end of the input");
    check(b"", "byte 0: expected a value");
}
