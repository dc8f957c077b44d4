//! Requests in the shapes that clients send them: small, made by hand, with all that a reader does
//! not know in them.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may fail")]

use epitome_types::{Edit, Entry, EntryId, EntryKey, PartBody, PartId, Role, Speaker};
use epitome_wire::{Format, RequestDocument, assemble, detect, message, validate};

/// Codex: everything is an item, the system prompt among them.
const CODEX: &str = r#"{"model":"m-1","stream":true,"input":[
 {"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"You are an agent."}]},
 {"type":"message","id":"msg_2","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/w</cwd>\n  <current_date>2026-01-02</current_date>\n</environment_context>"}]},
 {"type":"message","id":"msg_3","role":"user","content":[{"type":"input_text","text":"read both"}]},
 {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"two files"}],"encrypted_content":"gAAA=","x":1.0},
 {"type":"message","status":"completed","id":"msg_4","role":"assistant","content":[{"type":"output_text","text":"Reading.","annotations":[]}]},
 {"type":"function_call","id":"fc_1","name":"exec","arguments":"{\"cmd\":\"cat a\"}","call_id":"c1"},
 {"type":"custom_tool_call","name":"patch","input":"*** Begin","call_id":"c2","status":"completed"},
 {"type":"local_shell_call","call_id":"c3","action":{"type":"exec","command":["ls"]}},
 {"type":"function_call_output","id":"fco_1","call_id":"c1","output":"hello"},
 {"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"done"},{"type":"input_image","image_url":"https://x"}]},
 {"type":"local_shell_call_output","call_id":"c3","output":"a b"},
 {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},
 {"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I will not."}]}
],"tools":[{"type":"function","name":"exec","parameters":{}},{"type":"web_search"}],"store":false,
"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","client_metadata":{"n":2.50}}"#;

/// Claude Code: a billing block, a reminder, a system message in the middle, moving marks.
const CLAUDE_CODE: &str = r#"{"model":"claude-x","messages":[
 {"role":"user","content":[{"type":"text","text":"<system-reminder>\n# currentDate\nToday's date is 2026-01-02.\n</system-reminder>"},{"type":"text","text":"Read calc.py","cache_control":{"type":"ephemeral"}}]},
 {"role":"system","content":"Available agents: one."},
 {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"t1","name":"Read","input":{"f":1.0}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"1"}]}
],"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.0.abc; cc_entrypoint=cli;"},{"type":"text","text":"You are a CLI.","cache_control":{"type":"ephemeral"}}],
"cache_control":{"type":"ephemeral","ttl":"5m"},"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"context_management":{"edits":[]},"metadata":{"user_id":"{\"session_id\":\"s\"}"},"stream":true}"#;

/// The Python client of Ollama.
const OLLAMA: &str = r#"{"model":"q","messages":[
 {"role":"system","content":"Be brief."},
 {"role":"user","content":"weather?","images":["iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCA=="]},
 {"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"w","arguments":{"city":"A","n":1.0}}},{"function":{"name":"w","arguments":{"city":"B"}}}]},
 {"role":"tool","content":"sun","tool_name":"w"},
 {"role":"tool","content":"rain","tool_name":"w"}
],"tools":[{"type":"function","function":{"name":"w"}}],"stream":false,"options":{"num_ctx":8192,"temperature":0.50},"keep_alive":"5m"}"#;

#[track_caller]
fn read(body: &str, format: Format) -> RequestDocument<'_> {
    assert_eq!(detect(body.as_bytes()), Ok(format));
    assert_eq!(validate(format, body.as_bytes()), Ok(()));
    let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
    assert_eq!(document.edited(&[]).unwrap(), body.as_bytes());
    for entry in document.entries().iter().skip(document.lead()) {
        let alone = message(document.message_bytes(entry.id), format).unwrap();
        assert_eq!(EntryKey::for_entry(&alone), EntryKey::for_entry(entry));
    }
    document
}

/// An entry in short: role, and what each part is.
fn short(entry: &Entry) -> String {
    let part = |body: &PartBody| match body {
        PartBody::Text(text) => format!("{text:.20}"),
        PartBody::Call(call) => format!("{}:{}({})", call.id, call.tool, call.arguments),
        PartBody::Result(result) => format!("{}={}", result.call, result.text),
        PartBody::Thinking(text) => format!("~{text}"),
        PartBody::Image(image) => format!("{:?}", image.pixels),
        PartBody::Opaque(opaque) => format!("<{}>", opaque.kind),
    };
    let parts: Vec<_> = entry.parts.iter().map(|one| part(&one.body)).collect();
    format!("{:?} {}", entry.role, parts.join(" | "))
}

fn edit(document: &RequestDocument<'_>, edits: &[Edit]) -> String {
    String::from_utf8(document.edited(edits).unwrap()).unwrap()
}

fn insert(after: u32, text: &str) -> Edit {
    Edit::Insert { after: Some(EntryId(after)), role: Role::User, text: text.to_owned() }
}

fn set(entry: u32, part: u32, text: &str) -> Edit {
    Edit::SetText { part: PartId { entry: EntryId(entry), part }, text: text.to_owned() }
}

#[test]
fn items_of_the_responses_api_are_entries() {
    let document = read(CODEX, Format::Responses);
    let found: Vec<_> = document.entries().iter().map(short).collect();
    let expected = [
        "System You are an agent.",
        "User <environment_context",
        "User read both",
        "Assistant ~two files",
        "Assistant Reading.",
        r#"Assistant c1:exec({"cmd":"cat a"})"#,
        "Assistant c2:patch(*** Begin)",
        r#"Assistant c3:local_shell({"type":"exec","command":["ls"]})"#,
        "Tool c1=hello",
        "Tool c2= | done | None",
        "Tool c3=a b",
        "Assistant <web_search_call>",
        "Assistant I will not.",
    ];
    assert_eq!(found, expected);
    assert_eq!(document.entries()[1].parts[0].speaker, Speaker::Harness);
    assert_eq!(document.turns(), [3, 11]);
    assert_eq!((document.lead(), document.is_continued()), (0, false));
    assert_eq!((document.model(), document.tool_schemas().len()), (Some("m-1"), 2));
}

#[test]
fn edits_of_items_leave_all_else() {
    let document = read(CODEX, Format::Responses);
    let gone = (3..=10).map(|entry| Edit::RemoveEntry(EntryId(entry)));
    let edits: Vec<_> = gone.chain([insert(2, "[summary]")]).collect();
    let edited = edit(&document, &edits);
    let folded =
        r#"[{"type":"input_text","text":"read both"},{"type":"input_text","text":"[summary]"}]"#;
    assert!(edited.contains(folded), "{edited}");
    assert_eq!(validate(Format::Responses, edited.as_bytes()), Ok(()));
    assert!(!edited.contains("function_call") && edited.ends_with("{\"n\":2.50}}"));

    let edited =
        edit(&document, &[set(8, 0, "H\n"), set(9, 1, "D"), set(5, 0, "{}"), set(12, 0, "No.")]);
    for part in [
        r#""call_id":"c1","output":"H\n"}"#,
        r#"[{"type":"input_text","text":"D"},"#,
        r#""arguments":"{}","call_id":"c1"}"#,
        r#"{"type":"refusal","refusal":"No."}"#,
    ] {
        assert!(edited.contains(part), "{part} in {edited}");
    }
    let alone = edit(&document, &[insert(12, "next")]);
    let item =
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"next"}]}"#;
    assert!(alone.contains(&format!("}},{item}\n]")), "{alone}");
    let cut = PartId { entry: EntryId(8), part: 0 };
    assert_eq!(
        edit(&document, &[Edit::RemovePart(cut)]),
        edit(&document, &[Edit::RemoveEntry(cut.entry)])
    );
    let reasoning = document.edited(&[set(3, 0, "x")]).unwrap_err().to_string();
    assert_eq!(reasoning, "edit of e3 part 0: reasoning is never changed");
}

#[test]
fn one_text_is_a_conversation_too() {
    let body = r#"{"model":"m", "input" : "caf\u00e9" ,"instructions":"Be brief.","x":1.0}"#;
    let document = read(body, Format::Responses);
    let found: Vec<_> = document.entries().iter().map(short).collect();
    assert_eq!(found, ["System Be brief.", "User café"]);
    assert_eq!((document.lead(), document.turns()), (1, vec![1]));
    let wrapped = r#"{"type":"message","role":"user","content":"caf\u00e9"}"#;
    assert_eq!(document.message_bytes(EntryId(1)), wrapped.as_bytes());
    let check = |edits: &[Edit], input: &str| {
        let expected = body.replace(r#""caf\u00e9""#, input);
        assert_eq!(edit(&document, edits), expected);
    };
    check(&[set(1, 0, "tea")], "\"tea\"");
    check(&[insert(1, "more")], r#""caf\u00e9\n\nmore""#);
    check(&[Edit::RemoveEntry(EntryId(1))], "[]");
    let reply = |after| Edit::Insert {
        after: Some(EntryId(after)),
        role: Role::Assistant,
        text: "r".into(),
    };
    let item =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"r"}]}"#;
    check(&[reply(1)], &format!("[{wrapped},{item}]"));
    check(
        &[reply(0), set(1, 0, "tea")],
        &format!("[{item},{}]", wrapped.replace("caf\\u00e9", "tea")),
    );
    check(&[reply(0), Edit::RemoveEntry(EntryId(1))], &format!("[{item}]"));

    assert_eq!(document.prefix(1), body.as_bytes());
    assert_eq!(document.prefix(0), body.replace(r#""caf\u00e9""#, "[]").as_bytes());
    let grown = document.extended([item.as_bytes()]);
    assert_eq!(
        String::from_utf8(grown).unwrap(),
        body.replace(r#""caf\u00e9""#, &format!("[{wrapped},{item}]"))
    );
    assert_eq!(document.extended([]), body.as_bytes());
    let parts: Vec<_> =
        document.entries().iter().map(|entry| document.message_bytes(entry.id)).collect();
    let made = assemble(Format::Responses, document.model(), None, &parts);
    assert_eq!(
        RequestDocument::parse(&made, Format::Responses).unwrap().entries()[0],
        document.entries()[0]
    );
}

#[test]
fn what_the_provider_keeps_is_said() {
    let check = |body: &str, continued: bool| {
        let document = RequestDocument::parse(body.as_bytes(), Format::Responses).unwrap();
        assert_eq!(document.is_continued(), continued, "{body}");
    };
    check(r#"{"input":"x"}"#, false);
    check(r#"{"input":"x","previous_response_id":null}"#, false);
    check(r#"{"input":"x","previous_response_id":"r"}"#, true);
    check(r#"{"input":[],"conversation":"c"}"#, true);
    check(r#"{"input":[{"type":"item_reference","id":"i"}]}"#, true);
    let other =
        RequestDocument::parse(br#"{"messages":[],"previous_response_id":"r"}"#, Format::OpenAi);
    assert!(!other.unwrap().is_continued());
}

#[test]
fn what_was_compacted_stays_like_a_system_prompt() {
    let body = r#"{"input":[{"type":"compaction","id":"cmp","encrypted_content":"AAAA"},{"role":"user","content":"on"},{"type":"new_thing","n":1.0},{"type":"mcp_approval_request","id":"q","name":"t"},{"type":"mcp_approval_response","approval_request_id":"q","approve":true}]}"#;
    let document = read(body, Format::Responses);
    let roles: Vec<_> = document.entries().iter().map(|entry| entry.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Assistant, Role::Tool]);
    let ids = |entry: usize| match &document.entries()[entry].parts[0].body {
        PartBody::Opaque(opaque) => (opaque.calls.clone(), opaque.answers.clone()),
        _ => (None, None),
    };
    assert_eq!((ids(3), ids(4)), ((Some("q".into()), None), (None, Some("q".into()))));
}

#[test]
fn reasoning_is_known_by_what_is_sealed_in_it() {
    let key = |sealed: &str| {
        let item = format!(r#"{{"type":"reasoning","summary":[],"encrypted_content":"{sealed}"}}"#);
        EntryKey::for_entry(&message(item.as_bytes(), Format::Responses).unwrap())
    };
    assert_eq!(key("a"), key("a"));
    assert_ne!(key("a"), key("b"));
}

#[test]
fn messages_of_ollama_have_images_and_arguments_as_objects() {
    let document = read(OLLAMA, Format::Ollama);
    let found: Vec<_> = document.entries().iter().map(short).collect();
    let expected = [
        "System Be brief.",
        "User weather? | Some((2, 3))",
        r#"Assistant ~hm | w:w({"city":"A","n":1.0}) | w:w({"city":"B"})"#,
        "Tool w=sun",
        "Tool w=rain",
    ];
    assert_eq!(found, expected);
    assert_eq!(document.context_size(), Some(8192));
    assert_eq!(document.turns(), [2, 5]);
    let image = PartId { entry: EntryId(1), part: 1 };
    let edited = edit(&document, &[Edit::RemovePart(image), insert(4, "go on"), set(3, 0, "S")]);
    assert!(edited.contains(r#"{"role":"user","content":"weather?"},"#), "{edited}");
    assert!(edited.contains(r#"{"role":"tool","content":"S","tool_name":"w"}"#), "{edited}");
    assert!(edited.contains(",{\"role\":\"user\",\"content\":\"go on\"}\n]"), "{edited}");
    let call = PartId { entry: EntryId(2), part: 1 };
    let edited = edit(&document, &[Edit::RemovePart(call), set(2, 2, "{}")]);
    assert!(
        edited.contains(r#""tool_calls":[{"function":{"name":"w","arguments":{}}}]"#),
        "{edited}"
    );
}

#[test]
fn a_clients_day_and_build_do_not_change_what_it_says() {
    let check = |body: &str, format: Format, entry: usize, from: &str, to: &str, same: bool| {
        assert!(body.contains(from), "{from}");
        let key = |body: &str| {
            let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
            EntryKey::for_entry(&document.entries()[entry])
        };
        assert_eq!(key(body) == key(&body.replace(from, to)), same, "{from}");
    };
    check(CLAUDE_CODE, Format::Anthropic, 0, "2.1.0.abc", "2.1.0.f9d", true);
    check(CLAUDE_CODE, Format::Anthropic, 0, "a CLI.", "an IDE.", false);
    check(CLAUDE_CODE, Format::Anthropic, 1, "2026-01-02", "2026-01-03", true);
    check(CLAUDE_CODE, Format::Anthropic, 1, "# currentDate", "# Date", false);
    check(CLAUDE_CODE, Format::Anthropic, 1, "Read calc.py", "Read it.py", false);
    check(CODEX, Format::Responses, 1, "2026-01-02", "2026-01-03", true);
    check(CODEX, Format::Responses, 1, "/w<", "/v<", false);
    // A person's own words count, each of them.
    let typed = r#"{"messages":[{"role":"user","content":"Today's date is 2026-01-02"}]}"#;
    check(typed, Format::OpenAi, 0, "2026-01-02", "2026-01-03", false);
    let document = read(CLAUDE_CODE, Format::Anthropic);
    assert!(document.entries()[1].readable().contains("Today's date is 2026-01-02."));
}

#[test]
fn a_request_to_count_is_a_request() {
    let body = r#"{"model":"claude-x","messages":[{"role":"user","content":"hi"}],"tools":[{"name":"t","input_schema":{}}]}"#;
    let document = read(body, Format::Anthropic);
    assert_eq!((document.entries().len(), document.tool_schemas().len()), (1, 1));
}

#[test]
fn tools_of_servers_are_named_with_their_server() {
    let check = |space: &str, expected: &str| {
        let body = format!(
            r#"{{"model":"m-1","input":[{{"type":"message","role":"user","content":"go"}},{{"type":"function_call","name":"recall",{space}"arguments":"{{}}","call_id":"c1"}},{{"type":"function_call_output","call_id":"c1","output":"x"}}]}}"#
        );
        let document = read(&body, Format::Responses);
        let calls: Vec<_> = document.entries().iter().map(short).collect();
        assert_eq!(calls[1], format!("Assistant c1:{expected}({{}})"));
    };
    check("", "recall");
    check(r#""namespace":"mcp__epitome","#, "mcp__epitome__recall");
    check(r#""namespace":"mcp__epitome__","#, "mcp__epitome__recall");
}
