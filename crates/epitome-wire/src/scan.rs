//! Where the messages of a request stand, and what each is known by: the hot path of a proxy.
//!
//! Invariant: one linear pass, no text decoded, no allocation but the list of spans. The whole
//! body is checked to be sound JSON on the way; what stands there byte for byte as in a body that
//! was scanned before is known to be, by its hash.

use std::ops::Range;

use memchr::memmem;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::json::{self, Cursor, JsonValue, JsonValueKind, Span};
use crate::{Format, WireError};

/// What a client moves from message to message (RULES 115), as it stands in the bytes.
const MARK: &str = "\"cache_control\"";

/// What goes on from a known body seldom has so many messages more.
const AHEAD: usize = 16;

/// The messages of a request body, and what else it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestScan {
    /// The messages, in order.
    pub messages: Vec<MessageSpan>,
    /// The list that they stand in, or the one text that is all of them.
    pub list: Range<usize>,
    /// The system prompt that is no message, where there is one.
    pub system: Option<MessageSpan>,
    /// The tool schemas; their hash is of all their bytes.
    pub tools: Option<MessageSpan>,
    /// The model asked for.
    pub model: Option<String>,
    /// The context size that the request asks for, in tokens (Ollama's `options.num_ctx`).
    pub context_size: Option<u64>,
    /// Whether the answer is asked for piece by piece, where the request says.
    pub stream: Option<bool>,
    /// Whether the history, or part of it, is kept by the provider.
    pub continued: bool,
    /// Whether the request itself or one of its messages asks for a cache of an hour.
    hour: bool,
}

impl RequestScan {
    /// The scanned body with new bytes for some messages, by place; all else is copied.
    ///
    /// Places must grow; one that is out of order or out of range is passed over.
    pub fn splice(&self, body: &[u8], messages: &[(usize, &[u8])]) -> Vec<u8> {
        let added: usize = messages.iter().map(|(_, with)| with.len()).sum();
        let mut out = Vec::with_capacity(body.len() + added);
        let mut at = 0;
        for (place, with) in messages {
            let Some(MessageSpan { range, .. }) = self.messages.get(*place) else { continue };
            let Some(between) = body.get(at..range.start) else { continue };
            out.extend_from_slice(between);
            out.extend_from_slice(with);
            at = range.end;
        }
        out.extend_from_slice(body.get(at..).unwrap_or_default());
        out
    }

    /// Whether a cache of an hour is asked for anywhere, which costs more to write (RULES 114).
    pub fn keeps_an_hour(&self) -> bool {
        self.hour || self.system.iter().chain(&self.tools).any(|span| span.hour)
    }

    /// A message of the scanned body, as it came; empty for a place that it does not have.
    pub fn message<'b>(&self, body: &'b [u8], place: usize) -> &'b [u8] {
        let message = self.messages.get(place);
        message.and_then(|message| body.get(message.range.clone())).unwrap_or_default()
    }

    /// The tools that the scanned body offers, as their JSON stands there.
    pub fn tool_list<'b>(&self, body: &'b [u8]) -> Option<&'b str> {
        json::text(body.get(self.tools.as_ref()?.range.clone())?).ok()
    }

    /// The tool schemas of the scanned body one by one, each as it stands there.
    pub fn tool_schemas<'b>(&self, body: &'b [u8]) -> Vec<&'b str> {
        let schemas = self.tool_list(body).and_then(|tools| json::parse(tools).ok()?.items().ok());
        schemas.unwrap_or_default().into_iter().map(JsonValue::raw).collect()
    }
}

/// One message in a request body, or another member of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSpan {
    /// Its bytes, as a range of the body.
    pub range: Range<usize>,
    /// xxh3-128 of those bytes without the cache marks of the message, of its blocks and of the
    /// blocks in its results: an identity within this process, never stored.
    pub hash: u128,
    /// Whether a cache mark in it asks for an hour.
    hour: bool,
}

/// Finds and hashes the messages of a body: the items of its `messages` or `input`, or of a bare
/// array. An `input` that is one text is one message. A recording's format stands for its nearest
/// provider's.
///
/// # Errors
///
/// When the body is not UTF-8, not JSON, nested too deeply, or holds no messages; the error names
/// the byte.
pub fn scan(bytes: &[u8], format: Format) -> Result<RequestScan, WireError> {
    scan_after(bytes, format, &RequestScan::default())
}

/// The same of a body that may go on from one that was scanned before: what stands in the place
/// that it had there, and is the same to the byte, is hashed and not walked again. Whatever
/// `before` is, what is found is the same.
///
/// # Errors
///
/// As [`scan`].
pub fn scan_after(
    bytes: &[u8],
    format: Format,
    before: &RequestScan,
) -> Result<RequestScan, WireError> {
    let (text, format) = (json::text(bytes)?, format.nearest());
    let mut cursor = Cursor::new(text, 0);
    let mut scan = RequestScan::default();
    let mut found = false;
    match cursor.peek_kind()? {
        JsonValueKind::Array => {
            let start = cursor.at();
            scan.messages = messages(text, &mut cursor, before)?;
            scan.list = start..cursor.at();
            found = true;
        }
        JsonValueKind::Object => cursor.members(|key, cursor| {
            match key.str()?.as_ref() {
                key if key == format.messages() => {
                    found = true;
                    let kind = cursor.peek_kind()?;
                    let start = cursor.at();
                    scan.messages = match kind {
                        JsonValueKind::String if format == Format::Responses => {
                            vec![plain(cursor.value()?)]
                        }
                        _ => messages(text, cursor, before)?,
                    };
                    scan.list = start..cursor.at();
                }
                key if Some(key) == format.system() => {
                    let system = match same(text, cursor, before.system.as_ref()) {
                        Some(system) => system,
                        None => marked(text, cursor, Depth::Blocks)?,
                    };
                    let is_given = system.range.len() > 4 || !text[system.range.clone()].eq("null");
                    scan.system = is_given.then_some(system).or(scan.system.take());
                }
                "tools" if let Some(tools) = same(text, cursor, before.tools.as_ref()) => {
                    scan.tools = Some(tools);
                }
                key => {
                    let value = cursor.value()?;
                    if value.kind() != JsonValueKind::Null {
                        scan.note(key, value, format);
                    }
                }
            }
            Ok(())
        })?,
        _ => {}
    }
    if found {
        cursor.end()?;
        scan.hour |= scan.messages.iter().any(|span| span.hour);
        return Ok(scan);
    }
    Err(json::parse(text)?.unexpected(match format {
        Format::Responses => "an object with `input`",
        _ => "an object with `messages`, or an array",
    }))
}

impl RequestScan {
    /// Notes what a member of the body says.
    fn note(&mut self, key: &str, value: JsonValue<'_>, format: Format) {
        match key {
            "model" => self.model = value.as_str().map(Into::into),
            "cache_control" => self.hour = is_an_hour(value.raw()),
            "stream" => {
                self.stream = (value.kind() == JsonValueKind::Bool).then(|| value.raw() == "true")
            }
            "tools" => self.tools = Some(plain(value)),
            "functions" if self.tools.is_none() => self.tools = Some(plain(value)),
            "options" if format == Format::Ollama => {
                let size = value.as_object().and_then(|it| it.get("num_ctx")?.raw().parse().ok());
                self.context_size = size;
            }
            "previous_response_id" | "conversation" if format == Format::Responses => {
                self.continued = true;
            }
            _ => {}
        }
    }
}

/// A value that is known by all its bytes.
fn plain(value: JsonValue<'_>) -> MessageSpan {
    let range = value.span().range();
    let raw = value.raw();
    let hour = memmem::find_iter(raw.as_bytes(), MARK).any(|at| {
        let mark = &raw[at..];
        is_an_hour(&mark[..mark.find('}').unwrap_or(mark.len())])
    });
    MessageSpan { range, hash: xxh3_128(raw.as_bytes()), hour }
}

/// Whether a cache mark asks for an hour. In a text the quotes would be escaped.
fn is_an_hour(mark: &str) -> bool {
    mark.contains("\"1h\"")
}

/// The items of the array that begins at the cursor.
fn messages(
    text: &str,
    cursor: &mut Cursor<'_>,
    before: &RequestScan,
) -> Result<Vec<MessageSpan>, WireError> {
    let mut known = before.messages.iter();
    let mut messages = Vec::with_capacity(known.len() + AHEAD);
    cursor.items(|cursor| {
        messages.push(match same(text, cursor, known.next()) {
            Some(message) => message,
            None => marked(text, cursor, Depth::Message)?,
        });
        Ok(())
    })?;
    Ok(messages)
}

/// Steps over a value that is a known one, byte for byte. One with marks in it is known by other
/// bytes than its own, and never found here.
fn same(text: &str, cursor: &mut Cursor<'_>, known: Option<&MessageSpan>) -> Option<MessageSpan> {
    let MessageSpan { range, hash, hour } = known?;
    // Of other values nobody can tell by their bytes alone that they end there.
    let is_closed = matches!(cursor.peek()?, b'{' | b'[' | b'"');
    let span = Span::new(cursor.at(), cursor.at() + range.len());
    let bytes = text.as_bytes().get(span.range()).filter(|_| is_closed)?;
    (xxh3_128(bytes) == *hash).then(|| {
        cursor.jump(span.end());
        MessageSpan { range: span.range(), hash: *hash, hour: *hour }
    })
}

/// How deep cache marks may still stand.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    /// Here is a message: in it, in its blocks, and in the blocks of its results.
    Message,
    /// Here is the content of a message: in its blocks, and in the blocks of their results.
    Blocks,
    /// Here is the content of a result: in its blocks.
    Inner,
    /// Nowhere.
    None,
}

impl Depth {
    /// Of the `content` of what is here.
    fn inside(self) -> Self {
        match self {
            Depth::Message => Depth::Blocks,
            Depth::Blocks => Depth::Inner,
            Depth::Inner | Depth::None => Depth::None,
        }
    }
}

/// Steps over a value, and hashes it without the marks in it.
fn marked(text: &str, cursor: &mut Cursor<'_>, depth: Depth) -> Result<MessageSpan, WireError> {
    cursor.peek();
    let start = cursor.at();
    let mut cuts = Vec::new();
    walk(cursor, depth, &mut cuts)?;
    let range = start..cursor.at();
    if cuts.is_empty() {
        let hash = xxh3_128(Span::new(range.start, range.end).of(text).as_bytes());
        return Ok(MessageSpan { range, hash, hour: false });
    }
    let mut hash = Xxh3::new();
    let (mut at, mut hour) = (start, false);
    for cut in cuts {
        hour |= is_an_hour(cut.of(text));
        hash.update(Span::new(at, cut.start()).of(text).as_bytes());
        at = cut.end();
    }
    hash.update(Span::new(at, range.end).of(text).as_bytes());
    Ok(MessageSpan { range, hash: hash.digest128(), hour })
}

/// Steps over a value and notes where marks stand in it, each with one comma beside it.
fn walk(cursor: &mut Cursor<'_>, depth: Depth, cuts: &mut Vec<Span>) -> Result<(), WireError> {
    match cursor.peek_kind()? {
        JsonValueKind::Array if depth != Depth::None && depth != Depth::Message => {
            cursor.items(|cursor| match cursor.peek_kind()? {
                JsonValueKind::Object => object(cursor, depth, cuts),
                _ => cursor.value().map(drop),
            })
        }
        JsonValueKind::Object if depth == Depth::Message => object(cursor, depth, cuts),
        _ => cursor.value().map(drop),
    }
}

/// Steps over a message or a block.
fn object(cursor: &mut Cursor<'_>, depth: Depth, cuts: &mut Vec<Span>) -> Result<(), WireError> {
    // Where the member before ends; none before the first.
    let mut before = None;
    // A mark that comes first goes up to the key behind it.
    let mut open: Option<usize> = None;
    cursor.members(|key, cursor| {
        let start = key.span().start();
        if let Some(open) = open.take() {
            cuts.push(Span::new(open, start));
        }
        if key.raw() == MARK {
            cursor.value()?;
            match before {
                Some(before) => cuts.push(Span::new(before, cursor.at())),
                None => open = Some(start),
            }
        } else {
            match key.raw() {
                "\"content\"" => walk(cursor, depth.inside(), cuts)?,
                _ => cursor.value().map(drop)?,
            }
            before = Some(cursor.at());
        }
        if before.is_some() {
            before = Some(cursor.at());
        }
        Ok(())
    })?;
    if let Some(open) = open {
        // It is the only member.
        cuts.push(Span::new(open, cursor.at() - 1));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
