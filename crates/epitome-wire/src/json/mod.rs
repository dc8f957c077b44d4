//! JSON as spans: where each value stands in the text, decoded only on request.
//!
//! Invariant: nothing here ever produces JSON from a value it has read; what is not edited keeps
//! its bytes (RULES 132). Called by every reader of this crate.

mod cursor;
mod inside;
mod place;
mod string;
mod value;

pub(crate) use cursor::Cursor;
pub(crate) use string::{escape_into, literal};
pub(crate) use value::{JsonValue, JsonValueKind, Object, Objects};

use crate::WireError;

/// How many arrays and objects may be nested.
pub(crate) const MOST_NESTED: u32 = 128;

/// A half-open range of byte offsets into the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The text it covers; spans always come from the same text, so the default is never taken.
    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn len(self) -> usize {
        self.end - self.start
    }
}

/// The bytes as text.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, WireError> {
    std::str::from_utf8(bytes).map_err(|error| WireError::Utf8 { at: error.valid_up_to() })
}

/// The one value that a text consists of, checked to the last byte.
pub(crate) fn parse(text: &str) -> Result<JsonValue<'_>, WireError> {
    let mut cursor = Cursor::new(text, 0);
    let value = cursor.value()?;
    cursor.end()?;
    Ok(value)
}
