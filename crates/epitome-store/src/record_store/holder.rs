//! The sessions that hold the first messages of a request, and what one has that leaves another.
//!
//! Invariant: the log proposes lines by their keys; whether they hold a history their folds say.
//! Called by the ports of this folder.

use std::collections::BTreeMap;
use std::convert::Infallible;

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash, JournalMark, RecordedCompaction};
use epitome_kernel::{Clue, Holder, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use super::RecordStore;
use super::answer::AnswerProof;
use super::depth_search::DepthSearch;
use super::draft::{history_key, label_key};
use super::event::{ActedBody, CompactedBody, MarkedBody, SessionEvent};
use super::fold::{PlacedRecord, SessionFold};
use super::freshness::Freshness;
use crate::log::{BlobQuery, KeyQuery, RecordLog, StoredBlob, only};
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
        let found = self.candidates(scope, clue)?;
        self.ask_for(scope, &found.keys().map(String::as_str).collect::<Vec<_>>())?;
        let mut holders = Vec::with_capacity(found.len());
        for (line, candidate) in found {
            holders.extend(self.read_where(scope, &line, Freshness::is_recent, |fold| {
                let labeled = candidate.has_label.then(|| labeled(fold, clue)).flatten();
                let shared = labeled.or(candidate.shared);
                shared.map(|shared| self.holder(scope, fold, shared, clue)).transpose()
            })?);
        }
        holders.sort_by_key(|(began, _)| *began);
        Ok(holders.into_iter().map(|(_, holder)| holder).collect())
    }

    /// The lines that the log proposes for a request.
    fn candidates(
        &self,
        scope: &str,
        clue: &Clue<'_>,
    ) -> Result<BTreeMap<String, HolderCandidate>, StoreError> {
        let (from, most) = batch::reach(clue);
        let mut depths = DepthSearch::new(clue.chains, from, most);
        let mut found: BTreeMap<String, HolderCandidate> = BTreeMap::new();
        let mut label = clue.label;
        loop {
            let asked = depths.next();
            let label = label.take();
            if asked.is_empty() && label.is_none() {
                break;
            }
            let labels = label.map(|label| KeyQuery { key: label_key(label), most: usize::MAX });
            let chain = |&at: &usize| KeyQuery {
                key: history_key(clue.format, clue.chains[at].0),
                most: LOOKED_AT,
            };
            let keys: Vec<_> = labels.into_iter().chain(asked.iter().map(chain)).collect();
            let mut lines = self.log.find(scope, &keys)?.into_iter();
            if label.is_some() {
                for line in lines.next().unwrap_or_default() {
                    found.entry(line).or_default().has_label = true;
                }
            }
            depths.told(asked, lines);
        }
        for (index, lines) in depths.deepest() {
            for line in lines {
                found.entry(line.clone()).or_default().shared.get_or_insert(index + 1);
            }
        }
        Ok(found)
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
        Ok((fold.used.first, holder))
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

/// Why a line may be the one that a request goes on from.
#[derive(Clone, Copy, Debug, Default)]
struct HolderCandidate {
    /// It has its label.
    has_label: bool,
    /// It holds so many of its messages.
    shared: Option<usize>,
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
