//! Passages between the port and the stores: what a departure brings, what a search hands back.
//!
//! Invariant: a passage's text is never stored twice; it is a range of an original where it stands
//! there verbatim, and a text of its own otherwise. Called by both stores.

use std::collections::hash_map::Entry;
use std::ops::Range;

use epitome_kernel::types::ContentId;
use epitome_kernel::{Eviction, Excerpt, RankedPassage, SearchAnswer, TokenCounter};
use memchr::memmem;
use rustc_hash::FxHashMap;

use crate::near::{named, near};
use crate::piece::Piece;
use crate::query::is_pasted;
use crate::rank::{ExcerptGroup, ScoredPiece, rank, ranked, taken};
use crate::terms::term;

/// A passage on its way into a store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IncomingPassage<'a> {
    /// The address of its text: the same text is kept once per session.
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
pub(crate) struct IndexedPassage {
    /// The address of its text.
    pub(crate) id: ContentId,
    /// Its place among those of its session; neighbours differ by one.
    pub(crate) order: i64,
    /// The original it was cut from.
    pub(crate) original: ContentId,
    /// What the original is called.
    pub(crate) source: String,
    /// What it is called where others said the same.
    pub(crate) also: Vec<String>,
    /// Where it stands in the original, byte for byte; `None` if it was reworded.
    pub(crate) span: Option<Range<usize>>,
    /// The text.
    pub(crate) text: String,
}

impl IndexedPassage {
    /// Whether it goes on in a line where another one ended.
    fn goes_on_from(&self, before: &Self) -> bool {
        let end = before.span.as_ref().map(|span| span.end);
        self.original == before.original && end.is_some() && end == self.start()
    }

    fn start(&self) -> Option<usize> {
        self.span.as_ref().map(|span| span.start)
    }
}

/// Tells passages their places, session by session: what others say meanwhile parts no neighbours.
#[derive(Default)]
pub(crate) struct Places(FxHashMap<i64, Placed>);

/// The passage of a session that was placed last.
struct Placed {
    passage: i64,
    place: i64,
}

impl Places {
    /// The place of the next passage of a session; `before` is the one before it there, whether or
    /// not that has a place.
    pub(crate) fn next(&mut self, session: i64, passage: i64, before: Option<i64>) -> i64 {
        let place = match self.0.get(&session) {
            Some(last) if before == Some(last.passage) => last.place + 1,
            Some(last) => last.place + 2,
            None => session << 32,
        };
        self.0.insert(session, Placed { passage, place });
        place
    }

    /// The passage of a session that has the last place so far.
    pub(crate) fn last(&self, session: i64) -> Option<i64> {
        self.0.get(&session).map(|last| last.passage)
    }
}

/// The passages of a departure that hold anything, in order. One whose entry names no original is
/// its own.
pub(crate) fn arrivals(departure: &Eviction) -> impl Iterator<Item = IncomingPassage<'_>> {
    let originals: FxHashMap<ContentId, &str> =
        departure.blobs.iter().map(|blob| (blob.id, blob.text.as_str())).collect();
    let sources: FxHashMap<_, _> =
        departure.sources.iter().map(|(entry, id, source)| (*entry, (*id, source))).collect();
    let mut searches: FxHashMap<ContentId, OriginalSearch> = FxHashMap::default();
    departure.passages.iter().filter(|passage| !passage.text.trim().is_empty()).map(
        move |passage| {
            let (entry, text) = (passage.entry, passage.text.as_str());
            let id = ContentId::for_text(text);
            let Some(&(original, source)) = sources.get(&entry) else {
                return IncomingPassage {
                    id,
                    text,
                    original: id,
                    source: entry.to_string(),
                    range: None,
                };
            };
            let range = originals
                .get(&original)
                .and_then(|whole| searches.entry(original).or_default().find(whole, text));
            IncomingPassage { id, text, original, source: source.clone(), range }
        },
    )
}

/// So many bytes of an original are searched in vain at most; then passages are looked for nearby.
const IN_VAIN: usize = 64 << 20;

/// So many bytes behind the passage before count as nearby.
const NEARBY: usize = 32 << 10;

/// How far an original was searched for its passages, which come in order.
#[derive(Default)]
struct OriginalSearch {
    /// Where the last passage ends.
    from: usize,
    /// How many bytes were searched for passages that are not there.
    in_vain: usize,
}

impl OriginalSearch {
    /// Where a passage stands: after the one before if it can be. Of a large original whose passages
    /// are reworded, searching all of it for each would take the square of its length: there a
    /// passage is found nearby or counts as reworded.
    fn find(&mut self, whole: &str, text: &str) -> Option<Range<usize>> {
        let (bytes, needle) = (whole.as_bytes(), text.as_bytes());
        let at = if self.in_vain < IN_VAIN {
            let ahead = memmem::find(&bytes[self.from..], needle).map(|at| at + self.from);
            let found = ahead.or_else(|| memmem::find(bytes, needle));
            self.in_vain += if found.is_none() { bytes.len() } else { 0 };
            found
        } else {
            let found = self.nearby(bytes, needle);
            if found.is_none() {
                self.pass(bytes, text);
            }
            found
        }?;
        self.from = at + needle.len();
        Some(at..self.from)
    }

    fn nearby(&self, bytes: &[u8], needle: &[u8]) -> Option<usize> {
        let end = bytes.len().min(self.from + NEARBY.max(2 * needle.len()));
        memmem::find(&bytes[self.from..end], needle).map(|at| at + self.from)
    }

    /// Goes on behind a reworded passage, by the longest line of it that stands there.
    fn pass(&mut self, bytes: &[u8], text: &str) {
        let Some(line) = text.lines().max_by_key(|line| line.len()) else { return };
        if let Some(at) = self.nearby(bytes, line.as_bytes()) {
            self.from = at + line.len();
        }
    }
}

/// The passages of several scopes as those of one: the same text is there once, with the names of
/// all who said it, and what two scopes hold is never taken for neighbours.
pub(crate) fn joined(scopes: Vec<Vec<IndexedPassage>>) -> Vec<IndexedPassage> {
    let mut seen: FxHashMap<ContentId, usize> = FxHashMap::default();
    let (mut all, mut next): (Vec<IndexedPassage>, _) = (Vec::new(), 0);
    for kept in scopes {
        let first = next;
        for mut one in kept {
            one.order += first;
            next = next.max(one.order + 2);
            match seen.entry(one.id) {
                Entry::Vacant(new) => {
                    new.insert(all.len());
                    all.push(one);
                }
                Entry::Occupied(known) => {
                    let known = &mut all[*known.get()];
                    if known.source != one.source && !known.also.contains(&one.source) {
                        known.also.push(one.source);
                    }
                }
            }
        }
    }
    all
}

/// The excerpts that answer a query, best first, at most `budget` tokens in all.
pub(crate) fn excerpts(
    kept: &[IndexedPassage],
    query: &str,
    budget: u64,
    counter: &dyn TokenCounter,
) -> Vec<Excerpt> {
    cut(kept, rank(&pieces(kept), query, budget, counter).groups)
}

/// The passages that answer a query, each by itself; see [`ranked`].
pub(crate) fn each_ranked(
    kept: &[IndexedPassage],
    query: &str,
    budget: u64,
    counter: &dyn TokenCounter,
) -> Vec<RankedPassage> {
    let all = ranked(&pieces(kept), query, budget, counter).into_iter();
    all.map(|ScoredPiece { at, score }| alone(kept, at, score)).collect()
}

/// A passage by itself that answers so well.
pub(crate) fn alone(kept: &[IndexedPassage], at: usize, score: f64) -> RankedPassage {
    let IndexedPassage { original, source, also, order, text, .. } = &kept[at];
    let (source, also, text) = (source.clone(), also.clone(), text.clone());
    let age = (kept.len() - 1 - at) as u64;
    let excerpt = Excerpt { id: *original, text, source, also };
    RankedPassage { excerpt, place: *order, score, age }
}

/// The passages at these places as excerpts, taken in this order: at most `budget` tokens in all.
/// Those that follow each other are put together.
///
/// ```
/// use epitome_kernel::types::ContentId;
/// use epitome_kernel::{Excerpt, RankedPassage, TokenCounter, types::ImagePart};
/// use epitome_store::excerpts_in_order;
///
/// /// A word is a token.
/// struct Words;
///
/// impl TokenCounter for Words {
///     fn id(&self) -> &str {
///         "words"
///     }
///
///     fn count(&self, text: &str) -> u64 {
///         text.split_whitespace().count() as u64
///     }
///
///     fn image(&self, _: &ImagePart) -> u64 {
///         0
///     }
/// }
///
/// let passages = [(0, "one owl"), (1, "two owls"), (7, "no owl")].map(|(place, text)| {
///     let (source, also) = ("e4 user".to_owned(), Vec::new());
///     let excerpt = Excerpt { id: ContentId::for_text("all"), text: text.to_owned(), source, also };
///     RankedPassage { excerpt, place, score: 1.0, age: 0 }
/// });
/// let found = |order: &[usize], budget| {
///     let found = excerpts_in_order(&passages, order, budget, &Words).into_iter();
///     found.map(|one| one.text).collect::<Vec<_>>()
/// };
/// assert_eq!(found(&[2, 1, 0], 9), ["no owl", "one owl\ntwo owls"]);
/// assert_eq!(found(&[2, 1, 0], 5), ["no owl", "two owls"]);
/// assert_eq!(found(&[2], 1), ["no"]);
/// ```
pub fn excerpts_in_order(
    passages: &[RankedPassage],
    order: &[usize],
    budget: u64,
    counter: &dyn TokenCounter,
) -> Vec<Excerpt> {
    let pieces: Vec<Piece<'_>> = passages.iter().map(ranked_piece).collect();
    let one = |ExcerptGroup { pieces, text }: ExcerptGroup| Excerpt {
        text,
        ..passages[pieces[0]].excerpt.clone()
    };
    taken(&pieces, order, budget, counter).into_iter().map(one).collect()
}

/// A passage that was ranked, as it was.
fn ranked_piece(RankedPassage { excerpt, place, .. }: &RankedPassage) -> Piece<'_> {
    let Excerpt { id, text, also, .. } = excerpt;
    Piece { text, origin: *id, order: *place, also: said_by_others(also), goes_on: false }
}

/// Who else said something, as a hash; 0 for nobody.
fn said_by_others(also: &[String]) -> u64 {
    if also.is_empty() { 0 } else { term(&also.join("\n")) }
}

/// The same with what nothing holds, and what is near to it in these passages and in what `around`
/// reads for missing words where there are no excerpts.
pub(crate) fn answer<E>(
    kept: &[IndexedPassage],
    query: &str,
    budget: u64,
    counter: &dyn TokenCounter,
    around: impl FnOnce(&[String]) -> Result<Vec<IndexedPassage>, E>,
) -> Result<SearchAnswer, E> {
    let ranking = rank(&pieces(kept), query, budget, counter);
    let is_empty = ranking.groups.is_empty();
    let missing = match !is_empty && is_pasted(query) {
        true => Vec::new(),
        false => named(ranking.missing),
    };
    let more = match is_empty && !missing.is_empty() {
        true => around(&missing)?,
        false => Vec::new(),
    };
    let texts = kept.iter().chain(&more).map(|one| one.text.as_str());
    Ok(SearchAnswer { missed: near(missing, texts), found: cut(kept, ranking.groups) })
}

/// Groups of passages as excerpts of their originals.
fn cut(kept: &[IndexedPassage], groups: Vec<ExcerptGroup>) -> Vec<Excerpt> {
    let one = |group: ExcerptGroup| {
        let IndexedPassage { original, source, also, .. } = &kept[group.pieces[0]];
        let (source, also) = (source.clone(), also.clone());
        Excerpt { id: *original, text: group.text, source, also }
    };
    groups.into_iter().map(one).collect()
}

/// The passages as the ranking sees them.
pub(crate) fn pieces(kept: &[IndexedPassage]) -> Vec<Piece<'_>> {
    let mut before: Option<&IndexedPassage> = None;
    kept.iter()
        .map(|one| {
            let goes_on = before.replace(one).is_some_and(|before| one.goes_on_from(before));
            let also = said_by_others(&one.also);
            Piece { text: &one.text, origin: one.original, order: one.order, also, goes_on }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use epitome_kernel::StoredText;
    use epitome_kernel::types::{EntryId, Passage};

    use super::*;

    fn departure(original: &str, passages: &[&str]) -> Eviction {
        let id = ContentId::for_text(original);
        Eviction {
            blobs: vec![StoredText { id, source: "e4 tool".into(), text: original.into() }],
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
        let ranges: Vec<_> = arrivals(&departure).map(|a| a.range).collect();
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

    /// Lines with something between them that their passages leave out.
    #[test]
    fn a_large_original_is_searched_once() {
        let pair = |at: usize| [format!("first {at} and more"), format!("second {at} and more")];
        let line = |at: usize| format!("    {};\n\t{};\n", pair(at)[0], pair(at)[1]);
        let original: String = (0..40_000).map(line).collect();
        let joined: Vec<String> = (0..40_000)
            .map(|at| if at % 2 == 0 { pair(at).join("\n") } else { pair(at)[1].clone() })
            .collect();
        let departure =
            departure(&original, &joined.iter().map(String::as_str).collect::<Vec<_>>());
        for (at, arrival) in arrivals(&departure).enumerate() {
            let found = arrival.range.map(|range| &original[range]);
            assert_eq!(found, (at % 2 == 1).then_some(&*joined[at]), "{at}");
        }
    }

    #[test]
    fn a_passage_without_source_is_its_own_original() {
        let mut departure = departure("one", &["one"]);
        departure.sources.clear();
        let arrivals: Vec<_> = arrivals(&departure).collect();
        assert_eq!(arrivals[0].original, ContentId::for_text("one"));
        assert_eq!(arrivals[0].source, "e4");
    }
}
