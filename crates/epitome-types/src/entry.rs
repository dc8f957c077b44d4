//! A conversation as every format is read into it: entries made of parts.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{ContentId, EntryId, PartId};

/// Who an entry is addressed as in the provider's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The system or developer prompt.
    System,
    /// The user's side: typed text, and in some formats tool results and harness notes too.
    User,
    /// The model.
    Assistant,
    /// A tool's answer, in formats that give it a role of its own.
    Tool,
}

/// Who really produced a part (RULES 64): most "user" messages of an agent are not a person's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// A person typed it.
    Human,
    /// The model wrote it.
    Model,
    /// A tool returned it.
    Tool,
    /// The client wrote it: system prompts, reminders, notices.
    Harness,
}

/// What stands where a message was erased.
pub const TOMBSTONE: &str = "[erased]";

/// One message of a conversation, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place in the thread.
    pub id: EntryId,
    /// The protocol role.
    pub role: Role,
    /// Its parts, in the order of the bytes.
    pub parts: Vec<Part>,
    /// Length of the encoded message in bytes, as it came in.
    pub bytes: u32,
    /// When it was said, as the recording states it (ISO 8601), where it does.
    pub at: Option<String>,
}

/// One piece of an entry that an edit can address. A conversation may have more of them than words in
/// each: what few have is boxed.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is.
    pub body: PartBody,
    /// Who produced it.
    pub speaker: Speaker,
    /// The part (by place in the same entry) whose block this one stands in: the blocks of a tool
    /// result whose content is a list. Removing the outer part removes these too.
    pub within: Option<u32>,
    /// The text it is known by ([`crate::EntryKey`]) where that is not its own: a client's note
    /// with today's date stays the same note tomorrow, arguments are the same however a client
    /// spells them, reasoning without words is told from other reasoning by what is sealed in it. An
    /// entry is not known by a part that is known by the empty text.
    pub known_as: Option<String>,
    /// What it states, where it says what is and not what somebody said (RULES 16).
    pub note: Option<Box<StateNote>>,
    /// The copies of files in its text, in their order, where no tool opens what left (RULES 16).
    pub files: Box<[FileCopy]>,
}

/// A copy of a file within a text: a body that is bound to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCopy {
    /// The path as it is written there, with `/` between its parts and no `./` before them; of one
    /// that is not named, words that tell which it is.
    pub path: String,
    /// Whether its path is said. One without is known by its lines.
    pub named: bool,
    /// Where its body stands in the text, in bytes.
    pub body: Range<usize>,
    /// Its lines that are not blank.
    pub lines: u32,
    /// Whether it is a part of the file, or changes to it.
    pub partial: bool,
    /// Whether marks say where the body ends, so that nobody's words can stand in it.
    pub closed: bool,
}

/// What a text of a client states: the contents of files, the environment, a list of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateNote {
    /// What it is about. Of two notes with one subject the newer one counts; but one that need not
    /// stay points to what does, and takes the place of no note that stays.
    pub subject: String,
    /// Whether the newest of them stays whole.
    pub stays: Stays,
}

/// What stays of the notes about one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// The newest, whole.
    Newest,
    /// The newest, while it is among the last few notes of this kind: nobody knows what it is worth,
    /// so it leaves as talk does behind them.
    Recent,
    /// Nothing: it leaves as talk does.
    Nothing,
}

/// What a part is.
#[derive(Clone, Debug, PartialEq)]
pub enum PartBody {
    /// Plain text.
    Text(String),
    /// A tool call made by the model.
    Call(ToolCall),
    /// A tool's result.
    Result(ToolResult),
    /// Reasoning of the model; its bytes are never changed (RULES 107).
    Thinking(String),
    /// An image, priced by its dimensions (RULES 124).
    Image(ImagePart),
    /// Any block this version does not interpret; passed through as it is.
    Opaque(Box<OpaqueBlock>),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id its result refers to.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The id of the call it answers; empty where the format names none.
    pub call: String,
    /// Its text; empty when the content is a list of blocks, which then follow as parts `within`
    /// this one.
    pub text: String,
    /// Whether the tool reported an error.
    pub error: bool,
}

/// An image, known by its size and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImagePart {
    /// The address of its encoded data, or of the address it is fetched from.
    pub content: ContentId,
    /// Width and height in pixels.
    pub pixels: Option<(u32, u32)>,
}

/// A block passed through untouched.
#[derive(Clone, Debug, PartialEq)]
pub struct OpaqueBlock {
    /// The block's `type`.
    pub kind: String,
    /// The address of the whole block, binary data included and cache marks left out.
    pub content: ContentId,
    /// The text a counter should price: the block's JSON without its data and cache marks, and on the
    /// lines below what that data says.
    pub text: String,
    /// Where in `text` the words of its data stand, in bytes; empty where it has none.
    pub data: Range<usize>,
    /// What a document that it attaches is called.
    pub title: Option<String>,
    /// Pages of documents in it, each shown to the model as an image and its text (RULES 124).
    pub pages: u32,
    /// The id under which a later block answers this one (`server_tool_use`).
    pub calls: Option<String>,
    /// The id of the block that this one answers (`web_search_tool_result`, RULES 103).
    pub answers: Option<String>,
    /// Whether it is what the provider made of all that was said before it: the model is shown this
    /// in its place (RULES 125).
    pub compacts: bool,
}

impl Entry {
    /// The texts a person or model reads, in order: text, results, thinking left out.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(Part::text)
    }

    /// The same without the copies of files in them.
    pub fn talk(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| {
            let text = part.text().unwrap_or_default();
            let starts = iter::once(0).chain(part.stated_files().map(|copy| copy.body.end));
            let ends = part.stated_files().map(|copy| copy.body.start);
            let ends = ends.chain(iter::once(text.len()));
            starts.zip(ends).filter_map(|(start, end)| text.get(start..end))
        })
    }

    /// Whether any part was produced by `speaker`.
    pub fn has_speaker(&self, speaker: Speaker) -> bool {
        self.parts.iter().any(|part| part.speaker == speaker)
    }

    /// The tool calls the entry makes.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match &part.body {
            PartBody::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The place of one of its tool calls, counted from 1.
    pub fn call_at(&self, number: u32) -> Option<PartId> {
        let calls =
            self.parts.iter().zip(0..).filter(|(part, _)| matches!(part.body, PartBody::Call(_)));
        let (_, part) = calls.zip(1..).find(|(_, at)| *at == number)?.0;
        Some(PartId { entry: self.id, part })
    }

    /// Its reasoning, by place.
    pub fn thoughts(&self) -> impl Iterator<Item = PartId> {
        let parts = (0..).zip(&self.parts);
        let thoughts = parts.filter(|(_, part)| matches!(part.body, PartBody::Thinking(_)));
        thoughts.map(|(part, _)| PartId { entry: self.id, part })
    }

    /// The tool results the entry carries.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match &part.body {
            PartBody::Result(result) => Some(result),
            _ => None,
        })
    }

    /// The entry as plain text: texts, results and calls (`name(arguments)`), one block a line. The
    /// text of an entry that says one is not copied.
    pub fn readable(&self) -> Cow<'_, str> {
        let mut said = self.parts.iter().filter(|part| part.readable_len() > 0);
        let (first, more) = (said.next(), said.next());
        let alone = first.filter(|_| more.is_none()).and_then(Part::said);
        if let Some(alone) = alone {
            return alone.trim_end_matches('\n').into();
        }
        // Texts may be as large as the conversation: growing would take that much again.
        let mut out = String::with_capacity(self.parts.iter().map(Part::readable_len).sum());
        for part in &self.parts {
            let start = out.len();
            match &part.body {
                PartBody::Call(call) => out.extend([&*call.tool, "(", &call.arguments, ")"]),
                _ => out.push_str(part.said().unwrap_or_default()),
            }
            if out.len() > start {
                out.push('\n');
            }
        }
        out.truncate(out.trim_end_matches('\n').len());
        out.into()
    }
}

impl Entry {
    /// Whether it was erased, with reasoning in it. Nothing tells any more what that was bound to.
    pub fn has_erased_thoughts(&self) -> bool {
        let is_erased =
            |part: &Part| matches!(&part.body, PartBody::Thinking(text) if text == TOMBSTONE);
        self.parts.iter().any(is_erased)
    }
}

impl PartBody {
    /// Whether it calls a tool or answers a call, those of the provider's own tools included.
    pub fn is_tool(&self) -> bool {
        match self {
            Self::Call(_) | Self::Result(_) => true,
            Self::Opaque(opaque) => opaque.calls.is_some() || opaque.answers.is_some(),
            Self::Text(_) | Self::Thinking(_) | Self::Image(_) => false,
        }
    }
}

impl Part {
    /// The text that is readable of it as it stands there: of a block that is passed through, its JSON
    /// and the words of its data.
    pub fn said(&self) -> Option<&str> {
        match &self.body {
            PartBody::Opaque(opaque) => Some(&opaque.text),
            _ => self.text(),
        }
    }

    /// The bytes that it adds to what is readable of its entry, the end of its line included.
    fn readable_len(&self) -> usize {
        let bytes = match &self.body {
            PartBody::Call(call) => call.tool.len() + call.arguments.len() + 2,
            _ => self.said().unwrap_or_default().len(),
        };
        if bytes > 0 { bytes + 1 } else { 0 }
    }

    /// The copies in it that state a file, whatever else is said. Source that a model writes without
    /// a path is talk like any other, unless it turns out that somebody edits it.
    pub fn stated_files(&self) -> impl Iterator<Item = &FileCopy> {
        self.files.iter().filter(|copy| copy.named || self.speaker != Speaker::Model)
    }

    /// The part's readable text, where it has any.
    pub fn text(&self) -> Option<&str> {
        match &self.body {
            PartBody::Text(text) => Some(text),
            PartBody::Result(result) => Some(&result.text),
            _ => None,
        }
    }

    /// What a replacement stands in the place of: the readable text, of a call its arguments.
    pub fn original(&self) -> Option<&str> {
        match &self.body {
            PartBody::Call(call) => Some(&call.arguments),
            _ => self.text(),
        }
    }
}
