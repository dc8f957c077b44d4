//! Answers of OpenAI-compatible chat completions APIs.
//!
//! Invariant: only the first choice is an answer; calls that come in pieces are put together by
//! their index.

use std::collections::BTreeMap;

use super::{ResponseNotes, figure, member, set};
use crate::json::{Object, literal};

/// The members in which providers give what a model thought, as a text.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

#[derive(Debug, Default)]
pub(super) struct OpenAiParser {
    /// The message of a body that came whole, as it is.
    message: Option<String>,
    /// Whether the model began to speak.
    begun: bool,
    text: String,
    refusal: String,
    /// What it thought, by the member that says it.
    reasoning: BTreeMap<&'static str, String>,
    /// The same in pieces that may be sealed, as JSON with commas between them.
    details: String,
    calls: BTreeMap<u64, PartialCall>,
}

/// A call that comes in pieces.
#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl OpenAiParser {
    pub(super) fn whole(&mut self, body: &Object<'_>, notes: &mut ResponseNotes) {
        usage(body, notes);
        notes.named(body);
        let Some(choice) = first_choice(body) else { return };
        notes.stopped(choice.some("finish_reason"));
        let message = choice.some("message");
        notes.complete = message.is_some();
        let message = message.filter(|message| notes.keeps(message.raw().len()));
        self.message = message.map(|message| message.raw().to_owned());
    }

    pub(super) fn event(&mut self, event: &Object<'_>, notes: &mut ResponseNotes) {
        if notes.failed(event) {
            return;
        }
        usage(event, notes);
        notes.named(event);
        let Some(choice) = first_choice(event) else { return };
        // Kimi says it here.
        usage(&choice, notes);
        if let Some(reason) = choice.some("finish_reason") {
            notes.stopped(Some(reason));
            notes.complete = true;
        }
        let Some(delta) = member(&choice, "delta") else { return };
        self.begun = true;
        notes.say(&mut self.text, delta.text("content").as_deref());
        notes.say(&mut self.refusal, delta.text("refusal").as_deref());
        self.think(&delta, notes);
        let calls = delta.some("tool_calls").and_then(|calls| calls.items().ok());
        for (place, call) in calls.into_iter().flatten().enumerate() {
            if let Some(call) = call.as_object() {
                self.call(place as u64, &call, notes);
            }
        }
    }

    /// What the model thinks is kept, since clients send it back, and told to nobody.
    fn think(&mut self, delta: &Object<'_>, notes: &mut ResponseNotes) {
        for member in REASONING {
            if let Some(piece) = delta.text(member) {
                notes.keep(self.reasoning.entry(member).or_default(), Some(&piece));
            }
        }
        let details = delta.some("reasoning_details").and_then(|details| details.items().ok());
        for piece in details.into_iter().flatten() {
            let comma = if self.details.is_empty() { "" } else { "," };
            notes.keep(&mut self.details, Some(&format!("{comma}{}", piece.raw())));
        }
    }

    fn call(&mut self, place: u64, piece: &Object<'_>, notes: &mut ResponseNotes) {
        let index = figure(piece, "index").unwrap_or(place);
        if !self.calls.contains_key(&index) && !notes.keeps(size_of::<PartialCall>()) {
            return;
        }
        let call = self.calls.entry(index).or_default();
        // Some servers repeat id and name with every piece.
        if call.id.is_empty() {
            notes.keep(&mut call.id, piece.text("id").as_deref());
        }
        let Some(function) = member(piece, "function") else { return };
        if call.name.is_empty() {
            notes.keep(&mut call.name, function.text("name").as_deref());
        }
        notes.keep(&mut call.arguments, function.text("arguments").as_deref());
    }

    pub(super) fn message(self) -> Option<Vec<u8>> {
        if let Some(message) = self.message {
            return Some(message.into_bytes());
        }
        if !self.begun {
            return None;
        }
        let content = match (self.text.is_empty(), self.calls.is_empty() && self.refusal.is_empty())
        {
            (true, false) => "null".to_owned(),
            _ => literal(&self.text),
        };
        let mut message = format!(r#"{{"role":"assistant","content":{content}"#);
        if !self.refusal.is_empty() {
            message += &format!(r#","refusal":{}"#, literal(&self.refusal));
        }
        for (member, text) in self.reasoning.iter().filter(|(_, text)| !text.is_empty()) {
            message += &format!(r#","{member}":{}"#, literal(text));
        }
        if !self.details.is_empty() {
            message += &format!(r#","reasoning_details":[{}]"#, self.details);
        }
        if !self.calls.is_empty() {
            let calls: Vec<_> = self.calls.values().map(PartialCall::json).collect();
            message += &format!(r#","tool_calls":[{}]"#, calls.join(","));
        }
        Some((message + "}").into_bytes())
    }
}

impl PartialCall {
    fn json(&self) -> String {
        format!(
            r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
            literal(&self.id),
            literal(&self.name),
            literal(&self.arguments)
        )
    }
}

fn first_choice<'a>(body: &Object<'a>) -> Option<Object<'a>> {
    let choices = body.some("choices")?.items().ok()?;
    let mut choices = choices.into_iter().filter_map(|choice| choice.as_object());
    choices.find(|choice| figure(choice, "index").unwrap_or(0) == 0)
}

/// The prompt's tokens include those of the cache.
fn usage(said: &Object<'_>, notes: &mut ResponseNotes) {
    let Some(said) = member(said, "usage") else { return };
    let Some(prompt) = figure(&said, "prompt_tokens") else { return };
    let details = member(&said, "prompt_tokens_details");
    let detail = |key| details.as_ref().and_then(|details| figure(details, key));
    let read = detail("cached_tokens")
        .or_else(|| figure(&said, "prompt_cache_hit_tokens"))
        .or_else(|| figure(&said, "cached_tokens"));
    let (read, written) = (read.unwrap_or(0), detail("cache_write_tokens").unwrap_or(0));
    notes.count(|usage| {
        usage.input = prompt.saturating_sub(read).saturating_sub(written);
        (usage.cache_read, usage.cache_written) = (read, written);
        set(&mut usage.output, figure(&said, "completion_tokens"));
    });
}
