//! Reads session files of the pi coding agent: one JSON object a line.
//!
//! Invariant: only the branch that the file ends in counts; an older file without ids has just
//! one.

use epitome_types::Role;

use super::branch::{BranchTree, Parent};
use super::{
    Native, ReadRecording, RecordedCall, RecordedMessage, RecordedPiece, RecordedResult, each_line,
    pieces, text_of,
};
use crate::WireError;
use crate::json::Object;

pub(super) fn read(text: &str) -> Result<ReadRecording<'_>, WireError> {
    let tree = tree(text)?;
    let branch = tree.branch();
    let mut recording = ReadRecording::default();
    each_line(text, |line| {
        if line.text("type").as_deref() != Some("message") {
            return Ok(());
        }
        if line.text("id").is_some_and(|id| !branch.contains(id.as_ref())) {
            return Ok(());
        }
        let message =
            line.get("message").ok_or_else(|| line.value.unexpected("a line with `message`"))?;
        let message = message.object()?;
        let (role, pieces) = match message.text("role").as_deref() {
            Some("user") => (Role::User, pieces(message.some("content"), spoken)?),
            Some("assistant") => {
                recording.model = message.text("model").or(recording.model.take());
                // Only this provider's signatures are worth anything to it, and only complete ones.
                let broken =
                    matches!(message.text("stopReason").as_deref(), Some("aborted" | "error"));
                let signed =
                    message.text("api").as_deref() == Some("anthropic-messages") && !broken;
                (Role::Assistant, pieces(message.some("content"), |block| reply(block, signed))?)
            }
            Some("toolResult") => {
                let answer = RecordedResult {
                    call: text_of(&message, "toolCallId", "a tool result with `toolCallId`")?,
                    error: message.is_true("isError"),
                    content: pieces(message.some("content"), spoken)?,
                };
                (Role::Tool, vec![RecordedPiece::Answer(answer)])
            }
            Some("bashExecution") => {
                (Role::User, vec![RecordedPiece::Text(execution(&message)?.into())])
            }
            _ => return Ok(()),
        };
        recording.turns.push(RecordedMessage { role, at: line.text("timestamp"), pieces });
        Ok(())
    })?;
    Ok(recording)
}

/// The tree that the lines make.
fn tree(text: &str) -> Result<BranchTree, WireError> {
    let mut tree = BranchTree::default();
    each_line(text, |line| {
        if let (Some(id), true) = (line.text("id"), line.has("parentId")) {
            let parent = line.text("parentId");
            tree.add(&id, parent.map_or(Parent::Root, |id| Parent::Line(id.into_owned())));
        }
        Ok(())
    })?;
    Ok(tree)
}

/// A block of the user's or of a tool's result.
fn spoken<'a>(block: &Object<'a>) -> Result<Option<RecordedPiece<'a>>, WireError> {
    Ok(match block.text("type").as_deref() {
        Some("text") => RecordedPiece::text(text_of(block, "text", "a text block with `text`")?),
        Some("image") => Some(RecordedPiece::Image {
            media: text_of(block, "mimeType", "an image with `mimeType`")?,
            data: text_of(block, "data", "an image with `data`")?,
        }),
        _ => None,
    })
}

fn reply<'a>(block: &Object<'a>, signed: bool) -> Result<Option<RecordedPiece<'a>>, WireError> {
    Ok(match block.text("type").as_deref() {
        Some("thinking") => match (block.get("thinking"), block.some("thinkingSignature")) {
            (Some(text), Some(signature)) if signed && !signature.str()?.is_empty() => {
                let (text, signature) = (text.raw(), signature.raw());
                let json =
                    format!(r#"{{"type":"thinking","thinking":{text},"signature":{signature}}}"#);
                Some(RecordedPiece::Native { json: json.into(), kind: Native::Reasoning })
            }
            _ => None,
        },
        Some("toolCall") => Some(RecordedPiece::Call(RecordedCall {
            id: text_of(block, "id", "a tool call with `id`")?,
            tool: text_of(block, "name", "a tool call with `name`")?,
            arguments: block.some("arguments").map_or("{}", |arguments| arguments.raw()).into(),
        })),
        _ => spoken(block)?,
    })
}

/// A command that the user ran beside the conversation, as pi tells the model of it.
fn execution(message: &Object<'_>) -> Result<String, WireError> {
    let command = text_of(message, "command", "an execution with `command`")?;
    Ok(format!("Ran `{command}`\n{}", message.text("output").unwrap_or_default()))
}
