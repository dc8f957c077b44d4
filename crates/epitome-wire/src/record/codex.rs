//! Reads session files ("rollouts") of Codex CLI: one item of the Responses API a line, bare in
//! older files, wrapped with a time and a type in newer ones.
//!
//! Invariant: the history before a compaction is kept, and the summary that replaced it for the
//! model is not, since it says nothing that was not said; turns that were taken back are left out.

use std::borrow::Cow;

use epitome_types::{Role, Speaker};

use super::{
    ReadRecording, RecordedCall, RecordedMessage, RecordedPiece, RecordedResult, arguments,
    each_line, pieces, text_of,
};
use crate::json::{JsonValue, JsonValueKind, Object, literal};
use crate::{WireError, speaker};

pub(super) fn read(text: &str) -> Result<ReadRecording<'_>, WireError> {
    let mut reader = CodexReader::default();
    each_line(text, |line| reader.line(&line))?;
    reader.instruct();
    Ok(reader.recording)
}

#[derive(Default)]
struct CodexReader<'a> {
    recording: ReadRecording<'a>,
    /// The team's instructions, as the head of an older file has them.
    instructions: Option<Cow<'a, str>>,
    /// Whether the line before was a result.
    answered: bool,
}

impl<'a> CodexReader<'a> {
    fn line(&mut self, line: &Object<'a>) -> Result<(), WireError> {
        let behind_result = std::mem::take(&mut self.answered);
        let Some(payload) = line.some("payload") else {
            self.instructions = line.text("instructions").or(self.instructions.take());
            return self.item(line, line, behind_result);
        };
        let payload = payload.object()?;
        let recording = &mut self.recording;
        match line.text("type").as_deref() {
            Some("session_meta") => self.begin(&payload),
            Some("turn_context") => {
                recording.model = payload.text("model").or(recording.model.take());
            }
            Some("response_item") if !is_summary(line) => {
                self.item(line, &payload, behind_result)?;
            }
            Some("compacted") => drop_summary(recording, &payload),
            Some("event_msg") if payload.text("type").as_deref() == Some("thread_rolled_back") => {
                let turns = payload.get("num_turns").and_then(|turns| turns.raw().parse().ok());
                take_back(recording, turns.unwrap_or(0));
            }
            _ => {}
        }
        Ok(())
    }

    /// The head of a session; a forked one repeats the head of the session that it came from.
    fn begin(&mut self, meta: &Object<'a>) {
        self.instructions = meta.text("instructions").or(self.instructions.take());
        let prompt = meta.get("base_instructions").and_then(|base| base.as_object()?.text("text"));
        if self.recording.turns.is_empty() {
            let pieces = prompt.and_then(RecordedPiece::text).into_iter().collect();
            self.recording.add(Role::System, None, pieces);
        }
    }

    /// One item of the conversation.
    fn item(
        &mut self,
        line: &Object<'a>,
        item: &Object<'a>,
        behind_result: bool,
    ) -> Result<(), WireError> {
        let at = line.text("timestamp");
        match item.text("type").unwrap_or_default().as_ref() {
            "message" => {
                let role = match item.text("role").as_deref() {
                    Some("user") => Role::User,
                    Some("assistant") => Role::Assistant,
                    Some("system" | "developer") => Role::System,
                    _ => return Err(item.value.unexpected("a message with a known `role`")),
                };
                self.say(role, at, pieces(item.some("content"), part)?, false);
            }
            kind if kind.ends_with("_call") && item.has("call_id") => {
                let call = RecordedPiece::Call(call(kind, item)?);
                self.say(Role::Assistant, at, vec![call], behind_result);
            }
            kind if kind.ends_with("_output") && item.has("call_id") => {
                self.answered = true;
                self.recording.add(Role::Tool, at, vec![RecordedPiece::Answer(answer(item)?)]);
            }
            // Reasoning is sealed for its own provider, and calls that the provider ran itself
            // are recorded without their results.
            _ => {}
        }
        Ok(())
    }

    /// Adds a message. What the model says in several items before anyone answers is one reply;
    /// and so are parallel calls, which older files write each with its result right behind it
    /// (`behind_result`), while a line of another kind stands before the next reply.
    fn say(
        &mut self,
        role: Role,
        at: Option<Cow<'a, str>>,
        mut pieces: Vec<RecordedPiece<'a>>,
        behind_result: bool,
    ) {
        let mut turns = self.recording.turns.iter_mut().rev();
        let last = turns.find(|turn| !behind_result || turn.role != Role::Tool);
        match last {
            Some(RecordedMessage { role: Role::Assistant, pieces: said, .. })
                if role == Role::Assistant =>
            {
                said.append(&mut pieces);
            }
            _ => self.recording.add(role, at, pieces),
        }
    }

    /// Puts the instructions where the client sent them, if the file holds no message with them.
    fn instruct(&mut self) {
        let turns = &mut self.recording.turns;
        let given = turns.iter().flat_map(|turn| &turn.pieces).any(|piece| match piece {
            RecordedPiece::Text(text) => ["<user_instructions>", "# AGENTS.md instructions"]
                .iter()
                .any(|start| text.starts_with(start)),
            _ => false,
        });
        if let Some(text) =
            self.instructions.take().filter(|text| !given && !text.trim().is_empty())
        {
            let text = format!("<user_instructions>\n\n{text}\n\n</user_instructions>");
            let pieces = vec![RecordedPiece::Text(text.into())];
            turns.insert(0, RecordedMessage { role: Role::User, at: None, pieces });
        }
    }
}

fn part<'a>(part: &Object<'a>) -> Result<Option<RecordedPiece<'a>>, WireError> {
    Ok(match part.text("type").as_deref() {
        Some("input_text" | "output_text" | "text") => {
            RecordedPiece::text(text_of(part, "text", "a text part with `text`")?)
        }
        Some("input_image") => part.text("image_url").map(RecordedPiece::image),
        Some("refusal") => part.text("refusal").and_then(RecordedPiece::text),
        _ => None,
    })
}

fn call<'a>(kind: &str, item: &Object<'a>) -> Result<RecordedCall<'a>, WireError> {
    let tool =
        item.text("name").unwrap_or_else(|| kind.trim_end_matches("_call").to_owned().into());
    let arguments = match item.some("input") {
        // A custom tool takes free text.
        Some(input) if input.kind() == JsonValueKind::String => {
            format!(r#"{{"input":{}}}"#, literal(&input.str()?)).into()
        }
        _ => arguments(item.some("arguments").or_else(|| item.some("action")))?,
    };
    // Older files name the shell's calls by `id` and leave `call_id` null.
    let id = item.text("call_id").or_else(|| item.text("id")).unwrap_or_default();
    Ok(RecordedCall { id, tool, arguments })
}

fn answer<'a>(item: &Object<'a>) -> Result<RecordedResult<'a>, WireError> {
    let mut output = item.some("output");
    let mut error = false;
    if let Some(payload) = output.and_then(JsonValue::as_object) {
        error = payload.get("success").is_some_and(|success| success.raw() == "false");
        output = payload.some("content");
    }
    let content = match output {
        Some(output) if matches!(output.kind(), JsonValueKind::String | JsonValueKind::Array) => {
            pieces(Some(output), part)?
        }
        other => other.map(|other| RecordedPiece::Text(other.raw().into())).into_iter().collect(),
    };
    Ok(RecordedResult {
        call: text_of(item, "call_id", "a result with `call_id`")?,
        error,
        content,
    })
}

/// Whether an item is the answer to a request for a summary.
fn is_summary(line: &Object<'_>) -> bool {
    let metadata = line.get("metadata").and_then(JsonValue::as_object);
    metadata.is_some_and(|metadata| metadata.is_true("compaction_output"))
}

/// Takes out the summary that the model wrote for a compaction, where the item did not say so.
fn drop_summary(recording: &mut ReadRecording<'_>, compacted: &Object<'_>) {
    let summary = compacted.text("message").unwrap_or_default();
    let wrote = |turn: &RecordedMessage<'_>| match turn.pieces.as_slice() {
        [RecordedPiece::Text(text)] => {
            turn.role == Role::Assistant && summary.ends_with(text.as_ref())
        }
        _ => false,
    };
    if recording.turns.last().is_some_and(wrote) {
        recording.turns.pop();
    }
}

/// Leaves out the newest `count` turns, each of which begins with what a person typed.
fn take_back(recording: &mut ReadRecording<'_>, count: usize) {
    let typed = |turn: &RecordedMessage<'_>| {
        let typed = |piece: &RecordedPiece<'_>| match piece {
            RecordedPiece::Text(text) => speaker::of_text(Role::User, text) == Speaker::Human,
            _ => false,
        };
        turn.role == Role::User && turn.pieces.iter().any(typed)
    };
    let starts = recording.turns.iter().enumerate().rev().filter(|(_, turn)| typed(turn));
    let first = starts.map(|(place, _)| place).take(count).last();
    if let Some(first) = first {
        recording.turns.truncate(first);
    }
}
