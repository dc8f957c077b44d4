//! Small recordings and the requests they become.

use super::*;
use crate::{RequestDocument, validate};

mod claude_code;
mod codex;
mod ollm;

/// Converts lines and checks the messages of the request.
fn check(from: Format, to: Format, lines: &[&str], expected: &[&str]) {
    let transcript = transcribe(lines.join("\n").as_bytes(), from, to).unwrap();
    assert_eq!(validate(to, &transcript.request), Ok(()));
    let scan = crate::scan(&transcript.request, to).unwrap();
    let request = String::from_utf8(transcript.request).unwrap();
    let found: Vec<_> =
        scan.messages.iter().map(|message| &request[message.range.clone()]).collect();
    assert_eq!(found, expected);
    assert_eq!(transcript.at.len(), expected.len());
}

const CLAUDE: [&str; 12] = [
    r#"{"type":"summary","summary":"s","leafUuid":"x"}"#,
    r#"{"type":"user","uuid":"1","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"fix it"}}"#,
    r#"{"type":"user","uuid":"1b","isMeta":true,"message":{"role":"user","content":"Caveat"}}"#,
    r#"{"type":"user","uuid":"1","message":{"role":"user","content":"fix it"}}"#,
    r#"{"type":"assistant","uuid":"2","message":{"id":"m1","model":"claude-x","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s\/"}]}}"#,
    r#"{"type":"assistant","uuid":"3","message":{"id":"m1","model":"claude-x","role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"n":1.0}}]}}"#,
    r#"{"type":"user","uuid":"4","timestamp":"2026-01-01T00:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"}]}}"#,
    r#"{"type":"assistant","uuid":"5","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"b","name":"Read","input":{}}]}}"#,
    r#"{"type":"user","uuid":"6","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"B"}]}]}}"#,
    r#"{"type":"user","uuid":"s","isSidechain":true,"message":{"role":"user","content":"aside"}}"#,
    r#"{"type":"assistant","uuid":"7","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"done"},{"type":"tool_use","id":"c","name":"Read","input":{}}]}}"#,
    r#"{"type":"user","uuid":"8","message":{"role":"user","content":"[Request interrupted by user]"}}"#,
];

#[test]
fn claude_code_replies_are_joined_and_paired() {
    check(
        Format::ClaudeCode,
        Format::Anthropic,
        &CLAUDE,
        &[
            r#"{"role":"user","content":"fix it"}"#,
            r#"{"role":"user","content":"<system-reminder>\nCaveat\n</system-reminder>"}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s\/"},{"type":"tool_use","id":"a","name":"Read","input":{"n":1.0}},{"type":"tool_use","id":"b","name":"Read","input":{}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"},{"type":"tool_result","tool_use_id":"b","content":"B","is_error":true}]}"#,
            r#"{"role":"assistant","content":"done"}"#,
            r#"{"role":"user","content":"[Request interrupted by user]"}"#,
        ],
    );
    check(
        Format::ClaudeCode,
        Format::OpenAi,
        &CLAUDE,
        &[
            r#"{"role":"user","content":"fix it"}"#,
            r#"{"role":"user","content":"<system-reminder>\nCaveat\n</system-reminder>"}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"n\":1.0}"}},{"id":"b","type":"function","function":{"name":"Read","arguments":"{}"}}]}"#,
            r#"{"role":"tool","content":"A","tool_call_id":"a"}"#,
            r#"{"role":"tool","content":"B","tool_call_id":"b"}"#,
            r#"{"role":"assistant","content":"done"}"#,
            r#"{"role":"user","content":"[Request interrupted by user]"}"#,
        ],
    );
}

#[test]
fn times_and_model_come_along() {
    let transcript =
        transcribe(CLAUDE.join("\n").as_bytes(), Format::ClaudeCode, Format::Anthropic).unwrap();
    let document = RequestDocument::parse(&transcript.request, Format::Anthropic)
        .unwrap()
        .with_times(&transcript.at);
    assert_eq!(document.model(), Some("claude-x"));
    let at: Vec<_> = document.entries().iter().map(|entry| entry.at.as_deref()).collect();
    let (first, result) = (Some("2026-01-01T00:00:00Z"), Some("2026-01-01T00:00:02Z"));
    assert_eq!(at, [first, None, None, result, None, None]);
}

#[test]
fn server_calls_cut_off_are_left_out() {
    let line = |id: &str, blocks: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","content":[{blocks},{{"type":"text","text":"t"}}]}}}}"#
        )
    };
    let call = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#;
    let result = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#;
    check(
        Format::ClaudeCode,
        Format::Anthropic,
        &[&line("1", call), &line("2", &format!("{call},{result}"))],
        &[
            r#"{"role":"user","content":"(The recording begins here.)"}"#,
            r#"{"role":"assistant","content":"t"}"#,
            &format!(
                r#"{{"role":"assistant","content":[{call},{result},{{"type":"text","text":"t"}}]}}"#
            ),
        ],
    );
}

#[test]
fn pi_sessions_lose_what_was_aborted() {
    let message =
        |message: &str| format!(r#"{{"type":"message","timestamp":"t","message":{message}}}"#);
    let lines = [
        r#"{"type":"session","id":"s"}"#.to_owned(),
        message(r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#),
        message(r#"{"role":"assistant","content":[],"stopReason":"aborted"}"#),
        message(
            r#"{"role":"assistant","api":"anthropic-messages","content":[{"type":"thinking","thinking":"x"},{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"toolCall","id":"a|1","name":"bash","arguments":{"x":1e2}},{"type":"toolCall","id":"b","name":"bash","arguments":{}}]}"#,
        ),
        message(r#"{"role":"user","content":"wait"}"#),
        message(
            r#"{"role":"toolResult","toolCallId":"a|1","isError":false,"content":[{"type":"text","text":"out"},{"type":"image","mimeType":"image/png","data":"AA=="}]}"#,
        ),
        message(r#"{"role":"bashExecution","command":"ls","output":"x\ny"}"#),
        message(
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"a|1","name":"bash","arguments":{}}]}"#,
        ),
        message(r#"{"role":"toolResult","toolCallId":"a|1","isError":true,"content":[]}"#),
        message(r#"{"role":"toolResult","toolCallId":"unknown","content":[]}"#),
    ];
    check(
        Format::Pi,
        Format::Anthropic,
        &lines.iter().map(String::as_str).collect::<Vec<_>>(),
        &[
            r#"{"role":"user","content":"hi"}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a_1","name":"bash","input":{"x":1e2}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_1","content":[{"type":"text","text":"out"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]}"#,
            r#"{"role":"user","content":"wait"}"#,
            r#"{"role":"user","content":"Ran `ls`\nx\ny"}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a_1_2","name":"bash","input":{}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_1_2","is_error":true}]}"#,
        ],
    );
}

#[test]
fn pi_branches_that_were_left_do_not_count() {
    let message = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    check(
        Format::Pi,
        Format::OpenAi,
        &[&message("1", "null", "a"), &message("2", "\"1\"", "b"), &message("3", "\"1\"", "c")],
        &[r#"{"role":"user","content":"a"}"#, r#"{"role":"user","content":"c"}"#],
    );
}

#[test]
fn swe_agent_demonstrations_are_left_out() {
    let history = r#"{"trajectory":[],"history":[
        {"role":"system","content":"s"},
        {"role":"user","content":"demo","is_demo":true},
        {"role":"user","content":[{"type":"text","text":"task"}]},
        {"role":"assistant","content":"","thought":"think","tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{\"p\":1}"}}]},
        {"role":"tool","content":"out","tool_call_ids":["a"]},
        {"role":"assistant","content":"x","tool_calls":[{"id":"a","function":{"name":"ls","arguments":"oops"}}]},
        {"role":"tool","content":"bad","tool_call_ids":["a"]}]}"#;
    check(
        Format::SweAgent,
        Format::OpenAi,
        &[history],
        &[
            r#"{"role":"system","content":"s"}"#,
            r#"{"role":"user","content":"task"}"#,
            r#"{"role":"assistant","content":"think","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}}]}"#,
            r#"{"role":"tool","content":"out","tool_call_id":"a"}"#,
            r#"{"role":"assistant","content":"x","tool_calls":[{"id":"a_2","type":"function","function":{"name":"ls","arguments":"{\"arguments\":\"oops\"}"}}]}"#,
            r#"{"role":"tool","content":"bad","tool_call_id":"a_2"}"#,
        ],
    );
    let transcript = transcribe(history.as_bytes(), Format::SweAgent, Format::Anthropic).unwrap();
    assert_eq!(validate(Format::Anthropic, &transcript.request), Ok(()));
    assert!(transcript.request.starts_with(br#"{"max_tokens":4096,"system":"s","messages":["#));
}

#[test]
fn errors_name_the_line_or_the_path() {
    let check = |from, text: &str, expected: &str| {
        let error = convert(text.as_bytes(), from, from.nearest()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(Format::Pi, "{\"type\":\"session\"}\n\n{\"type\":", "line 3: byte 8: expected a value");
    let line = r#"{"type":"user","message":{"content":[{"type":"text"}]}}"#;
    let why = "line 1: byte 37: expected a text block with `text` in `message.content[0]`, found an object";
    check(Format::ClaudeCode, line, why);
    let why = "byte 21: expected `system`, `user`, `assistant` or `tool` in `history[0].role`, found \"x\"";
    check(Format::SweAgent, r#"{"history":[{"role": "x"}]}"#, why);
    check(Format::OpenAi, "[]", "openai is a request already; expected a recording to convert");
    let error = convert(b"", Format::Pi, Format::SweAgent).unwrap_err().to_string();
    assert_eq!(
        error,
        "swe-agent is a recording; expected `anthropic`, `openai`, `responses` or `ollama` to convert to"
    );
}
