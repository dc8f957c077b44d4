//! Reads session files of Claude Code: one JSON object a line, blocks as Anthropic's API has them.
//!
//! Invariant: only lines of the main conversation count; a reply that was written over several
//! lines (same message id) is one turn.

use std::collections::BTreeSet;

use epitome_types::Role;

use super::{Answer, Call, Native, Piece, Recording, Turn, each_line, pieces, text_of};
use crate::WireError;
use crate::json::Object;

/// Lines that are not part of what the model saw or said.
const ASIDE: [&str; 4] =
    ["isSidechain", "isMeta", "isApiErrorMessage", "isVisibleInTranscriptOnly"];

pub(super) fn read(text: &str) -> Result<Recording<'_>, WireError> {
    let mut recording = Recording::default();
    let mut seen = BTreeSet::new();
    // The id of the last reply and the place of its turn.
    let mut reply: Option<(String, usize)> = None;
    each_line(text, |line| {
        let role = match line.text("type").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Ok(()),
        };
        let repeated = line.text("uuid").is_some_and(|id| !seen.insert(id));
        if repeated || ASIDE.iter().any(|key| line.is_true(key)) {
            return Ok(());
        }
        let message =
            line.get("message").ok_or_else(|| line.value.unexpected("a line with `message`"))?;
        let message = message.object()?;
        let mut pieces = pieces(message.some("content"), block)?;
        if role == Role::Assistant {
            recording.model = message.text("model").or(recording.model.take());
            let id = message.text("id").unwrap_or_default();
            if let Some((last, place)) = &reply
                && *last == id
                && let Some(turn) = recording.turns.get_mut(*place)
            {
                turn.pieces.append(&mut pieces);
                return Ok(());
            }
            // A reply without an id is never continued.
            reply = (!id.is_empty()).then(|| (id.into_owned(), recording.turns.len()));
        }
        recording.turns.push(Turn { role, at: line.text("timestamp"), pieces });
        Ok(())
    })?;
    Ok(recording)
}

fn block<'a>(block: &Object<'a>) -> Result<Option<Piece<'a>>, WireError> {
    // Unsigned reasoning is refused (hazard 7).
    let signed = |proof| block.text(proof).is_some_and(|proof| !proof.is_empty());
    Ok(match block.text("type").unwrap_or_default().as_ref() {
        "text" => Piece::text(text_of(block, "text", "a text block with `text`")?),
        "thinking" => {
            text_of(block, "thinking", "a thinking block with `thinking`")?;
            signed("signature").then(|| native(block, Native::Reasoning))
        }
        "redacted_thinking" => signed("data").then(|| native(block, Native::Reasoning)),
        "tool_use" => Some(Piece::Call(Call {
            id: text_of(block, "id", "a tool call with `id`")?,
            tool: text_of(block, "name", "a tool call with `name`")?,
            arguments: block.some("input").map_or("{}", |input| input.raw()).into(),
        })),
        "tool_result" => Some(Piece::Answer(Answer {
            call: text_of(block, "tool_use_id", "a tool result with `tool_use_id`")?,
            error: block.is_true("is_error"),
            content: pieces(block.some("content"), self::block)?,
        })),
        "image" => image(block),
        kind if kind.ends_with("_tool_use") => {
            Some(native(block, Native::Half { id: text_of(block, "id", "a tool call with `id`")? }))
        }
        kind if kind.ends_with("_tool_result") => {
            let id = text_of(block, "tool_use_id", "a tool result with `tool_use_id`")?;
            Some(native(block, Native::Half { id }))
        }
        _ => Some(native(block, Native::Other)),
    })
}

fn native<'a>(block: &Object<'a>, kind: Native<'a>) -> Piece<'a> {
    Piece::Native { json: block.value.raw().into(), kind }
}

fn image<'a>(block: &Object<'a>) -> Option<Piece<'a>> {
    let source = block.get("source")?.as_object()?;
    match (source.text("media_type"), source.text("data")) {
        (Some(media), Some(data)) => Some(Piece::Image { media, data }),
        _ => Some(native(block, Native::Other)),
    }
}
