//! Relevance: how well every passage matches a query.
//!
//! Invariant: between 0 and about 1; all 0 if no passage holds a term of the query. Called by the
//! ranking.

use rustc_hash::FxHashMap;

use crate::rank::Piece;
use crate::terms::{Term, Terms, term};

/// How fast repetitions of a term stop to count (BM25 k1).
const SATURATION: f64 = 1.2;

/// How much long passages are held back (BM25 b). Passages are of one size, so little is needed.
const LENGTH: f64 = 0.4;

/// Exponent on the rarity of a term. A query may be a whole message, of which the rare words carry
/// the meaning.
const RARITY: f64 = 1.3;

/// What a passage gains from a neighbour that matches: a result from its call, a sentence from the
/// one before.
const SPREAD: f64 = 0.2;

/// The relevance of every passage, in their order.
pub(crate) fn relevance(pieces: &[Piece<'_>], query: &str) -> Vec<f64> {
    let hits = Hits::of(pieces, query);
    let count = pieces.len() as f64;
    let mean = (hits.lengths.iter().sum::<f64>() / count.max(1.0)).max(1.0);
    let rarity: Vec<f64> = hits
        .holders
        .iter()
        .map(|&holders| (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln().powf(RARITY))
        .collect();
    let mut scores = vec![0.0; pieces.len()];
    for hit in &hits.found {
        let norm = 1.0 - LENGTH + LENGTH * hits.lengths[hit.piece] / mean;
        let weight = hit.times * (SATURATION + 1.0) / (hit.times + SATURATION * norm);
        scores[hit.piece] += rarity[hit.term] * weight;
    }
    let best = scores.iter().copied().fold(0.0, f64::max);
    if best == 0.0 {
        return scores;
    }
    let own = |at: Option<usize>| at.and_then(|at| scores.get(at)).copied().unwrap_or_default();
    (0..scores.len())
        .map(|at| {
            let neighbours = own(at.checked_sub(1)).max(own(Some(at + 1)));
            (scores[at] + SPREAD * neighbours) / best
        })
        .collect()
}

/// Which passage holds which term of the query, and how often.
struct Hits {
    found: Vec<Hit>,
    /// For every term: the number of passages that hold it.
    holders: Vec<f64>,
    /// For every passage: its length in terms.
    lengths: Vec<f64>,
}

struct Hit {
    piece: usize,
    term: usize,
    times: f64,
}

impl Hits {
    fn of(pieces: &[Piece<'_>], query: &str) -> Self {
        let terms = Terms::new();
        let mut wanted: FxHashMap<Term, usize> = FxHashMap::default();
        terms.each(query, |word| {
            let next = wanted.len();
            wanted.entry(term(word)).or_insert(next);
        });
        let mut hits = Self {
            found: Vec::new(),
            holders: vec![0.0; wanted.len()],
            lengths: Vec::with_capacity(pieces.len()),
        };
        for (at, piece) in pieces.iter().enumerate() {
            let (mut length, first) = (0.0, hits.found.len());
            terms.each(piece.text, |word| {
                length += 1.0;
                if let Some(&term) = wanted.get(&term(word)) {
                    match hits.found[first..].iter_mut().find(|hit| hit.term == term) {
                        Some(hit) => hit.times += 1.0,
                        None => hits.found.push(Hit { piece: at, term, times: 1.0 }),
                    }
                }
            });
            hits.lengths.push(length);
            for hit in &hits.found[first..] {
                hits.holders[hit.term] += 1.0;
            }
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ContentId;

    use super::*;

    fn of(texts: &[&str], query: &str) -> Vec<f64> {
        let pieces: Vec<Piece<'_>> = texts
            .iter()
            .zip(0..)
            .map(|(text, order)| Piece { text, origin: ContentId::of(text), order })
            .collect();
        relevance(&pieces, query)
    }

    /// The passages in order of relevance.
    #[track_caller]
    fn check(texts: &[&str], query: &str, expected: &[usize]) {
        let scores = of(texts, query);
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        assert_eq!(order, expected, "{scores:?}");
    }

    #[test]
    fn no_hit_is_no_relevance() {
        assert_eq!(of(&["one", "two"], "three"), [0.0, 0.0]);
        assert_eq!(of(&["one", "two"], ""), [0.0, 0.0]);
        assert!(of(&[], "one").is_empty());
    }

    #[test]
    fn stems_parts_and_wholes_match() {
        check(
            &["rain", "calls parse_body here", "sun"],
            "the parser of bodies: parse_body",
            &[1, 0, 2],
        );
        check(&["rain", "snow", "in src/theme.rs"], "themes", &[2, 1, 0]);
    }

    #[test]
    fn neighbours_share_a_little() {
        let scores = of(&["far", "beside", "the owl", "near", "away"], "owl");
        assert_eq!(scores, [0.0, SPREAD, 1.0, SPREAD, 0.0]);
    }
}
