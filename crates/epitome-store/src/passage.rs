//! Passages between the port and the stores: what a departure brings, what a search hands back.
//!
//! Invariant: a passage's text is never stored twice; it is a range of an original where it stands
//! there verbatim, and a text of its own otherwise. Called by both stores.

use std::borrow::Borrow;
use std::ops::Range;

use epitome_kernel::types::ContentId;
use epitome_kernel::{Counter, Departure, Excerpt};
use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::rank::{Piece, rank};

/// A passage on its way into a store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrival<'a> {
    /// The address of its text: the same text is kept once per scope.
    pub(crate) id: ContentId,
    /// The text.
    pub(crate) text: &'a str,
    /// The original it was cut from.
    pub(crate) original: ContentId,
    /// What the original is called.
    pub(crate) source: String,
    /// Where the text stands in the original, byte for byte; `None` if it was reworded.
    pub(crate) range: Option<Range<usize>>,
}

/// A passage that a search may return.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    /// Its place in the order of the conversation; neighbours differ by one.
    pub(crate) order: i64,
    /// The original it was cut from.
    pub(crate) original: ContentId,
    /// What the original is called.
    pub(crate) source: String,
    /// The text.
    pub(crate) text: String,
}

/// The passages of a departure that hold anything, in order. One whose entry names no original is
/// its own.
pub(crate) fn arrivals(departure: &Departure) -> Vec<Arrival<'_>> {
    let originals: FxHashMap<ContentId, &str> =
        departure.blobs.iter().map(|blob| (blob.id, blob.text.as_str())).collect();
    let sources: FxHashMap<_, _> =
        departure.sources.iter().map(|(entry, id, source)| (*entry, (*id, source))).collect();
    let mut searched_to: FxHashMap<ContentId, usize> = FxHashMap::default();
    departure
        .passages
        .iter()
        .filter(|passage| !passage.text.trim().is_empty())
        .map(|passage| {
            let (entry, text) = (passage.entry, passage.text.as_str());
            let id = ContentId::of(text);
            let Some(&(original, source)) = sources.get(&entry) else {
                return Arrival { id, text, original: id, source: entry.to_string(), range: None };
            };
            let range = originals.get(&original).and_then(|whole| {
                let from = searched_to.entry(original).or_default();
                let found = find(whole, text, *from)?;
                *from = found.end;
                Some(found)
            });
            Arrival { id, text, original, source: source.clone(), range }
        })
        .collect()
}

/// Where `text` stands in `whole`: after `from` if it can be, for passages come in order.
fn find(whole: &str, text: &str, from: usize) -> Option<Range<usize>> {
    let (bytes, needle) = (whole.as_bytes(), text.as_bytes());
    let at = memmem::find(&bytes[from..], needle)
        .map(|at| at + from)
        .or_else(|| memmem::find(bytes, needle))?;
    Some(at..at + needle.len())
}

/// The passages of several scopes as those of one: what two of them hold is there once, and what
/// two of them hold is never taken for neighbours.
pub(crate) fn joined(scopes: Vec<Vec<Kept>>) -> Vec<Kept> {
    let mut seen: FxHashSet<(ContentId, ContentId)> = FxHashSet::default();
    let (mut all, mut next) = (Vec::new(), 0);
    for kept in scopes {
        let first = next;
        for mut one in kept {
            one.order += first;
            next = next.max(one.order + 2);
            if seen.insert((one.original, ContentId::of(&one.text))) {
                all.push(one);
            }
        }
    }
    all
}

/// The excerpts that answer a query, best first, at most `budget` tokens in all.
pub(crate) fn answer<K: Borrow<Kept>>(
    kept: &[K],
    query: &str,
    budget: u64,
    counter: &dyn Counter,
) -> Vec<Excerpt> {
    rank(&pieces(kept), query, budget, counter)
        .into_iter()
        .map(|group| {
            let first = kept[group.pieces[0]].borrow();
            Excerpt { id: first.original, source: first.source.clone(), text: group.text }
        })
        .collect()
}

/// The passages as the ranking sees them.
pub(crate) fn pieces<K: Borrow<Kept>>(kept: &[K]) -> Vec<Piece<'_>> {
    kept.iter()
        .map(Borrow::borrow)
        .map(|kept| Piece { text: &kept.text, origin: kept.original, order: kept.order })
        .collect()
}

#[cfg(test)]
mod tests {
    use epitome_kernel::Blob;
    use epitome_kernel::types::{EntryId, Passage};

    use super::*;

    fn departure(original: &str, passages: &[&str]) -> Departure {
        let id = ContentId::of(original);
        Departure {
            blobs: vec![Blob { id, source: "e4 tool".into(), text: original.into() }],
            passages: passages
                .iter()
                .map(|&text| Passage { entry: EntryId(4), text: text.into() })
                .collect(),
            sources: vec![(EntryId(4), id, "e4 tool".into())],
        }
    }

    #[track_caller]
    fn check(original: &str, passages: &[&str], expected: &[Option<Range<usize>>]) {
        let departure = departure(original, passages);
        let ranges: Vec<_> = arrivals(&departure).into_iter().map(|a| a.range).collect();
        assert_eq!(ranges, expected);
    }

    #[test]
    fn a_verbatim_passage_is_a_range_of_its_original() {
        check("one two three", &["one", "three"], &[Some(0..3), Some(8..13)]);
    }

    #[test]
    fn repeated_text_is_found_in_order_and_out_of_order() {
        check("aa bb aa", &["aa", "aa", "bb"], &[Some(0..2), Some(6..8), Some(3..5)]);
    }

    #[test]
    fn a_reworded_passage_has_no_range() {
        check("one two", &["one, two"], &[None]);
    }

    #[test]
    fn a_passage_without_source_is_its_own_original() {
        let mut departure = departure("one", &["one"]);
        departure.sources.clear();
        let arrivals = arrivals(&departure);
        assert_eq!(arrivals[0].original, ContentId::of("one"));
        assert_eq!(arrivals[0].source, "e4");
    }
}
