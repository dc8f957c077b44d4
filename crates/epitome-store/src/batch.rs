//! What a batch must be before it is recorded, and the search for what is known of it.
//!
//! Invariant: pure; both stores refuse the same and record the same. Called by both.

use std::borrow::Cow;

use epitome_kernel::types::{ArrivalRewrite, Compaction, ContentId, EntryKey, HistoryHash};
use epitome_kernel::{
    AnswerClue, AppendBatch, Beginning, Clue, Eviction, HistoryQuery, StoreError,
};
use rustc_hash::FxHashSet;

/// Chains that are looked up one by one from the end: a request mostly adds a message or two.
const NEAR: usize = 4;

/// Where histories begin that another client's session may hold of a request, and from the deepest one
/// that any holds, how many are looked at: one that ends a few messages earlier may be the one.
pub(crate) fn reach(clue: &Clue<'_>) -> (usize, usize) {
    (clue.least.saturating_sub(1).min(clue.chains.len()), NEAR)
}

/// The deepest recorded history of these prefixes of one. What leads to a recorded history is
/// recorded, so the middle of the rest tells which half to look in.
///
/// # Errors
///
/// When the look-up fails.
pub(crate) fn deepest<N, E>(
    chains: &[HistoryHash],
    mut find: impl FnMut(HistoryHash) -> Result<Option<N>, E>,
) -> Result<Option<(usize, N)>, E> {
    // The empty history is everybody's and nobody's.
    let empty = chains.iter().take_while(|chain| **chain == HistoryHash::default()).count();
    let near = chains.len().saturating_sub(NEAR).max(empty);
    for index in (near..chains.len()).rev() {
        if let Some(node) = find(chains[index])? {
            return Ok(Some((index, node)));
        }
    }
    let (mut low, mut high, mut best) = (empty, near, None);
    while low < high {
        let middle = low.midpoint(high);
        match find(chains[middle])? {
            Some(node) => (low, best) = (middle + 1, Some((middle, node))),
            None => high = middle,
        }
    }
    Ok(best)
}

/// Whether the bytes of a recorded answer hold the id that a provider drew for one.
pub(crate) fn has_drawn(bytes: Option<&[u8]>, answer: Option<&AnswerClue>) -> bool {
    let drawn = answer.and_then(|answer| answer.drawn.as_ref());
    drawn.zip(bytes).is_some_and(|(id, bytes)| memchr::memmem::find(bytes, id.as_bytes()).is_some())
}

/// How a batch begins a session that nobody began: with nothing known of it but what it brings.
pub(crate) fn beginning(batch: &AppendBatch) -> Beginning {
    let opened = batch.turn.map_or(0, |_| u32::try_from(batch.said.len()).unwrap_or(u32::MAX));
    Beginning { label: batch.label.clone(), opened, from: None }
}

/// Refuses messages that do not follow one another.
///
/// # Errors
///
/// [`StoreError::Damaged`] names the first that does not.
pub(crate) fn follows(batch: &AppendBatch) -> Result<(), StoreError> {
    let mut chain = batch.after;
    let first = batch.said.first().map_or(0, |said| said.place);
    for (place, said) in (first..).zip(&batch.said) {
        chain = chain.append(said.key);
        if said.chain != chain || said.place != place {
            return Err(astray(said.key, said.place));
        }
    }
    Ok(())
}

/// Refuses messages that do not follow the place where their history ends.
///
/// # Errors
///
/// [`StoreError::Damaged`] names the first.
pub(crate) fn continues(batch: &AppendBatch, end: Option<u32>) -> Result<(), StoreError> {
    match batch.said.first() {
        Some(said) if said.place != end.map_or(0, |place| place + 1) => {
            Err(astray(said.key, said.place))
        }
        _ => Ok(()),
    }
}

/// Whether somebody asks about what follows the end of its session: nobody else recorded anything behind
/// what it asked about before.
pub(crate) fn goes_on(history: &HistoryQuery<'_>, head: HistoryHash) -> bool {
    let known = history.before.checked_sub(1).and_then(|last| history.chains.get(last));
    known.copied().unwrap_or_default() == head
}

fn astray(key: EntryKey, place: u32) -> StoreError {
    let key = key.short();
    StoreError::Damaged { what: format!("the message {key} at {place} follows no recorded one") }
}

/// Refuses an epoch under a wrong id.
///
/// # Errors
///
/// [`StoreError::Damaged`] names it.
pub(crate) fn addressed(epoch: &Compaction) -> Result<(), StoreError> {
    if epoch.id == epoch.hash() {
        return Ok(());
    }
    Err(StoreError::Damaged { what: format!("the epoch {} is not what its id says", epoch.id) })
}

/// What a batch brings besides messages, without that of erased ones.
///
/// # Errors
///
/// When the look-up fails.
pub(crate) fn without_erased<E>(
    batch: &AppendBatch,
    mut erased: impl FnMut(EntryKey) -> Result<bool, E>,
) -> Result<(Vec<&ArrivalRewrite>, Cow<'_, Eviction>), E> {
    if batch.rewrites.is_empty() && batch.departure == Eviction::default() {
        return Ok((Vec::new(), Cow::Borrowed(&batch.departure)));
    }
    let mut gone: FxHashSet<ContentId> = FxHashSet::default();
    for said in &batch.said {
        if erased(said.key)? {
            gone.insert(said.text);
        }
    }
    let mut rewrites = Vec::with_capacity(batch.rewrites.len());
    for rewrite in &batch.rewrites {
        if erased(rewrite.key)? {
            gone.insert(rewrite.original);
        } else {
            rewrites.push(rewrite);
        }
    }
    let mut departure = Cow::Borrowed(&batch.departure);
    if !gone.is_empty() {
        let left = departure.to_mut();
        left.blobs.retain(|blob| !gone.contains(&blob.id));
        let (away, sources) = left.sources.drain(..).partition(|(_, id, _)| gone.contains(id));
        left.sources = sources;
        let away: Vec<_> = away;
        left.passages.retain(|passage| !away.iter().any(|(entry, ..)| *entry == passage.entry));
    }
    Ok((rewrites, departure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(recorded: usize, of: usize, most_lookups: usize) {
        let chains: Vec<HistoryHash> =
            (0..of).map(|at| HistoryHash([u8::try_from(at + 1).unwrap(); 16])).collect();
        let mut lookups = 0;
        let found = deepest(&chains, |chain| {
            lookups += 1;
            Ok::<_, StoreError>((usize::from(chain.0[0]) <= recorded).then_some(chain))
        });
        let expected = recorded.checked_sub(1).map(|index| (index, chains[index]));
        assert_eq!(found.unwrap(), expected);
        assert!(lookups <= most_lookups, "{lookups} look-ups");
    }

    #[test]
    fn the_deepest_is_found_in_few_steps() {
        check(200, 200, 1);
        check(198, 200, 3);
        for recorded in 0..200 {
            check(recorded, 200, NEAR + 8);
        }
        check(0, 0, 0);
        check(1, 1, 1);
    }

    #[test]
    fn the_empty_history_is_never_it() {
        let found = deepest(&[HistoryHash::default()], |_| Ok::<_, StoreError>(Some(())));
        assert_eq!(found.unwrap(), None);
    }
}
