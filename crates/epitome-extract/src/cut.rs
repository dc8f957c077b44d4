//! From entries to units: each slice is cut, and short answers are bound to what they answer.
//!
//! Invariant: units stand in the order in which they are read, and each piece that was cut stays a unit,
//! withheld where it stands in a bound one too. Called by whoever reads what entries say.

use epitome_kernel::types::{Entry, Speaker};

use crate::corrected::corrects;
use crate::directive::{self, DirectiveStrength};
use crate::slice::{Slice, slices};
use crate::unit::{TextUnit, UnitKind};
use crate::words::word_count;

/// An answer of more words says of itself what it is about.
const ANSWER_WORDS: usize = 4;
/// What is answered stays together where it has no more words.
const QUESTION_WORDS: usize = 60;

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
            && before.entry() != answer.entry()
            && word_count(&answer.text) <= ANSWER_WORDS
            && directive::order(&answer.text) < DirectiveStrength::Faint
            // "Sorry, that was 2022." answers nothing: it stays with what it corrects.
            && (is_question(before) || !gives_another(&answer.text));
        if is_answer {
            let asked = asked(&units[..at]);
            let text = joined(&units[asked..at]);
            units[asked].text = text.into();
            let answer = units[at].marked().into_owned();
            units[asked].set_answer(answer.into());
            units[asked + 1..=at].iter_mut().for_each(|unit| unit.withheld = true);
        }
    }
}

/// The texts of units, one after the other, each behind who says it where that is somebody else.
fn joined(units: &[TextUnit<'_>]) -> String {
    let mut out = String::new();
    let mut last = None;
    for unit in units {
        if !out.is_empty() {
            out.push(' ');
        }
        // The first stands behind its mark wherever it is told.
        let is_told = last.is_none_or(|last: &TextUnit<'_>| last.is_same_turn(unit));
        match is_told {
            true => out.push_str(&unit.text),
            false => out.push_str(&unit.marked()),
        }
        last = Some(unit);
    }
    out
}

/// Whether an answer gives another value to what was said.
fn gives_another(answer: &str) -> bool {
    answer.contains(|c: char| c.is_numeric()) && corrects(answer)
}

fn is_question(unit: &TextUnit<'_>) -> bool {
    unit.text.ends_with(['?', '？', '؟'])
}

/// Where what is answered begins, which ends the units: all of their last message where it is short, else
/// its last question with what follows, else its end.
fn asked(units: &[TextUnit<'_>]) -> usize {
    let last = units.len() - 1;
    let is_said = |unit: &TextUnit<'_>| {
        unit.entry() == units[last].entry() && unit.kind != UnitKind::Call && unit.row().is_none()
    };
    let start = units.iter().rposition(|unit| !is_said(unit)).map_or(0, |other| other + 1);
    let asks = |unit: &usize| is_question(&units[*unit]);
    let is_short = |from: &usize| {
        let words = units[*from..].iter().map(|unit| word_count(&unit.text));
        words.sum::<usize>() <= QUESTION_WORDS
    };
    let question = || (start..=last).rev().find(asks).filter(is_short);
    Some(start).filter(is_short).or_else(question).unwrap_or(last)
}
