//! Sessions as OLLM writes them: calls beside the messages.

use super::check;
use crate::{Format, RequestDocument, transcribe};

#[test]
fn ollm_calls_find_their_place_by_time() {
    let session = r#"{"sessionId":"s","startTime":"t0","lastActivity":"t9","model":"m","provider":"p","messages":[
        {"role":"user","parts":[{"type":"text","text":"go"}],"timestamp":"t1"},
        {"role":"assistant","parts":[{"type":"text","text":"so"}],"timestamp":"t2"},
        {"role":"assistant","parts":[{"type":"text","text":"done"}],"timestamp":"t6"},
        {"role":"user","parts":[{"type":"text","text":"again"}],"timestamp":"t7"}],
      "toolCalls":[
        {"id":"b","name":"read","args":{"p":2.50},"result":{"llmContent":[{"text":"B"},"C"]},"timestamp":"t4"},
        {"id":"a","name":"read","args":{},"result":{"llmContent":"A","returnDisplay":"x"},"timestamp":"t3"},
        {"id":"c","name":"read","args":{},"result":{"llmContent":{"text":""}},"timestamp":"t8"},
        {"id":"d","name":"read","args":{},"timestamp":"t9"}],
      "metadata":{"tokenCount":1,"compressionCount":0}}"#;
    check(
        Format::Ollm,
        Format::OpenAi,
        &[session],
        &[
            r#"{"role":"user","content":"go"}"#,
            r#"{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{\"p\":2.50}"}}]}"#,
            r#"{"role":"tool","content":"A","tool_call_id":"a"}"#,
            r#"{"role":"tool","content":"B\n\nC","tool_call_id":"b"}"#,
            r#"{"role":"assistant","content":"done"}"#,
            r#"{"role":"user","content":"again"}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]}"#,
            r#"{"role":"tool","content":"","tool_call_id":"c"}"#,
        ],
    );
}

#[test]
fn ollm_times_and_model_come_along() {
    let session = r#"{"sessionId":"s","model":"llama3:70b","messages":[
        {"role":"user","parts":[{"type":"text","text":"go"}],"timestamp":"2025-01-02T03:04:05.000Z"},
        {"role":"assistant","parts":[{"type":"text","text":"so"}],"timestamp":"2025-01-02T03:05:05.000Z"}],
      "toolCalls":[],"metadata":{"tokenCount":1,"compressionCount":0}}"#;
    let transcript = transcribe(session.as_bytes(), Format::Ollm, Format::OpenAi).unwrap();
    let document = RequestDocument::parse(&transcript.request, Format::OpenAi)
        .unwrap()
        .with_times(&transcript.at);
    assert_eq!(document.model(), Some("llama3:70b"));
    let at: Vec<_> = document.entries().iter().map(|entry| entry.at.as_deref()).collect();
    assert_eq!(at, [Some("2025-01-02T03:04:05.000Z"), Some("2025-01-02T03:05:05.000Z")]);
}
