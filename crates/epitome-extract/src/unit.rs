//! Units: the pieces of a conversation that are kept or left as a whole.
//!
//! Invariant: a unit's text is a verbatim slice, a row of fields, or a rendered call; nothing is
//! reworded here. Called once per summary.

use std::ops::Range;

use epitome_kernel::types::{Body, Entry, Part, Speaker, Stays};

use crate::rows::{self, Row};
use crate::split;

/// What a unit was cut from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A sentence.
    Sentence,
    /// A line, or a few short ones, of code, logs or other output.
    Line,
    /// Fields of one object of a JSON text.
    Row,
    /// A tool call, or one field of its arguments.
    Call,
}

/// A piece of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    /// The entry, by place in the list that was cut.
    pub(crate) entry: usize,
    /// Who produced it.
    pub(crate) speaker: Speaker,
    /// What it was cut from.
    pub(crate) kind: Kind,
    /// Whether a client states it, and states it anew where it leaves: it is not summed up.
    pub(crate) stated: bool,
    /// The text.
    pub(crate) text: String,
    /// The key of each field of a row and where its value stands in the text.
    pub(crate) fields: Vec<(String, Range<usize>)>,
}

/// Cuts entries into units, in reading order.
pub(crate) fn units(entries: &[&Entry]) -> Vec<Unit> {
    let mut out = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        for part in &entry.parts {
            let stated = part.note.as_ref().is_some_and(|note| note.stays == Stays::Newest);
            cut(part, &mut |kind, row| {
                if row.text.chars().any(char::is_alphanumeric) {
                    let Row { text, fields } = row;
                    let speaker = part.speaker;
                    out.push(Unit { entry: index, speaker, kind, stated, text, fields });
                }
            });
        }
    }
    // What it grew by beyond is as much again.
    out.shrink_to_fit();
    out
}

fn cut(part: &Part, push: &mut dyn FnMut(Kind, Row)) {
    match &part.body {
        Body::Text(text) => cut_text(text, part.speaker, push),
        Body::Result(result) => cut_text(&result.text, part.speaker, push),
        Body::Call(call) => match rows::call(&call.tool, &call.arguments) {
            Some(pieces) => pieces.into_iter().for_each(|piece| push(Kind::Call, piece)),
            None => push(Kind::Call, Row::plain(format!("{}({})", call.tool, call.arguments))),
        },
        Body::Opaque(opaque) => cut_text(&opaque.text, part.speaker, push),
        Body::Thinking(_) | Body::Image(_) => {}
    }
}

fn cut_text(text: &str, speaker: Speaker, push: &mut dyn FnMut(Kind, Row)) {
    if let Some(rows) = rows::of(text) {
        rows.into_iter().for_each(|row| push(Kind::Row, row));
        return;
    }
    for piece in split::pieces(text, speaker == Speaker::Tool) {
        let kind = if piece.prose { Kind::Sentence } else { Kind::Line };
        push(kind, Row::plain(piece.text));
    }
}
