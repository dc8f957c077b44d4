//! Answers of Ollama's chat: one JSON line, or a line for each piece.
//!
//! Invariant: pieces are put together in their order; the last line says what was counted.

use super::{ResponseNotes, figure, member, set};
use crate::json::{Object, literal};

#[derive(Debug, Default)]
pub(super) struct OllamaParser {
    begun: bool,
    text: String,
    thinking: String,
    /// As JSON, with commas between them.
    calls: String,
}

impl OllamaParser {
    pub(super) fn event(&mut self, line: &Object<'_>, notes: &mut ResponseNotes) {
        if notes.failed(line) {
            return;
        }
        notes.named(line);
        if let Some(message) = member(line, "message") {
            self.begun = true;
            notes.say(&mut self.text, message.text("content").as_deref());
            // Clients send it back, and nobody reads along.
            notes.keep(&mut self.thinking, message.text("thinking").as_deref());
            let calls = message.some("tool_calls").and_then(|calls| calls.items().ok());
            for call in calls.into_iter().flatten().filter(|call| call.as_object().is_some()) {
                let comma = if self.calls.is_empty() { "" } else { "," };
                notes.keep(&mut self.calls, Some(&format!("{comma}{}", call.raw())));
            }
        }
        if line.is_true("done") {
            notes.complete = true;
            notes.stopped(line.some("done_reason"));
            let (prompt, output) = (figure(line, "prompt_eval_count"), figure(line, "eval_count"));
            if prompt.or(output).is_some() {
                notes.count(|usage| {
                    set(&mut usage.input, prompt);
                    set(&mut usage.output, output);
                });
            }
        }
    }

    pub(super) fn message(self) -> Option<Vec<u8>> {
        let calls = match self.calls.is_empty() {
            true => String::new(),
            false => format!(r#","tool_calls":[{}]"#, self.calls),
        };
        let thinking = match self.thinking.is_empty() {
            true => String::new(),
            false => format!(r#","thinking":{}"#, literal(&self.thinking)),
        };
        let text = literal(&self.text);
        let message = format!(r#"{{"role":"assistant","content":{text}{thinking}{calls}}}"#);
        self.begun.then(|| message.into_bytes())
    }
}
