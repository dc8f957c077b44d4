//! Reads trajectories of SWE-agent: one JSON object with a `history`.
//!
//! Invariant: demonstrations are left out; a tool message answers the first id it names.

use std::borrow::Cow;

use epitome_types::Role;

use super::{
    ReadRecording, RecordedCall, RecordedMessage, RecordedPiece, RecordedResult, arguments, pieces,
    text_of,
};
use crate::WireError;
use crate::json::{self, JsonValue, Object};

pub(super) fn read(text: &str) -> Result<ReadRecording<'_>, WireError> {
    let trajectory = json::parse(text)?;
    let history = trajectory.object()?.get("history");
    let history = history.ok_or_else(|| trajectory.unexpected("an object with `history`"))?;
    let mut recording = ReadRecording::default();
    for value in history.items()? {
        let message = value.object()?;
        if !message.is_true("is_demo") {
            recording.turns.push(turn(&message)?);
        }
    }
    Ok(recording)
}

fn turn<'a>(message: &Object<'a>) -> Result<RecordedMessage<'a>, WireError> {
    let role =
        message.get("role").ok_or_else(|| message.value.unexpected("a message with `role`"))?;
    let content = || pieces(message.some("content"), part);
    let (role, pieces) = match role.str()?.as_ref() {
        "system" => (Role::System, content()?),
        "user" => (Role::User, content()?),
        "assistant" => (Role::Assistant, reply(message, content()?)?),
        "tool" => match answered(message)? {
            Some(call) => {
                let answer = RecordedResult { call, error: false, content: content()? };
                (Role::Tool, vec![RecordedPiece::Answer(answer)])
            }
            None => (Role::User, content()?),
        },
        _ => return Err(role.unexpected("`system`, `user`, `assistant` or `tool`")),
    };
    Ok(RecordedMessage { role, at: None, pieces })
}

fn part<'a>(part: &Object<'a>) -> Result<Option<RecordedPiece<'a>>, WireError> {
    Ok(match part.text("type").as_deref() {
        Some("text") => RecordedPiece::text(text_of(part, "text", "a text part with `text`")?),
        Some("image_url") => {
            let image = part
                .get("image_url")
                .ok_or_else(|| part.value.unexpected("a part with `image_url`"))?;
            let url = text_of(&image.object()?, "url", "an image with `url`")?;
            Some(RecordedPiece::image(url))
        }
        _ => None,
    })
}

/// The text (or, where a reply has none, the thought) and the calls.
fn reply<'a>(
    message: &Object<'a>,
    mut pieces: Vec<RecordedPiece<'a>>,
) -> Result<Vec<RecordedPiece<'a>>, WireError> {
    if pieces.is_empty() {
        pieces.extend(message.text("thought").and_then(RecordedPiece::text));
    }
    let calls = message.some("tool_calls").map_or(Ok(Vec::new()), JsonValue::items)?;
    for value in calls {
        let call = value.object()?;
        let function =
            call.get("function").ok_or_else(|| value.unexpected("a tool call with `function`"))?;
        let function = function.object()?;
        pieces.push(RecordedPiece::Call(RecordedCall {
            id: text_of(&call, "id", "a tool call with `id`")?,
            tool: text_of(&function, "name", "a function with `name`")?,
            arguments: arguments(function.get("arguments"))?,
        }));
    }
    Ok(pieces)
}

fn answered<'a>(message: &Object<'a>) -> Result<Option<Cow<'a, str>>, WireError> {
    let ids = message.some("tool_call_ids").map_or(Ok(Vec::new()), JsonValue::items)?;
    ids.first().map(|id| id.str()).transpose()
}
