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
pub(crate) use string::{escape_into, escaped_len, literal};
pub(crate) use value::{JsonValue, JsonValueKind, Object, Objects};

use std::ops::Range;

use crate::WireError;

/// How many arrays and objects may be nested.
pub(crate) const MOST_NESTED: u32 = 128;

/// A half-open range of byte offsets into the whole text, which [`text`] keeps below 4 GiB: a message has
/// more of them than words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// The text it covers; spans always come from the same text, so the default is never taken.
    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    pub(crate) fn len(self) -> usize {
        self.end() - self.start()
    }
}

/// The bytes as text. Each request is checked as a whole, of which little is new: that is done some 64
/// bytes at a time.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, WireError> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(WireError::TooLarge { bytes: bytes.len() });
    }
    simdutf8::compat::from_utf8(bytes).map_err(|error| WireError::Utf8 { at: error.valid_up_to() })
}

/// The one value that a text consists of, checked to the last byte.
pub(crate) fn parse(text: &str) -> Result<JsonValue<'_>, WireError> {
    let mut cursor = Cursor::new(text, 0);
    let value = cursor.value()?;
    cursor.end()?;
    Ok(value)
}
