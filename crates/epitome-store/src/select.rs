//! Selection: the passages that together bring most, one after the other.
//!
//! Invariant: what a passage brings can only fall as others are taken, so a stale estimate is an
//! upper bound and the best is found without estimating all of them again. Called by the ranking.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use epitome_kernel::TokenCounter;
use epitome_kernel::types::ContentId;
use rustc_hash::FxHashSet;

use crate::piece::Piece;
use crate::piece_terms::PieceTerms;
use crate::refs::each_reference;
use crate::relevance::Relevance;
use crate::terms::{Term, term};

/// What a reference that nothing returned yet adds, in units of a perfect match. Who asks often
/// knows only the topic and needs the one name that belongs to it, so a passage with many is worth
/// more; and each counts once.
const REFERENCE: f64 = 0.13;

/// A bare number says less than a name, an id or a path.
const NUMBER: f64 = 0.5;

/// What nearness to the end of the conversation adds to the worth of references.
const NEARNESS: f64 = 0.3;

/// Passages from the end at which nearness has fallen to a half.
const NEAR: f64 = 100.0;

/// What is left of the worth of a word or reference once it was returned.
const REPEATED: f64 = 0.2;

/// Share of a match that does not depend on the words being new.
const MATCHED: f64 = 0.5;

/// Passages whose tokens are counted, which is the slowest step: the best as far as their lengths
/// tell, this many and one more for so many tokens of the budget.
const COUNTED: usize = 150;
const COUNTED_PER: u64 = 8;

/// What was selected.
#[derive(Debug, PartialEq)]
pub(crate) struct PassageSelection {
    /// The passages that fit (by index), best first.
    pub(crate) picked: Vec<usize>,
    /// The best passage, whether it fits or not.
    pub(crate) best: Option<usize>,
}

/// Takes the passage that brings most that is new, until nothing more fits.
pub(crate) fn select(
    pieces: &[Piece<'_>],
    terms: &PieceTerms,
    relevance: &[Relevance],
    budget: u64,
    counter: &dyn TokenCounter,
) -> PassageSelection {
    let mut open = candidates(pieces, terms, relevance, budget, counter);
    let best = open.peek().map(|candidate| candidate.at);
    let mut returned = FxHashSet::default();
    let (mut picked, mut said, mut used) = (Vec::new(), Vec::new(), 0);
    while let Some(mut candidate) = open.pop() {
        if used + candidate.tokens > budget {
            continue;
        }
        candidate.estimate(&returned);
        if open.peek().is_some_and(|next| *next > candidate) {
            open.push(candidate);
            continue;
        }
        let piece = &pieces[candidate.at];
        let saying = OriginText::from_piece(piece);
        if said.iter().any(|known| saying.repeats(known)) {
            continue;
        }
        let joins =
            |&&other: &&usize| pieces[other].leads_to(piece) || piece.leads_to(&pieces[other]);
        let line_breaks = picked.iter().filter(joins).count() as u64;
        if used + candidate.tokens + line_breaks > budget {
            continue;
        }
        used += candidate.tokens + line_breaks;
        returned.extend(candidate.words);
        returned.extend(candidate.references.iter().map(|reference| reference.term));
        picked.push(candidate.at);
        said.push(saying);
    }
    PassageSelection { picked, best }
}

/// What a passage says, however it was cut from its original: one that left the prompt twice may have been
/// cut in two ways.
struct OriginText {
    origin: ContentId,
    words: String,
}

impl OriginText {
    fn from_piece(piece: &Piece<'_>) -> Self {
        Self { origin: piece.origin, words: in_line(piece.text) }
    }

    /// Whether one of both says all of the other.
    fn repeats(&self, known: &Self) -> bool {
        self.origin == known.origin
            && (self.words.contains(&known.words) || known.words.contains(&self.words))
    }
}

/// Whether a text holds all words of another in their order, however their lines are broken.
pub fn says_all(whole: &str, part: &str) -> bool {
    whole.contains(part) || in_line(whole).contains(&in_line(part))
}

fn in_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The passages that answer, estimated as if all of each were new.
fn candidates(
    pieces: &[Piece<'_>],
    terms: &PieceTerms,
    relevance: &[Relevance],
    budget: u64,
    counter: &dyn TokenCounter,
) -> BinaryHeap<PassageCandidate> {
    let mut rough: Vec<PassageCandidate> = pieces
        .iter()
        .enumerate()
        .filter(|(at, _)| relevance[*at].answers)
        .map(|(at, piece)| {
            let distance = (pieces.len() - 1 - at) as f64;
            PassageCandidate::new(at, piece.text, relevance[at], NEARNESS / (1.0 + distance / NEAR))
        })
        .collect();
    let counted =
        usize::try_from(budget / COUNTED_PER).unwrap_or(usize::MAX).saturating_add(COUNTED);
    if rough.len() > counted {
        rough.select_nth_unstable_by(counted, |a, b| b.cmp(a));
        rough.truncate(counted);
    }
    for candidate in &mut rough {
        candidate.tokens = counter.count(pieces[candidate.at].text);
        candidate.words = terms.get(candidate.at).to_vec();
        candidate.words.sort_unstable();
        candidate.words.dedup();
        candidate.estimate(&FxHashSet::default());
    }
    rough.into()
}

/// A passage that may be taken.
#[derive(Debug)]
struct PassageCandidate {
    at: usize,
    gain: f64,
    relevance: Relevance,
    nearness: f64,
    tokens: u64,
    words: Vec<Term>,
    references: Vec<PassageReference>,
}

/// A reference in a passage.
#[derive(Debug)]
struct PassageReference {
    term: Term,
    worth: f64,
}

impl PassageCandidate {
    /// A candidate with its references alone, its tokens guessed by its length.
    fn new(at: usize, text: &str, relevance: Relevance, nearness: f64) -> Self {
        let mut references: Vec<PassageReference> = Vec::new();
        each_reference(text, |reference| {
            let term = term(reference);
            if !references.iter().any(|known| known.term == term) {
                let named = reference.chars().any(char::is_alphabetic);
                references.push(PassageReference { term, worth: if named { 1.0 } else { NUMBER } });
            }
        });
        let tokens = text.len() as u64 / 4;
        let words = Vec::new();
        let mut new = Self { at, gain: 0.0, relevance, nearness, tokens, words, references };
        new.estimate(&FxHashSet::default());
        new
    }

    /// What it brings beside what was returned: its match, and its references weighed by how near
    /// it is in meaning and in time. By the root of its size: short passages bring more per token,
    /// but not by so much that scraps win.
    fn estimate(&mut self, returned: &FxHashSet<Term>) {
        let fresh = |term: &Term| if returned.contains(term) { REPEATED } else { 1.0 };
        let references: f64 =
            self.references.iter().map(|reference| reference.worth * fresh(&reference.term)).sum();
        let words = match self.words.len() {
            0 => 1.0,
            count => self.words.iter().map(fresh).sum::<f64>() / count as f64,
        };
        let matched = self.relevance.score * (MATCHED + (1.0 - MATCHED) * words);
        let named = REFERENCE * (self.relevance.score + self.nearness) * references;
        self.gain = (matched + named) / (self.tokens.max(1) as f64).sqrt();
    }
}

impl Ord for PassageCandidate {
    /// Those that say it in the words' order first; newer ones where the gains are equal.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.relevance.in_order.cmp(&other.relevance.in_order);
        order.then(self.gain.total_cmp(&other.gain)).then(self.at.cmp(&other.at))
    }
}

impl PartialOrd for PassageCandidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PassageCandidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PassageCandidate {}
