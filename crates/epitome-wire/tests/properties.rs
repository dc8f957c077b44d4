//! What holds for every conversation and every edit: untouched messages keep their bytes, the
//! order stays, valid stays valid, and no bytes at all make anything panic.

mod bodies;

use std::collections::BTreeSet;

use bodies::{Body, body, key, literal};
use epitome_types::{Edit, EntryId, PartBody as Said, PartId, Role};
use epitome_wire::{
    Format, RequestDocument, ResponseParser, assemble, convert, detect, message, overflow, scan,
    scan_after, validate,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// How an inserted message begins that found no neighbour to be folded into.
const NOTE_ALONE: [&str; 2] = [
    r#"{"role":"user","content":"NOTE "#,
    r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"NOTE "#,
];

/// What is done to one unit.
#[derive(Clone, Debug)]
enum Doing {
    Keep,
    Remove,
    SetTexts(String),
    InsertBehind(String),
    RemoveAndInsert(String),
}

fn doing() -> impl Strategy<Value = Doing> {
    let text = || {
        prop_oneof!["[a-z\"\\\\\n\u{e9}]{1,8}", Just("z".to_owned())]
            .prop_filter("blank", |text| !text.trim().is_empty())
    };
    prop_oneof![
        3 => Just(Doing::Keep),
        2 => Just(Doing::Remove),
        2 => text().prop_map(Doing::SetTexts),
        1 => text().prop_map(Doing::InsertBehind),
        1 => text().prop_map(Doing::RemoveAndInsert),
    ]
}

/// The edits that do it, and the messages they remove and those they may change.
fn plan(
    body: &Body,
    document: &RequestDocument<'_>,
    doings: &[Doing],
) -> (Vec<Edit>, BTreeSet<usize>, BTreeSet<usize>) {
    let (mut edits, mut removed, mut changed) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (unit, doing) in doings.iter().enumerate() {
        let members: Vec<_> =
            (0..body.units.len()).filter(|message| body.units[*message] == unit).collect();
        let Some(last) = members.last() else { continue };
        let id = |message: usize| EntryId(message as u32);
        let insert = |text: &str| {
            let text = format!("NOTE {text}");
            Edit::Insert { after: Some(id(*last)), role: Role::User, text }
        };
        if let (Doing::Remove | Doing::RemoveAndInsert(_), 1..) = (doing, unit) {
            edits.extend(members.iter().map(|message| Edit::RemoveEntry(id(*message))));
            removed.extend(members.iter().copied());
        }
        match doing {
            Doing::InsertBehind(text) | Doing::RemoveAndInsert(text) => edits.push(insert(text)),
            Doing::SetTexts(text) => {
                for message in members {
                    for (part, body) in document.entries()[message].parts.iter().enumerate() {
                        // A result that is a list has its texts within.
                        if body.text().is_some_and(|text| !text.is_empty()) {
                            let part = PartId { entry: id(message), part: part as u32 };
                            edits.push(Edit::SetText { part, text: text.clone() });
                            changed.insert(message);
                        }
                    }
                }
            }
            Doing::Keep | Doing::Remove => {}
        }
    }
    (edits, removed, changed)
}

proptest! {
    #[test]
    fn untouched_messages_keep_their_bytes_and_order(
        body in body(),
        doings in vec(doing(), 9),
        order in any::<prop::sample::Selector>(),
    ) {
        prop_assert_eq!(validate(body.format, body.json.as_bytes()), Ok(()));
        let document = RequestDocument::parse(body.json.as_bytes(), body.format).unwrap();
        prop_assert_eq!(document.edited(&[]).unwrap(), body.json.as_bytes());

        let (mut edits, removed, changed) = plan(&body, &document, &doings);
        if !edits.is_empty() {
            let first = order.select(0..edits.len());
            edits.rotate_left(first);
        }
        let edited = String::from_utf8(document.edited(&edits).unwrap()).unwrap();
        prop_assert_eq!(validate(body.format, edited.as_bytes()), Ok(()), "{}\n{:?}\n{}", body.json, edits, edited);

        let read = RequestDocument::parse(edited.as_bytes(), body.format).unwrap();
        let after = read.entries().iter().map(|entry| read.message_bytes(entry.id));
        let after: Vec<_> = after.map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
        let kept: Vec<_> = (0..body.messages.len()).filter(|message| !removed.contains(message)).collect();
        let inserts = edits.iter().filter(|edit| matches!(edit, Edit::Insert { .. })).count();
        let mut left = kept.iter();
        let mut new = 0;
        for message in after {
            if NOTE_ALONE.iter().any(|alone| message.starts_with(alone)) {
                new += 1;
                continue;
            }
            let at = *left.next().expect("no message comes from nowhere");
            if body.messages[at] != message && !changed.contains(&at) {
                // Only the user's message beside an insert may differ.
                let user = document.entries()[at].role == Role::User;
                prop_assert!(user && message.contains("NOTE"), "{} became {message}", body.messages[at]);
            }
        }
        prop_assert_eq!(left.next(), None);
        prop_assert!(new <= inserts, "{} messages are new after {} inserts", new, inserts);
        // What stands around the messages is the same.
        let end = |json: &str| json[json.rfind(']').unwrap()..].to_owned();
        let start = |json: &str| json[..json.find('[').unwrap()].to_owned();
        prop_assert_eq!(start(&edited), start(&body.json));
        prop_assert_eq!(end(&edited), end(&body.json));
    }

    /// Whatever stands around the arguments of a call keeps its bytes, and so does all else.
    #[test]
    fn new_arguments_leave_every_other_byte(body in body(), at in any::<Index>(), text in "[a-z\"\\\\\n\u{e9}]{0,9}") {
        let document = RequestDocument::parse(body.json.as_bytes(), body.format).unwrap();
        let calls = document.entries().iter().flat_map(|entry| {
            let calls = (0..).zip(&entry.parts).filter_map(|(part, it)| match &it.body {
                Said::Call(call) => Some((PartId { entry: entry.id, part }, &call.arguments)),
                _ => None,
            });
            calls.collect::<Vec<_>>()
        });
        let calls: Vec<_> = calls.collect();
        prop_assume!(!calls.is_empty());
        let (part, was) = calls[at.index(calls.len())];
        let new = serde_json::json!({ "p": text }).to_string();
        let edited = document.edited(&[Edit::SetText { part, text: new.clone() }]).unwrap();
        let edited = String::from_utf8(edited).unwrap();
        prop_assert_eq!(validate(body.format, edited.as_bytes()), Ok(()));
        let raw = matches!(body.format, Format::Anthropic | Format::Ollama);
        let literal = serde_json::Value::from(new.as_str()).to_string();
        let new = if raw { &new } else { &literal };
        let around = edited.match_indices(new.as_str()).any(|(start, _)| {
            let rest = &edited[start + new.len()..];
            let Some(end) = body.json.len().checked_sub(rest.len()).filter(|end| *end >= start) else { return false };
            let old = &body.json[start..end];
            let old = if raw { old.to_owned() } else { serde_json::from_str(old).unwrap_or_default() };
            body.json.starts_with(&edited[..start]) && body.json.ends_with(rest) && old == *was
        });
        prop_assert!(around, "{}\n{edited}", body.json);
        let after = RequestDocument::parse(edited.as_bytes(), body.format).unwrap();
        for (before, after) in document.entries().iter().zip(after.entries()) {
            prop_assert!(before.id == part.entry || before == after);
        }
    }

    #[test]
    fn a_scan_tells_the_same_whatever_was_scanned_before(
        (one, other) in (body(), body()),
        (kept, cut) in (any::<Index>(), any::<Index>()),
    ) {
        // What goes on from a body, what is cut off anywhere, and what only looks alike.
        let kept = kept.index(one.messages.len());
        let messages = one.messages[..kept].iter().chain(&other.messages);
        let messages: Vec<_> = messages.map(String::as_str).collect();
        let on = format!("{{\"{}\":[{}]}}", key(one.format), messages.join(","));
        let bodies = [one.json.as_bytes(), other.json.as_bytes(), on.as_bytes()];
        let befores = bodies.map(|body| scan(body, one.format).unwrap_or_default());
        for body in bodies.into_iter().chain([&on.as_bytes()[..cut.index(on.len())]]) {
            for before in &befores {
                let found = scan_after(body, one.format, before);
                prop_assert_eq!(found, scan(body, one.format));
            }
        }
    }

    #[test]
    fn every_turn_is_a_sound_beginning(body in body()) {
        let document = RequestDocument::parse(body.json.as_bytes(), body.format).unwrap();
        let turns = document.turns();
        let roles: Vec<_> = document.entries().iter().map(|entry| entry.role).collect();
        for count in 1..=roles.len() {
            let reply = roles.get(count).is_none_or(|next| *next == Role::Assistant);
            prop_assert_eq!(turns.contains(&count), reply && roles[count - 1] != Role::Assistant);
        }
        prop_assert!(turns.is_sorted());
        for count in turns {
            let prefix = document.prefix(count);
            prop_assert_eq!(validate(body.format, &prefix), Ok(()));
            let prefix = RequestDocument::parse(&prefix, body.format).unwrap();
            prop_assert_eq!(prefix.entries(), &document.entries()[..count]);
            for entry in prefix.entries() {
                prop_assert_eq!(prefix.message_bytes(entry.id), body.messages[entry.id.index()].as_bytes());
            }
        }
        prop_assert_eq!(document.prefix(body.messages.len()), body.json.as_bytes());
    }

    #[test]
    fn what_is_assembled_says_the_same(body in body(), system in proptest::option::of(literal())) {
        let key = match body.format {
            Format::Anthropic => Some("system"),
            Format::Responses => Some("instructions"),
            _ => None,
        };
        let json = match (&system, key) {
            (Some(system), Some(key)) => body.json.replacen('{', &format!("{{\"{key}\":{system},"), 1),
            _ => body.json.clone(),
        };
        let document = RequestDocument::parse(json.as_bytes(), body.format).unwrap();
        let ids = document.entries().iter().map(|entry| entry.id);
        let messages: Vec<_> = ids.map(|id| document.message_bytes(id)).collect();
        let made = assemble(body.format, document.model(), document.tools(), &messages);
        prop_assert_eq!(validate(body.format, &made), Ok(()));
        let made = RequestDocument::parse(&made, body.format).unwrap();
        prop_assert_eq!(made.entries(), document.entries());
    }

    #[test]
    fn arbitrary_edits_are_refused_or_leave_a_sound_body(
        body in body(),
        edits in vec((0u32..12, 0u32..6, 0u8..5, "[a\"\n]{0,3}"), 0..6),
    ) {
        let edits: Vec<_> = edits
            .into_iter()
            .map(|(entry, part, kind, text)| {
                let (entry, part) = (EntryId(entry), PartId { entry: EntryId(entry), part });
                match kind {
                    0 => Edit::SetText { part, text },
                    1 | 2 => Edit::RemovePart(part),
                    3 => Edit::RemoveEntry(entry),
                    _ => Edit::Insert { after: Some(entry), role: Role::User, text },
                }
            })
            .collect();
        let document = RequestDocument::parse(body.json.as_bytes(), body.format).unwrap();
        if let Ok(edited) = document.edited(&edits) {
            let after = RequestDocument::parse(&edited, body.format).unwrap();
            let gone = edits.iter().filter(|edit| matches!(edit, Edit::RemoveEntry(_) | Edit::RemovePart(_))).count();
            prop_assert!(after.entries().len() + gone >= document.entries().len());
        }
    }

    #[test]
    fn damaged_bytes_never_panic(
        body in body(),
        recording in select(RECORDINGS.to_vec()),
        hits in vec((any::<Index>(), select(b"\"\\{}[],:0e-u\xff\n x".to_vec())), 0..6),
        cut in any::<Index>(),
        whole in any::<bool>(),
    ) {
        for bytes in [body.json.as_bytes(), recording.as_bytes()] {
            let mut bytes = bytes.to_vec();
            for (at, byte) in &hits {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            if !whole {
                bytes.truncate(cut.index(bytes.len()));
            }
            use_everything(&bytes)?;
        }
    }

    #[test]
    fn noise_never_panics(bytes in vec(any::<u8>(), 0..64), text in r#"[\[\]{}",:\\rolesctnmagu0-9 ]{0,64}"#) {
        use_everything(&bytes)?;
        use_everything(text.as_bytes())?;
    }
}

const RECORDINGS: [&str; 6] = [
    r#"{"type":"user","message":{"role":"user","content":"hi"}}
{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"server_tool_use","id":"s"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]},{"type":"document"}]}}"#,
    r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}
{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"t","arguments":{"p":1.0}}]}}
{"type":"message","message":{"role":"toolResult","toolCallId":"a","content":[{"type":"text","text":"x"}]}}
{"type":"message","message":{"role":"bashExecution","command":"ls","output":"x"}}"#,
    r#"{"history":[{"role":"system","content":"s"},{"role":"user","content":"u"},
{"role":"assistant","content":"a","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}}]},
{"role":"tool","content":"x","tool_call_ids":["a"]},{"role":"assistant","content":"done"}]}"#,
    r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","message":{"id":"m","content":[{"type":"tool_use","id":"b","name":"t","input":{}}]}}
{"type":"user","uuid":"4","parentUuid":"2","toolUseResult":{},"message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"A"}]}}
{"type":"user","uuid":"5","parentUuid":"3","toolUseResult":{},"message":{"content":[{"type":"tool_result","tool_use_id":"b"}]}}
{"type":"system","subtype":"compact_boundary","uuid":"6","parentUuid":null,"logicalParentUuid":"5"}
{"type":"attachment","uuid":"7","parentUuid":"6","attachment":{"content":{"file":{"filePath":"f","content":"x"}}}}"#,
    r#"{"timestamp":"t","type":"session_meta","payload":{"base_instructions":{"text":"s"}}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":{"content":"x","success":false}}}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"S"}]}
{"type":"compacted","payload":{"message":"S"}}
{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#,
    r#"{"sessionId":"s","lastActivity":"t","messages":[{"role":"user","parts":[{"type":"text","text":"u"}],"timestamp":"1"},
{"role":"assistant","parts":[],"timestamp":"2"}],"toolCalls":[{"id":"a","name":"t","args":{},"result":{"llmContent":["x",{"text":"y"}]},"timestamp":"3"},
{"id":"a","name":"t","message":0,"args":"{}","result":{"llmContent":1.0,"error":true}}],"metadata":{"tokenCount":1}}"#,
];

/// Every public function, on any bytes; what comes out of a recording is valid.
fn use_everything(bytes: &[u8]) -> Result<(), TestCaseError> {
    drop(detect(bytes));
    prop_assert_eq!(overflow(404, bytes), None);
    let _ = overflow(400, bytes);
    for format in Format::ALL {
        drop((scan(bytes, format), validate(format, bytes), message(bytes, format)));
        let mut reply = ResponseParser::new(format);
        reply.hear(bytes);
        for said in reply.end().messages {
            prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&said).is_ok());
        }
        match RequestDocument::parse(bytes, format) {
            Ok(document) => {
                prop_assert_eq!(document.edited(&[]), Ok(bytes.to_vec()));
                prop_assert_eq!(document.prefix(usize::MAX), bytes);
                for count in document.turns() {
                    let prefix = document.prefix(count);
                    prop_assert!(RequestDocument::parse(&prefix, format).is_ok());
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        for to in Format::PROVIDERS {
            match convert(bytes, format, to) {
                Ok(request) => {
                    let shown = String::from_utf8_lossy(bytes);
                    prop_assert_eq!(
                        validate(to, &request),
                        Ok(()),
                        "{} from {}",
                        shown,
                        String::from_utf8_lossy(&request)
                    );
                }
                Err(error) => {
                    let error = error.to_string();
                    prop_assert!(error.contains("byte ") || !format.is_recording(), "{error}");
                }
            }
        }
    }
    Ok(())
}
