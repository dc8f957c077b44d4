//! Builds conversations in the order in which they are said.
//!
//! ```
//! use epitome_testkit::chat;
//!
//! let entries = chat()
//!     .system("Be brief.")
//!     .user("What is in a.rs?")
//!     .call("read", r#"{"path":"a.rs"}"#)
//!     .result("fn main() {}")
//!     .assistant("A main function.")
//!     .entries();
//! assert_eq!(entries.len(), 5);
//! ```

use epitome_kernel::types::{
    ContentId, Entry, EntryId, FileCopy, ImagePart, OpaqueBlock, Part, PartBody, Role, Speaker,
    StateNote, Stays, ToolCall, ToolResult,
};

/// What a message is taken to need around its parts, and each part around its text, in bytes.
const AROUND: usize = 40;

/// A conversation in the making.
#[derive(Clone, Debug, Default)]
pub struct Chat {
    entries: Vec<Entry>,
    calls: usize,
    open: Vec<String>,
}

/// Begins a conversation.
pub fn chat() -> Chat {
    Chat::default()
}

impl Chat {
    /// A system prompt.
    pub fn system(self, text: &str) -> Self {
        self.message(Role::System, Speaker::Harness, PartBody::Text(text.to_owned()))
    }

    /// A text that a person typed.
    pub fn user(self, text: &str) -> Self {
        self.message(Role::User, Speaker::Human, PartBody::Text(text.to_owned()))
    }

    /// A text in the user role that the harness wrote.
    pub fn note(self, text: &str) -> Self {
        self.message(Role::User, Speaker::Harness, PartBody::Text(text.to_owned()))
    }

    /// A text of the client that states something, in the user role or the system's.
    pub fn states(self, role: Role, subject: &str, text: &str) -> Self {
        let speaker = Speaker::Harness;
        self.message(role, speaker, PartBody::Text(text.to_owned())).about(subject)
    }

    /// The same as a text that joins the last message.
    pub fn and_states(self, subject: &str, text: &str) -> Self {
        self.join(Speaker::Harness, PartBody::Text(text.to_owned()), None).about(subject)
    }

    fn about(mut self, subject: &str) -> Self {
        let last = self.entries.last_mut().and_then(|entry| entry.parts.last_mut());
        if let Some(part) = last {
            part.note =
                Some(StateNote { subject: subject.to_owned(), stays: Stays::Newest }.into());
        }
        self
    }

    /// What stays of the note that was said last.
    pub fn staying(mut self, stays: Stays) -> Self {
        let last = self.entries.last_mut().and_then(|entry| entry.parts.last_mut());
        if let Some(note) = last.and_then(|part| part.note.as_mut()) {
            note.stays = stays;
        }
        self
    }

    /// Has the text that was said last hold a copy of a file: the piece of it that is this body.
    pub fn holding(self, path: &str, body: &str) -> Self {
        self.with_copy(path, body, true)
    }

    /// Has the text that was said last hold a copy of a file whose path nobody says.
    pub fn holding_unnamed(self, body: &str) -> Self {
        self.with_copy(body.lines().next().unwrap_or_default(), body, false)
    }

    fn with_copy(mut self, path: &str, body: &str, named: bool) -> Self {
        let last = self.entries.last_mut().and_then(|entry| entry.parts.last_mut());
        if let Some(part) = last {
            let start = part.text().and_then(|text| text.find(body)).unwrap_or_default();
            let lines = body.lines().filter(|line| !line.trim().is_empty()).count() as u32;
            let body = start..start + body.len();
            let path = path.to_owned();
            let copy = FileCopy { path, named, body, lines, partial: false, closed: true };
            part.files = [&*part.files, &[copy]].concat().into();
        }
        self
    }

    /// A text of the model.
    pub fn assistant(self, text: &str) -> Self {
        self.message(Role::Assistant, Speaker::Model, PartBody::Text(text.to_owned()))
    }

    /// Reasoning at the head of a message of the model; what the model says next joins it.
    pub fn thinking(self, text: &str) -> Self {
        self.message(Role::Assistant, Speaker::Model, PartBody::Thinking(text.to_owned()))
    }

    /// A text that joins the last message.
    pub fn and(self, text: &str) -> Self {
        let speaker = self.last_speaker();
        self.join(speaker, PartBody::Text(text.to_owned()), None)
    }

    /// An image in the user role.
    pub fn image(self, width: u32, height: u32) -> Self {
        let image = ImagePart {
            content: ContentId::for_text(&format!("{width}x{height}")),
            pixels: Some((width, height)),
        };
        self.message(Role::User, Speaker::Human, PartBody::Image(image))
    }

    /// A tool call; it joins the model's last message if that is the last one, so that two in a
    /// row are parallel.
    pub fn call(mut self, tool: &str, arguments: &str) -> Self {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.open.push(id.clone());
        let call = ToolCall { id, tool: tool.to_owned(), arguments: arguments.to_owned() };
        self.of_model(PartBody::Call(call))
    }

    /// A call that the provider itself answers in the same message (RULES 103).
    pub fn server_tool(mut self, query: &str, found: &str) -> Self {
        self.calls += 1;
        let id = format!("s{}", self.calls);
        let block = |kind: &str, text: &str, calls, answers| {
            let block = OpaqueBlock {
                kind: kind.to_owned(),
                content: ContentId::for_text(text),
                text: text.to_owned(),
                data: 0..0,
                title: None,
                pages: 0,
                calls,
                answers,
                compacts: false,
            };
            PartBody::Opaque(block.into())
        };
        self.of_model(block("server_tool_use", query, Some(id.clone()), None)).of_model(block(
            "web_search_tool_result",
            found,
            None,
            Some(id),
        ))
    }

    /// What the provider made of all that was said before; it joins the model's last message.
    pub fn compacted(self, text: &str) -> Self {
        let block = OpaqueBlock {
            kind: "compaction".to_owned(),
            content: ContentId::for_text(text),
            text: text.to_owned(),
            data: 0..0,
            title: None,
            pages: 0,
            calls: None,
            answers: None,
            compacts: true,
        };
        self.of_model(PartBody::Opaque(block.into()))
    }

    /// The result of the oldest open call, as a message of its own.
    pub fn result(mut self, text: &str) -> Self {
        let call = if self.open.is_empty() { "none".to_owned() } else { self.open.remove(0) };
        self.message(Role::Tool, Speaker::Tool, result(call, text))
    }

    /// The result of the oldest open call, as a part of a user message that all results of one
    /// row share.
    pub fn user_result(mut self, text: &str) -> Self {
        let call = if self.open.is_empty() { "none".to_owned() } else { self.open.remove(0) };
        if self.entries.last().is_some_and(|entry| entry.role == Role::User) {
            return self.join(Speaker::Tool, result(call, text), None);
        }
        self.message(Role::User, Speaker::Tool, result(call, text))
    }

    /// Like [`Chat::user_result`], its content a list with one text block.
    pub fn user_result_blocks(self, text: &str) -> Self {
        let this = self.user_result("");
        let outer = this.entries.last().map_or(0, |entry| entry.parts.len() - 1);
        this.join(Speaker::Tool, PartBody::Text(text.to_owned()), Some(outer as u32))
    }

    /// A result that no call asked for.
    pub fn orphan(self, text: &str) -> Self {
        self.message(Role::Tool, Speaker::Tool, result("nobody".to_owned(), text))
    }

    /// A message of the model with a call that no later result answers.
    pub fn abandoned(mut self, tool: &str, arguments: &str) -> Self {
        self = self.assistant("or rather").call(tool, arguments);
        self.open.pop();
        self
    }

    /// The conversation.
    pub fn entries(self) -> Vec<Entry> {
        self.entries
    }

    fn of_model(self, body: PartBody) -> Self {
        if self.entries.last().is_some_and(|entry| entry.role == Role::Assistant) {
            return self.join(Speaker::Model, body, None);
        }
        self.message(Role::Assistant, Speaker::Model, body)
    }

    fn message(mut self, role: Role, speaker: Speaker, body: PartBody) -> Self {
        let id = EntryId(self.entries.len() as u32);
        self.entries.push(Entry { id, role, parts: Vec::new(), bytes: AROUND as u32, at: None });
        self.join(speaker, body, None)
    }

    fn join(mut self, speaker: Speaker, body: PartBody, within: Option<u32>) -> Self {
        if let Some(entry) = self.entries.last_mut() {
            entry.bytes += (AROUND + encoded(&body)) as u32;
            entry.parts.push(Part {
                body,
                speaker,
                within,
                known_as: None,
                note: None,
                files: Box::default(),
            });
        }
        self
    }

    fn last_speaker(&self) -> Speaker {
        let parts = self.entries.last().map_or(&[][..], |entry| &entry.parts);
        let last = parts.iter().rev().find(|part| part.speaker != Speaker::Tool);
        last.map_or(Speaker::Human, |part| part.speaker)
    }
}

fn result(call: String, text: &str) -> PartBody {
    PartBody::Result(ToolResult { call, text: text.to_owned(), error: false })
}

/// The length of a part's texts as JSON strings, at most.
fn encoded(body: &PartBody) -> usize {
    let length = |text: &str| text.escape_default().count();
    match body {
        PartBody::Text(text) | PartBody::Thinking(text) => length(text),
        PartBody::Result(result) => length(&result.text),
        PartBody::Call(call) => length(&call.tool) + length(&call.arguments),
        PartBody::Opaque(opaque) => length(&opaque.text),
        PartBody::Image(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_a_row_are_parallel_and_answered_in_order() {
        let entries = chat().user("go").call("a", "{}").call("b", "{}").result("1").result("2");
        let entries = entries.entries();
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[1].calls().count(), 2);
        assert_eq!(entries[3].results().next().map(|result| &*result.call), Some("c2"));
    }

    #[test]
    fn results_in_the_user_role_share_a_message() {
        let chat = chat().call("a", "{}").call("b", "{}").user_result("1").user_result_blocks("2");
        let entries = chat.and("and go on").entries();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1].results().count(), 2);
        assert_eq!(entries[1].parts[2].within, Some(1));
        assert_eq!(entries[1].parts[3].speaker, Speaker::Human);
    }
}
