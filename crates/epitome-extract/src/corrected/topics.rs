//! What sentences are about, so far as it is rare enough to tell them from others.
//!
//! Invariant: depends on the sentences alone and never on the order of a hash map. Called by [`super`].

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::unit::TextUnit;
use crate::words;

/// What more sentences are about tells none of them from the others.
const COMMON: usize = 10;
/// What no more sentences are about tells them from all others.
const RARE: usize = 6;
/// Two topics that more are about tell as much.
const ENOUGH: usize = 2;
/// Words are compared by so many letters.
const LETTERS: usize = 7;
/// A sentence with no more content of its own says nothing by itself.
const BARE: usize = 1;
/// Words that are too short say nothing of what it is about.
const WORD: usize = 4;

/// What each sentence is about.
pub(super) struct SentenceTopics {
    /// By unit.
    topics: Vec<Vec<u64>>,
    /// By unit: whether it gives a number.
    valued: Vec<bool>,
    /// The sentences about each topic, ascending.
    places: FxHashMap<u64, Vec<usize>>,
}

impl SentenceTopics {
    pub(super) fn from_units(units: &[TextUnit<'_>]) -> Self {
        let mut places: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        let topics = units.iter().map(|unit| match unit.is_of_talk() {
            true => topics(&unit.text),
            false => Vec::new(),
        });
        let topics: Vec<Vec<u64>> = topics.collect();
        for (at, own) in topics.iter().enumerate() {
            own.iter().for_each(|topic| places.entry(*topic).or_default().push(at));
        }
        let has_number = |unit: &TextUnit<'_>| unit.text.chars().any(is_number);
        Self { topics, valued: units.iter().map(has_number).collect(), places }
    }

    /// The older sentences with a value that are about the same as one: what few speak of tells them
    /// alone, what more do only beside something else.
    pub(super) fn shared(&self, at: usize) -> Vec<usize> {
        let known = self.topics[at].iter().filter_map(|topic| self.places.get(topic));
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for places in known.filter(|places| places.len() <= COMMON) {
            let telling = if places.len() <= RARE { ENOUGH } else { 1 };
            let older = places.iter().filter(|older| **older < at && self.valued[**older]);
            older.for_each(|older| *shared.entry(*older).or_default() += telling);
        }
        shared
            .into_iter()
            .filter(|(_, telling)| *telling >= ENOUGH)
            .map(|(older, _)| older)
            .collect()
    }

    /// Whether a sentence says nothing without what it is said of.
    pub(super) fn is_bare(&self, at: usize) -> bool {
        self.topics[at].len() <= BARE && !self.valued[at]
    }

    /// Whether a sentence gives a number.
    pub(super) fn has_value(&self, at: usize) -> bool {
        self.valued[at]
    }
}

fn is_number(c: char) -> bool {
    c.is_numeric() || "一二三四五六七八九十百千".contains(c)
}

/// What a sentence is about, ascending: its words with content, numbers of two digits or more, and each
/// two ideographs that stand together.
fn topics(text: &str) -> Vec<u64> {
    let hash = |word: &str| FxBuildHasher.hash_one(word);
    let mut out = Vec::new();
    let mut stem = String::new();
    let mut before: Option<std::ops::Range<usize>> = None;
    for range in words::words(text) {
        let word = &text[range.clone()];
        if words::is_unspaced(word) {
            if let Some(before) = before.filter(|before| before.end == range.start) {
                let both = &text[before.start..range.end];
                if !both.chars().any(is_number) {
                    out.push(hash(both));
                }
            }
            before = Some(range);
            continue;
        }
        before = None;
        let lower = word.to_lowercase();
        let is_figure = lower.starts_with(|c: char| c.is_ascii_digit());
        let says = if is_figure { lower.len() > 1 } else { lower.chars().count() >= WORD };
        if says && !words::is_stop_word(&lower) {
            words::stem_into(&lower, &mut stem);
            let end = stem.char_indices().nth(LETTERS).map_or(stem.len(), |(at, _)| at);
            out.push(hash(&stem[..end]));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
