//! The identity of what a request says: the same for whatever a client may move, different for
//! whatever was said (RULES 115, 117 and 124).
#![allow(clippy::unwrap_used, reason = "the helpers of tests may fail")]

use epitome_types::EntryKey;
use epitome_wire::{Format, RequestDocument};

fn key(format: Format, message: &str) -> EntryKey {
    let body = format!(r#"{{"messages":[{message}]}}"#);
    EntryKey::for_entry(&RequestDocument::parse(body.as_bytes(), format).unwrap().entries()[0])
}

/// `MARK` stands where a client may put its mark: as a member, behind others.
#[track_caller]
fn check_mark(format: Format, message: &str) {
    assert!(message.contains("MARK"));
    let plain = key(format, &message.replace("MARK", ""));
    for mark in [
        r#","cache_control":{"type":"ephemeral"}"#,
        r#" , "cache_control" : {"type":"ephemeral","ttl":"1h"}"#,
        r#","cache_control":null"#,
    ] {
        let marked = message.replace("MARK", mark);
        assert_eq!(key(format, &marked), plain, "{marked}");
    }
}

#[test]
fn a_cache_mark_is_no_part_of_what_was_said() {
    let anthropic = |message: &str| check_mark(Format::Anthropic, message);
    anthropic(r#"{"role":"user","content":"x"MARK}"#);
    anthropic(r#"{"role":"user","content":[{"type":"text","text":"x"MARK}]}"#);
    anthropic(
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":"x"MARK}]}"#,
    );
    anthropic(
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"x"MARK},{"type":"image","source":{"data":"AA=="}MARK},{"type":"search_result","title":"t"MARK}]MARK}]}"#,
    );
    anthropic(
        r#"{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AA=="}MARK}]}"#,
    );
    anthropic(
        r#"{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"MARK},{"type":"text","text":"y"MARK}]}MARK}]}"#,
    );
    anthropic(
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"t","input":{}MARK}]}"#,
    );
    anthropic(
        r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"t","input":{}MARK},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u"MARK}]MARK}]}"#,
    );
    let openai = |message: &str| check_mark(Format::OpenAi, message);
    openai(r#"{"role":"user","content":"x"MARK}"#);
    openai(r#"{"role":"system","content":[{"type":"text","text":"x"MARK}]}"#);
    openai(r#"{"role":"tool","tool_call_id":"i","content":[{"type":"text","text":"x"MARK}]MARK}"#);
    openai(r#"{"role":"tool","tool_call_id":"i","content":"x"MARK}"#);
    openai(
        r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}MARK},{"type":"input_audio","input_audio":{"data":"AA=="MARK}MARK}]}"#,
    );
    openai(
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"i","function":{"name":"t","arguments":"{}"}MARK}]MARK}"#,
    );
}

#[test]
fn a_mark_may_stand_anywhere_in_a_block() {
    let check = |block: &str, plain: &str| {
        let body =
            |block: &str| format!(r#"{{"messages":[{{"role":"user","content":[{block}]}}]}}"#);
        let (block, plain) = (body(block), body(plain));
        let [block, plain] = [&block, &plain].map(|body| {
            RequestDocument::parse(body.as_bytes(), Format::Anthropic).unwrap().entries()[0]
                .parts
                .clone()
        });
        assert_eq!(block, plain);
    };
    let plain = r#"{"type":"new","n":1}"#;
    check(r#"{"cache_control":{},"type":"new","n":1}"#, plain);
    check(r#"{"type":"new","cache_control":{"a":[{}]},"n":1}"#, plain);
    check(r#"{"type":"new","n":1 , "cache_control":null}"#, plain);
    check(r#"{"cache_control":1,"cache_control":2,"type":"new","n":1,"cache_control":3}"#, plain);
    check(r#"{"type":"new","in":{"cache_control":1}}"#, r#"{"type":"new","in":{}}"#);
    check(r#"{"type":"new","in":[[{"cache_control":1}]]}"#, r#"{"type":"new","in":[[{}]]}"#);
}

#[test]
fn clients_write_a_marked_text_as_a_list() {
    for format in [Format::Anthropic, Format::OpenAi] {
        let plain = key(format, r#"{"role":"user","content":"x"}"#);
        let marked = r#"{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}"#;
        assert_eq!(key(format, marked), plain);
    }
}

#[test]
fn what_differs_in_content_differs_in_key() {
    let differ = |format: Format, one: &str, other: &str| {
        let message = |content: &str| format!(r#"{{"role":"user","content":[{content}]}}"#);
        assert_ne!(key(format, &message(one)), key(format, &message(other)), "{one} {other}");
    };
    let image = |source: &str| format!(r#"{{"type":"image","source":{{{source}}}}}"#);
    for (one, other) in [
        (r#""type":"base64","data":"AAAA""#, r#""type":"base64","data":"AAAB""#),
        (r#""type":"url","url":"https://a""#, r#""type":"url","url":"https://b""#),
        (r#""type":"file","file_id":"a""#, r#""type":"file","file_id":"b""#),
    ] {
        let (one, other) = (image(one), image(other));
        differ(Format::Anthropic, &one, &other);
        let within = |image: &str| {
            format!(r#"{{"type":"tool_result","tool_use_id":"i","content":[{image}]}}"#)
        };
        differ(Format::Anthropic, &within(&one), &within(&other));
    }
    let url = |url: &str| format!(r#"{{"type":"image_url","image_url":{{"url":"{url}"}}}}"#);
    differ(Format::OpenAi, &url("data:image/png;base64,AAAA"), &url("data:image/png;base64,AAAB"));
    differ(Format::OpenAi, &url("https://a"), &url("https://b"));
    let document = |data: &str| {
        format!(r#"{{"type":"document","source":{{"type":"base64","data":"{data}"}}}}"#)
    };
    differ(Format::Anthropic, &document("AAAA"), &document("AAAB"));
    let audio =
        |data: &str| format!(r#"{{"type":"input_audio","input_audio":{{"data":"{data}"}}}}"#);
    differ(Format::OpenAi, &audio("AAAA"), &audio("AAAB"));
}

#[test]
fn a_reply_is_the_same_with_its_reasoning_and_without() {
    let plain = key(Format::OpenAi, r#"{"role":"assistant","content":"x"}"#);
    for beside in [
        r#""reasoning_content":"t""#,
        r#""reasoning_details":[{"text":"t"}],"reasoning":"t""#,
        r#""refusal":"r""#,
    ] {
        let reply = format!(r#"{{"role":"assistant",{beside},"content":"x"}}"#);
        assert_eq!(key(Format::OpenAi, &reply), plain, "{reply}");
    }
    let thought = r#"{"role":"assistant","thinking":"t","content":"x"}"#;
    assert_eq!(key(Format::Ollama, thought), plain);
}
