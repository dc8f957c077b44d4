//! Lines as Claude Code writes them: branches, parallel results, compactions, subagents.

use super::check;
use crate::Format;

/// One line of Claude Code: id, parent (`-` for none), message id or nothing for the user, content.
fn line(id: &str, parent: &str, reply: &str, content: &str) -> String {
    let parent = if parent == "-" { "null".to_owned() } else { format!("\"{parent}\"") };
    let (kind, message) = match reply {
        "" => ("user", String::new()),
        id => ("assistant", format!(r#""id":"{id}","#)),
    };
    let result = if content.contains("tool_result") { r#","toolUseResult":{}"# } else { "" };
    format!(
        r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent}{result},"message":{{{message}"content":{content}}}}}"#
    )
}

fn check_claude(lines: &[&str], expected: &[&str]) {
    check(Format::ClaudeCode, Format::OpenAi, lines, expected);
}

#[test]
fn claude_code_branches_that_were_left_do_not_count() {
    check_claude(
        &[
            &line("1", "-", "", "\"a\""),
            &line("2", "1", "m1", "\"A\""),
            &line("3", "2", "", "\"b\""),
            &line("4", "3", "m2", "\"B\""),
            &line("5", "2", "", "\"c\""),
        ],
        &[
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"assistant","content":"A"}"#,
            r#"{"role":"user","content":"c"}"#,
        ],
    );
}

/// The way up from the last line leads past the first of two parallel results, as the client
/// really writes them.
#[test]
fn claude_code_keeps_all_parallel_results() {
    let call = |id| format!(r#"[{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}]"#);
    let result =
        |id| format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"{id}"}}]"#);
    check_claude(
        &[
            &line("1", "-", "", "\"go\""),
            &line("2", "1", "m1", &call("a")),
            &line("3", "2", "m1", &call("b")),
            &line("4", "2", "", &result("a")),
            &line("5", "3", "", &result("b")),
            &line("6", "5", "m2", "\"done\""),
        ],
        &[
            r#"{"role":"user","content":"go"}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"t","arguments":"{}"}}]}"#,
            r#"{"role":"tool","content":"a","tool_call_id":"a"}"#,
            r#"{"role":"tool","content":"b","tool_call_id":"b"}"#,
            r#"{"role":"assistant","content":"done"}"#,
        ],
    );
}

#[test]
fn claude_code_keeps_what_stands_before_a_compaction() {
    check_claude(
        &[
            &line("1", "-", "", "\"a\""),
            &line("2", "1", "m1", "\"A\""),
            r#"{"type":"system","subtype":"compact_boundary","uuid":"3","parentUuid":null,"logicalParentUuid":"2"}"#,
            r#"{"type":"user","uuid":"4","parentUuid":"3","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":"This session is being continued"}}"#,
            r#"{"type":"attachment","uuid":"5","parentUuid":"4","attachment":{"type":"queued_command","prompt":"b"}}"#,
            r#"{"type":"attachment","uuid":"6","parentUuid":"5","attachment":{"type":"file","filename":"f","content":{"type":"text","file":{"filePath":"f.rs","content":"fn"}}}}"#,
            r#"{"type":"assistant","uuid":"7","parentUuid":"6","message":{"id":"m2","model":"<synthetic>","content":"B"}}"#,
        ],
        &[
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"assistant","content":"A"}"#,
            r#"{"role":"user","content":"b"}"#,
            r#"{"role":"user","content":"<system-reminder>\nContents of f.rs:\nfn\n</system-reminder>"}"#,
            r#"{"role":"assistant","content":"B"}"#,
        ],
    );
}

#[test]
fn claude_code_files_of_subagents_are_conversations() {
    let side = |line: String| line.replacen('{', r#"{"isSidechain":true,"#, 1);
    let (asked, said) = (line("1", "-", "", "\"a\""), line("2", "1", "m1", "\"A\""));
    let expected = [r#"{"role":"user","content":"a"}"#, r#"{"role":"assistant","content":"A"}"#];
    check_claude(&[&side(asked.clone()), &side(said.clone())], &expected);
    let beside = side(line("3", "-", "", "\"aside\""));
    check_claude(&[&asked, &said, &beside], &expected);
}
