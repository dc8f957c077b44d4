//! A session as JSON: OLLM's own form (RULES 34), and the same form with all that it leaves out.
//!
//! Invariant: one writer for both, so that both are read back as OLLM's; numbers and arguments keep
//! the bytes they came with.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{Entry, EntryId, ImagePart, OpenCalls, PartBody, PartId, Role, ToolCall};

use super::{ExportedCheckpoint, ExportedSession};
use crate::json::{self, JsonValueKind, literal};

/// A session file as OLLM writes and reads it: messages with their texts, the tool calls beside
/// them. Reasoning, images and blocks of other kinds have no place in it.
///
/// Each call names the place of its message in `message`, which OLLM passes over: where times are
/// equal or missing, the order could not be told without it.
pub fn ollm(session: &ExportedSession<'_>) -> String {
    write(session, false)
}

/// The session with everything in it: the same form as [`ollm`] writes, parts of every type among
/// the messages' parts, and the number of messages among the metadata (RULES 55).
pub fn json(session: &ExportedSession<'_>) -> String {
    write(session, true)
}

fn write(session: &ExportedSession<'_>, whole: bool) -> String {
    let times = session.times();
    let results = results(session, &times);
    let answers: BTreeSet<_> = results.values().map(|found| found.place).collect();
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    for (place, (entry, time)) in session.entries.iter().zip(&times).enumerate() {
        for (number, call) in entry.calls().enumerate() {
            let result = results.get(&(place, number));
            calls.push(tool_call(call, messages.len(), time, result));
        }
        let parts = parts(entry, whole, |part| answers.contains(&(place, part)));
        // A message without parts stands where a reply is nothing but calls.
        if !parts.is_empty() || entry.calls().next().is_some() {
            messages.push(format!(
                r#"{{"role":"{}","parts":[{}],"timestamp":{}}}"#,
                role(entry.role),
                parts.join(","),
                literal(time)
            ));
        }
    }
    let list = |items: &[String]| match items {
        [] => "[]".to_owned(),
        items => format!("[\n    {}\n  ]", items.join(",\n    ")),
    };
    let (count, checkpoints) = if whole {
        let checkpoints: Vec<_> = session.checkpoints.iter().map(checkpoint).collect();
        (
            format!(r#", "messageCount": {}"#, session.entries.len()),
            format!("\"checkpoints\": {},\n  ", list(&checkpoints)),
        )
    } else {
        (String::new(), String::new())
    };
    format!(
        "{{\n  \"sessionId\": {},\n  \"startTime\": {},\n  \"lastActivity\": {},\n  \"model\": {},\n  \"provider\": {},\n  \"messages\": {},\n  \"toolCalls\": {},\n  {checkpoints}\"metadata\": {{\"tokenCount\": {}{count}, \"compressionCount\": {}}}\n}}\n",
        literal(session.id),
        literal(session.started),
        literal(session.last),
        literal(session.model.unwrap_or_default()),
        literal(session.provider),
        list(&messages),
        list(&calls),
        session.tokens,
        session.compressions
    )
}

/// A summary in the prompt, with the entries that it stands for and its sizes.
fn checkpoint(one: &ExportedCheckpoint) -> String {
    let model = one.model.as_deref().map_or_else(|| "null".to_owned(), literal);
    format!(
        r#"{{"id":{},"level":{},"number":{},"entries":[{},{}],"messages":{},"tokensBefore":{},"tokensAfter":{},"ratio":{},"created":{},"model":{model},"summary":{}}}"#,
        literal(&one.id),
        one.level,
        one.number,
        literal(&one.first),
        literal(&one.last),
        one.messages,
        one.original,
        one.tokens,
        one.ratio(),
        literal(&one.created),
        literal(&one.text)
    )
}

/// A result and what stands within it.
struct NestedResult<'a> {
    /// The places of its entry and, in it, of its part.
    place: (usize, u32),
    error: bool,
    /// The texts within it, in order, or its own.
    texts: Vec<&'a str>,
    /// What a text cannot say, as typed parts.
    others: Vec<&'a PartBody>,
    at: &'a str,
}

/// The result of each call, by the place of its entry and its number in it. Where formats name no
/// call, results answer in the order of the calls, as they do in prompts.
fn results<'a>(
    session: &ExportedSession<'a>,
    times: &[&'a str],
) -> BTreeMap<(usize, usize), NestedResult<'a>> {
    let mut open = OpenCalls::default();
    let mut found = BTreeMap::new();
    for (place, (entry, at)) in session.entries.iter().zip(times).enumerate() {
        for (part, result) in (0..).zip(&entry.parts).filter_map(|(part, it)| match &it.body {
            PartBody::Result(result) => Some((part, result)),
            _ => None,
        }) {
            let Some(call) = open.close(&result.call) else { continue };
            let call = (call.entry.index(), call.part as usize);
            let within = || entry.parts.iter().filter(move |it| it.within == Some(part));
            let mut texts: Vec<_> = within().filter_map(|it| it.text()).collect();
            if !result.text.is_empty() {
                texts.insert(0, &result.text);
            }
            let others = within().filter(|it| it.text().is_none()).map(|it| &it.body).collect();
            let (place, error) = ((place, part), result.error);
            found.insert(call, NestedResult { place, error, texts, others, at });
        }
        for (number, call) in (0..).zip(entry.calls()) {
            open.add(&call.id, PartId { entry: EntryId(place as u32), part: number });
        }
    }
    found
}

fn tool_call(
    call: &ToolCall,
    message: usize,
    time: &str,
    found: Option<&NestedResult<'_>>,
) -> String {
    let result = found.map_or_else(String::new, |found| {
        let content = match (found.texts.as_slice(), found.others.as_slice()) {
            ([], []) => literal(""),
            ([text], []) => literal(text),
            (texts, others) => {
                let texts = texts.iter().map(|text| text_part(text));
                let others = others.iter().filter_map(|body| typed(body));
                format!("[{}]", texts.chain(others).collect::<Vec<_>>().join(","))
            }
        };
        let error = if found.error { r#","error":true"# } else { "" };
        format!(r#","result":{{"llmContent":{content}{error}}}"#)
    });
    let at = found.map_or(time, |found| found.at);
    format!(
        r#"{{"id":{},"name":{},"args":{}{result},"timestamp":{},"message":{message}}}"#,
        literal(&call.id),
        literal(&call.tool),
        arguments(&call.arguments),
        literal(at)
    )
}

/// Arguments are JSON text; what is none is kept as a string.
fn arguments(text: &str) -> String {
    match json::parse(text) {
        Ok(value) if value.kind() == JsonValueKind::Object => text.trim().to_owned(),
        _ => literal(text),
    }
}

/// An entry's parts that are neither calls nor answers to one.
fn parts(entry: &Entry, whole: bool, is_answer: impl Fn(u32) -> bool) -> Vec<String> {
    let own = (0..).zip(&entry.parts).filter(|(_, part)| part.within.is_none());
    own.filter_map(|(place, part)| match &part.body {
        PartBody::Text(text) => Some(text_part(text)),
        PartBody::Call(_) => None,
        PartBody::Result(_) if is_answer(place) => None,
        // A result that answers nothing is a text like any other.
        PartBody::Result(result) => Some(text_part(&result.text)),
        body => typed(body).filter(|_| whole),
    })
    .collect()
}

/// A part that is neither text nor call nor result, as far as words go.
fn typed(body: &PartBody) -> Option<String> {
    match body {
        PartBody::Thinking(text) => {
            Some(format!(r#"{{"type":"thinking","text":{}}}"#, literal(text)))
        }
        PartBody::Image(ImagePart { content, pixels }) => {
            let pixels = pixels.map_or_else(String::new, |(width, height)| {
                format!(r#","width":{width},"height":{height}"#)
            });
            Some(format!(r#"{{"type":"image","content":"{content}"{pixels}}}"#))
        }
        PartBody::Opaque(opaque) => Some(format!(
            r#"{{"type":{},"json":{}}}"#,
            literal(&opaque.kind),
            literal(&opaque.text)
        )),
        PartBody::Text(_) | PartBody::Call(_) | PartBody::Result(_) => None,
    }
}

fn text_part(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, literal(text))
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}
