//! Where the messages of a request stand, and what each is known by: the hot path of a proxy.
//!
//! Invariant: one linear pass, no text decoded, no allocation but the list of spans. The whole
//! body is checked to be sound JSON on the way.

use std::ops::Range;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::json::{self, Cursor, Kind, Span, Value};
use crate::{Format, WireError};

/// What a client moves from message to message (hazard 15), as it stands in the bytes.
const MARK: &str = "\"cache_control\"";

/// The messages of a request body, and what else it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The messages, in order.
    pub messages: Vec<MessageSpan>,
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
}

impl Scan {
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
}

/// One message in a request body, or another member of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSpan {
    /// Its bytes, as a range of the body.
    pub range: Range<usize>,
    /// xxh3-128 of those bytes without the cache marks of the message, of its blocks and of the
    /// blocks in its results: an identity within this process, never stored (PERF 2).
    pub hash: u128,
}

/// Finds and hashes the messages of a body: the items of its `messages` or `input`, or of a bare
/// array. An `input` that is one text is one message. A recording's format stands for its nearest
/// provider's.
///
/// # Errors
///
/// When the body is not UTF-8, not JSON, nested too deeply, or holds no messages; the error names
/// the byte.
pub fn scan(bytes: &[u8], format: Format) -> Result<Scan, WireError> {
    let (text, format) = (json::text(bytes)?, format.nearest());
    let mut cursor = Cursor::new(text, 0);
    let mut scan = Scan::default();
    let mut found = false;
    match cursor.peek_kind()? {
        Kind::Array => {
            scan.messages = messages(text, &mut cursor)?;
            found = true;
        }
        Kind::Object => cursor.members(|key, cursor| {
            match key.str()?.as_ref() {
                key if key == format.messages() => {
                    found = true;
                    scan.messages = match cursor.peek_kind()? {
                        Kind::String if format == Format::Responses => {
                            vec![plain(cursor.value()?)]
                        }
                        _ => messages(text, cursor)?,
                    };
                }
                key if Some(key) == format.system() => {
                    let system = marked(text, cursor, Depth::Blocks)?;
                    let is_given = system.range.len() > 4 || !text[system.range.clone()].eq("null");
                    scan.system = is_given.then_some(system).or(scan.system.take());
                }
                key => {
                    let value = cursor.value()?;
                    if value.kind() != Kind::Null {
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
        return Ok(scan);
    }
    Err(json::parse(text)?.unexpected(match format {
        Format::Responses => "an object with `input`",
        _ => "an object with `messages`, or an array",
    }))
}

impl Scan {
    /// Notes what a member of the body says.
    fn note(&mut self, key: &str, value: Value<'_>, format: Format) {
        match key {
            "model" => self.model = value.as_str().map(Into::into),
            "stream" => self.stream = (value.kind() == Kind::Bool).then(|| value.raw() == "true"),
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
fn plain(value: Value<'_>) -> MessageSpan {
    let Span { start, end } = value.span();
    MessageSpan { range: start..end, hash: xxh3_128(value.raw().as_bytes()) }
}

/// The items of the array that begins at the cursor.
fn messages(text: &str, cursor: &mut Cursor<'_>) -> Result<Vec<MessageSpan>, WireError> {
    let mut messages = Vec::new();
    cursor.items(|cursor| {
        messages.push(marked(text, cursor, Depth::Message)?);
        Ok(())
    })?;
    Ok(messages)
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
        return Ok(MessageSpan { range, hash });
    }
    let mut hash = Xxh3::new();
    let mut at = start;
    for cut in cuts {
        hash.update(Span::new(at, cut.start).of(text).as_bytes());
        at = cut.end;
    }
    hash.update(Span::new(at, range.end).of(text).as_bytes());
    Ok(MessageSpan { range, hash: hash.digest128() })
}

/// Steps over a value and notes where marks stand in it, each with one comma beside it.
fn walk(cursor: &mut Cursor<'_>, depth: Depth, cuts: &mut Vec<Span>) -> Result<(), WireError> {
    match cursor.peek_kind()? {
        Kind::Array if depth != Depth::None && depth != Depth::Message => {
            cursor.items(|cursor| match cursor.peek_kind()? {
                Kind::Object => object(cursor, depth, cuts),
                _ => cursor.value().map(drop),
            })
        }
        Kind::Object if depth == Depth::Message => object(cursor, depth, cuts),
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
        let Span { start, .. } = key.span();
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
mod tests {
    use super::*;

    fn check(body: &str, messages: &[&str]) {
        let scan = scan(body.as_bytes(), Format::OpenAi).unwrap();
        let found: Vec<_> =
            scan.messages.iter().map(|message| &body[message.range.clone()]).collect();
        assert_eq!(found, messages);
        let hashes = messages.iter().map(|message| xxh3_128(message.as_bytes()));
        assert!(scan.messages.iter().map(|message| message.hash).eq(hashes));
    }

    #[test]
    fn finds_the_messages_of_a_body_and_of_a_bare_array() {
        check(
            r#"{"tools":[{"a":1}],"messages":[ {"role":"user"} , {"x":[1.0]}],"n":2}"#,
            &[r#"{"role":"user"}"#, r#"{"x":[1.0]}"#],
        );
        check(r#" [{"role":"user"},{}] "#, &[r#"{"role":"user"}"#, "{}"]);
        check("[]", &[]);
        check(r#"{"messages":[1],"messages":[2]}"#, &["2"]);
        check(r#"{"m\u0065ssages":[1]}"#, &["1"]);
    }

    #[test]
    fn splices_whole_messages() {
        let body = br#"{"messages":[{"a":1.0}, {"b":2} ,{}]}"#;
        let scan = scan(body, Format::OpenAi).unwrap();
        assert_eq!(scan.splice(body, &[]), body);
        let spliced = scan.splice(body, &[(1, b"B"), (2, b"C"), (0, b"late"), (9, b"far")]);
        assert_eq!(spliced, br#"{"messages":[{"a":1.0}, B ,C]}"#);
    }

    #[test]
    fn refuses_what_is_no_body() {
        let check = |body: &[u8], expected: &str| {
            assert_eq!(scan(body, Format::OpenAi).unwrap_err().to_string(), expected);
        };
        check(b"{\"messages\":[{}]", "byte 16: expected `,` or `}`");
        check(b"{}", "byte 0: expected an object with `messages`, or an array, found an object");
        check(b"{\"messages\":3}", "byte 12: expected an array");
        check(b"[\"\xff\"]", "byte 2: expected UTF-8 text");
        check(b"[1]]", "byte 3: expected the end of the input");
        check(b"", "byte 0: expected a value");
    }
}
