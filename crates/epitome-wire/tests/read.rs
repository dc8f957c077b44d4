//! What requests decode to, block by block.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests may fail")]

use epitome_types::{Entry, Part, PartBody, Role, Speaker};
use epitome_wire::{Format, RequestDocument};

/// A part in a few characters: speaker, kind, what it says.
fn short(part: &Part) -> String {
    let speaker = match part.speaker {
        Speaker::Human => "human",
        Speaker::Model => "model",
        Speaker::Tool => "tool",
        Speaker::Harness => "harness",
    };
    let body = match &part.body {
        PartBody::Text(text) => format!("text {text:?}"),
        PartBody::Call(call) => format!("call {} {}({})", call.id, call.tool, call.arguments),
        PartBody::Result(result) => {
            format!(
                "result {} {:?}{}",
                result.call,
                result.text,
                if result.error { " error" } else { "" }
            )
        }
        PartBody::Thinking(text) => format!("thinking {text:?}"),
        PartBody::Image(image) => format!("image {:?}", image.pixels),
        PartBody::Opaque(opaque) => {
            format!(
                "opaque {} {:?} {:?} {}",
                opaque.kind, opaque.calls, opaque.answers, opaque.text
            )
        }
    };
    let within = part.within.map_or_else(String::new, |outer| format!(" in {outer}"));
    format!("{speaker}: {body}{within}")
}

/// Checks the parts of the one message in a body.
#[track_caller]
fn check(format: Format, message: &str, role: Role, parts: &[&str]) {
    let body = format!(r#"{{"messages":[{message}]}}"#);
    let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
    let [Entry { role: found, parts: found_parts, bytes, .. }] = document.entries() else {
        panic!("one entry expected");
    };
    assert_eq!(*found, role);
    assert_eq!(found_parts.iter().map(short).collect::<Vec<_>>(), parts);
    assert_eq!(*bytes as usize, message.len());
}

#[track_caller]
fn anthropic(role: &str, content: &str, parts: &[&str]) {
    let message = format!(r#"{{"role":"{role}","content":{content}}}"#);
    let role = match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::System,
    };
    check(Format::Anthropic, &message, role, parts);
}

#[test]
fn anthropic_blocks_become_parts() {
    anthropic("user", r#""caf\u00e9 \ud800""#, &["human: text \"café \u{fffd}\""]);
    anthropic("system", r#""note""#, &["harness: text \"note\""]);
    anthropic(
        "assistant",
        r#"[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"t"},{"name":"w","input": { "a":1.0 } ,"id":"i","type":"tool_use"}]"#,
        &[
            "model: thinking \"hm\"",
            "model: thinking \"\"",
            "model: text \"t\"",
            "model: call i w({ \"a\":1.0 })",
        ],
    );
    anthropic(
        "user",
        r#"[{"type":"tool_result","tool_use_id":"i","content":"x","is_error":true},{"type":"tool_result","tool_use_id":"j"},{"type":"tool_result","tool_use_id":"k","content":[{"type":"text","text":"y"},{"type":"image","source":{"type":"url","url":"u"}},{"type":"tool_reference","tool_name":"n"}]},{"type":"text","text":"<system-reminder>a</system-reminder> b"},{"type":"text","text":"go on"}]"#,
        &[
            "tool: result i \"x\" error",
            "tool: result j \"\"",
            "tool: result k \"\"",
            "tool: text \"y\" in 2",
            "tool: image None in 2",
            "tool: opaque tool_reference None None {\"type\":\"tool_reference\",\"tool_name\":\"n\"} in 2",
            "harness: text \"<system-reminder>a</system-reminder> b\"",
            "human: text \"go on\"",
        ],
    );
}

#[test]
fn anthropic_blocks_of_other_types_are_opaque() {
    anthropic(
        "assistant",
        r#"[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"new","n":1e2}]"#,
        &[
            r#"model: opaque server_tool_use Some("s") None {"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
            r#"tool: opaque web_search_tool_result None Some("s") {"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#,
            r#"model: opaque new None None {"type":"new","n":1e2}"#,
        ],
    );
    anthropic(
        "user",
        r#"[{"type":"document","source":{"type":"base64","data":"//79"},"title":"t"}]"#,
        &[
            r#"human: opaque document None None {"type":"document","source":{"type":"base64","data":""},"title":"t"}"#,
        ],
    );
    anthropic(
        "user",
        r#"[{"type":"document","source":{"type":"text","data":"Two words."}}]"#,
        &[
            "human: opaque document None None {\"type\":\"document\",\"source\":{\"type\":\"text\",\"data\":\"\"}}\nTwo words.",
        ],
    );
    let gif = r#"[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlhQAHIAAAA"}}]"#;
    anthropic("user", gif, &["human: image Some((320, 200))"]);
}

#[test]
fn the_system_prompt_comes_first() {
    let read = |system: &str| {
        let body =
            format!(r#"{{"system":{system},"messages":[],"model":"m\/1","tools":[ {{"a":1.0}}]}}"#);
        let document = RequestDocument::parse(body.as_bytes(), Format::Anthropic).unwrap();
        assert_eq!((document.model(), document.tools()), (Some("m/1"), Some("[ {\"a\":1.0}]")));
        let entries = document.entries().iter();
        entries
            .map(|entry| (entry.id.0, entry.role, entry.parts.iter().map(short).collect()))
            .collect::<Vec<_>>()
    };
    assert_eq!(read("null"), []);
    assert_eq!(
        read(r#""be brief""#),
        [(0, Role::System, vec!["harness: text \"be brief\"".to_owned()])]
    );
    let two = ["harness: text \"a\"".to_owned(), "harness: text \"b\"".to_owned()];
    let blocks = r#"[{"type":"text","text":"a","cache_control":{}},{"type":"text","text":"b"}]"#;
    assert_eq!(read(blocks), [(0, Role::System, two.to_vec())]);
}

#[test]
fn openai_messages_become_parts() {
    let openai = |message: &str, role, parts: &[&str]| check(Format::OpenAi, message, role, parts);
    openai(r#"{"role":"developer","content":"d"}"#, Role::System, &["harness: text \"d\""]);
    openai(r#"{"role":"user","name":"n","content":"u"}"#, Role::User, &["human: text \"u\""]);
    openai(
        r#"{"role":"user","content":[{"type":"text","text":"u"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlhQAHIAAAA"}},{"type":"image_url","image_url":{"url":"https:\/\/x"}},{"type":"input_audio","input_audio":{"data":"//79","format":"wav"}}]}"#,
        Role::User,
        &[
            "human: text \"u\"",
            "human: image Some((320, 200))",
            "human: image None",
            r#"human: opaque input_audio None None {"type":"input_audio","input_audio":{"data":"","format":"wav"}}"#,
        ],
    );
    openai(
        r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{\"p\":1.0}"}},{"id":"b","type":"custom","custom":{"name":"c","input":"raw"}}],"content":"m"}"#,
        Role::Assistant,
        &["model: text \"m\"", "model: call a t({\"p\":1.0})", "model: call b c(raw)"],
    );
    let empty = r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}}]}"#;
    openai(empty, Role::Assistant, &["model: call a t({})"]);
    openai(r#"{"role":"assistant","content":null}"#, Role::Assistant, &[]);
    openai(r#"{"role":"assistant","content":""}"#, Role::Assistant, &["model: text \"\""]);
    openai(
        r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#,
        Role::Assistant,
        &["model: call f f({})"],
    );
    openai(
        r#"{"role":"assistant","content":"a","reasoning_content":"Let me see.","reasoning":"Let me see."}"#,
        Role::Assistant,
        &["model: thinking \"Let me see.\"", "model: thinking \"\"", "model: text \"a\""],
    );
    openai(
        r#"{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"x"},{"type":"reasoning.encrypted","data":"aa"}],"refusal":null}"#,
        Role::Assistant,
        &["model: thinking \"x\"", "model: text \"a\""],
    );
    openai(
        r#"{"role":"assistant","content":null,"refusal":"No."}"#,
        Role::Assistant,
        &["model: text \"No.\""],
    );
    openai(
        r#"{"role":"function","name":"f","content":"x"}"#,
        Role::Tool,
        &["tool: result f \"x\""],
    );
    openai(
        r#"{"role":"tool","tool_call_id":"a","content":"x"}"#,
        Role::Tool,
        &["tool: result a \"x\""],
    );
    openai(
        r#"{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}"#,
        Role::Tool,
        &["tool: result a \"\"", "tool: text \"x\" in 0"],
    );
}

#[test]
fn a_bare_array_is_a_conversation() {
    for body in ["[]", " [ ]\n"] {
        assert_eq!(RequestDocument::parse(body.as_bytes(), Format::OpenAi).unwrap().entries(), []);
    }
    let document =
        RequestDocument::parse(br#"[{"role":"user","content":"a"}]"#, Format::OpenAi).unwrap();
    assert_eq!((document.entries().len(), document.tools(), document.model()), (1, None, None));
}

#[test]
fn of_equal_keys_the_last_counts() {
    let message = r#"{"role":"assistant","content":"a","r\u006fle":"user","content":"b"}"#;
    check(Format::OpenAi, message, Role::User, &["human: text \"b\""]);
}

#[test]
fn errors_name_byte_path_and_what_was_expected() {
    #[track_caller]
    fn check(format: Format, body: &str, expected: &str) {
        assert_eq!(
            RequestDocument::parse(body.as_bytes(), format).unwrap_err().to_string(),
            expected
        );
    }
    check(
        Format::OpenAi,
        r#"[{"role":"robot","content":""}]"#,
        "byte 9: expected `system`, `developer`, `user`, `assistant`, `tool` or `function` in `[0].role`, found \"robot\"",
    );
    check(
        Format::Anthropic,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":3}]}]}"#,
        "byte 61: expected a string in `messages[0].content[0].text`, found 3",
    );
    check(
        Format::Anthropic,
        r#"{"messages":[{"role":"user","content":null}]}"#,
        "byte 38: expected a string or an array of blocks in `messages[0].content`, found null",
    );
    check(
        Format::Anthropic,
        r#"{"messages":[{"role":"user"}]}"#,
        "byte 13: expected a message with `content` in `messages[0]`, found an object",
    );
    check(Format::OpenAi, r#"{"messages":[1]}"#, "byte 13: expected an object in `messages`");
    check(
        Format::OpenAi,
        r#"{"messages":[{"role":"user","conte"#,
        "byte 34: expected the closing `\"` of a string in `messages[0]`",
    );
    check(Format::Anthropic, "[]", "byte 0: expected an object with `messages`, found an array");
    check(
        Format::Pi,
        "",
        "pi is a recording; expected a provider's request; convert the recording first",
    );
}
