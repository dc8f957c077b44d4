//! What edits do to bytes, case by case.

use epitome_types::{Edit, EntryId, PartId, Role};

use crate::{Format, RequestDocument};

fn set(entry: u32, part: u32, text: &str) -> Edit {
    Edit::SetText { part: at(entry, part), text: text.to_owned() }
}

fn cut(entry: u32, part: u32) -> Edit {
    Edit::RemovePart(at(entry, part))
}

fn remove(entry: u32) -> Edit {
    Edit::RemoveEntry(EntryId(entry))
}

fn insert(after: u32, text: &str) -> Edit {
    Edit::Insert { after: Some(EntryId(after)), role: Role::User, text: text.to_owned() }
}

fn at(entry: u32, part: u32) -> PartId {
    PartId { entry: EntryId(entry), part }
}

/// Checks the messages that edits leave, in either direction of the edits.
fn check(format: Format, messages: &str, edits: &[Edit], expected: &str) {
    let (head, tail) = (r#"{"x":1e2,"messages":["#, r#"],"\u0079":1.0}"#);
    let body = format!("{head}{messages}{tail}");
    let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
    let edited = |edits: &[Edit]| String::from_utf8(document.edited(edits).unwrap()).unwrap();
    assert_eq!(edited(edits), format!("{head}{expected}{tail}"));
    let backwards: Vec<_> = edits.iter().rev().cloned().collect();
    if !matches!(edits, [Edit::Insert { .. }, Edit::Insert { .. }, ..]) {
        assert_eq!(edited(&backwards), format!("{head}{expected}{tail}"));
    }
}

fn anthropic(messages: &str, edits: &[Edit], expected: &str) {
    check(Format::Anthropic, messages, edits, expected);
}

fn openai(messages: &str, edits: &[Edit], expected: &str) {
    check(Format::OpenAi, messages, edits, expected);
}

#[track_caller]
fn refused(format: Format, body: &str, edits: &[Edit], expected: &str) {
    let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
    assert_eq!(document.edited(edits).unwrap_err().to_string(), expected);
}

const USER: &str = r#"{"role":"user","content":"a\/b"}"#;
const MODEL: &str = r#"{ "content":"m\u00e9", "role":"assistant" }"#;

#[test]
fn a_text_replaces_one_literal() {
    anthropic(
        r#"{"role":"user","content":[{"type":"text","text":"old","cache_control":{"ttl":"1h"}}]}"#,
        &[set(0, 0, "n\"ew\n")],
        r#"{"role":"user","content":[{"type":"text","text":"n\"ew\n","cache_control":{"ttl":"1h"}}]}"#,
    );
    anthropic(USER, &[set(0, 0, "")], r#"{"role":"user","content":""}"#);
    anthropic(
        r#"{"role":"user","content":[{"tool_use_id":"i","content":"x","type":"tool_result"},{"type":"tool_result","tool_use_id":"j","content":[{"type":"text","text":"y"}]}]}"#,
        &[set(0, 0, "X"), set(0, 2, "Y")],
        r#"{"role":"user","content":[{"tool_use_id":"i","content":"X","type":"tool_result"},{"type":"tool_result","tool_use_id":"j","content":[{"type":"text","text":"Y"}]}]}"#,
    );
    openai(
        r#"{"role":"tool","tool_call_id":"i","content":"x"}"#,
        &[set(0, 0, "y")],
        r#"{"role":"tool","tool_call_id":"i","content":"y"}"#,
    );
}

const NOTE: &str = r#"{"role":"system", "content":"be \u0062rief","clear_at":"x"}"#;
/// The same, where a system message may not stand.
const SAID: &str = r#"{"role":"user","content":"<system-reminder>\nbe brief\n</system-reminder>"}"#;

#[test]
fn a_system_message_whose_neighbours_left_is_said_by_the_users_side() {
    let check = |messages: &[&str], edits: &[Edit], expected: &[&str]| {
        anthropic(&messages.join(","), edits, &expected.join(","));
    };
    let all = [USER, NOTE, MODEL, USER, NOTE, MODEL];
    check(
        &all,
        &[set(0, 0, "x")],
        &[r#"{"role":"user","content":"x"}"#, NOTE, MODEL, USER, NOTE, MODEL],
    );
    // Behind the model, before the user, at the front.
    check(&all, &[remove(3)], &[USER, NOTE, MODEL, SAID, MODEL]);
    check(&all, &[remove(2)], &[USER, SAID, USER, NOTE, MODEL]);
    check(&all, &[remove(0)], &[SAID, MODEL, USER, NOTE, MODEL]);
    check(&all, &[remove(2), remove(3)], &[USER, NOTE, NOTE, MODEL]);
    check(&[USER, NOTE, NOTE, MODEL, USER], &[remove(3)], &[USER, SAID, SAID, USER]);
    // As its client placed it, whatever its provider says to that.
    check(&[USER, MODEL, NOTE, USER, MODEL], &[remove(4)], &[USER, MODEL, NOTE, USER]);
    // What we add is as good a neighbour as any, and is folded into what the user's side says.
    let block = r#"{"role":"user","content":[{"type":"text","text":"so far"},{"type":"text","text":"a\/b"}]}"#;
    check(&[MODEL, USER, NOTE, MODEL], &[remove(0), insert(0, "so far")], &[block, NOTE, MODEL]);
    let added = r#"{"role":"user","content":"so far"}"#;
    check(
        &[USER, MODEL, USER, NOTE, MODEL],
        &[remove(2), insert(1, "so far")],
        &[USER, MODEL, added, NOTE, MODEL],
    );
    let joined = r#"{"role":"user","content":[{"type":"text","text":"<system-reminder>\nbe brief\n</system-reminder>"},{"type":"text","text":"so far"}]}"#;
    check(&[USER, NOTE, MODEL], &[insert(1, "so far")], &[USER, joined, MODEL]);
    let blocks = r#"{"content":[{"type":"text","text":"be brief"},{"type":"tool_addition"}],"role":"system"}"#;
    check(&[USER, MODEL, USER, blocks, MODEL], &[remove(2)], &[USER, MODEL, blocks, MODEL]);
    // Other providers take them anywhere.
    openai(&[USER, NOTE, MODEL, USER].join(","), &[remove(2)], &[USER, NOTE, USER].join(","));
}

#[test]
fn freely_written_input_is_replaced_by_a_text() {
    let item = |input: &str| {
        let user = r#"{"type":"message","role":"user","content":"q"}"#;
        let call = r#"{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"#;
        format!(r#"{{"input":[{user},{call}{input}}}]}}"#)
    };
    let body = item(r#""*** Begin Patch\n*** End Patch""#);
    let document = RequestDocument::parse(body.as_bytes(), Format::Responses).unwrap();
    let edited = document.edited(&[set(1, 0, "\"a\" is on disk")]).unwrap();
    assert_eq!(String::from_utf8(edited).unwrap(), item(r#""\"a\" is on disk""#));
    let body = item(r#"{"type":"exec","command":["ls"]}"#).replace("custom_tool", "local_shell");
    let body = body.replace("\"input\":{", "\"action\":{");
    let why = "edit of e1 part 0: arguments are replaced by a JSON object only";
    refused(Format::Responses, &body, &[set(1, 0, "free")], why);
    let document = RequestDocument::parse(body.as_bytes(), Format::Responses).unwrap();
    let edited = document.edited(&[set(1, 0, r#"{"type":"…"}"#)]).unwrap();
    let expected = body.replace(r#"{"type":"exec","command":["ls"]}"#, r#"{"type":"…"}"#);
    assert_eq!(String::from_utf8(edited).unwrap(), expected);
}

#[test]
fn arguments_are_replaced_by_an_object() {
    anthropic(
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"w","input":{"a":1.0}}]}"#,
        &[set(0, 0, r#"{"b":2}"#)],
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"w","input":{"b":2}}]}"#,
    );
    let calls = |arguments: &str| {
        format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":"i","function":{{"name":"w","arguments":"{arguments}"}}}}]}}"#
        )
    };
    openai(&calls(r#"{\"a\":1.0}"#), &[set(0, 0, r#"{"b":2}"#)], &calls(r#"{\"b\":2}"#));
    let body = format!("[{}]", calls("{}"));
    let why = "edit of e0 part 0: arguments are replaced by a JSON object only";
    refused(Format::OpenAi, &body, &[set(0, 0, "[]")], why);
}

#[test]
fn removed_entries_leave_a_sound_list() {
    anthropic(&format!("{USER} , {MODEL},\n{USER}"), &[remove(0)], &format!("{MODEL},\n{USER}"));
    anthropic(&format!("{USER} , {MODEL},\n{USER}"), &[remove(1)], &format!("{USER},\n{USER}"));
    anthropic(&format!("{USER} , {MODEL},\n{USER}"), &[remove(2), remove(0)], MODEL);
    anthropic(USER, &[remove(0)], "");
}

#[test]
fn removed_parts_take_an_emptied_message_along() {
    let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let message = |blocks: &str| format!(r#"{{"role":"user","content":[ {blocks} ]}}"#);
    let three = message(&[block("a"), block("b"), block("c")].join(" , "));
    anthropic(&three, &[cut(0, 1)], &message(&[block("a"), block("c")].join(" , ")));
    anthropic(&three, &[cut(0, 0), cut(0, 2)], &message(&block("b")));
    anthropic(&format!("{MODEL},{three}"), &[cut(1, 0), cut(1, 2), cut(1, 1)], MODEL);
    anthropic(&format!("{MODEL},{USER}"), &[cut(1, 0)], MODEL);
    openai(&format!("{MODEL},{three}"), &[cut(1, 0), cut(1, 2), cut(1, 1)], MODEL);
    openai(
        &format!(r#"{MODEL},{{"role":"tool","tool_call_id":"i","content":"x"}}"#),
        &[cut(1, 0)],
        MODEL,
    );
}

#[test]
fn of_a_reply_all_reasoning_goes_or_none() {
    let reply = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"x"},{"type":"tool_use","id":"i","name":"w","input":{}}]}"#;
    anthropic(&format!("{USER},{reply}"), &[cut(1, 1), cut(1, 2)], USER);
    let shorter = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"x"}]}"#;
    anthropic(&format!("{USER},{reply}"), &[cut(1, 2)], &format!("{USER},{shorter}"));
    let said = r#"{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"i","name":"w","input":{}}]}"#;
    anthropic(&format!("{USER},{reply}"), &[cut(1, 0)], &format!("{USER},{said}"));
    let twice = reply.replace(
        r#"[{"type":"thinking""#,
        r#"[{"type":"redacted_thinking","data":"d"},{"type":"thinking""#,
    );
    anthropic(&format!("{USER},{twice}"), &[cut(1, 0), cut(1, 1)], &format!("{USER},{said}"));
    let body = format!(r#"{{"messages":[{twice}]}}"#);
    let refused = |edit, expected: &str| refused(Format::Anthropic, &body, &[edit], expected);
    refused(cut(0, 1), "edit of e0 part 0: of a reply all reasoning goes, or none");
    refused(set(0, 1, "x"), "edit of e0 part 1: reasoning is never changed");
}

#[test]
fn what_loses_its_reasoning_loses_the_id_that_asks_for_it() {
    let reasoning = r#"{"type":"reasoning","id":"rs","summary":[]}"#;
    let body = |items: &[&str]| format!(r#"{{"input":[{}]}}"#, items.join(","));
    let call = |id: &str| {
        format!(r#"{{"type":"function_call",{id}"call_id":"c","name":"t","arguments":"{{}}"}}"#)
    };
    let text = |id: &str| format!(r#"{{{id}"type":"message","role":"assistant","content":[]}}"#);
    let output = r#"{"type":"function_call_output","id":"fo","call_id":"c","output":"x"}"#;
    let (fc, msg) = (r#""id":"fc","#, r#""id":"msg", "#);
    let came = body(&[reasoning, &text(msg), &call(fc), output, &text(msg)]);
    let document = RequestDocument::parse(came.as_bytes(), Format::Responses).unwrap();
    let sent = document.edited(&[Edit::RemoveEntry(EntryId(0))]).unwrap();
    let expected = body(&[&text(""), &call(""), output, &text(msg)]);
    assert_eq!(String::from_utf8(sent).unwrap(), expected);
}

#[test]
fn what_needs_its_id_goes_with_its_reasoning() {
    let body = |items: &[&str]| format!(r#"{{"input":[{}]}}"#, items.join(","));
    let asked = r#"{"role":"user","content":"x"}"#;
    let reasoning = r#"{"type":"reasoning","id":"rs","summary":[]}"#;
    let search = r#"{"type":"web_search_call","id":"ws","status":"completed"}"#;
    let shell =
        r#"{"type":"local_shell_call","id":"ls","call_id":"l","action":{},"status":"completed"}"#;
    let printed = r#"{"type":"local_shell_call_output","id":"l","call_id":"l","output":"x"}"#;
    let text = r#"{"type":"message","role":"assistant","content":[]}"#;
    let came =
        body(&[asked, reasoning, search, shell, text, printed, asked, search, reasoning, text]);
    let document = RequestDocument::parse(came.as_bytes(), Format::Responses).unwrap();
    let sent = document.edited(&[Edit::RemoveEntry(EntryId(1))]).unwrap();
    let expected = body(&[asked, text, asked, search, reasoning, text]);
    assert_eq!(String::from_utf8(sent).unwrap(), expected);
}

#[test]
fn reasoning_beside_the_content_goes_with_its_keys() {
    let reply = r#"{"role":"assistant","reasoning_content":"t","content":"hi","reasoning_details":[{"text":"t"}]}"#;
    let said = r#"{"role":"assistant","content":"hi"}"#;
    openai(&format!("{USER},{reply}"), &[cut(1, 0), cut(1, 1)], &format!("{USER},{said}"));
    openai(&format!("{USER},{reply}"), &[cut(1, 2)], USER);
    let calls = r#"{"role":"assistant","content":null,"reasoning_content":"t","tool_calls":[{"id":"i","function":{"name":"t","arguments":"{}"}}]}"#;
    openai(&format!("{USER},{calls}"), &[cut(1, 1)], USER);
    let refusal = r#"{"role":"assistant","content":null,"refusal":"No, I will not."}"#;
    openai(refusal, &[set(0, 0, "No.")], &refusal.replace("No, I will not.", "No."));
}

#[test]
fn calls_beside_the_content_go_one_by_one_or_with_their_key() {
    let call = |id: u32| format!(r#"{{"id":"{id}","function":{{"name":"t","arguments":"{{}}"}}}}"#);
    let reply = |content: &str, calls: &[u32]| {
        let calls: Vec<_> = calls.iter().map(|id| call(*id)).collect();
        format!(
            r#"{{"role":"assistant", "content": {content}, "tool_calls": [{}] , "x":1}}"#,
            calls.join(", ")
        )
    };
    openai(&reply("\"hi\"", &[1, 2, 3]), &[cut(0, 2)], &reply("\"hi\"", &[1, 3]));
    let bare = r#"{"role":"assistant", "content": "hi" , "x":1}"#;
    openai(&reply("\"hi\"", &[1, 2]), &[cut(0, 1), cut(0, 2)], bare);
    openai(&reply("\"hi\"", &[1]), &[cut(0, 0)], &reply("null", &[1]));
    openai(&format!("{USER},{}", reply("null", &[1, 2])), &[cut(1, 0), cut(1, 1)], USER);
    openai(&format!("{USER},{}", reply("\"\"", &[1])), &[cut(1, 0)], USER);
    let parts = r#"[{"type":"text","text":"hi"}]"#;
    openai(&reply(parts, &[1]), &[cut(0, 0)], &reply("null", &[1]));
    let first = format!(r#"{{"tool_calls":[{}],"content":"hi","role":"assistant"}}"#, call(1));
    openai(&first, &[cut(0, 1)], r#"{"content":"hi","role":"assistant"}"#);
}

#[test]
fn parts_inside_a_result_go_alone() {
    let result = |blocks: &str| {
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"i","content":[{blocks}]}},{{"type":"text","text":"t"}}]}}"#
        )
    };
    let (text, image) = (r#"{"type":"text","text":"x"}"#, r#"{"type":"image","source":{}}"#);
    anthropic(&result(&format!("{text},{image}")), &[cut(0, 2)], &result(text));
    anthropic(&result(text), &[cut(0, 1)], &result(""));
    let body = format!(r#"{{"messages":[{}]}}"#, result(text));
    let why = "edit of e0 part 1: another edit removes the part it stands in";
    refused(Format::Anthropic, &body, &[cut(0, 0), set(0, 1, "y")], why);
}

#[test]
fn a_text_for_the_user_is_a_message_of_its_own_between_replies() {
    let new = r#"{"role":"user","content":"n\nw"}"#;
    for check in [anthropic, openai] {
        check(
            &format!("{MODEL}, {MODEL}"),
            &[insert(0, "n\nw")],
            &format!("{MODEL},{new},{MODEL}"),
        );
        check(MODEL, &[insert(0, "n\nw")], &format!("{MODEL},{new}"));
        check(
            &format!("{USER},{MODEL}"),
            &[remove(0), insert(0, "n\nw")],
            &format!("{new},{MODEL}"),
        );
        check(USER, &[remove(0), insert(0, "n\nw")], new);
        check(
            &format!("{MODEL},{USER},{MODEL}"),
            &[insert(0, "n"), insert(1, "w"), remove(1)],
            &format!(r#"{MODEL},{{"role":"user","content":"n\n\nw"}},{MODEL}"#),
        );
    }
}

#[test]
fn a_text_for_the_user_is_folded_into_the_neighbour() {
    let folded =
        r#"{"role":"user","content":[{"type":"text","text":"n"},{"type":"text","text":"a\/b"}]}"#;
    anthropic(&format!("{MODEL},{USER}"), &[insert(0, "n")], &format!("{MODEL},{folded}"));
    anthropic(
        &format!("{MODEL},{MODEL},{USER}"),
        &[remove(1), insert(1, "n")],
        &format!("{MODEL},{folded}"),
    );
    anthropic(
        &format!("{USER},{MODEL},{USER}"),
        &[remove(1), insert(1, "n")],
        &format!("{USER},{folded}"),
    );
    let behind =
        r#"{"role":"user","content":[{"type":"text","text":"a\/b"},{"type":"text","text":"n"}]}"#;
    anthropic(&format!("{USER},{MODEL}"), &[insert(0, "n")], &format!("{behind},{MODEL}"));
    anthropic(
        USER,
        &[insert(0, "n"), set(0, 0, "z")],
        r#"{"role":"user","content":[{"type":"text","text":"z"},{"type":"text","text":"n"}]}"#,
    );
    openai(
        &format!("{MODEL},{USER}"),
        &[insert(0, "n\"")],
        &format!(r#"{MODEL},{{"role":"user","content":"n\"\n\na\/b"}}"#),
    );
    openai(
        &format!("{USER},{MODEL}"),
        &[insert(0, "n")],
        &format!(r#"{{"role":"user","content":"a\/b\n\nn"}},{MODEL}"#),
    );
    openai(
        r#"{"role":"user","content":""},{"role":"assistant","content":"m"}"#,
        &[insert(0, "n"), set(0, 0, "z")],
        r#"{"role":"user","content":"z\n\nn"},{"role":"assistant","content":"m"}"#,
    );
    openai(
        r#"{"role":"user","content":[{"type":"text","text":"p"}]}"#,
        &[Edit::Insert { after: None, role: Role::User, text: "n".into() }],
        r#"{"role":"user","content":[{"type":"text","text":"n"},{"type":"text","text":"p"}]}"#,
    );
}

#[test]
fn the_assistant_says_what_is_new_where_the_format_takes_it() {
    let new = |after| Edit::Insert { after, role: Role::Assistant, text: "n".into() };
    let behind = |after| new(Some(EntryId(after)));
    let said = r#"{"role":"assistant","content":"n"}"#;
    let both = r#"{"role":"assistant","content":"n\n\nn"}"#;
    let asked = r#"{"role":"user","content":"n"}"#;
    let user = r#"{"role":"user","content":[{"type":"text","text":"q"}]}"#;
    let folded =
        r#"{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":"n"}]}"#;
    let led =
        r#"{"role":"user","content":[{"type":"text","text":"n"},{"type":"text","text":"q"}]}"#;
    for check in [anthropic, openai] {
        let between = format!("{user},{said},{user}");
        check(&format!("{user},{MODEL},{user}"), &[remove(1), behind(1)], &between);
        let between = format!("{user},{both},{user}");
        check(&format!("{user},{user}"), &[behind(0), behind(0)], &between);
    }
    // Elsewhere it would lead, end, or become one with what the model said.
    anthropic(&format!("{user},{MODEL}"), &[new(None)], &format!("{led},{MODEL}"));
    anthropic(MODEL, &[new(None)], &format!("{asked},{MODEL}"));
    anthropic(&format!("{user},{MODEL}"), &[behind(0)], &format!("{folded},{MODEL}"));
    anthropic(&format!("{user},{MODEL}"), &[behind(1)], &format!("{user},{MODEL},{asked}"));
    anthropic(&format!("{MODEL},{user}"), &[behind(0)], &format!("{MODEL},{led}"));
    openai(&format!("{user},{MODEL}"), &[new(None)], &format!("{said},{user},{MODEL}"));
    openai(&format!("{user},{MODEL}"), &[behind(0)], &format!("{user},{said},{MODEL}"));
}

#[test]
fn tool_results_stay_in_front_of_a_folded_text() {
    let message = |blocks: &str| format!(r#"{{"role":"user","content":[{blocks}]}}"#);
    let (a, b) = (
        r#"{"type":"tool_result","tool_use_id":"a"}"#,
        r#"{"type":"tool_result","tool_use_id":"b"}"#,
    );
    let (new, text) = (r#"{"type":"text","text":"n"}"#, r#"{"type":"text","text":"t"}"#);
    let body = format!("{MODEL},{}", message(&format!("{a},{b},{text}")));
    anthropic(
        &body,
        &[insert(0, "n")],
        &format!("{MODEL},{}", message(&format!("{a},{b},{new},{text}"))),
    );
    anthropic(
        &body,
        &[insert(0, "n"), cut(1, 0)],
        &format!("{MODEL},{}", message(&format!("{b},{new},{text}"))),
    );
    anthropic(
        &body,
        &[insert(0, "n"), cut(1, 0), cut(1, 1)],
        &format!("{MODEL},{}", message(&format!("{new},{text}"))),
    );
    anthropic(
        &body,
        &[insert(1, "n"), cut(1, 2)],
        &format!("{MODEL},{}", message(&format!("{a},{b},{new}"))),
    );
    openai(
        r#"{"role":"assistant","content":"m"},{"role":"tool","tool_call_id":"i","content":"x"},{"role":"assistant","content":"m"}"#,
        &[insert(1, "n")],
        r#"{"role":"assistant","content":"m"},{"role":"tool","tool_call_id":"i","content":"x"},{"role":"user","content":"n"},{"role":"assistant","content":"m"}"#,
    );
}

#[test]
fn edits_that_cannot_be_made_are_refused() {
    let body = format!(r#"{{"system":"s","messages":[{USER},{MODEL}]}}"#);
    let check = |edits: &[Edit], expected: &str| refused(Format::Anthropic, &body, edits, expected);
    check(&[remove(0)], "edit of e0: the top-level system prompt is never edited");
    check(&[set(0, 0, "x")], "edit of e0: the top-level system prompt is never edited");
    check(&[remove(3)], "edit of e3: there is no such entry");
    check(&[cut(1, 1)], "edit of e1 part 1: there is no such part");
    check(&[cut(1, 0), cut(1, 0)], "edit of e1 part 0: two edits remove it");
    check(&[remove(1), remove(1)], "edit of e1: two edits remove it");
    check(&[set(1, 0, "x"), set(1, 0, "y")], "edit of e1 part 0: two edits set its text");
    check(
        &[set(1, 0, "x"), cut(1, 0)],
        "edit of e1 part 0: one edit removes it, another sets its text",
    );
    check(&[set(1, 0, "x"), remove(1)], "edit of e1 part 0: another edit removes its entry");
    let tool = Edit::Insert { after: None, role: Role::Tool, text: String::new() };
    check(&[tool], "edit of e0: a tool's answer cannot be inserted; insert a text for the user");
    check(&[insert(3, "x")], "edit of e3: there is no such entry");
}

#[test]
fn without_edits_the_bytes_are_the_same() {
    let body = format!(" {{\"messages\" : [{USER} ,\n{MODEL}], \"n\":1.0}}\n");
    let document = RequestDocument::parse(body.as_bytes(), Format::OpenAi).unwrap();
    assert_eq!(document.edited(&[]).unwrap(), body.as_bytes());
}
