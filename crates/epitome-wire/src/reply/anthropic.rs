//! Answers of Anthropic's Messages API (RULES 129).
//!
//! Invariant: a block goes back with the members it began with; what came in pieces takes the
//! place of the member that the pieces belong to.

use std::collections::BTreeMap;

use super::{ResponseNotes, figure, member, set};
use crate::json::{self, Object, literal};

#[derive(Debug, Default)]
pub(super) struct AnthropicParser {
    /// The content of a body that came whole, as it is.
    content: Option<String>,
    blocks: BTreeMap<u64, PartialBlock>,
}

/// A block that comes in pieces.
#[derive(Debug, Default)]
struct PartialBlock {
    /// As it began.
    start: String,
    text: String,
    thinking: String,
    signature: String,
    /// What the provider made of the conversation before (RULES 125).
    compacted: String,
    /// The input of a call, as JSON.
    input: String,
    /// As JSON, with commas between them.
    citations: String,
}

impl AnthropicParser {
    pub(super) fn whole(&mut self, body: &Object<'_>, notes: &mut ResponseNotes) {
        usage(body, notes);
        notes.named(body);
        notes.transformed(body);
        notes.stopped(body.some("stop_reason"));
        notes.complete = body.has("content");
        let content = body.some("content").filter(|content| notes.keeps(content.raw().len()));
        self.content = content.map(|content| content.raw().to_owned());
    }

    pub(super) fn event(&mut self, event: &Object<'_>, notes: &mut ResponseNotes) {
        match event.text("type").as_deref() {
            Some("message_start") => {
                if let Some(message) = member(event, "message") {
                    usage(&message, notes);
                    notes.named(&message);
                    notes.transformed(&message);
                }
            }
            Some("content_block_start") => {
                let start = member(event, "content_block");
                if let (Some(start), Some(index)) = (start, figure(event, "index"))
                    && notes.keeps(start.value.raw().len() + size_of::<PartialBlock>())
                {
                    let text = start.text("text").unwrap_or_default().into_owned();
                    let start = start.value.raw().to_owned();
                    self.blocks
                        .insert(index, PartialBlock { start, text, ..PartialBlock::default() });
                }
            }
            Some("content_block_delta") => {
                let block = figure(event, "index").and_then(|index| self.blocks.get_mut(&index));
                if let (Some(block), Some(delta)) = (block, member(event, "delta")) {
                    block.add(&delta, notes);
                }
            }
            Some("message_delta") => {
                usage(event, notes);
                notes.transformed(event);
                notes.stopped(member(event, "delta").and_then(|delta| delta.some("stop_reason")));
            }
            Some("message_stop") => notes.complete = true,
            Some("error") => notes.fail(event.value),
            // llama-server and others say what they say to everybody.
            _ => {
                notes.failed(event);
            }
        }
    }

    pub(super) fn message(self) -> Option<Vec<u8>> {
        let content = match self.content {
            Some(content) => content,
            None if self.blocks.is_empty() => return None,
            None => {
                let blocks: Vec<_> = self.blocks.values().map(PartialBlock::json).collect();
                format!("[{}]", blocks.join(","))
            }
        };
        Some(format!(r#"{{"role":"assistant","content":{content}}}"#).into_bytes())
    }
}

impl PartialBlock {
    fn add(&mut self, delta: &Object<'_>, notes: &mut ResponseNotes) {
        let piece = |key| delta.text(key);
        match delta.text("type").as_deref() {
            Some("text_delta") => notes.say(&mut self.text, piece("text").as_deref()),
            Some("thinking_delta") => notes.keep(&mut self.thinking, piece("thinking").as_deref()),
            Some("signature_delta") => {
                notes.keep(&mut self.signature, piece("signature").as_deref());
            }
            Some("compaction_delta") => {
                notes.keep(&mut self.compacted, piece("content").as_deref());
            }
            Some("input_json_delta") => {
                notes.keep(&mut self.input, piece("partial_json").as_deref());
            }
            Some("citations_delta") => {
                if let Some(citation) = delta.some("citation") {
                    let comma = if self.citations.is_empty() { "" } else { "," };
                    notes.keep(&mut self.citations, Some(&format!("{comma}{}", citation.raw())));
                }
            }
            _ => {}
        }
    }

    fn json(&self) -> String {
        let start = json::parse(&self.start).ok().and_then(|start| start.as_object());
        let Some(start) = start else { return "{}".to_owned() };
        let text = |text: &String| (!text.is_empty()).then(|| literal(text));
        // What broke off is no JSON.
        let input = json::parse(&self.input).is_ok().then(|| self.input.clone());
        let citations = (!self.citations.is_empty()).then(|| format!("[{}]", self.citations));
        let came = [
            ("text", text(&self.text)),
            ("thinking", text(&self.thinking)),
            ("signature", text(&self.signature)),
            ("content", text(&self.compacted)),
            ("input", input),
            ("citations", citations),
        ];
        let own = start.members.iter().map(|(key, value)| {
            let name = key.as_str().unwrap_or_default();
            let new = came.iter().find(|(key, json)| *key == name && json.is_some());
            let value = new.and_then(|(_, json)| json.as_deref()).unwrap_or(value.raw());
            format!("{}:{value}", key.raw())
        });
        let more = came.iter().filter(|(key, _)| !start.has(key));
        let more = more.filter_map(|(key, json)| Some(format!("\"{key}\":{}", json.as_deref()?)));
        format!("{{{}}}", own.chain(more).collect::<Vec<_>>().join(","))
    }
}

fn usage(said: &Object<'_>, notes: &mut ResponseNotes) {
    let Some(said) = member(said, "usage") else { return };
    notes.count(|usage| {
        set(&mut usage.input, figure(&said, "input_tokens"));
        set(&mut usage.cache_read, figure(&said, "cache_read_input_tokens"));
        set(&mut usage.cache_written, figure(&said, "cache_creation_input_tokens"));
        set(&mut usage.output, figure(&said, "output_tokens"));
    });
    let kept = member(&said, "cache_creation");
    let hour = kept.and_then(|kept| figure(&kept, "ephemeral_1h_input_tokens"));
    notes.written_for_hour = hour.or(notes.written_for_hour);
}
