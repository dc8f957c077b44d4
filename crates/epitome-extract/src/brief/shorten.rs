//! From a sentence to a shorter one.
//!
//! Invariant: what is shortened once is not shortened further. Called by `summary`.

use std::ops::RangeInclusive;

use super::lists::WordList;
use super::model;
use super::token::{BriefToken, TokenClass, tokens};
use super::unit::units;

/// How often what is left is looked at anew.
const ROUNDS: usize = 6;
/// A sentence with fewer words stays.
const LEAST: usize = 4;
/// Of so many words of an English sentence, one is frequent in no other language.
const ENGLISH: usize = 5;

/// A sentence without what it does without.
pub(crate) fn shorten(sentence: &str) -> String {
    let mut text = sentence.trim().to_owned();
    for _ in 0..ROUNDS {
        match once(&text) {
            Some(shorter) => text = shorter,
            None => break,
        }
    }
    text
}

/// The sentence without what the model is surest of; `None` where all stays.
fn once(sentence: &str) -> Option<String> {
    let tokens = tokens(sentence);
    let words = || tokens.iter().filter(|it| !it.is_mark());
    let count = words().count();
    let english = words().filter(|it| it.is(WordList::English)).count();
    if count < LEAST || english * ENGLISH < count {
        return None;
    }
    let mut found: Vec<_> = (units(&tokens).into_iter())
        .filter_map(|unit| Some((model::sure(&tokens, &unit)?, unit)))
        .collect();
    found.sort_by_key(|(sure, unit)| (-i64::from(*sure), *unit.tokens.start()));
    let mut gone = vec![false; tokens.len()];
    let mut left = count;
    for (_, unit) in found {
        let inner = unit.tokens.clone().filter(|at| !tokens[*at].is_mark()).count();
        let touches = gone[unit.tokens.clone()].contains(&true);
        if !touches && left >= inner + LEAST - 1 && !is_led_to(&tokens, &gone, unit.tokens.clone())
        {
            gone[unit.tokens.clone()].fill(true);
            left -= inner;
        }
    }
    gone.contains(&true).then(|| written(sentence, &tokens, &gone))
}

/// Whether a preposition, a conjunction, an article or a mark would lead to nothing without these tokens.
fn is_led_to(tokens: &[BriefToken<'_>], gone: &[bool], unit: RangeInclusive<usize>) -> bool {
    let stays = |at: &usize| !gone[*at];
    let leads = |it: &BriefToken<'_>| {
        matches!(it.class, TokenClass::Link | TokenClass::Preposition | TokenClass::Mark)
            || matches!(&*it.word, "a" | "an" | "the")
    };
    let before = (0..*unit.start()).rev().find(stays).map(|at| &tokens[at]);
    let behind = (unit.end() + 1..tokens.len()).find(stays).map(|at| &tokens[at]);
    before.is_some_and(leads) && behind.is_none_or(BriefToken::is_mark)
}

/// What is left, as a sentence.
fn written(sentence: &str, tokens: &[BriefToken<'_>], gone: &[bool]) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut spaced = false;
    // Whether what stood where a sentence begins has gone.
    let mut bared = false;
    for (token, gone) in tokens.iter().zip(gone) {
        spaced |= token.spaced;
        let text = &sentence[token.range.clone()];
        if *gone {
            let begins = out.is_empty() || out.ends_with(['.', '!', '?']);
            bared |= begins && text.starts_with(char::is_uppercase);
            continue;
        }
        let closes = matches!(&*token.word, "," | "." | ";" | ":" | "!" | "?" | ")");
        if spaced && !out.is_empty() && (token.spaced || !closes) {
            out.push(' ');
        }
        let is_plain = token.class < TokenClass::Kept || token.closed;
        let mut letters = text.chars();
        match letters.next().filter(|_| bared && is_plain) {
            Some(first) => out.extend(first.to_uppercase().chain(letters)),
            None => out.push_str(text),
        }
        bared &= token.is_mark();
        spaced = false;
    }
    out
}
