//! Why bytes were refused, or an edit of them.
//!
//! Invariant: every variant says where it happened and what was expected there.

use epitome_types::EntryId;

use crate::Format;

/// Why bytes could not be read, converted or edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes are not text.
    #[error("byte {at}: expected UTF-8 text")]
    Utf8 {
        /// Offset of the first byte that is no UTF-8.
        at: usize,
    },
    /// The text is not JSON; a cut-off file ends here too.
    #[error("byte {at}: expected {expected}{}", within(place))]
    Syntax {
        /// Offset of the byte that does not fit.
        at: usize,
        /// What could have stood there.
        expected: &'static str,
        /// The array or object it stands in (`messages[3].content`); empty at the top.
        place: String,
    },
    /// Arrays and objects are nested deeper than any conversation needs.
    #[error("byte {at}: expected at most {most} nested arrays and objects")]
    Deep {
        /// Offset of the bracket that is one too many.
        at: usize,
        /// How many levels are read.
        most: u32,
    },
    /// The JSON is sound, but not of the expected shape.
    #[error("byte {at}: expected {expected}{}, found {found}", within(place))]
    Shape {
        /// Offset of the value.
        at: usize,
        /// What should stand there.
        expected: &'static str,
        /// The value's path (`messages[3].role`); empty at the top.
        place: String,
        /// What stands there.
        found: String,
    },
    /// One line of a recording is at fault; offsets count from the start of the line.
    #[error("line {line}: {source}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: Box<WireError>,
    },
    /// No known format looks like this.
    #[error("format not recognised: {found}; expected {}", known())]
    Unrecognised {
        /// What was found instead.
        found: String,
    },
    /// A format's name is not known.
    #[error("unknown format `{name}`; expected one of {}", known())]
    UnknownName {
        /// The name as given.
        name: String,
    },
    /// A recording was given where a request is needed, or the reverse.
    #[error("{format} is {is}; expected {expected}")]
    WrongKind {
        /// The format given.
        format: Format,
        /// What it is.
        is: &'static str,
        /// What was needed.
        expected: &'static str,
    },
    /// An edit cannot be made; nothing was changed.
    #[error("edit of {entry}{}: {why}", part.map_or_else(String::new, |part| format!(" part {part}")))]
    Edit {
        /// The entry aimed at.
        entry: EntryId,
        /// The part aimed at, where it was one.
        part: Option<u32>,
        /// Why it cannot be made, and what could be.
        why: &'static str,
    },
}

/// A place as the end of a sentence.
fn within(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" in `{place}`") }
}

/// The names of all formats.
fn known() -> String {
    Format::ALL.map(|format| format!("`{format}`")).join(", ")
}
