//! Slices: what is cut into units at once.
//!
//! Invariant: the slices of a conversation are all its readable parts in order, each part whole
//! unless its text is larger than what is cut at once; then it ends at the end of a line where there
//! is one. Called by whoever reads units without holding those of a whole conversation.

use epitome_kernel::types::{Entry, Part, PartBody, Speaker, Stays};

use crate::rows::{self, FieldRow};
use crate::split;
use crate::unit::{TextUnit, UnitKind};

/// The most bytes of a text that are cut at once: units take several times their text.
pub(crate) const MOST: usize = 1 << 19;

/// A part of an entry, or a piece of one whose text is too large.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice<'a> {
    /// The entry, by place in the list.
    pub(crate) entry: usize,
    /// The part.
    pub(crate) part: &'a Part,
    /// What is cut of it, where that is not all of it.
    piece: Option<&'a str>,
}

/// The slices of entries, in reading order.
pub(crate) fn slices<'a>(entries: &[&'a Entry]) -> Vec<Slice<'a>> {
    let parts = entries.iter().enumerate();
    let parts = parts.flat_map(|(entry, it)| it.parts.iter().map(move |part| (entry, part)));
    let mut out = Vec::new();
    for (entry, part) in parts {
        match text(part) {
            Some(text) if text.len() > MOST => {
                out.extend(pieces(text).map(|it| Slice { entry, part, piece: Some(it) }));
            }
            Some(_) => out.push(Slice { entry, part, piece: None }),
            None => {}
        }
    }
    out
}

/// Slices that together have no more than `most` bytes, or one alone.
pub(crate) fn grouped<'s, 'a>(slices: &'s [Slice<'a>], most: usize) -> Vec<&'s [Slice<'a>]> {
    let mut out = Vec::new();
    let (mut start, mut held) = (0, 0);
    for (at, slice) in slices.iter().enumerate() {
        let bytes = slice.bytes();
        if held + bytes > most && at > start {
            out.push(&slices[start..at]);
            (start, held) = (at, 0);
        }
        held += bytes;
    }
    out.push(&slices[start..]);
    out
}

impl<'a> Slice<'a> {
    /// The length of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.piece.or_else(|| text(self.part)).map_or(0, str::len)
    }

    /// Cuts it into units, in order.
    pub(crate) fn cut(&self, push: &mut dyn FnMut(TextUnit<'a>)) {
        let Self { entry, part, piece } = *self;
        let stated = part.note.as_ref().is_some_and(|note| note.stays == Stays::Newest);
        let mut push = |kind, unit: TextUnit<'a>| {
            if unit.text.chars().any(char::is_alphanumeric) {
                push(TextUnit { entry, speaker: part.speaker, kind, stated, ..unit });
            }
        };
        match (&part.body, piece) {
            (PartBody::Call(call), None) => match rows::call(&call.tool, &call.arguments) {
                Some(rows) => rows.into_iter().for_each(|row| push(UnitKind::Call, row.into())),
                None => {
                    let call = format!("{}({})", call.tool, call.arguments);
                    push(UnitKind::Call, FieldRow::plain(call).into());
                }
            },
            (_, piece) => {
                let text = piece.or_else(|| text(part)).unwrap_or_default();
                cut_text(text, part.speaker, &mut push);
            }
        }
    }
}

impl From<FieldRow> for TextUnit<'_> {
    fn from(FieldRow { text, fields }: FieldRow) -> Self {
        Self { fields, ..TextUnit::bare(text.into()) }
    }
}

/// What is read of a part.
fn text(part: &Part) -> Option<&str> {
    match &part.body {
        PartBody::Text(text) => Some(text),
        PartBody::Result(result) => Some(&result.text),
        PartBody::Call(call) => Some(&call.arguments),
        PartBody::Opaque(opaque) => Some(&opaque.text),
        PartBody::Thinking(_) | PartBody::Image(_) => None,
    }
}

/// A text in pieces of at most [`MOST`] bytes: whole lines where there are any, else sentences, else
/// words.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let head = &rest[..rest.floor_char_boundary(MOST)];
        let end = match head.len() < rest.len() {
            true => ["\n", ". ", " "].iter().find_map(|mark| Some(head.rfind(mark)? + mark.len())),
            false => None,
        };
        let (piece, after) = rest.split_at(end.unwrap_or(head.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn cut_text<'a>(text: &'a str, speaker: Speaker, push: &mut dyn FnMut(UnitKind, TextUnit<'a>)) {
    if let Some(rows) = rows::of(text) {
        rows.into_iter().for_each(|row| push(UnitKind::Row, row.into()));
        return;
    }
    for piece in split::pieces(text, speaker == Speaker::Tool) {
        let kind = if piece.prose { UnitKind::Sentence } else { UnitKind::Line };
        push(kind, TextUnit::bare(piece.text));
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;
    use crate::unit::{of_slices, units};

    /// Slices of a text, whose units say each word once.
    #[track_caller]
    fn check(text: &str, expected: usize) {
        let entries =
            chat().user("Before.").call("read", "{}").result(text).user("After.").entries();
        let entries: Vec<&Entry> = entries.iter().collect();
        let all = slices(&entries);
        let own = all.iter().filter(|slice| slice.part.speaker == Speaker::Tool);
        assert_eq!(own.clone().count(), expected);
        assert!(own.clone().all(|slice| slice.bytes() <= MOST));
        assert_eq!(own.map(Slice::bytes).sum::<usize>(), text.len());
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let said = units(&entries).into_iter().filter(|unit| unit.speaker == Speaker::Tool);
        assert_eq!(said.flat_map(|unit| words(&unit.text)).collect::<Vec<_>>(), words(text));
        let groups = grouped(&all, 2 * MOST);
        assert!(groups.iter().all(|it| it.iter().map(Slice::bytes).sum::<usize>() <= 2 * MOST));
        assert_eq!(groups.iter().flat_map(|it| of_slices(it)).count(), units(&entries).len());
    }

    #[test]
    fn a_text_that_is_too_large_is_cut_at_the_end_of_a_line() {
        check("one line\n", 1);
        check(&"let a = b(c);\n".repeat(MOST / 14), 1);
        check(&"let a = b(c);\n".repeat(MOST / 10), 2);
        check(&"One word and another one. ".repeat(MOST / 10), 3);
        check(&"éé ".repeat(MOST / 2), 3);
    }
}
