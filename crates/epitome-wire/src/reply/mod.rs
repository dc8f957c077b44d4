//! Learns from what a provider sends back, while it passes: what was counted, how it ended, and
//! the answer as the client will say it in its next request.
//!
//! Invariant: it only listens. Memory is bounded whatever comes, no bytes make it fail, and how
//! the bytes are cut into chunks makes no difference. Called by whoever relays answers.

mod anthropic;
mod lines;
mod ollama;
mod openai;
mod responses;
#[cfg(test)]
mod tests;

use epitome_types::TokenUsage;

use crate::Format;
use crate::json::{self, JsonValue, Object};
use lines::{LineBuffer, SseBuffer};

/// The longest line, and the longest event, that is looked at, in bytes.
const MOST_LINE: usize = 2 * 1024 * 1024;
/// The longest body that is looked at which is one JSON value.
const MOST_BODY: usize = 8 * 1024 * 1024;
/// The longest answer that is kept.
const MOST_ANSWER: usize = 4 * 1024 * 1024;
/// The most that is kept of an error.
const MOST_ERROR: usize = 16 * 1024;

/// What was learned of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseInfo {
    /// The model that answered, in the provider's word, where it said so.
    pub model: Option<String>,
    /// What the provider counted, where it said so.
    pub usage: Option<TokenUsage>,
    /// Why it ended, in the provider's word.
    pub stop: Option<String>,
    /// Whether it came to its end; false where it broke off or failed on the way.
    pub complete: bool,
    /// The error it consists of or broke off with, as JSON: [`crate::overflow`] reads it.
    pub error: Option<String>,
    /// How much of the request the provider says that it left out (`input_transformations`).
    pub transformed: u64,
    /// Tokens of the prompt that were written to a cache of an hour, where the provider says how
    /// long it keeps what it wrote.
    pub written_for_hour: Option<u64>,
    /// The answer as messages of the format, the way a client sends it back: one, in the Responses
    /// API one for each item. None where nothing was said or it is too long to be kept; what broke
    /// off is there as far as it came.
    pub messages: Vec<Vec<u8>>,
}

/// Listens to one answer: a JSON body, a stream of events, or a stream of JSON lines.
#[derive(Debug)]
pub struct ResponseParser {
    format: Format,
    shape: ResponseShape,
    listener: FormatParser,
    notes: ResponseNotes,
}

/// What the body turned out to be.
#[derive(Debug)]
enum ResponseShape {
    /// Nothing but white space came yet.
    Unknown,
    Whole {
        body: Vec<u8>,
        over: bool,
    },
    Events(SseBuffer),
    Lines(LineBuffer),
}

#[derive(Debug)]
enum FormatParser {
    Anthropic(anthropic::AnthropicParser),
    OpenAi(openai::OpenAiParser),
    Responses(responses::ResponsesParser),
    Ollama(ollama::OllamaParser),
}

/// What the listeners of all formats note down.
#[derive(Debug, Default)]
struct ResponseNotes {
    model: Option<String>,
    usage: Option<TokenUsage>,
    stop: Option<String>,
    complete: bool,
    /// Whether a stream's last word was heard.
    closed: bool,
    error: Option<String>,
    transformed: u64,
    written_for_hour: Option<u64>,
    /// How much more of the answer may be kept, in bytes.
    room: usize,
    /// Whether there was more than may be kept.
    over: bool,
    /// What was said since it was last asked for, where somebody reads along.
    fresh: Option<String>,
}

impl ResponseParser {
    /// Listens to the answer to a request in this format; a recording's stands for its nearest
    /// provider's.
    pub fn new(format: Format) -> Self {
        let format = format.nearest();
        let listener = match format {
            Format::Anthropic => FormatParser::Anthropic(anthropic::AnthropicParser::default()),
            Format::Responses => FormatParser::Responses(responses::ResponsesParser::default()),
            Format::Ollama => FormatParser::Ollama(ollama::OllamaParser::default()),
            _ => FormatParser::OpenAi(openai::OpenAiParser::default()),
        };
        Self {
            format,
            shape: ResponseShape::Unknown,
            listener,
            notes: ResponseNotes::new(MOST_ANSWER),
        }
    }

    /// The same for somebody who reads along: [`ResponseParser::said`] gives the text as it comes.
    pub fn aloud(format: Format) -> Self {
        let mut reply = Self::new(format);
        reply.notes.fresh = Some(String::new());
        reply
    }

    /// The text that a stream said since this was last called; thoughts and calls are none.
    pub fn said(&mut self) -> String {
        self.notes.fresh.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Hears the next bytes of the body, decoded if they were compressed.
    pub fn hear(&mut self, mut bytes: &[u8]) {
        if let ResponseShape::Unknown = self.shape {
            bytes = bytes.trim_ascii_start();
            self.shape = match bytes.first() {
                None => return,
                Some(b'{' | b'[') if self.format == Format::Ollama => {
                    ResponseShape::Lines(LineBuffer::new(MOST_LINE))
                }
                Some(b'{' | b'[') => ResponseShape::Whole { body: Vec::new(), over: false },
                Some(_) => ResponseShape::Events(SseBuffer::new(MOST_LINE)),
            };
        }
        let Self { shape, listener, notes, .. } = self;
        match shape {
            ResponseShape::Unknown => {}
            ResponseShape::Whole { body, over } => {
                *over |= body.len() + bytes.len() > MOST_BODY;
                if *over {
                    *body = Vec::new();
                } else {
                    body.extend_from_slice(bytes);
                }
            }
            ResponseShape::Events(events) => events.feed(bytes, |data| listener.event(data, notes)),
            ResponseShape::Lines(lines) => lines.feed(bytes, |line| listener.event(line, notes)),
        }
    }

    /// What was counted so far: streams say it at both ends.
    pub fn usage(&self) -> Option<TokenUsage> {
        self.notes.usage
    }

    /// Whether a stream said that the answer is whole; figures may still follow.
    pub fn is_complete(&self) -> bool {
        self.notes.complete
    }

    /// Whether a stream said its last word, at which clients stop to read; what follows tells nothing.
    pub fn is_closed(&self) -> bool {
        self.notes.closed
    }

    /// The body is at its end, or nothing more will be heard of it.
    pub fn end(self) -> ResponseInfo {
        let Self { shape, mut listener, mut notes, .. } = self;
        match shape {
            ResponseShape::Unknown => {}
            ResponseShape::Whole { body, .. } => listener.whole(&body, &mut notes),
            ResponseShape::Events(events) => events.end(|data| listener.event(data, &mut notes)),
            ResponseShape::Lines(lines) => lines.end(|line| listener.event(line, &mut notes)),
        }
        let messages = if notes.over { Vec::new() } else { listener.messages() };
        ResponseInfo {
            complete: notes.complete && notes.error.is_none(),
            model: notes.model,
            usage: notes.usage,
            stop: notes.stop,
            error: notes.error,
            transformed: notes.transformed,
            written_for_hour: notes.written_for_hour,
            messages,
        }
    }
}

impl FormatParser {
    /// One event of a stream, or one line.
    fn event(&mut self, data: &[u8], notes: &mut ResponseNotes) {
        if data.trim_ascii() == b"[DONE]" {
            (notes.complete, notes.closed) = (true, true);
            return;
        }
        let Some(event) = object(data) else { return };
        match self {
            // Figures follow the end of what is said.
            FormatParser::OpenAi(listener) => return listener.event(&event, notes),
            FormatParser::Anthropic(listener) => listener.event(&event, notes),
            FormatParser::Responses(listener) => listener.event(&event, notes),
            FormatParser::Ollama(listener) => listener.event(&event, notes),
        }
        notes.closed |= notes.complete;
    }

    /// A body that is one JSON value.
    fn whole(&mut self, body: &[u8], notes: &mut ResponseNotes) {
        let Some(body) = object(body) else { return };
        if notes.failed(&body) {
            return;
        }
        match self {
            FormatParser::Anthropic(listener) => listener.whole(&body, notes),
            FormatParser::OpenAi(listener) => listener.whole(&body, notes),
            FormatParser::Responses(listener) => listener.whole(&body, notes),
            FormatParser::Ollama(listener) => listener.event(&body, notes),
        }
    }

    fn messages(self) -> Vec<Vec<u8>> {
        match self {
            FormatParser::Anthropic(listener) => listener.message().into_iter().collect(),
            FormatParser::OpenAi(listener) => listener.message().into_iter().collect(),
            FormatParser::Responses(listener) => listener.messages(),
            FormatParser::Ollama(listener) => listener.message().into_iter().collect(),
        }
    }
}

impl ResponseNotes {
    fn new(room: usize) -> Self {
        Self { room, ..Self::default() }
    }

    /// Whether so much more may be kept; after the first refusal nothing is.
    fn keeps(&mut self, bytes: usize) -> bool {
        self.over |= bytes > self.room;
        self.room = self.room.saturating_sub(bytes);
        !self.over
    }

    /// A piece of text, kept if there is room for it.
    fn keep(&mut self, into: &mut String, piece: Option<&str>) {
        if let Some(piece) = piece.filter(|piece| self.keeps(piece.len())) {
            into.push_str(piece);
        }
    }

    /// A piece of what the model says, kept as well and told to whoever reads along.
    fn say(&mut self, into: &mut String, piece: Option<&str>) {
        if let (Some(fresh), Some(piece)) = (&mut self.fresh, piece) {
            fresh.push_str(piece);
        }
        self.keep(into, piece);
    }

    /// Whether an object is an error, which is noted then.
    fn failed(&mut self, object: &Object<'_>) -> bool {
        let failed = object.some("error").is_some();
        if failed {
            self.fail(object.value);
        }
        failed
    }

    fn fail(&mut self, error: JsonValue<'_>) {
        let raw = error.raw();
        self.error.get_or_insert_with(|| raw[..raw.floor_char_boundary(MOST_ERROR)].to_owned());
    }

    /// Notes which model an answer says that it is of; each part of a stream may say it.
    fn named(&mut self, by: &Object<'_>) {
        if self.model.is_none() {
            let name = by.text("model").filter(|name| !name.is_empty());
            self.model = name.map(|name| name[..name.floor_char_boundary(256)].to_owned());
        }
    }

    fn stopped(&mut self, by: Option<JsonValue<'_>>) {
        if let Some(stop) = by.and_then(JsonValue::as_str) {
            self.stop = Some(stop[..stop.floor_char_boundary(256)].to_owned());
        }
    }

    /// Notes what the provider left out of the request. Streams may say it at both ends.
    fn transformed(&mut self, by: &Object<'_>) {
        let list = by.some("input_transformations").and_then(|list| list.items().ok());
        self.transformed = self.transformed.max(list.map_or(0, |list| list.len() as u64));
    }

    /// Takes over the figures that are said; what is not said stays.
    fn count(&mut self, said: impl FnOnce(&mut TokenUsage)) {
        said(self.usage.get_or_insert_default());
    }
}

/// The object that some bytes consist of.
fn object(bytes: &[u8]) -> Option<Object<'_>> {
    json::parse(json::text(bytes).ok()?).ok()?.as_object()
}

/// A member that is an object.
fn member<'a>(object: &Object<'a>, key: &str) -> Option<Object<'a>> {
    object.get(key)?.as_object()
}

/// A member that is a whole number.
fn figure(object: &Object<'_>, key: &str) -> Option<u64> {
    object.get(key)?.raw().parse().ok()
}

/// Sets a figure where one is said.
fn set(figure: &mut u64, said: Option<u64>) {
    *figure = said.unwrap_or(*figure);
}
