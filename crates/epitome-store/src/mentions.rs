//! Words by which more is found: which passages hold each of them.
//!
//! Invariant: a word is told from others as a search tells them, so that what holds it is what a
//! search for it finds. Called by the stores.

use epitome_kernel::types::WordMentions;
use rustc_hash::FxHashMap;

use crate::passage::{IndexedPassage, alone, pieces};
use crate::piece_terms::PieceTerms;
use crate::query::Query;
use crate::relevance::{Relevance, matched};
use crate::terms::{Term, TermFilter, term};

/// Of these words those that a passage holds and no more than `most` do, each with its passages:
/// first what answers the query best, then what was said last.
pub(crate) fn mentions(
    kept: &[IndexedPassage],
    words: &[String],
    query: &str,
    most: usize,
) -> Vec<WordMentions> {
    let pieces = pieces(kept);
    let terms = PieceTerms::read(&pieces);
    let mut holders: FxHashMap<Term, Vec<usize>> =
        words.iter().filter_map(|word| whole(word)).map(|term| (term, Vec::new())).collect();
    for (at, terms) in terms.iter().enumerate() {
        for term in terms {
            let Some(known) = holders.get_mut(term) else { continue };
            // One more than is asked for tells that there are too many.
            if known.len() <= most && known.last() != Some(&at) {
                known.push(at);
            }
        }
    }
    let relevance = matched(&pieces, &terms, &Query::of(query)).relevance;
    let one = |word: &String| {
        let mut found = holders.remove(&whole(word)?)?;
        let is_rare = (1..=most).contains(&found.len());
        found.sort_by(|&one, &other| by_worth(&relevance, one, other));
        let passages = found.iter().map(|&at| alone(kept, at, relevance[at].score)).collect();
        is_rare.then(|| WordMentions { word: word.clone(), passages })
    };
    words.iter().filter_map(one).collect()
}

/// The better answer first, of equal ones the newer.
fn by_worth(relevance: &[Relevance], one: usize, other: usize) -> std::cmp::Ordering {
    let score = |at: usize| relevance[at].score;
    score(other).total_cmp(&score(one)).then(other.cmp(&one))
}

/// The term of a word as a whole; `None` where it tells nothing.
fn whole(word: &str) -> Option<Term> {
    let mut whole = None;
    TermFilter::new().each(word, |part| {
        whole.get_or_insert(term(part));
    });
    whole
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ContentId;

    use super::*;

    #[track_caller]
    fn check(
        texts: &[&str],
        words: &[&str],
        query: &str,
        most: usize,
        expected: &[(&str, &[u64])],
    ) {
        let kept: Vec<IndexedPassage> = texts
            .iter()
            .zip(0..)
            .map(|(text, order)| IndexedPassage {
                id: ContentId::for_text(text),
                order,
                original: ContentId::for_text(text),
                source: format!("e{order} user"),
                also: Vec::new(),
                span: None,
                text: (*text).to_owned(),
            })
            .collect();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = mentions(&kept, &words, query, most);
        let ages = |one: &WordMentions| one.passages.iter().map(|it| it.age).collect::<Vec<_>>();
        let found: Vec<_> = found.iter().map(|one| (&*one.word, ages(one))).collect();
        let expected: Vec<_> = expected.iter().map(|(word, ages)| (*word, ages.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_word_is_held_as_a_search_finds_it() {
        let texts =
            ["Leif has the drums", "the van of Leif's", "in src/oven.rs", "an oven", "rain"];
        check(&texts, &["Leif", "oven.rs"], "", 3, &[("Leif", &[3, 4]), ("oven.rs", &[2])]);
        check(&texts, &["the", "Miwe", "leif"], "", 3, &[("leif", &[3, 4])]);
    }

    #[test]
    fn what_many_passages_hold_is_left_out() {
        let texts = ["Ada and Bo", "Ada", "Ada", "Bo"];
        check(&texts, &["Ada", "Bo"], "", 2, &[("Bo", &[0, 3])]);
        check(&texts, &["Ada", "Bo"], "", 0, &[]);
    }

    #[test]
    fn what_answers_best_comes_first() {
        let texts = ["Leif bought the oven", "Leif sleeps", "the oven broke", "Leif sings"];
        check(&texts, &["Leif"], "oven", 3, &[("Leif", &[3, 0, 2])]);
    }
}
