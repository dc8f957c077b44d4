//! Reads session files of OLLM: messages, and the tool calls beside them, ordered by time
//! (RULES 34).
//!
//! Invariant: a call belongs to the message that names it or, where none is named, to the last one
//! that was said before it. What [`crate::export`] writes is read back as it was.

use std::borrow::Cow;

use epitome_types::Role;

use super::{
    ReadRecording, RecordedCall, RecordedMessage, RecordedPiece, RecordedResult, arguments, pieces,
    text_of,
};
use crate::json::{self, JsonValue, JsonValueKind, Object};
use crate::{Format, WireError};

pub(super) fn read(text: &str) -> Result<ReadRecording<'_>, WireError> {
    let session = json::parse(text)?;
    let object = session.object()?;
    let messages = object.get("messages");
    let messages = messages.ok_or_else(|| session.unexpected("an object with `messages`"))?;
    let mut left_out = 0;
    let messages = messages.items()?.into_iter().map(|value| message(value, &mut left_out));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    let times: Vec<_> = messages.iter().map(|turn| turn.at.clone()).collect();
    let calls = object.some("toolCalls").map_or(Ok(Vec::new()), JsonValue::items)?;
    let mut calls = calls
        .into_iter()
        .map(|call| exchange(&call.object()?, &times, &mut left_out))
        .collect::<Result<Vec<_>, WireError>>()?;
    calls.sort_by(|a, b| (a.behind, &a.order).cmp(&(b.behind, &b.order)));

    let mut turns = Vec::with_capacity(messages.len() + calls.len());
    let mut calls = calls.into_iter().peekable();
    while let Some(call) = calls.next_if(|call| call.behind == 0) {
        call.add(&mut turns);
    }
    for (place, turn) in messages.into_iter().enumerate() {
        turns.push(turn);
        while let Some(call) = calls.next_if(|call| call.behind == place + 1) {
            call.add(&mut turns);
        }
    }
    let metadata = object.some("metadata").and_then(JsonValue::as_object);
    let compressions = metadata.and_then(|it| it.some("compressionCount")?.raw().parse().ok());
    Ok(ReadRecording { model: object.text("model"), turns, compressions, left_out })
}

/// The format of the provider that a session file names, where that is one of ours whose requests
/// hold more than [`Format::nearest`]'s.
pub(super) fn provider(text: &str) -> Option<Format> {
    let session = json::parse(text).ok()?.object().ok()?;
    let named = [Format::Anthropic, Format::Responses];
    named.into_iter().find(|format| session.text("provider").as_deref() == Some(format.name()))
}

/// A call with its result.
struct OllmExchange<'a> {
    /// How many messages stand before it.
    behind: usize,
    /// Where it names no message: its time.
    order: Option<Cow<'a, str>>,
    at: Option<Cow<'a, str>>,
    call: RecordedCall<'a>,
    answer: Option<RecordedResult<'a>>,
}

impl<'a> OllmExchange<'a> {
    /// Adds the call to the reply that it stands behind, or as a reply of its own.
    fn add(self, turns: &mut Vec<RecordedMessage<'a>>) {
        let last = turns.iter_mut().rev().find(|turn| turn.role != Role::Tool);
        match last {
            Some(RecordedMessage { role: Role::Assistant, pieces, .. }) => {
                pieces.push(RecordedPiece::Call(self.call))
            }
            _ => turns.push(RecordedMessage {
                role: Role::Assistant,
                at: self.at.clone(),
                pieces: vec![RecordedPiece::Call(self.call)],
            }),
        }
        let pieces: Vec<_> = self.answer.map(RecordedPiece::Answer).into_iter().collect();
        if !pieces.is_empty() {
            turns.push(RecordedMessage { role: Role::Tool, at: self.at, pieces });
        }
    }
}

fn message<'a>(
    value: JsonValue<'a>,
    left_out: &mut usize,
) -> Result<RecordedMessage<'a>, WireError> {
    const EXPECTED: &str = "`user`, `assistant`, `system` or `tool`";
    let message = value.object()?;
    let role = message.get("role").ok_or_else(|| value.unexpected("a message with `role`"))?;
    let role = match role.str()?.as_ref() {
        "user" | "tool" => Role::User,
        "assistant" | "model" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(role.unexpected(EXPECTED)),
    };
    let content = message.some("parts").or_else(|| message.some("content"));
    let pieces = pieces(content, |it| {
        let said = part(it);
        *left_out += usize::from(said.is_none());
        Ok(said.flatten())
    });
    Ok(RecordedMessage { role, at: message.text("timestamp"), pieces: pieces? })
}

/// What a part says; nothing for an account of what could not be written.
fn part<'a>(part: &Object<'a>) -> Option<Option<RecordedPiece<'a>>> {
    match part.text("type").as_deref() {
        Some("text") | None => Some(part.text("text").and_then(RecordedPiece::text)),
        Some(_) => None,
    }
}

fn exchange<'a>(
    call: &Object<'a>,
    times: &[Option<Cow<'_, str>>],
    left_out: &mut usize,
) -> Result<OllmExchange<'a>, WireError> {
    let at = call.text("timestamp");
    let (behind, order) = match call.some("message") {
        Some(message) => {
            let place: Option<usize> = message.raw().parse().ok();
            let place = place.filter(|place| *place < times.len());
            (place.ok_or_else(|| message.unexpected("the place of a message"))? + 1, None)
        }
        // Times in one form compare as text.
        None => {
            let last = times.iter().rposition(|time| *time <= at);
            (last.map_or(0, |place| place + 1), at.clone())
        }
    };
    let id = text_of(call, "id", "a tool call with `id`")?;
    let answer = match call.some("result") {
        None => None,
        Some(result) => Some(RecordedResult {
            call: id.clone(),
            error: failed(result),
            content: content(result, left_out)?,
        }),
    };
    let tool = text_of(call, "name", "a tool call with `name`")?;
    let arguments = arguments(call.some("args"))?;
    Ok(OllmExchange { behind, order, at, call: RecordedCall { id, tool, arguments }, answer })
}

fn failed(result: JsonValue<'_>) -> bool {
    let error = result.as_object().and_then(|result| result.some("error"));
    error.is_some_and(|error| error.raw() != "false")
}

/// What the model was given of a result: a text, a part, or a list of either.
fn content<'a>(
    result: JsonValue<'a>,
    left_out: &mut usize,
) -> Result<Vec<RecordedPiece<'a>>, WireError> {
    let Some(content) = result.object()?.some("llmContent") else { return Ok(Vec::new()) };
    let items =
        if content.kind() == JsonValueKind::Array { content.items()? } else { vec![content] };
    let given: Vec<_> = items.into_iter().map(given).collect();
    *left_out += given.iter().filter(|it| it.is_none()).count();
    Ok(given.into_iter().flatten().flatten().collect())
}

/// What an item says; nothing for an account of what could not be written.
fn given(item: JsonValue<'_>) -> Option<Option<RecordedPiece<'_>>> {
    let Some(part) = item.as_object() else {
        return Some(RecordedPiece::text(item.as_str().unwrap_or_else(|| item.raw().into())));
    };
    if let Some(data) = part.get("inlineData").and_then(JsonValue::as_object) {
        let media = data.text("mimeType")?;
        return Some(Some(RecordedPiece::Image { media, data: data.text("data")? }));
    }
    match part.text("text") {
        Some(text) => Some(RecordedPiece::text(text)),
        None if part.has("type") => None,
        None => Some(Some(RecordedPiece::Text(item.raw().into()))),
    }
}
