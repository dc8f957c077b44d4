//! The sessions that hold the first messages of a request, and what one has that leaves another.
//!
//! Invariant: the log proposes lines by their keys; whether they hold a history their folds say.
//! Called by the ports of this folder.

use std::convert::Infallible;

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, JournalMark, RecordedCompaction};
use epitome_kernel::{Clue, Holder, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::RecordStore;
use super::answer::AnswerProof;
use super::draft::{history_key, label_key};
use super::event::{ActedBody, CompactedBody, MarkedBody, SessionEvent};
use super::fold::{PlacedRecord, SessionFold};
use crate::log::{BlobQuery, RecordLog, StoredBlob, only};
use crate::marks::Way;
use crate::{batch, content};

/// How many sessions of one history are looked at: the newest, since a client goes on from what it
/// began last.
const LOOKED_AT: usize = 64;

/// What a session has that leaves another.
pub(super) struct SessionEstate {
    pub(super) events: Vec<SessionEvent>,
    pub(super) blobs: Vec<StoredBlob>,
}

impl SessionFold {
    /// The index of the deepest of these histories that it holds.
    pub(super) fn deepest(&self, chains: &[HistoryHash]) -> Option<usize> {
        let find = |chain| Ok::<_, Infallible>(self.history.find(chain));
        let Ok(found) = batch::deepest(chains, find);
        found.map(|(index, _)| index)
    }
}

impl<L: RecordLog> RecordStore<L> {
    /// The sessions that may be the one that a request goes on from.
    pub(super) fn held_by(&self, scope: &str, clue: &Clue<'_>) -> Result<Vec<Holder>, StoreError> {
        let mut found: FxHashMap<String, usize> = FxHashMap::default();
        if let Some(label) = clue.label {
            for line in self.found(scope, label_key(label), usize::MAX)? {
                let shared = self.read(scope, &line, |fold| Ok(labeled(fold, clue)))?;
                found.extend(shared.map(|shared| (line, shared)));
            }
        }
        let (from, most) = batch::reach(clue);
        let holding =
            |chain: HistoryHash, most| self.found(scope, history_key(clue.format, chain.0), most);
        let any = |chain| Ok::<_, StoreError>(holding(chain, 1)?.pop());
        if let Some((index, _)) = batch::deepest(&clue.chains[from..], any)? {
            let deepest = from + index;
            for index in (from..=deepest).rev().take(most) {
                for line in holding(clue.chains[index], LOOKED_AT)? {
                    found.entry(line).or_insert(index + 1);
                }
            }
        }
        let mut holders = Vec::with_capacity(found.len());
        for (line, shared) in found {
            holders.push(self.read(scope, &line, |fold| self.holder(scope, fold, shared, clue))?);
        }
        holders.sort_by_key(|(began, _)| *began);
        Ok(holders.into_iter().map(|(_, holder)| holder).collect())
    }

    fn found(
        &self,
        scope: &str,
        key: crate::log::RecordKey,
        most: usize,
    ) -> Result<Vec<String>, StoreError> {
        Ok(self.log.find(scope, &[key], most)?.pop().unwrap_or_default())
    }

    /// A session that holds so many messages of a request, and the stamp of its beginning.
    fn holder(
        &self,
        scope: &str,
        fold: &SessionFold,
        shared: usize,
        clue: &Clue<'_>,
    ) -> Result<(u64, Holder), StoreError> {
        let last = shared.checked_sub(1).map_or_else(HistoryHash::default, |at| clue.chains[at]);
        let next = (clue.answers)(shared);
        let length = next.as_ref().map_or(1, |next| next.length);
        let proof = match clue.chains.get(shared + length - 1) {
            Some(&chain) => self.was_answered(scope, fold, [last, chain], next.as_ref())?,
            None => AnswerProof::default(),
        };
        let holder = Holder {
            session: fold.name().to_owned(),
            label: fold.info().label.clone(),
            shared,
            ends: fold.info().head == last,
            left: !fold.history.is_one_way(last, fold.info().head),
            answered: if proof.was_answered { length } else { 0 },
            has_drawn: proof.has_drawn,
            opened: fold.opened as usize,
        };
        Ok((fold.began, holder))
    }

    /// What a session gives to one that leaves it at a place.
    pub(super) fn estate(
        &self,
        scope: &str,
        parent: &str,
        place: HistoryHash,
    ) -> Result<SessionEstate, StoreError> {
        self.in_session(scope, parent, |fold| {
            let end = fold.history.end_of(place)?;
            let way = fold.history.way(end);
            let nodes = way.iter().map(|&at| &fold.history.said[at].said);
            let bytes = self.bytes(scope, parent, nodes.clone().filter_map(|said| said.bytes))?;
            let said: Vec<_> = nodes
                .map(|said| said.with_bytes(said.bytes.and_then(|id| bytes.get(&id).cloned())))
                .collect();
            let way = Way::of(&said, fold.info().head == place);
            let mut shared: FxHashSet<ContentId> = FxHashSet::default();
            for said in &said {
                shared.extend(content::addresses(said.text, said.bytes.as_deref()));
            }
            let keys = said.iter().map(|said| said.key).collect();
            let events = inherited(fold, &way, &keys, &mut shared);
            let ids: Vec<_> =
                shared.into_iter().filter(|id| fold.kept.contains_key(id)).map(only).collect();
            let query = BlobQuery { line: Some(parent), ids: &ids };
            let blobs = if ids.is_empty() { Vec::new() } else { self.log.blobs(scope, &query)? };
            Ok(SessionEstate { events, blobs })
        })
    }
}

/// How much of a request a session under its label holds; none where it is of another API.
fn labeled(fold: &SessionFold, clue: &Clue<'_>) -> Option<usize> {
    let info = fold.info();
    let is_labeled = info.label.as_deref() == clue.label;
    let is_of_api = info.format.is_empty() || info.format == clue.format;
    (is_labeled && is_of_api).then(|| fold.deepest(clue.chains).map_or(0, |index| index + 1))
}

/// What was decided on a way, as events of another session; what they send is shared.
fn inherited(
    fold: &SessionFold,
    way: &Way,
    keys: &FxHashSet<EntryKey>,
    shared: &mut FxHashSet<ContentId>,
) -> Vec<SessionEvent> {
    let decided = &fold.decided;
    let mut events = Vec::new();
    let mut undone = FxHashMap::default();
    for PlacedRecord { place, what: mark, .. } in on_way(&decided.marks, way) {
        match mark {
            JournalMark::Undo(epoch) => drop(undone.insert(*epoch, *place)),
            JournalMark::Redo(epoch) => drop(undone.remove(epoch)),
            JournalMark::Pin(_) | JournalMark::Unpin(_) => {}
        }
        let place = Some(*place);
        events.push(SessionEvent::Marked(MarkedBody { mark: *mark, place }));
    }
    for PlacedRecord { place, what, .. } in on_way(&decided.epochs, way) {
        let undone_at = undone.get(&what.epoch.id).copied();
        let (epoch, undone) = (what.epoch.clone(), undone_at.is_some());
        shared.extend(content::of_epoch(&epoch));
        let made =
            CompactedBody::of(&RecordedCompaction { epoch, undone, undone_at }, Some(*place));
        events.push(SessionEvent::Compacted(Box::new(made)));
    }
    for PlacedRecord { place, what, .. } in on_way(&decided.acts, way) {
        let (act, place) = (what.clone(), Some(*place));
        events.push(SessionEvent::Acted(ActedBody { act, place }));
    }
    for rewrite in decided.rewrites.values().filter(|it| keys.contains(&it.what.key)) {
        shared.insert(rewrite.what.original);
        events.push(SessionEvent::Rewritten(rewrite.what.clone()));
    }
    if way.is_whole {
        events.push(SessionEvent::Noted(fold.memos.clone()));
        events.push(SessionEvent::Measured(fold.meter));
    }
    events
}

/// What was decided on a way.
fn on_way<'f, T>(
    all: &'f [PlacedRecord<T>],
    way: &Way,
) -> impl Iterator<Item = &'f PlacedRecord<T>> {
    all.iter().filter(move |one| way.had(Some(one.place), ""))
}
