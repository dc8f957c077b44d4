//! One value in the text: its span and kind, decoded on request.
//!
//! Invariant: a [`JsonValue`] comes from the scanner, so its bytes are sound JSON; only its kind can
//! disappoint, and then the error names its path. Made by `cursor`; `inside` looks into it.

use std::borrow::Cow;

use super::{Span, place, string};
use crate::WireError;
use crate::error::quoted;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonValueKind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// One value in a text.
///
/// `as_str` and `as_object` ask, `str`, `items`, `object` and `objects` insist. Whoever can do
/// without must ask: the error of the others walks the text up to the value, so an error that is
/// made and dropped for each message makes reading quadratic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonValue<'a> {
    text: &'a str,
    span: Span,
    kind: JsonValueKind,
}

/// An array of objects.
pub(crate) struct Objects<'a> {
    pub(crate) span: Span,
    pub(crate) items: Vec<Object<'a>>,
}

/// An object's members, in the order of the bytes.
pub(crate) struct Object<'a> {
    /// The object itself.
    pub(crate) value: JsonValue<'a>,
    /// Keys and values.
    pub(crate) members: Vec<(JsonValue<'a>, JsonValue<'a>)>,
}

impl<'a> JsonValue<'a> {
    pub(super) fn new(text: &'a str, span: Span, kind: JsonValueKind) -> Self {
        Self { text, span, kind }
    }

    /// The text that it stands in.
    pub(super) fn text(self) -> &'a str {
        self.text
    }

    pub(crate) fn span(self) -> Span {
        self.span
    }

    pub(crate) fn kind(self) -> JsonValueKind {
        self.kind
    }

    /// Its bytes.
    pub(crate) fn raw(self) -> &'a str {
        self.span.of(self.text)
    }

    /// The decoded text, where it is a string.
    pub(crate) fn as_str(self) -> Option<Cow<'a, str>> {
        let inner = || Span::new(self.span.start() + 1, self.span.end() - 1).of(self.text);
        (self.kind == JsonValueKind::String).then(|| string::decode(inner()))
    }

    /// The decoded text of what must be a string.
    pub(crate) fn str(self) -> Result<Cow<'a, str>, WireError> {
        self.as_str().ok_or_else(|| self.unexpected("a string"))
    }

    /// The error that something else was needed here.
    pub(crate) fn unexpected(self, expected: &'static str) -> WireError {
        let found = match self.kind {
            JsonValueKind::Object => "an object".to_owned(),
            JsonValueKind::Array => "an array".to_owned(),
            JsonValueKind::Null => "null".to_owned(),
            JsonValueKind::String if self.span.len() > 40 => "a longer string".to_owned(),
            JsonValueKind::String | JsonValueKind::Number | JsonValueKind::Bool => {
                quoted(self.raw()).into_owned()
            }
        };
        WireError::Shape {
            at: self.span.start(),
            expected,
            place: place::value(self.text, self.span.start()),
            found,
        }
    }
}

impl<'a> Object<'a> {
    /// The value under a key; of several the last, as providers read it.
    pub(crate) fn get(&self, key: &str) -> Option<JsonValue<'a>> {
        let (_, value) = self.members.iter().rev().find(|(name, _)| is(*name, key))?;
        Some(*value)
    }

    /// The value under a key, unless it is absent or null.
    pub(crate) fn some(&self, key: &str) -> Option<JsonValue<'a>> {
        self.get(key).filter(|value| value.kind() != JsonValueKind::Null)
    }

    /// The text under a key, where there is a string.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.as_str()
    }

    /// Whether a key is `true`.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.raw() == "true")
    }

    /// Whether a key is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The places of all members with this key.
    pub(crate) fn places(&self, key: &str) -> Vec<usize> {
        let found = self.members.iter().enumerate().filter(|(_, (name, _))| is(*name, key));
        found.map(|(place, _)| place).collect()
    }

    /// The span of each member, from its key to the end of its value.
    pub(crate) fn member_spans(&self) -> Vec<Span> {
        let spans = self.members.iter();
        spans.map(|(key, value)| Span::new(key.span.start(), value.span.end())).collect()
    }
}

/// Whether a key reads as `name`, however it is escaped.
fn is(key: JsonValue<'_>, name: &str) -> bool {
    key.as_str().is_some_and(|key| key == name)
}
