//! Items as Codex CLI writes them: wrapped and bare, compactions, turns taken back.

use super::check;
use crate::{Format, RequestDocument, transcribe};

const CODEX: [&str; 14] = [
    r#"{"timestamp":"t0","type":"session_meta","payload":{"id":"s","base_instructions":{"text":"Be brief."}}}"#,
    r#"{"timestamp":"t1","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}}"#,
    r##"{"timestamp":"t1","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nTest.\n</INSTRUCTIONS>"},{"type":"input_text","text":"<environment_context>x</environment_context>"}]}}"##,
    r#"{"timestamp":"t1","type":"turn_context","payload":{"model":"gpt-x"}}"#,
    r#"{"timestamp":"t2","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"fix"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}}"#,
    r#"{"timestamp":"t2","type":"event_msg","payload":{"type":"user_message","message":"fix"}}"#,
    r#"{"timestamp":"t3","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"}}"#,
    r#"{"timestamp":"t3","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]}}"#,
    r#"{"timestamp":"t4","type":"response_item","payload":{"type":"function_call","name":"exec","arguments":"{\"cmd\":\"ls\"}","call_id":"a"}}"#,
    r#"{"timestamp":"t4","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** \"p\"","call_id":"b"}}"#,
    r#"{"timestamp":"t4","type":"response_item","payload":{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"]}}}"#,
    r#"{"timestamp":"t5","type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"out"}}"#,
    r#"{"timestamp":"t6","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"b","output":{"content":"no","success":false}}}"#,
    r#"{"timestamp":"t7","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"}]}}"#,
];

const CODEX_MESSAGES: [&str; 8] = [
    r#"{"role":"system","content":"Be brief."}"#,
    r#"{"role":"system","content":"rules"}"#,
    r##"{"role":"user","content":[{"type":"text","text":"# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nTest.\n</INSTRUCTIONS>"},{"type":"text","text":"<environment_context>x</environment_context>"}]}"##,
    r#"{"role":"user","content":[{"type":"text","text":"fix"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}"#,
    r#"{"role":"assistant","content":"Looking.","tool_calls":[{"id":"a","type":"function","function":{"name":"exec","arguments":"{\"cmd\":\"ls\"}"}},{"id":"b","type":"function","function":{"name":"apply_patch","arguments":"{\"input\":\"*** \\\"p\\\"\"}"}},{"id":"c","type":"function","function":{"name":"local_shell","arguments":"{\"type\":\"exec\",\"command\":[\"ls\"]}"}}]}"#,
    r#"{"role":"tool","content":"out","tool_call_id":"a"}"#,
    r#"{"role":"tool","content":"no","tool_call_id":"b"}"#,
    r#"{"role":"tool","content":"x","tool_call_id":"c"}"#,
];

#[test]
fn codex_items_become_replies_with_calls() {
    check(Format::Codex, Format::OpenAi, &CODEX, &CODEX_MESSAGES);
    let text = CODEX.join("\n");
    let transcript = transcribe(text.as_bytes(), Format::Codex, Format::OpenAi).unwrap();
    let at: Vec<_> = transcript.at.iter().flatten().map(String::as_str).collect();
    assert_eq!(at, ["t1", "t1", "t2", "t3", "t5", "t6", "t7"]);
    let document = RequestDocument::parse(&transcript.request, Format::OpenAi).unwrap();
    assert_eq!(document.model(), Some("gpt-x"));
    let human: Vec<_> = document
        .entries()
        .iter()
        .filter(|entry| entry.has_speaker(epitome_types::Speaker::Human))
        .map(|entry| entry.id.0)
        .collect();
    assert_eq!(human, [3]);
}

#[test]
fn codex_items_may_stand_bare() {
    let mut lines = vec![r#"{"id":"s","timestamp":"t0","instructions":null}"#.to_owned()];
    lines.push(r#"{"record_type":"state"}"#.to_owned());
    for line in &CODEX[1..] {
        if line.contains("response_item") {
            let payload = line.split_once(r#""payload":"#).unwrap().1;
            lines.push(payload[..payload.len() - 1].to_owned());
        }
    }
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    assert_eq!(crate::detect(lines.join("\n").as_bytes()), Ok(Format::Codex));
    check(Format::Codex, Format::OpenAi, &lines, &CODEX_MESSAGES[1..]);
}

/// A text of either side, as newer files wrap it; `more` are members of the line.
fn said(role: &str, text: &str, more: &str) -> String {
    format!(
        r#"{{"type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}{more}}}"#
    )
}

#[test]
fn codex_keeps_what_stands_before_a_compaction() {
    let compacted = r#"{"type":"compacted","payload":{"message":"Here is the summary:\nS","replacement_history":[{"type":"message"}]}}"#;
    let expected = [
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"assistant","content":"A"}"#,
        r#"{"role":"user","content":"b"}"#,
    ];
    for more in ["", r#","metadata":{"compaction_output":true}"#] {
        let (question, reply) = (said("user", "a", ""), said("assistant", "A", ""));
        let pause = said("user", "b", "");
        // The model answers the request for the summary before the next thing is said.
        let lines = [&*question, &reply, &pause, &said("assistant", "S", more), compacted];
        check(Format::Codex, Format::OpenAi, &lines, &expected);
    }
}

#[test]
fn codex_turns_that_were_taken_back_do_not_count() {
    let back = |turns: u32| {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"thread_rolled_back","num_turns":{turns}}}}}"#
        )
    };
    let lines = [
        said("user", "a", ""),
        said("assistant", "A", ""),
        said("user", "<environment_context>x</environment_context>", ""),
        said("user", "b", ""),
        said("assistant", "B", ""),
        said("user", "c", ""),
        back(2),
        said("user", "d", ""),
        back(0),
    ];
    check(
        Format::Codex,
        Format::OpenAi,
        &lines.iter().map(String::as_str).collect::<Vec<_>>(),
        &[
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"assistant","content":"A"}"#,
            r#"{"role":"user","content":"<environment_context>x</environment_context>"}"#,
            r#"{"role":"user","content":"d"}"#,
        ],
    );
}

/// As the client really wrote them before it wrote all calls of a reply first.
#[test]
fn codex_calls_with_a_result_right_behind_are_parallel() {
    let call = |id: &str| {
        format!(r#"{{"type":"function_call","name":"t","arguments":"{{}}","call_id":"{id}"}}"#)
    };
    let result =
        |id: &str| format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{id}"}}"#);
    let lines = [
        r#"{"id":"s","timestamp":"t0","instructions":"Test."}"#.to_owned(),
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#
            .to_owned(),
        call("a"),
        result("a"),
        call("b"),
        result("b"),
        r#"{"record_type":"state"}"#.to_owned(),
        call("c"),
        result("c"),
    ];
    let calls = |ids: &[&str]| {
        let calls = ids.iter().map(|id| {
            format!(
                r#"{{"id":"{id}","type":"function","function":{{"name":"t","arguments":"{{}}"}}}}"#
            )
        });
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#,
            calls.collect::<Vec<_>>().join(",")
        )
    };
    check(
        Format::Codex,
        Format::OpenAi,
        &lines.iter().map(String::as_str).collect::<Vec<_>>(),
        &[
            r#"{"role":"user","content":"<user_instructions>\n\nTest.\n\n</user_instructions>"}"#,
            r#"{"role":"user","content":"go"}"#,
            &calls(&["a", "b"]),
            r#"{"role":"tool","content":"a","tool_call_id":"a"}"#,
            r#"{"role":"tool","content":"b","tool_call_id":"b"}"#,
            &calls(&["c"]),
            r#"{"role":"tool","content":"c","tool_call_id":"c"}"#,
        ],
    );
}
