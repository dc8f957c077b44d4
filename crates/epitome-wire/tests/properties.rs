//! What holds for every conversation and every edit: untouched messages keep their bytes, the
//! order stays, valid stays valid, and no bytes at all make anything panic.

use std::collections::BTreeSet;

use epitome_types::{Edit, EntryId, PartId, Role};
use epitome_wire::{Document, Format, assemble, convert, detect, scan, validate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// String literals as clients write them: odd escapes, lone surrogates, anything.
fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            r#""caf\u00e9\/x""#,
            r#""\ud800 lone""#,
            r#""\ud83d\ude00""#,
            r#""a\"b\\c\n""#,
            "\"1.0\"",
            r#""<system-reminder>x</system-reminder>""#,
            "\"中文\u{7f}\"",
        ])
        .prop_map(str::to_owned),
        "[a-z][a-z \u{e9}]{0,12}".prop_map(|text| format!("\"{text}\"")),
    ]
}

/// Members that no reader knows, with numbers and keys that a re-encoder would change.
fn unknown() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        r#","x":1.0"#,
        r#","x" : 1e2"#,
        r#","n":12345678901234567890123,"n":2"#,
        r#", "\u0079\/":[ {"b":null,"a":[]} , "\ud800" ]"#,
    ])
}

/// What is said in one go; an exchange is a reply with calls and their results.
#[derive(Clone, Debug)]
enum Unit {
    User { blocks: bool, text: String, more: &'static str },
    Reply { blocks: bool, text: String, more: &'static str },
    Exchange { text: Option<String>, results: Vec<(String, bool)>, more: &'static str },
}

fn unit() -> impl Strategy<Value = Unit> {
    let exchange =
        (proptest::option::of(literal()), vec((literal(), any::<bool>()), 1..4), unknown());
    prop_oneof![
        (any::<bool>(), literal(), unknown()).prop_map(|(blocks, text, more)| Unit::User {
            blocks,
            text,
            more
        }),
        (any::<bool>(), literal(), unknown()).prop_map(|(blocks, text, more)| Unit::Reply {
            blocks,
            text,
            more
        }),
        exchange.prop_map(|(text, results, more)| Unit::Exchange { text, results, more }),
    ]
}

/// A body and the unit that each of its messages belongs to.
#[derive(Clone, Debug)]
struct Body {
    format: Format,
    json: String,
    messages: Vec<String>,
    units: Vec<usize>,
}

fn body() -> impl Strategy<Value = Body> {
    let format = select(Format::PROVIDERS.to_vec());
    (format, vec(unit(), 0..8), select(vec![",", " ,\n ", ", "]), unknown()).prop_map(
        |(format, mut units, comma, more)| {
            units.insert(0, Unit::User { blocks: false, text: "\"task\"".into(), more: "" });
            let (mut messages, mut owners) = (Vec::new(), Vec::new());
            for (number, unit) in units.iter().enumerate() {
                let written = match format {
                    Format::Anthropic => anthropic(unit, number),
                    Format::Responses => responses(unit, number),
                    Format::Ollama => ollama(unit, number),
                    _ => openai(unit, number),
                };
                owners.extend(written.iter().map(|_| number));
                messages.extend(written);
            }
            let key = key(format);
            let json = format!("{{\"{key}\" : [ {} ]{more}}}\n", messages.join(comma));
            Body { format, json, messages, units: owners }
        },
    )
}

/// The member that holds the messages.
fn key(format: Format) -> &'static str {
    if format == Format::Responses { "input" } else { "messages" }
}

fn responses(unit: &Unit, number: usize) -> Vec<String> {
    let message = |role: &str, kind: &str, blocks: &bool, text: &str, more: &str| match blocks {
        true => format!(
            r#"{{"type":"message","content":[{{"text":{text},"type":"{kind}"{more}}}],"role":"{role}"{more}}}"#
        ),
        false => format!(r#"{{"content":{text},"role":"{role}"{more}}}"#),
    };
    let reasoning =
        r#"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"\u00e9"}]}"#;
    match unit {
        Unit::User { blocks, text, more } => {
            vec![message("user", "input_text", blocks, text, more)]
        }
        Unit::Reply { blocks, text, more } => {
            vec![reasoning.to_owned(), message("assistant", "output_text", blocks, text, more)]
        }
        Unit::Exchange { text, results, more } => {
            let mut items = vec![reasoning.to_owned()];
            items.extend(
                text.iter().map(|text| message("assistant", "output_text", &true, text, more)),
            );
            items.extend((0..results.len()).map(|place| {
                format!(r#"{{"type":"function_call","call_id":"{number}_{place}","name":"t","arguments":"{{\"p\":2.50}}"{more}}}"#)
            }));
            items.push(format!(r#"{{"type":"unheard_of","x":1.0{more}}}"#));
            items.extend(results.iter().enumerate().map(|(place, (result, list))| {
                let output = match list {
                    true => format!(r#"[ {{"type":"input_text","text":{result}}} , {{"type":"input_image","image_url":"u"}} ]"#),
                    false => result.clone(),
                };
                format!(r#"{{"output":{output},"type":"function_call_output","call_id":"{number}_{place}"{more}}}"#)
            }));
            items
        }
    }
}

fn ollama(unit: &Unit, _: usize) -> Vec<String> {
    match unit {
        Unit::User { blocks, text, more } => {
            let images = if *blocks { r#","images":[ "AA==" , "AB=="]"# } else { "" };
            vec![format!(r#"{{"content":{text},"role":"user"{images}{more}}}"#)]
        }
        Unit::Reply { text, more, .. } => vec![said("assistant", false, text, more)],
        Unit::Exchange { text, results, more } => {
            let call =
                format!(r#"{{"function":{{"name":"t","arguments":{{"p":2.50{more}}}}}{more}}}"#);
            let calls = vec![call; results.len()].join(" ,");
            let text = text.as_deref().unwrap_or("\"\"");
            let mut messages = vec![format!(
                r#"{{"tool_calls":[ {calls} ],"content":{text},"role":"assistant"{more}}}"#
            )];
            messages.extend(results.iter().map(|(result, named)| {
                let tool = if *named { r#","tool_name":"t""# } else { "" };
                format!(r#"{{"role":"tool","content":{result}{tool}{more}}}"#)
            }));
            messages
        }
    }
}

fn said(role: &str, blocks: bool, text: &str, more: &str) -> String {
    match blocks {
        true => format!(
            r#"{{"role":"{role}", "content":[{{"type":"text","text":{text}{more}}}]{more}}}"#
        ),
        false => format!(r#"{{"content":{text},"role":"{role}"{more}}}"#),
    }
}

fn anthropic(unit: &Unit, number: usize) -> Vec<String> {
    match unit {
        Unit::User { blocks, text, more } => vec![said("user", *blocks, text, more)],
        Unit::Reply { blocks, text, more } => vec![said("assistant", *blocks, text, more)],
        Unit::Exchange { text, results, more } => {
            let mut reply =
                vec![r#"{"type":"thinking","thinking":"\u00e9","signature":"s"}"#.to_owned()];
            reply.extend(text.iter().map(|text| format!(r#"{{"type":"text","text":{text}}}"#)));
            reply.push(format!(r#"{{"type":"unheard_of","x":1.0{more}}}"#));
            let mut answers = Vec::new();
            for (place, (result, list)) in results.iter().enumerate() {
                reply.push(format!(r#"{{"type":"tool_use","id":"{number}_{place}","name":"t","input":{{"p":2.50{more}}}{more}}}"#));
                let content = match list {
                    true => format!(
                        r#"[ {{"type":"text","text":{result}}} , {{"type":"image","source":{{}}}} ]"#
                    ),
                    false => result.clone(),
                };
                answers.push(format!(r#"{{"type":"tool_result","content":{content},"tool_use_id":"{number}_{place}"{more}}}"#));
            }
            vec![
                format!(r#"{{"role":"assistant","content":[{}]}}"#, reply.join(", ")),
                format!(r#"{{"content":[{}],"role":"user"{more}}}"#, answers.join(" ,")),
            ]
        }
    }
}

fn openai(unit: &Unit, number: usize) -> Vec<String> {
    match unit {
        Unit::User { blocks, text, more } => vec![said("user", *blocks, text, more)],
        Unit::Reply { blocks, text, more } => vec![said("assistant", *blocks, text, more)],
        Unit::Exchange { text, results, more } => {
            let calls: Vec<_> = (0..results.len())
                .map(|place| format!(r#"{{"id":"{number}_{place}","type":"function","function":{{"name":"t","arguments":"{{\"p\":2.50}}"}}{more}}}"#))
                .collect();
            let text = text.as_deref().unwrap_or("null");
            let mut messages = vec![format!(
                r#"{{"tool_calls":[ {} ],"content":{text},"role":"assistant"{more}}}"#,
                calls.join(" ,")
            )];
            messages.extend(results.iter().enumerate().map(|(place, (result, list))| {
                let content = match list {
                    true => format!(r#"[{{"type":"text","text":{result}}}]"#),
                    false => result.clone(),
                };
                format!(r#"{{"role":"tool","content":{content},"tool_call_id":"{number}_{place}"{more}}}"#)
            }));
            messages
        }
    }
}

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
    document: &Document<'_>,
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
        let document = Document::parse(body.json.as_bytes(), body.format).unwrap();
        prop_assert_eq!(document.edited(&[]).unwrap(), body.json.as_bytes());

        let (mut edits, removed, changed) = plan(&body, &document, &doings);
        if !edits.is_empty() {
            let first = order.select(0..edits.len());
            edits.rotate_left(first);
        }
        let edited = String::from_utf8(document.edited(&edits).unwrap()).unwrap();
        prop_assert_eq!(validate(body.format, edited.as_bytes()), Ok(()), "{}\n{:?}\n{}", body.json, edits, edited);

        let read = Document::parse(edited.as_bytes(), body.format).unwrap();
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

    #[test]
    fn every_turn_is_a_sound_beginning(body in body()) {
        let document = Document::parse(body.json.as_bytes(), body.format).unwrap();
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
            let prefix = Document::parse(&prefix, body.format).unwrap();
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
        let document = Document::parse(json.as_bytes(), body.format).unwrap();
        let ids = document.entries().iter().map(|entry| entry.id);
        let messages: Vec<_> = ids.map(|id| document.message_bytes(id)).collect();
        let made = assemble(body.format, document.model(), document.tools(), &messages);
        prop_assert_eq!(validate(body.format, &made), Ok(()));
        let made = Document::parse(&made, body.format).unwrap();
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
        let document = Document::parse(body.json.as_bytes(), body.format).unwrap();
        if let Ok(edited) = document.edited(&edits) {
            let after = Document::parse(&edited, body.format).unwrap();
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
    for format in Format::ALL {
        drop((scan(bytes, format), validate(format, bytes)));
        match Document::parse(bytes, format) {
            Ok(document) => {
                prop_assert_eq!(document.edited(&[]), Ok(bytes.to_vec()));
                prop_assert_eq!(document.prefix(usize::MAX), bytes);
                for count in document.turns() {
                    let prefix = document.prefix(count);
                    prop_assert!(Document::parse(&prefix, format).is_ok());
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
