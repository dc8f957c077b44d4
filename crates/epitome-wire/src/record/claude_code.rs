//! Reads session files of Claude Code: one JSON object a line, blocks as Anthropic's API has them.
//!
//! Invariant: only the branch that the file ends in counts, a compaction is no end of it, and what
//! the model said and saw on it is kept: a reply that was written over several lines (same message
//! id) is one turn, and the results of parallel calls count although the way from one line to the
//! next leads past all but one of them.

use std::collections::BTreeSet;

use epitome_types::{Role, Speaker};

use super::branch::{BranchTree, Parent};
use super::{
    Native, ReadRecording, RecordedCall, RecordedMessage, RecordedPiece, RecordedResult, each_line,
    pieces, text_of,
};
use crate::json::{JsonValueKind, Object};
use crate::{WireError, speaker};

/// Lines that are no part of what was said: the summary of a compaction, whose originals stand
/// before it, and errors that the client shows.
const ASIDE: [&str; 2] = ["isApiErrorMessage", "isVisibleInTranscriptOnly"];

/// Stands for the model where the client itself wrote a reply.
const SYNTHETIC: &str = "<synthetic>";

pub(super) fn read(text: &str) -> Result<ReadRecording<'_>, WireError> {
    let lines = SessionLines::of(text)?;
    let branch = lines.branch(text)?;
    let mut recording = ReadRecording::default();
    let mut seen = BTreeSet::new();
    // The id of the last reply and the place of its turn.
    let mut reply: Option<(String, usize)> = None;
    each_line(text, |line| {
        let id = line.text("uuid");
        let left = id.as_ref().is_some_and(|id| !branch.contains(id.as_ref()));
        let repeated = id.is_some_and(|id| !seen.insert(id));
        if left || repeated || !lines.counts(&line) {
            return Ok(());
        }
        let role = match line.text("type").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("attachment") => {
                let pieces = attachment(&line)?;
                recording.add(Role::User, line.text("timestamp"), pieces);
                return Ok(());
            }
            _ => return Ok(()),
        };
        if ASIDE.iter().any(|key| line.is_true(key)) {
            return Ok(());
        }
        let message =
            line.get("message").ok_or_else(|| line.value.unexpected("a line with `message`"))?;
        let message = message.object()?;
        let mut pieces = pieces(message.some("content"), block)?;
        if role == Role::Assistant {
            let model = message.text("model").filter(|model| model != SYNTHETIC);
            recording.model = model.or(recording.model.take());
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
        } else if line.is_true("isMeta") {
            pieces = pieces.into_iter().map(note).collect();
        }
        recording.turns.push(RecordedMessage { role, at: line.text("timestamp"), pieces });
        Ok(())
    })?;
    Ok(recording)
}

/// The lines of a file, and whose they are.
#[derive(Default)]
struct SessionLines {
    tree: BranchTree,
    /// Whether there are messages among them.
    some: bool,
    /// Whether it is the file of a subagent: then its lines are the conversation, elsewhere they
    /// are beside it.
    of_subagent: bool,
}

impl SessionLines {
    fn of(text: &str) -> Result<Self, WireError> {
        let mut main = SessionLines::default();
        let mut side = SessionLines { of_subagent: true, ..SessionLines::default() };
        each_line(text, |line| {
            let lines = if line.is_true("isSidechain") { &mut side } else { &mut main };
            lines.some |= line.has("message");
            if let Some(id) = line.text("uuid") {
                lines.tree.add(&id, parent(&line));
            }
            Ok(())
        })?;
        Ok(if side.some && !main.some { side } else { main })
    }

    fn counts(&self, line: &Object<'_>) -> bool {
        line.is_true("isSidechain") == self.of_subagent
    }

    /// The ids of the lines that count: the branch, the other lines of its replies, and the
    /// results of the calls in them.
    fn branch(&self, text: &str) -> Result<BTreeSet<String>, WireError> {
        let mut branch: BTreeSet<_> = self.tree.branch().into_iter().map(str::to_owned).collect();
        let mut replies = BTreeSet::new();
        let reply = |line: &Object<'_>| {
            let message = line
                .get("message")
                .filter(|_| line.text("type").as_deref() == Some("assistant") && self.counts(line));
            message?.as_object()?.text("id").filter(|id| !id.is_empty()).map(|id| id.into_owned())
        };
        each_line(text, |line| {
            if line.text("uuid").is_some_and(|id| branch.contains(id.as_ref())) {
                replies.extend(reply(&line));
            }
            Ok(())
        })?;
        each_line(text, |line| {
            let Some(id) = line.text("uuid") else { return Ok(()) };
            let of_reply = reply(&line).is_some_and(|id| replies.contains(&id));
            let of_call = (line.has("toolUseResult") || line.has("sourceToolAssistantUUID"))
                && line.text("parentUuid").is_some_and(|parent| branch.contains(parent.as_ref()));
            if of_reply || of_call {
                branch.insert(id.into_owned());
            }
            Ok(())
        })?;
        Ok(branch)
    }
}

/// The line that a line follows. A compaction begins a new root, and names the old one beside it
/// where it names it at all.
fn parent(line: &Object<'_>) -> Parent {
    let id = line.text("parentUuid").or_else(|| line.text("logicalParentUuid"));
    let compaction = line.text("subtype").as_deref() == Some("compact_boundary")
        || line.is_true("isCompactSummary");
    match id {
        Some(id) => Parent::Line(id.into_owned()),
        None if compaction || !line.has("parentUuid") => Parent::Before,
        None => Parent::Root,
    }
}

/// What the client put into the conversation beside what was typed: a file that was named, a
/// listing, a message that was typed while the model worked.
fn attachment<'a>(line: &Object<'a>) -> Result<Vec<RecordedPiece<'a>>, WireError> {
    let Some(attachment) = line.get("attachment").and_then(|value| value.as_object()) else {
        return Ok(Vec::new());
    };
    if let Some(prompt) = attachment.some("prompt") {
        return match prompt.kind() {
            JsonValueKind::String | JsonValueKind::Array => pieces(Some(prompt), block),
            _ => Ok(Vec::new()),
        };
    }
    let content = attachment.get("content");
    let file = content.and_then(|content| content.as_object()?.get("file")?.as_object());
    let text = match (content.and_then(|content| content.as_str()), file) {
        (Some(text), _) => Some(text),
        (None, Some(file)) => file.text("content").map(|text| {
            let name = file.text("filePath").unwrap_or_default();
            format!("Contents of {name}:\n{text}").into()
        }),
        (None, None) => None,
    };
    Ok(text.and_then(RecordedPiece::text).map(note).into_iter().collect())
}

/// A text that the client wrote, in the tags that say so in a request.
fn note(piece: RecordedPiece<'_>) -> RecordedPiece<'_> {
    match piece {
        RecordedPiece::Text(text) if speaker::of_text(Role::User, &text) == Speaker::Human => {
            RecordedPiece::Text(format!("<system-reminder>\n{text}\n</system-reminder>").into())
        }
        other => other,
    }
}

fn block<'a>(block: &Object<'a>) -> Result<Option<RecordedPiece<'a>>, WireError> {
    // Unsigned reasoning is refused (RULES 107).
    let signed = |proof| block.text(proof).is_some_and(|proof| !proof.is_empty());
    Ok(match block.text("type").unwrap_or_default().as_ref() {
        "text" => RecordedPiece::text(text_of(block, "text", "a text block with `text`")?),
        "thinking" => {
            text_of(block, "thinking", "a thinking block with `thinking`")?;
            signed("signature").then(|| native(block, Native::Reasoning))
        }
        "redacted_thinking" => signed("data").then(|| native(block, Native::Reasoning)),
        "tool_use" => Some(RecordedPiece::Call(RecordedCall {
            id: text_of(block, "id", "a tool call with `id`")?,
            tool: text_of(block, "name", "a tool call with `name`")?,
            arguments: block.some("input").map_or("{}", |input| input.raw()).into(),
        })),
        "tool_result" => Some(RecordedPiece::Answer(RecordedResult {
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

fn native<'a>(block: &Object<'a>, kind: Native<'a>) -> RecordedPiece<'a> {
    RecordedPiece::Native { json: block.value.raw().into(), kind }
}

fn image<'a>(block: &Object<'a>) -> Option<RecordedPiece<'a>> {
    let source = block.get("source")?.as_object()?;
    match (source.text("media_type"), source.text("data")) {
        (Some(media), Some(data)) => Some(RecordedPiece::Image { media, data }),
        _ => Some(native(block, Native::Other)),
    }
}
