//! Units: the pieces of a conversation that are kept or left as a whole.
//!
//! Invariant: a unit's text is a verbatim slice, a row of fields, or a rendered call; nothing is
//! reworded here. Called once per summary.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use epitome_kernel::types::{Entry, Speaker};

use crate::slice::{Slice, slices};

/// What a unit was cut from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
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
pub(crate) struct TextUnit<'a> {
    /// The entry, by place in the list that was cut.
    pub(crate) entry: usize,
    /// Who produced it.
    pub(crate) speaker: Speaker,
    /// What it was cut from.
    pub(crate) kind: UnitKind,
    /// Whether no summary is offered it: a client states it, and states it anew where it leaves, or it
    /// never came about. A search finds it.
    pub(crate) withheld: bool,
    /// The text.
    pub(crate) text: Cow<'a, str>,
    /// The key of each field of a row and where its value stands in the text.
    pub(crate) fields: Vec<(String, Range<usize>)>,
    /// What names the object of a list that it is a row of.
    pub(crate) object: Option<Rc<str>>,
    /// The call that it is one of, or of whose result it is one.
    pub(crate) call: Option<Rc<str>>,
}

impl<'a> TextUnit<'a> {
    /// One that says nothing but a text, of nobody.
    pub(crate) fn bare(text: Cow<'a, str>) -> Self {
        let (speaker, kind) = (Speaker::Harness, UnitKind::Line);
        let fields = Vec::new();
        Self { entry: 0, speaker, kind, withheld: false, text, fields, object: None, call: None }
    }

    /// Whether it is a sentence of a person.
    pub(crate) fn is_spoken(&self) -> bool {
        self.speaker == Speaker::Human && self.kind == UnitKind::Sentence
    }
}

/// Cuts entries into units, in reading order.
pub(crate) fn units<'a>(entries: &[&'a Entry]) -> Vec<TextUnit<'a>> {
    of_slices(&slices(entries))
}

/// Cuts slices into units, in reading order.
pub(crate) fn of_slices<'a>(slices: &[Slice<'a>]) -> Vec<TextUnit<'a>> {
    let mut out = Vec::new();
    slices.iter().for_each(|slice| slice.cut(&mut |unit| out.push(unit)));
    // What it grew by beyond is as much again.
    out.shrink_to_fit();
    out
}
