//! Ranking: which passages answer a query, best first, within a budget of tokens.
//!
//! Invariant: pure and deterministic; the same passages, query and counter give the same answer,
//! and the answer never exceeds the budget. Called by both stores with the passages of one scope.

use epitome_kernel::Counter;
use epitome_kernel::types::ContentId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::refs::each_reference;
use crate::terms::{Term, Terms, term};

/// A passage as the ranking sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Its text.
    pub(crate) text: &'a str,
    /// The original it was cut from.
    pub(crate) origin: ContentId,
    /// Its place: neighbours of the same origin differ by one and are returned as one excerpt.
    pub(crate) order: i64,
}

/// One excerpt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// The passages in it (by index), in order.
    pub(crate) pieces: Vec<usize>,
    /// Their texts.
    pub(crate) text: String,
}

/// The figures of the ranking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    /// How fast repetitions of a term stop to count (BM25 k1).
    pub(crate) saturation: f64,
    /// How much long passages are held back (BM25 b).
    pub(crate) length: f64,
    /// Exponent on the rarity of a term: in a long query the rare words carry the meaning.
    pub(crate) rarity: f64,
    /// What the newest passage gains over the oldest.
    pub(crate) recency: f64,
    /// What each doubling (natural logarithm) of references in a passage gains.
    pub(crate) density: f64,
    /// What is left of a reference's worth once it was returned.
    pub(crate) repeat: f64,
    /// Share of a passage's worth that words alone hold, references aside.
    pub(crate) words: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            saturation: 1.2,
            length: 0.4,
            rarity: 1.0,
            recency: 0.3,
            density: 0.3,
            repeat: 0.2,
            words: 0.3,
        }
    }
}

/// Passages that enter the selection, which is quadratic.
const CANDIDATES: usize = 400;

/// The excerpts, best first, at most `budget` tokens in all.
pub(crate) fn rank(
    pieces: &[Piece<'_>],
    query: &str,
    budget: u64,
    counter: &dyn Counter,
    weights: &Weights,
) -> Vec<Group> {
    let scores = scores(pieces, query, weights);
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(b.cmp(&a)));
    order.truncate(CANDIDATES);
    let picked = select(pieces, &scores, &order, budget, counter, weights);
    join(pieces, picked, budget, counter)
}

/// Relevance, recency and density of every passage.
fn scores(pieces: &[Piece<'_>], query: &str, weights: &Weights) -> Vec<f64> {
    let terms = Terms::new();
    let mut wanted: FxHashMap<Term, usize> = FxHashMap::default();
    terms.each(query, |word| {
        let next = wanted.len();
        wanted.entry(term(word)).or_insert(next);
    });
    let mut found: Vec<(usize, usize, f64)> = Vec::new();
    let mut lengths = Vec::with_capacity(pieces.len());
    let mut documents = vec![0_f64; wanted.len()];
    let mut seen = vec![0_f64; wanted.len()];
    let mut hits = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut length = 0_f64;
        terms.each(piece.text, |word| {
            length += 1.0;
            if let Some(&slot) = wanted.get(&term(word)) {
                if seen[slot] == 0.0 {
                    hits.push(slot);
                }
                seen[slot] += 1.0;
            }
        });
        for slot in hits.drain(..) {
            found.push((at, slot, seen[slot]));
            documents[slot] += 1.0;
            seen[slot] = 0.0;
        }
        lengths.push(length);
    }
    let count = pieces.len() as f64;
    let mean = (lengths.iter().sum::<f64>() / count.max(1.0)).max(1.0);
    let rarity: Vec<f64> = documents
        .iter()
        .map(|&df| (1.0 + (count - df + 0.5) / (df + 0.5)).ln().powf(weights.rarity))
        .collect();
    let mut scores = vec![0_f64; pieces.len()];
    for (at, slot, tf) in found {
        let norm = 1.0 - weights.length + weights.length * lengths[at] / mean;
        scores[at] +=
            rarity[slot] * tf * (weights.saturation + 1.0) / (tf + weights.saturation * norm);
    }
    let best = scores.iter().copied().fold(0.0, f64::max);
    for (at, score) in scores.iter_mut().enumerate() {
        let relevance = if best > 0.0 { *score / best } else { 0.0 };
        let recency = weights.recency * (at as f64 + 1.0) / count;
        let mut references = FxHashSet::default();
        each_reference(pieces[at].text, |reference| {
            references.insert(reference);
        });
        let density = 1.0 + weights.density * (references.len() as f64).max(1.0).ln();
        *score = (relevance + recency) * density;
    }
    scores
}

/// Takes the passage that brings most that is new, until the budget is full.
fn select(
    pieces: &[Piece<'_>],
    scores: &[f64],
    order: &[usize],
    budget: u64,
    counter: &dyn Counter,
    weights: &Weights,
) -> Vec<usize> {
    let terms = Terms::new();
    let contents: Vec<(Vec<Term>, Vec<Term>)> = order
        .iter()
        .map(|&at| {
            let (mut words, mut references) = (FxHashSet::default(), FxHashSet::default());
            terms.each(pieces[at].text, |word| {
                words.insert(term(word));
            });
            each_reference(pieces[at].text, |reference| {
                references.insert(term(reference));
            });
            (words.into_iter().collect(), references.into_iter().collect())
        })
        .collect();
    let mut returned: FxHashSet<Term> = FxHashSet::default();
    let mut open: Vec<usize> = (0..order.len()).collect();
    let (mut picked, mut used) = (Vec::new(), 0);
    let share = |known: &FxHashSet<Term>, items: &[Term]| {
        if items.is_empty() {
            return 1.0;
        }
        let old = items.iter().filter(|item| known.contains(item)).count() as f64;
        1.0 - (1.0 - weights.repeat) * old / items.len() as f64
    };
    while !open.is_empty() {
        let mut best: Option<(f64, usize)> = None;
        for (slot, &candidate) in open.iter().enumerate() {
            let (words, references) = &contents[candidate];
            let novelty = if references.is_empty() {
                share(&returned, words)
            } else {
                weights.words * share(&returned, words)
                    + (1.0 - weights.words) * share(&returned, references)
            };
            let gain = scores[order[candidate]] * novelty;
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, slot));
            }
        }
        let Some((_, slot)) = best else { break };
        let candidate = open.remove(slot);
        let at = order[candidate];
        let cost = counter.count(pieces[at].text) + 1;
        if used + cost > budget {
            if budget - used < 20 {
                break;
            }
            continue;
        }
        used += cost;
        picked.push(at);
        let (words, references) = &contents[candidate];
        returned.extend(words);
        returned.extend(references);
    }
    picked
}

/// Puts neighbours of the same origin together, each group at the place of its best passage.
/// Putting texts together may cost tokens, so the last ones picked go if it became too much.
fn join(
    pieces: &[Piece<'_>],
    mut picked: Vec<usize>,
    budget: u64,
    counter: &dyn Counter,
) -> Vec<Group> {
    loop {
        let groups = grouped(pieces, &picked);
        if groups.iter().map(|group| counter.count(&group.text)).sum::<u64>() <= budget {
            return groups;
        }
        picked.pop();
    }
}

fn grouped(pieces: &[Piece<'_>], picked: &[usize]) -> Vec<Group> {
    let mut sorted: Vec<usize> = (0..picked.len()).collect();
    sorted.sort_unstable_by_key(|&place| picked[place]);
    let neighbours = |a: usize, b: usize| {
        let (a, b) = (&pieces[picked[a]], &pieces[picked[b]]);
        a.origin == b.origin && a.order + 1 == b.order
    };
    let mut groups: Vec<(usize, Group)> = sorted
        .chunk_by(|&a, &b| neighbours(a, b))
        .map(|places| {
            let members: Vec<usize> = places.iter().map(|&place| picked[place]).collect();
            let texts: Vec<&str> = members.iter().map(|&at| pieces[at].text).collect();
            let best = places.iter().copied().min().unwrap_or_default();
            (best, Group { text: texts.join("\n"), pieces: members })
        })
        .collect();
    groups.sort_by_key(|(best, _)| *best);
    groups.into_iter().map(|(_, group)| group).collect()
}
