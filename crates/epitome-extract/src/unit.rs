//! Units: the pieces of a conversation that are kept or left as a whole.
//!
//! Invariant: a unit's text is a verbatim slice, a row of fields, a rendered call, or the slices of a
//! question that was answered in a few words, joined; nothing is reworded here. Called once per summary.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use epitome_kernel::types::{CallFailure, Entry, Speaker};

use crate::directive::{self, DirectiveStrength};
use crate::slice::{Slice, slices};
use crate::words::word_count;

/// An answer of more words says of itself what it is about.
const ANSWER_WORDS: usize = 4;
/// What is answered stays together where it has no more words.
const QUESTION_WORDS: usize = 60;

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

/// What is known of a call where it, or its result, is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallName<'a> {
    /// Its tool, and the first of what that was told.
    pub(crate) text: String,
    /// Whether the same is called again later: then this one leaves before its result does.
    pub(crate) is_repeated: bool,
    /// What came of it where it failed.
    pub(crate) failure: Option<CallFailure<'a>>,
}

/// What is known of a unit that is a row of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitRow {
    /// The key of each field and where its value stands in the text.
    pub(crate) fields: Vec<(String, Range<usize>)>,
    /// What names the object of a list that it is of.
    pub(crate) object: Option<Rc<str>>,
}

/// A piece of the conversation. There are as many as lines: what few of them have is boxed.
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
    /// What it is a row of.
    pub(crate) row: Option<Box<UnitRow>>,
    /// The call that it is one of, or of whose result it is one.
    pub(crate) call: Option<Rc<CallName<'a>>>,
    /// What a person answered in a few words, which say nothing by themselves: it stays and leaves
    /// with this.
    pub(crate) answer: Option<Box<Cow<'a, str>>>,
}

impl<'a> TextUnit<'a> {
    /// One that says nothing but a text, of nobody.
    pub(crate) fn bare(text: Cow<'a, str>) -> Self {
        let (speaker, kind) = (Speaker::Harness, UnitKind::Line);
        Self { entry: 0, speaker, kind, withheld: false, text, row: None, call: None, answer: None }
    }

    /// All that it says.
    pub(crate) fn said(&self) -> Cow<'_, str> {
        match &self.answer {
            Some(answer) => format!("{}\n{answer}", self.text).into(),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// The key of each field of a row and where its value stands in the text.
    pub(crate) fn fields(&self) -> &[(String, Range<usize>)] {
        self.row.as_ref().map_or(&[], |row| &row.fields)
    }

    /// What names the object of a list that it is a row of.
    pub(crate) fn object(&self) -> Option<&str> {
        self.row.as_ref()?.object.as_deref()
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
    bind_answers(&mut out);
    // What it grew by beyond is as much again.
    out.shrink_to_fit();
    out
}

/// Binds what people answer in a few words to what they answer, which becomes one unit with it: among
/// equal answers to other questions it would go to the wrong one. The pieces stay as they were, for a
/// search.
fn bind_answers(units: &mut [TextUnit<'_>]) {
    for at in 1..units.len() {
        let (before, answer) = (&units[at - 1], &units[at]);
        let is_answer = (before.speaker, answer.speaker) == (Speaker::Model, Speaker::Human)
            && before.kind != UnitKind::Call
            && before.entry != answer.entry
            && word_count(&answer.text) <= ANSWER_WORDS
            && directive::order(&answer.text) < DirectiveStrength::Faint;
        if is_answer {
            let asked = asked(&units[..at]);
            let text: Vec<&str> = units[asked..at].iter().map(|unit| &*unit.text).collect();
            let text = text.join(" ");
            units[asked].text = text.into();
            units[asked].answer = Some(Box::new(units[at].text.clone()));
            units[asked + 1..=at].iter_mut().for_each(|unit| unit.withheld = true);
        }
    }
}

/// Where what is answered begins, which ends the units: all of their last message where it is short, else
/// its last question with what follows, else its end.
fn asked(units: &[TextUnit<'_>]) -> usize {
    let last = units.len() - 1;
    let is_said = |unit: &TextUnit<'_>| {
        unit.entry == units[last].entry && unit.kind != UnitKind::Call && unit.row.is_none()
    };
    let start = units.iter().rposition(|unit| !is_said(unit)).map_or(0, |other| other + 1);
    let asks = |unit: &usize| units[*unit].text.ends_with(['?', '？']);
    let is_short = |from: &usize| {
        let words = units[*from..].iter().map(|unit| word_count(&unit.text));
        words.sum::<usize>() <= QUESTION_WORDS
    };
    let question = || (start..=last).rev().find(asks).filter(is_short);
    Some(start).filter(is_short).or_else(question).unwrap_or(last)
}
