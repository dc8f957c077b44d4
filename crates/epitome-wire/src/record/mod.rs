//! Recordings of clients, turned into requests.
//!
//! Invariant: what comes out passes [`crate::validate`]: calls and results pair, and calls that
//! were never answered (aborted, or the recording ends there) are left out. Called by the facade
//! before anything else when the input is a recording.

mod branch;
mod claude_code;
mod codex;
mod ollm;
mod pairs;
mod pi;
mod swe_agent;
mod torn;
mod write;

pub(crate) use torn::unmarked;
pub use torn::{TornLine, untorn};

use std::borrow::Cow;

use epitome_types::Role;

use crate::json::{self, Cursor, JsonValue, JsonValueKind, Object, literal};
use crate::{Format, WireError};

/// A recording as a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// The request.
    pub request: Vec<u8>,
    /// For each message of the request, when it was said (ISO 8601), where the recording tells.
    /// [`crate::RequestDocument::with_times`] puts them into the entries.
    pub at: Vec<Option<String>>,
    /// How often its client compressed the conversation, where the recording tells.
    pub compressions: Option<u32>,
    /// How many parts it only gives an account of (thinking without its signature, images without
    /// their bytes), which no request can hold.
    pub left_out: usize,
}

/// The provider format that loses least of an input: the one that the recording names as its
/// provider's, else [`Format::nearest`]. What failed is told apart in Anthropic's format only.
pub fn nearest_format(bytes: &[u8], from: Format) -> Format {
    let named = match from {
        Format::Ollm => json::text(bytes).ok().and_then(ollm::provider),
        _ => None,
    };
    named.unwrap_or(from.nearest())
}

/// Turns a recording into a request of a provider format.
///
/// # Errors
///
/// When `from` is no recording, `to` is one, or the bytes cannot be read (with line and byte).
pub fn convert(bytes: &[u8], from: Format, to: Format) -> Result<Vec<u8>, WireError> {
    transcribe(bytes, from, to).map(|transcript| transcript.request)
}

/// As [`convert`], with the times of the messages beside the request.
///
/// # Errors
///
/// As [`convert`].
pub fn transcribe(bytes: &[u8], from: Format, to: Format) -> Result<Transcript, WireError> {
    if to.is_recording() {
        let expected = "`anthropic`, `openai`, `responses` or `ollama` to convert to";
        return Err(WireError::WrongKind { format: to, is: "a recording", expected });
    }
    let text = json::text(bytes)?;
    let recording = match from {
        Format::ClaudeCode => claude_code::read(text)?,
        Format::Codex => codex::read(text)?,
        Format::Ollm => ollm::read(text)?,
        Format::Pi => pi::read(text)?,
        Format::SweAgent => swe_agent::read(text)?,
        Format::Anthropic | Format::OpenAi | Format::Responses | Format::Ollama => {
            let expected = "a recording to convert";
            return Err(WireError::WrongKind { format: from, is: "a request already", expected });
        }
    };
    let turns = pairs::pair(recording.turns);
    let transcript = match to {
        Format::Anthropic => write::anthropic(recording.model.as_deref(), turns),
        Format::Responses => write::responses(recording.model.as_deref(), turns),
        Format::Ollama => write::ollama(recording.model.as_deref(), turns),
        _ => write::openai(recording.model.as_deref(), turns),
    };
    let (compressions, left_out) = (recording.compressions, recording.left_out);
    Ok(Transcript { compressions, left_out, ..transcript })
}

/// What a reader makes of a recording.
#[derive(Default)]
struct ReadRecording<'a> {
    /// The model that answered last.
    model: Option<Cow<'a, str>>,
    turns: Vec<RecordedMessage<'a>>,
    /// How often its client compressed it, where it says so.
    compressions: Option<u32>,
    /// How many parts it only gives an account of.
    left_out: usize,
}

impl<'a> ReadRecording<'a> {
    /// Adds a message, unless there is nothing in it.
    fn add(&mut self, role: Role, at: Option<Cow<'a, str>>, pieces: Vec<RecordedPiece<'a>>) {
        if !pieces.is_empty() {
            self.turns.push(RecordedMessage { role, at, pieces });
        }
    }
}

/// One message of a recording.
struct RecordedMessage<'a> {
    role: Role,
    at: Option<Cow<'a, str>>,
    pieces: Vec<RecordedPiece<'a>>,
}

/// One piece of a message.
enum RecordedPiece<'a> {
    Text(Cow<'a, str>),
    Image {
        /// `image/png`
        media: Cow<'a, str>,
        /// Base64.
        data: Cow<'a, str>,
    },
    /// A block that only Anthropic's format has, as JSON.
    Native {
        json: Cow<'a, str>,
        kind: Native<'a>,
    },
    Call(RecordedCall<'a>),
    Answer(RecordedResult<'a>),
}

/// What to know of a block that is passed through.
enum Native<'a> {
    /// Signed reasoning.
    Reasoning,
    /// A call that the provider's side runs, or its result: one is nothing without the other.
    Half { id: Cow<'a, str> },
    /// Anything else.
    Other,
}

/// A tool call.
struct RecordedCall<'a> {
    id: Cow<'a, str>,
    tool: Cow<'a, str>,
    /// A JSON object.
    arguments: Cow<'a, str>,
}

/// A tool's result.
struct RecordedResult<'a> {
    call: Cow<'a, str>,
    error: bool,
    /// Texts and images.
    content: Vec<RecordedPiece<'a>>,
}

impl<'a> RecordedPiece<'a> {
    /// A text, unless there is nothing in it that a provider would take.
    fn text(text: Cow<'a, str>) -> Option<Self> {
        if text.trim().is_empty() { None } else { Some(RecordedPiece::Text(text)) }
    }

    /// An image given as `data:image/png;base64,…`; of any other address only the address is kept.
    fn image(url: Cow<'a, str>) -> Self {
        let data = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
        match data {
            Some((media, data)) => RecordedPiece::Image {
                media: media.to_owned().into(),
                data: data.to_owned().into(),
            },
            None => RecordedPiece::Text(format!("(image: {url})").into()),
        }
    }
}

/// Reads each line of a recording; an error names the line.
fn each_line<'a>(
    text: &'a str,
    mut read: impl FnMut(Object<'a>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        object(line)
            .and_then(&mut read)
            .map_err(|source| WireError::Line { line: number + 1, source: Box::new(source) })?;
    }
    Ok(())
}

/// The object that a line consists of, in one walk.
fn object(line: &str) -> Result<Object<'_>, WireError> {
    let mut cursor = Cursor::new(line, 0);
    if cursor.peek_kind()? != JsonValueKind::Object {
        return json::parse(line)?.object();
    }
    let object = cursor.object()?;
    cursor.end()?;
    Ok(object)
}

/// The pieces of a content that is a string or a list of blocks; `block` reads one of them.
fn pieces<'a>(
    content: Option<JsonValue<'a>>,
    mut block: impl FnMut(&Object<'a>) -> Result<Option<RecordedPiece<'a>>, WireError>,
) -> Result<Vec<RecordedPiece<'a>>, WireError> {
    match content {
        None => Ok(Vec::new()),
        Some(content) if content.kind() == JsonValueKind::Array => {
            let blocks = content.items()?;
            blocks
                .into_iter()
                .filter_map(|item| item.object().and_then(|item| block(&item)).transpose())
                .collect()
        }
        Some(content) => Ok(RecordedPiece::text(content.str()?).into_iter().collect()),
    }
}

/// The text under a key that must be there.
fn text_of<'a>(
    object: &Object<'a>,
    key: &str,
    expected: &'static str,
) -> Result<Cow<'a, str>, WireError> {
    object.get(key).ok_or_else(|| object.value.unexpected(expected))?.str()
}

/// Arguments as a JSON object, whatever the model wrote.
fn arguments(value: Option<JsonValue<'_>>) -> Result<Cow<'_, str>, WireError> {
    let Some(value) = value else { return Ok("{}".into()) };
    if value.kind() == JsonValueKind::Object {
        return Ok(value.raw().into());
    }
    let text = value.str()?;
    match json::parse(&text) {
        Ok(parsed) if parsed.kind() == JsonValueKind::Object => Ok(text),
        _ => Ok(format!(r#"{{"arguments":{}}}"#, literal(&text)).into()),
    }
}

#[cfg(test)]
mod tests;
