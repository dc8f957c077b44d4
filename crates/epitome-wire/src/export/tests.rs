//! What is written, and that it can be read back.

use epitome_testkit::{chat, conversation};
use epitome_types::{Entry, PartBody, Role};
use proptest::prelude::*;

use super::*;
use crate::{Format, RequestDocument, detect, nearest_format, transcribe};

fn session(entries: &[Entry]) -> ExportedSession<'_> {
    ExportedSession {
        id: "s1",
        started: "2026-01-01T00:00:00Z",
        last: "2026-01-01T00:01:00Z",
        model: Some("m"),
        provider: "p",
        tokens: 12,
        compressions: 1,
        entries,
        checkpoints: &[],
    }
}

fn small() -> Vec<Entry> {
    let mut entries = chat()
        .user("go \"on\"")
        .thinking("hm")
        .call("read", r#"{"p":2.50}"#)
        .call("run", "not json")
        .user_result("A")
        .user_result_blocks("B")
        .and("and then?")
        .orphan("lost")
        .entries();
    entries[1].at = Some("2026-01-01T00:00:30Z".into());
    entries
}

#[test]
fn checkpoints_are_written_with_what_they_stand_for() {
    let made = ExportedCheckpoint {
        id: "1a2b3c4d".into(),
        level: 3,
        number: 1,
        first: "e1".into(),
        last: "e4".into(),
        messages: 4,
        original: 3000,
        tokens: 1200,
        created: "2026-01-01T00:00:40Z".into(),
        model: None,
        text: "# It was\n\"mended\".".into(),
    };
    let entries = small();
    let one = ExportedSession { checkpoints: std::slice::from_ref(&made), ..session(&entries) };
    let value: serde_json::Value = serde_json::from_str(&json(&one)).unwrap();
    let expected = serde_json::json!([{
        "id": "1a2b3c4d", "level": 3, "number": 1, "entries": ["e1", "e4"], "messages": 4,
        "tokensBefore": 3000, "tokensAfter": 1200, "ratio": 0.4,
        "created": "2026-01-01T00:00:40Z", "model": null, "summary": "# It was\n\"mended\".",
    }]);
    assert_eq!(value["checkpoints"], expected);
    assert!(!ollm(&one).contains("checkpoints"));
    let text = markdown(&one);
    assert!(text.contains("\n## Checkpoint 1a2b3c4d, level 3 (2026-01-01T00:00:40Z)\n"), "{text}");
    assert!(text.contains("e1 to e4, 4 messages: 3000 tokens became 1200."), "{text}");
    assert!(text.ends_with("```markdown\n# It was\n\"mended\".\n```\n"), "{text}");
}

/// Only Anthropic's requests say that a result is a failure.
#[test]
fn what_failed_is_read_back_as_failed() {
    let request = br#"{"model":"m","messages":[
        {"role":"user","content":"go"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},
            {"type":"tool_use","id":"t1","name":"read","input":{}}]},
        {"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no such file"}]}]}"#;
    let document = RequestDocument::parse(request, Format::Anthropic).unwrap();
    let of = |provider| ExportedSession { provider, ..session(document.entries()) };
    let written = json(&of("anthropic"));
    let format = nearest_format(written.as_bytes(), Format::Ollm);
    assert_eq!(format, Format::Anthropic);
    let back = transcribe(written.as_bytes(), Format::Ollm, format).unwrap();
    // Thinking without its signature is refused.
    assert_eq!(back.left_out, 1);
    let back = String::from_utf8(back.request).unwrap();
    assert!(back.contains(r#""content":"no such file","is_error":true"#), "{back}");
    let other = json(&of("vllm"));
    assert_eq!(nearest_format(other.as_bytes(), Format::Ollm), Format::OpenAi);
}

#[test]
fn ollm_keeps_texts_and_calls() {
    let expected = r#"{
  "sessionId": "s1",
  "startTime": "2026-01-01T00:00:00Z",
  "lastActivity": "2026-01-01T00:01:00Z",
  "model": "m",
  "provider": "p",
  "messages": [
    {"role":"user","parts":[{"type":"text","text":"go \"on\""}],"timestamp":"2026-01-01T00:00:00Z"},
    {"role":"assistant","parts":[],"timestamp":"2026-01-01T00:00:30Z"},
    {"role":"user","parts":[{"type":"text","text":"and then?"}],"timestamp":"2026-01-01T00:00:30Z"},
    {"role":"tool","parts":[{"type":"text","text":"lost"}],"timestamp":"2026-01-01T00:00:30Z"}
  ],
  "toolCalls": [
    {"id":"c1","name":"read","args":{"p":2.50},"result":{"llmContent":"A"},"timestamp":"2026-01-01T00:00:30Z","message":1},
    {"id":"c2","name":"run","args":"not json","result":{"llmContent":"B"},"timestamp":"2026-01-01T00:00:30Z","message":1}
  ],
  "metadata": {"tokenCount": 12, "compressionCount": 1}
}
"#;
    assert_eq!(ollm(&session(&small())), expected);
}

/// Ollama's calls have no ids: those of one tool are answered in their order.
#[test]
fn results_without_ids_answer_in_order() {
    let check = |tools: &str, tool_names: bool| {
        let calls = tools.chars().enumerate().map(|(number, tool)| {
            let arguments = serde_json::json!({ "x": number });
            serde_json::json!({"function": {"name": tool, "arguments": arguments}})
        });
        let reply = serde_json::json!({"role": "assistant", "content": "",
            "tool_calls": calls.collect::<Vec<_>>()});
        let mut messages = vec![serde_json::json!({"role": "user", "content": "look"}), reply];
        for (number, tool) in tools.chars().enumerate() {
            let mut result = serde_json::json!({"role": "tool", "content": format!("R{number}")});
            if tool_names {
                result["tool_name"] = tool.to_string().into();
            }
            messages.push(result);
        }
        let body = serde_json::json!({"model": "m", "messages": messages}).to_string();
        let document = RequestDocument::parse(body.as_bytes(), Format::Ollama).unwrap();
        let written = json(&session(document.entries()));
        let value: serde_json::Value = serde_json::from_str(&written).unwrap();
        let results = value["toolCalls"].as_array().unwrap().iter();
        let results = results.map(|call| call["result"]["llmContent"].as_str().unwrap_or("-"));
        let expected: Vec<_> = (0..tools.len()).map(|number| format!("R{number}")).collect();
        assert_eq!(results.collect::<Vec<_>>(), expected, "{tools} {tool_names}");
        let roles = value["messages"].as_array().unwrap().iter().map(|it| it["role"].clone());
        assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant"], "{tools} {tool_names}");
    };
    for tools in ["a", "aa", "aaa", "ab", "aba"] {
        check(tools, true);
        check(tools, false);
    }
}

#[test]
fn json_keeps_parts_of_every_type() {
    let entries = chat().image(2, 3).thinking("hm").and("so").server_tool("q", "found").entries();
    let written = json(&session(&entries));
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    let types = |message: usize| {
        let parts = value["messages"][message]["parts"].as_array().unwrap().iter();
        parts.map(|part| part["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(types(0), ["image"]);
    assert_eq!(types(1), ["thinking", "text", "server_tool_use", "web_search_tool_result"]);
    assert_eq!(value["messages"][0]["parts"][0]["width"], 2);
    assert_eq!(value["metadata"]["messageCount"], 2);
}

#[test]
fn markdown_names_role_and_time() {
    let expected = "# Session s1\n\n- Started: 2026-01-01T00:00:00Z\n- Last activity: 2026-01-01T00:01:00Z\n- Model: m\n- Provider: p\n- Messages: 4\n- Tokens: 12\n- Compressions: 1\n\n## 1. User (2026-01-01T00:00:00Z)\n\ngo \"on\"\n\n## 2. Assistant (2026-01-01T00:00:30Z)\n\n**Thinking**\n\n```\nhm\n```\n\n**Call** `read` (id `c1`)\n\n```json\n{\"p\":2.50}\n```\n\n**Call** `run` (id `c2`)\n\n```json\nnot json\n```\n\n## 3. User (2026-01-01T00:00:30Z)\n\n**Result** of `c1`\n\n```\nA\n```\n\n**Result** of `c2`\n\nB\n\nand then?\n\n## 4. Tool (2026-01-01T00:00:30Z)\n\n**Result** of `nobody`\n\n```\nlost\n```\n";
    assert_eq!(markdown(&session(&small())), expected);
}

#[test]
fn texts_that_would_break_out_are_fenced() {
    let check = |text: &str, fenced: &str| {
        let entries = chat().user(text).entries();
        let written = markdown(&session(&entries));
        let body = written.split_once("Z)\n\n").unwrap().1;
        assert_eq!(body, fenced);
    };
    check("a\n```rust\nfn\n```\nb", "a\n```rust\nfn\n```\nb\n");
    check("```\nopen", "````markdown\n```\nopen\n````\n");
    check("~~~\n```\n~~~", "~~~\n```\n~~~\n");
    check("````\n```", "`````markdown\n````\n```\n`````\n");
    check("use ```a``` so", "use ```a``` so\n");
    check("```a```\n```", "````markdown\n```a```\n```\n````\n");
    check("## 2. User (now)", "```markdown\n## 2. User (now)\n```\n");
    check("### fine\n#tag", "### fine\n#tag\n");
    check("```\n# in code\n```", "```\n# in code\n```\n");
    check("<!-- open", "```markdown\n<!-- open\n```\n");
}

/// A conversation as one line for each text, answered call and result, so far as OLLM's form
/// holds it.
fn said(entries: &[Entry]) -> Vec<String> {
    let mut out = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let (before, after) = (&entries[..place], &entries[place + 1..]);
        let texts = |of: &dyn Fn(Option<u32>) -> bool| {
            let texts = entry.parts.iter().filter(|part| of(part.within));
            let texts = texts.filter_map(|part| part.text()).filter(|text| !text.trim().is_empty());
            texts.collect::<Vec<_>>().join("\n\n")
        };
        for (part, body) in (0..).zip(&entry.parts) {
            let PartBody::Result(result) = &body.body else { continue };
            let within = texts(&|within| within == Some(part));
            let text = if result.text.is_empty() { within } else { result.text.clone() };
            let text = if text.trim().is_empty() { String::new() } else { text };
            let asked = before.iter().flat_map(Entry::calls).any(|call| call.id == result.call);
            match asked {
                true => out.push(format!("result {} {text}", result.call)),
                false if text.is_empty() => {}
                false => out.push(format!("User {text}")),
            }
        }
        let role = if entry.role == Role::Tool { Role::User } else { entry.role };
        let own = entry.parts.iter().filter(|part| matches!(part.body, PartBody::Text(_)));
        let own = own.filter(|part| part.within.is_none()).filter_map(|part| part.text());
        let own: Vec<_> = own.filter(|text| !text.trim().is_empty()).collect();
        if !own.is_empty() {
            out.push(format!("{role:?} {}", own.join("\n\n")));
        }
        for call in entry.calls() {
            if after.iter().flat_map(Entry::results).any(|result| result.call == call.id) {
                out.push(format!("call {} {}({})", call.id, call.tool, call.arguments));
            }
        }
    }
    out
}

/// How arguments that are no JSON object come back.
fn with_objects(mut entries: Vec<Entry>) -> Vec<Entry> {
    for part in entries.iter_mut().flat_map(|entry| &mut entry.parts) {
        if let PartBody::Call(call) = &mut part.body
            && !call.arguments.starts_with('{')
        {
            call.arguments =
                format!(r#"{{"arguments":{}}}"#, crate::json::literal(&call.arguments));
        }
    }
    entries
}

/// The lines of a Markdown file that are headings outside of fences.
fn headings(markdown: &str) -> Vec<&str> {
    let mut open: Option<&str> = None;
    let mut found = Vec::new();
    for line in markdown.lines() {
        let bare = line.trim_start_matches(' ');
        let bare = if line.len() - bare.len() > 3 { "" } else { bare };
        let rest = bare.trim_start_matches('`');
        let ticks = &bare[..bare.len() - rest.len()];
        match open {
            Some(with) if rest.trim().is_empty() && ticks.len() >= with.len() => open = None,
            None if ticks.len() >= 3 && !rest.contains('`') => open = Some(ticks),
            None if line.starts_with("## ") => found.push(line),
            _ => {}
        }
    }
    assert_eq!(open, None);
    found
}

proptest! {
    #[test]
    fn what_is_exported_is_read_back(entries in conversation(12), whole in any::<bool>()) {
        let write = if whole { json } else { ollm };
        let written = write(&session(&entries));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&written).is_ok(), "{written}");
        prop_assert_eq!(detect(written.as_bytes()), Ok(Format::Ollm));
        let back = transcribe(written.as_bytes(), Format::Ollm, Format::OpenAi).unwrap();
        let document =
            RequestDocument::parse(&back.request, Format::OpenAi).unwrap().with_times(&back.at);
        prop_assert_eq!(document.model(), Some("m"));
        prop_assert_eq!(said(document.entries()), said(&with_objects(entries)), "{}", written);
        let again = write(&session(document.entries()));
        let again = transcribe(again.as_bytes(), Format::Ollm, Format::OpenAi).unwrap();
        prop_assert_eq!((again.request, again.at), (back.request, back.at));
    }

    #[test]
    fn every_message_has_its_heading(texts in prop::collection::vec(
        r"(```|````|## |# |x|`|\n|\n```|\n## 1. User \(t\)| ){0,12}", 1..5,
    )) {
        let chat = texts.iter().fold(chat(), |chat, text| {
            chat.user(text).call("t", text).result(text)
        });
        let entries = chat.entries();
        let written = markdown(&session(&entries));
        let found = headings(&written);
        prop_assert_eq!(found.len(), entries.len(), "{}", written);
        for (number, heading) in (1..).zip(found) {
            let expected = format!("## {number}. ");
            prop_assert!(heading.starts_with(&expected), "{}", written);
        }
    }
}
