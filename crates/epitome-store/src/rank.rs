//! Ranking: which passages answer a query, best first, within a budget of tokens.
//!
//! Invariant: pure and deterministic; the same passages, query and counter give the same answer,
//! and the answer never exceeds the budget. Called by both stores with the passages of one scope, and where a
//! policy says the order.

use epitome_kernel::TokenCounter;
use rustc_hash::FxHashSet;

use crate::piece::Piece;
use crate::piece_terms::PieceTerms;
use crate::query::Query;
use crate::relevance::{QueryMatch, matched};
use crate::select::select;

/// One excerpt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExcerptGroup {
    /// The passages in it (by index), in order.
    pub(crate) pieces: Vec<usize>,
    /// Their texts.
    pub(crate) text: String,
}

/// What a search came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Ranking {
    /// The excerpts, best first.
    pub(crate) groups: Vec<ExcerptGroup>,
    /// The words and phrases of the query that no passage holds.
    pub(crate) missing: Vec<String>,
}

/// The excerpts, at most `budget` tokens in all. A budget that holds no whole passage gets the
/// beginning of the best.
pub(crate) fn rank(
    pieces: &[Piece<'_>],
    query: &str,
    budget: u64,
    counter: &dyn TokenCounter,
) -> Ranking {
    let terms = PieceTerms::read(pieces);
    let QueryMatch { relevance, missing } = matched(pieces, &terms, &Query::of(query));
    let selection = select(pieces, &terms, &relevance, budget, counter);
    let groups = if selection.picked.is_empty() {
        let best = selection.best.and_then(|at| beginning(pieces, at, budget, counter));
        best.into_iter().collect()
    } else {
        join(pieces, selection.picked, budget, counter)
    };
    Ranking { groups, missing }
}

/// A passage (by index) that answers, and how well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScoredPiece {
    pub(crate) at: usize,
    pub(crate) score: f64,
}

/// Beside what has room, others are named as if there were so many times as much.
const SPARE: u64 = 4;

/// So many passages are named at most.
const NAMED: usize = 64;

/// The passages that answer, each by itself: what is taken within the budget, in the order in which
/// it is, then what would be if there were more room.
pub(crate) fn ranked(
    pieces: &[Piece<'_>],
    query: &str,
    budget: u64,
    counter: &dyn TokenCounter,
) -> Vec<ScoredPiece> {
    let terms = PieceTerms::read(pieces);
    let QueryMatch { relevance, .. } = matched(pieces, &terms, &Query::of(query));
    let picked = |budget| select(pieces, &terms, &relevance, budget, counter).picked;
    let mut all = picked(budget);
    let known: FxHashSet<usize> = all.iter().copied().collect();
    let more = picked(budget.saturating_mul(SPARE)).into_iter().filter(|at| !known.contains(at));
    all.extend(more);
    // What has room is named in any case.
    all.truncate(NAMED.max(known.len()));
    all.into_iter().map(|at| ScoredPiece { at, score: relevance[at].score }).collect()
}

/// The passages at these places that fit, taken in this order; the beginning of the first where none
/// does.
pub(crate) fn taken(
    pieces: &[Piece<'_>],
    order: &[usize],
    budget: u64,
    counter: &dyn TokenCounter,
) -> Vec<ExcerptGroup> {
    let mut used = 0;
    let fits = |at: &usize| {
        let tokens = counter.count(pieces[*at].text);
        let fits = used + tokens <= budget;
        used += if fits { tokens } else { 0 };
        fits
    };
    let picked: Vec<usize> = order.iter().copied().filter(fits).collect();
    match order.first() {
        Some(&first) if picked.is_empty() => {
            beginning(pieces, first, budget, counter).into_iter().collect()
        }
        _ => join(pieces, picked, budget, counter),
    }
}

/// As much of a passage as fits, up to the end of a word.
fn beginning(
    pieces: &[Piece<'_>],
    at: usize,
    budget: u64,
    counter: &dyn TokenCounter,
) -> Option<ExcerptGroup> {
    let text = pieces[at].text;
    let ends: Vec<usize> = text
        .match_indices(char::is_whitespace)
        .map(|(end, _)| end)
        .filter(|&end| end > 0)
        .collect();
    let fit = ends.partition_point(|&end| counter.count(&text[..end]) <= budget);
    let text = text[..*ends.get(fit.checked_sub(1)?)?].trim();
    let fits = !text.is_empty() && counter.count(text) <= budget;
    fits.then(|| ExcerptGroup { pieces: vec![at], text: text.to_owned() })
}

/// Puts neighbours of the same origin together. Putting texts together may cost tokens, so the
/// last ones picked go if it became too much.
fn join(
    pieces: &[Piece<'_>],
    mut picked: Vec<usize>,
    budget: u64,
    counter: &dyn TokenCounter,
) -> Vec<ExcerptGroup> {
    loop {
        let groups = grouped(pieces, &picked);
        if groups.iter().map(|group| counter.count(&group.text)).sum::<u64>() <= budget {
            return groups;
        }
        picked.pop();
    }
}

/// The groups of what was picked, each at the place of its best passage.
fn grouped(pieces: &[Piece<'_>], picked: &[usize]) -> Vec<ExcerptGroup> {
    let mut places: Vec<usize> = (0..picked.len()).collect();
    places.sort_unstable_by_key(|&place| picked[place]);
    let mut groups: Vec<(usize, ExcerptGroup)> = places
        .chunk_by(|&a, &b| pieces[picked[a]].leads_to(&pieces[picked[b]]))
        .map(|places| {
            let pieces_of: Vec<usize> = places.iter().map(|&place| picked[place]).collect();
            let texts: Vec<&str> = pieces_of.iter().map(|&at| pieces[at].text).collect();
            let best = places.iter().copied().min().unwrap_or_default();
            (best, ExcerptGroup { text: texts.join("\n"), pieces: pieces_of })
        })
        .collect();
    groups.sort_unstable_by_key(|(best, _)| *best);
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::{ContentId, ImagePart};

    use super::*;

    /// A word is a token.
    struct Words;

    impl TokenCounter for Words {
        fn id(&self) -> &str {
            "words"
        }

        fn count(&self, text: &str) -> u64 {
            text.split_whitespace().count() as u64
        }

        fn image(&self, _: &ImagePart) -> u64 {
            0
        }
    }

    /// Texts beginning with the same letter and colon come from one original.
    #[track_caller]
    fn check(texts: &[&str], query: &str, budget: u64, expected: &[&str]) {
        let pieces: Vec<Piece<'_>> = texts
            .iter()
            .zip(0..)
            .map(|(text, order)| Piece::alone(text, ContentId::for_text(&text[..1]), order))
            .collect();
        let groups = rank(&pieces, query, budget, &Words).groups;
        let found: Vec<&str> = groups.iter().map(|group| group.text.as_str()).collect();
        assert_eq!(found, expected, "{query:?} within {budget}");
    }

    #[test]
    fn what_was_cut_from_its_original_twice_comes_once() {
        check(
            &["a: the port is 4000. it stays", "b: yellow plums", "a: the port is 4000.\nit stays"],
            "port 4000",
            20,
            &["a: the port is 4000.\nit stays"],
        );
    }

    #[test]
    fn what_the_query_names_comes_first() {
        check(
            &["a: red apples", "b: green pears", "c: yellow plums", "d: blue grapes"],
            "are the pears ripe?",
            3,
            &["b: green pears"],
        );
    }

    #[test]
    fn a_rare_word_outweighs_common_ones() {
        check(
            &[
                "a: the flight was booked today",
                "b: the flight was booked again",
                "c: a walrus came by train",
                "d: another flight was booked late",
            ],
            "was the flight of the walrus booked",
            6,
            &["c: a walrus came by train"],
        );
    }

    #[test]
    fn references_that_were_returned_count_little() {
        check(
            &[
                "a: pay with card_1234567",
                "b: pay by card_1234567",
                "c: pay by card_7654321",
                "d: nothing of that kind",
            ],
            "pay",
            9,
            &["c: pay by card_7654321", "b: pay by card_1234567"],
        );
    }

    #[test]
    fn neighbours_of_one_original_are_joined_in_order() {
        check(
            &[
                "a: one lonely pear that fell far from all others",
                "b: two pears in a pear tree",
                "b: three pears",
                "c: no fruit here",
            ],
            "pears",
            30,
            &[
                "b: two pears in a pear tree\nb: three pears",
                "a: one lonely pear that fell far from all others",
            ],
        );
    }

    #[test]
    fn words_in_order_come_before_the_same_words_apart() {
        let apart = "a: refused refused, and the connection connection";
        let texts = [apart, "b: connection refused", "c: rain"];
        check(&texts, "connection refused", 30, &["b: connection refused", apart]);
    }

    #[test]
    fn a_budget_too_small_for_a_passage_gets_its_beginning() {
        check(&["a: one two three four"], "three", 3, &["a: one two"]);
        check(&["a: one two three four"], "three", 0, &[]);
        check(&["averylongword"], "word", 0, &[]);
        check(&[], "word", 9, &[]);
    }
}
