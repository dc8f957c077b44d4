//! The history that a session last saw, with what is recorded of its messages.
//!
//! Invariant: it grows at its end; whatever stands before that keeps its place. Held by the state of a
//! session, read by whoever looks at a request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use epitome_kernel::{HistoryMatch, reconcile};
use epitome_types::{ArrivalRewrite, EntryId, EntryKey, HistoryHash, PartId};

/// The entries of a request, as far as they are known.
#[derive(Debug)]
pub(crate) enum ReadEntries {
    /// All of them.
    Whole(Vec<EntryKey>),
    /// Those behind the history that is known.
    Further(Vec<EntryKey>),
}

/// A history that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownHistory {
    pub(crate) keys: Arc<Vec<EntryKey>>,
    /// The history up to each entry.
    pub(crate) chains: Arc<Vec<HistoryHash>>,
    /// What is pinned by hand.
    pub(crate) pins: Vec<EntryKey>,
    /// What was erased in the scope.
    pub(crate) erased: Arc<BTreeSet<EntryKey>>,
    /// What was made smaller on arrival.
    pub(crate) rewrites: BTreeMap<(EntryKey, u32), ArrivalRewrite>,
}

impl KnownHistory {
    /// The same messages, with nothing recorded of them.
    pub(crate) fn unrecorded(&self) -> Self {
        let (keys, chains) = (Arc::clone(&self.keys), Arc::clone(&self.chains));
        Self { keys, chains, ..Self::default() }
    }

    /// Takes up an incoming history beside the one that is known.
    pub(crate) fn take_up(&mut self, read: ReadEntries) -> HistoryMatch {
        let (reconciled, more) = match read {
            ReadEntries::Whole(mut keys) => {
                let reconciled = reconcile(&self.keys, &keys);
                (reconciled, keys.split_off(reconciled.shared()))
            }
            ReadEntries::Further(keys) => (HistoryMatch::Extend { from: self.keys.len() }, keys),
        };
        self.go_on(reconciled.shared(), more);
        reconciled
    }

    /// Goes on from the first `shared` entries with these.
    fn go_on(&mut self, shared: usize, more: Vec<EntryKey>) {
        let (keys, chains) = (Arc::make_mut(&mut self.keys), Arc::make_mut(&mut self.chains));
        keys.truncate(shared);
        chains.truncate(shared);
        let mut chain = chains.last().copied().unwrap_or_default();
        for key in more {
            chain = chain.append(key);
            chains.push(chain);
            keys.push(key);
        }
    }

    /// Forgets which messages came smaller that the records do not say it of any more: what was made
    /// smaller of an erased message is what its client says again. Says whether all are kept.
    pub(crate) fn keep_rewrites(
        &mut self,
        of_before: &[ArrivalRewrite],
        new: &[ArrivalRewrite],
    ) -> bool {
        let of_before: BTreeSet<_> = of_before.iter().map(|one| (one.key, one.part)).collect();
        let new: BTreeSet<_> = new.iter().map(|one| one.key).collect();
        let known = self.rewrites.len();
        self.rewrites.retain(|place, _| of_before.contains(place) || new.contains(&place.0));
        self.rewrites.len() == known
    }

    /// Remembers what was made smaller.
    pub(crate) fn arrive(&mut self, rewrites: &[ArrivalRewrite]) {
        self.rewrites.extend(rewrites.iter().map(|one| ((one.key, one.part), one.clone())));
    }

    /// The entries of the present history from a place on that are pinned by hand; they count from
    /// that place. Of a message that was said again and again the newest copy stays: more of them say
    /// no more, and would fill the window.
    pub(crate) fn pinned(&self, first: usize) -> Vec<EntryId> {
        let keys = self.keys.get(first..).unwrap_or_default();
        let newest = self.pins.iter().collect::<BTreeSet<_>>().into_iter();
        let newest = newest.filter_map(|pin| keys.iter().rposition(|key| key == pin));
        let mut places: Vec<_> = newest.map(|place| EntryId(place as u32)).collect();
        places.sort_unstable();
        places
    }

    /// Whether a message from a place on is pinned already, so that an older copy of it is no longer.
    pub(crate) fn pins_again(&self, first: usize) -> bool {
        let keys = self.keys.get(first..).unwrap_or_default();
        !self.pins.is_empty() && keys.iter().any(|key| self.pins.contains(key))
    }

    /// The entries of the present history from a place on that were erased; they count from that
    /// place.
    pub(crate) fn erased(&self, first: usize) -> impl Iterator<Item = usize> {
        let keys = self.keys.get(first..).unwrap_or_default();
        let all = keys.iter().enumerate().filter(|(_, key)| self.erased.contains(key));
        all.map(|(place, _)| place)
    }

    /// The parts of the present history from a place on that were made smaller on arrival.
    pub(crate) fn arrived(&self, first: usize) -> impl Iterator<Item = (PartId, &ArrivalRewrite)> {
        let of = |(place, key): (usize, &EntryKey)| {
            let all = self.rewrites.range((*key, 0)..=(*key, u32::MAX));
            all.map(move |((_, part), rewrite)| {
                (PartId { entry: EntryId(place as u32), part: *part }, rewrite)
            })
        };
        self.keys.iter().enumerate().skip(first).flat_map(of)
    }
}

/// The histories up to each of these entries.
pub(crate) fn chains(keys: &[EntryKey]) -> Vec<HistoryHash> {
    let next = |chain: &mut HistoryHash, &key: &EntryKey| {
        *chain = chain.append(key);
        Some(*chain)
    };
    keys.iter().scan(HistoryHash::default(), next).collect()
}
