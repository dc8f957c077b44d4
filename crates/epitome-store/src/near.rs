//! The words of a search that nothing holds, and the nearest that something does.
//!
//! Invariant: what is offered stands in the texts as it is written. Called by the answer to a search.

use epitome_kernel::{MissedWord, nearest_words};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::terms::{parts, runs};

/// Words that are named as missing, and what is offered for each.
const NAMED: usize = 5;
const OFFERED: usize = 3;

/// As many of the words that nothing holds as are named.
pub(crate) fn named(mut missing: Vec<String>) -> Vec<String> {
    missing.truncate(NAMED);
    missing
}

/// Each of these words with the nearest ones of the texts.
pub(crate) fn near<'t>(
    missing: Vec<String>,
    texts: impl IntoIterator<Item = &'t str>,
) -> Vec<MissedWord> {
    if missing.is_empty() {
        return Vec::new();
    }
    let words = words(texts);
    missing
        .into_iter()
        .map(|word| {
            let near = nearest_words(&word, &words, OFFERED);
            MissedWord { near: near.into_iter().map(str::to_owned).collect(), word }
        })
        .collect()
}

/// The words of texts, the most frequent first: compounds, and the parts of them.
fn words<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<&'t str> {
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    for text in texts {
        for run in runs(text) {
            let one: FxHashSet<&str> = std::iter::once(run).chain(parts(run)).collect();
            for word in one {
                *counts.entry(word).or_default() += 1;
            }
        }
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_unstable_by(|(one, count), (other, more)| more.cmp(count).then(one.cmp(other)));
    words.into_iter().map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use epitome_kernel::types::ContentId;

    use super::*;
    use crate::piece::Piece;
    use crate::piece_terms::PieceTerms;
    use crate::query::Query;
    use crate::relevance::matched;

    #[track_caller]
    fn check(query: &str, expected: &[(&str, &[&str])]) {
        let texts =
            ["we flush the flush buffer", "a blurb on BufferPool", "in src/pool.rs the pool is"];
        let pieces: Vec<Piece<'_>> = texts
            .iter()
            .zip(0..)
            .map(|(text, order)| Piece::alone(text, ContentId::for_text(text), order))
            .collect();
        let missing = matched(&pieces, &PieceTerms::read(&pieces), &Query::of(query)).missing;
        let found = near(missing, texts);
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|one| (&*one.word, one.near.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<_> = expected.iter().map(|(word, near)| (*word, near.to_vec())).collect();
        assert_eq!(found, expected, "{query:?}");
    }

    #[test]
    fn the_nearest_words_are_offered() {
        check("flurb", &[("flurb", &["blurb", "flush"])]);
        check("bufer of zyzzyva", &[("bufer", &["Buffer"]), ("zyzzyva", &[])]);
        check("src/pol.rs", &[("src/pol.rs", &["src/pool.rs"])]);
    }

    #[test]
    fn what_is_there_is_not_missed() {
        check("the buffer pool", &[]);
        check("pool_flush", &[]);
        check("\"flush buffer\" \"buffer pool\"", &[("\"buffer pool\"", &["BufferPool"])]);
    }
}
