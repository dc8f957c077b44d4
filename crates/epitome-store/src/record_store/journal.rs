//! The port of live conversations, over a log.
//!
//! Invariant: whatever may be refused is checked against the fold that the batch is written behind.
//! Called through [`Journal`].

use std::collections::BTreeMap;
use std::convert::Infallible;

use epitome_kernel::types::{
    ArrivalRewrite, Compaction, CompactionId, EntryKey, HistoryHash, JournalMark, MeterReading,
    RecordedAction, RecordedCompaction,
};
use epitome_kernel::{
    AppendBatch, Beginning, Clue, CommitOutcome, CompactionChanges, CompactionSet, Eviction,
    HistoryLookup, HistoryQuery, Holder, Journal, MessageRecord, ResponseRecord, StoreError,
};
use rustc_hash::FxHashSet;

use super::draft::LineDraft;
use super::event::{
    ActedBody, BegunBody, BroughtBody, CompactedBody, MarkedBody, SaidBody, SessionEvent,
};
use super::fold::SessionFold;
use super::freshness::Freshness;
use super::{RecordStore, SCOPE_LINE, is_session, lock};
use crate::log::RecordLog;
use crate::{batch, marks};

impl<L: RecordLog> Journal for RecordStore<L> {
    fn find_deepest(
        &self,
        scope: &str,
        session: &str,
        chains: &[HistoryHash],
    ) -> Result<Option<usize>, StoreError> {
        self.read(scope, session, |fold| Ok(fold.deepest(chains)))
    }

    fn holders(&self, scope: &str, clue: &Clue<'_>) -> Result<Vec<Holder>, StoreError> {
        self.held_by(scope, clue)
    }

    fn begin(
        &self,
        scope: &str,
        name: &str,
        beginning: &Beginning,
        at: &str,
    ) -> Result<(), StoreError> {
        let taken = || StoreError::Taken { name: name.to_owned() };
        let from = beginning.from.as_ref();
        if from.is_some() && self.read(scope, name, |fold| Ok(is_named(fold)))? {
            return Err(taken());
        }
        let estate = from.map(|(parent, place)| self.estate(scope, parent, *place)).transpose()?;
        self.write(scope, name, |fold, draft| {
            if is_named(fold) {
                return Err(taken());
            }
            draft.push(SessionEvent::Begun(begun(beginning, at)));
            if let Some(estate) = &estate {
                draft.extend(estate.events.iter().cloned());
                draft.take_over(name, estate.blobs.clone());
            }
            Ok(())
        })
    }

    fn append(&self, scope: &str, name: &str, batch: &AppendBatch) -> Result<(), StoreError> {
        batch::follows(batch)?;
        if name == SCOPE_LINE {
            return Err(StoreError::Taken { name: name.to_owned() });
        }
        self.write_said(scope, name, |fold, bans, draft| {
            let is_overtaken = bans.is_overtaken || fold.freshness == Freshness::Overtaken;
            if batch.turn.is_some() && is_overtaken {
                return Err(StoreError::Overtaken { session: name.to_owned() });
            }
            appended(fold, batch, &bans.keys, draft)
        })
    }

    fn record_response(
        &self,
        scope: &str,
        name: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError> {
        self.add_answer(scope, name, answer)
    }

    fn rewrites(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<Vec<ArrivalRewrite>, StoreError> {
        self.read(scope, session, |fold| Ok(rewrites_of(fold, keys)))
    }

    fn compactions(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<CompactionSet, StoreError> {
        self.read(scope, session, |fold| Ok(self.compaction_set(fold, keys)))
    }

    fn lookup(&self, scope: &str, history: &HistoryQuery<'_>) -> Result<HistoryLookup, StoreError> {
        let HistoryQuery { session, keys, chains, before, seen, is_recorded } = *history;
        let held = self.held(scope, session);
        let mut fold = lock(&held);
        // What brings nothing new is not recorded, so nothing would find out.
        let is_found_out = is_recorded && seen.is_some() && before < keys.len() && !fold.is_new();
        if !is_found_out && !fold.freshness.is_recent() {
            self.catch_up(scope, &mut fold)?;
        }
        let is_own = fold.is_new() || batch::goes_on(history, fold.info().head);
        let epochs = match seen == Some(self.seen(&fold)) && is_own {
            true => CompactionChanges::Quiet(epochs_of(&fold, &keys[before..])),
            false => CompactionChanges::Anew(self.compaction_set(&fold, keys)),
        };
        let (known, rewrites) =
            (fold.deepest(&chains[before..]), rewrites_of(&fold, &keys[before..]));
        let recorded = known.map_or(before, |last| before + last + 1);
        self.begin_turn(scope, &mut fold, is_recorded && recorded < keys.len());
        Ok(HistoryLookup { known, rewrites, epochs })
    }

    fn revision(&self, scope: &str, session: &str) -> Result<u64, StoreError> {
        self.read(scope, session, |fold| Ok(self.seen(fold)))
    }

    fn commit(
        &self,
        scope: &str,
        name: &str,
        epoch: &Compaction,
        departure: &Eviction,
        seen: u64,
    ) -> Result<CommitOutcome, StoreError> {
        batch::addressed(epoch)?;
        self.write_session(scope, name, |fold, draft| {
            if self.seen(fold) != seen {
                return Ok(CommitOutcome::Behind);
            }
            let is_new = fold.decided.epochs.iter().all(|made| made.what.epoch.id != epoch.id);
            if is_new {
                let recorded = RecordedCompaction::from(epoch.clone());
                draft.push(SessionEvent::Compacted(Box::new(CompactedBody::of(&recorded, None))));
            }
            draft.keep(fold, departure);
            Ok(CommitOutcome::Done(seen + u64::from(is_new)))
        })
    }

    fn record_mark(
        &self,
        scope: &str,
        name: &str,
        mark: &JournalMark,
        _at: &str,
    ) -> Result<(), StoreError> {
        let mark = *mark;
        self.write_session(scope, name, |fold, draft| {
            match mark {
                JournalMark::Unpin(key) if !fold.pins().contains(&key) => {
                    return Err(marks::unpinned(key));
                }
                JournalMark::Undo(epoch) => turnable(fold, epoch, true)?,
                JournalMark::Redo(epoch) => turnable(fold, epoch, false)?,
                JournalMark::Pin(_) | JournalMark::Unpin(_) => {}
            }
            draft.push(SessionEvent::Marked(MarkedBody { mark, place: None }));
            Ok(())
        })
    }

    fn meter(&self, scope: &str, name: &str) -> Result<MeterReading, StoreError> {
        self.read(scope, name, |fold| Ok(fold.meter))
    }

    fn memos(&self, scope: &str, name: &str) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(scope, name, |fold| Ok(fold.memos.clone()))
    }

    fn note(
        &self,
        scope: &str,
        name: &str,
        memos: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        self.write_session(scope, name, |fold, draft| {
            if fold.memos != *memos {
                draft.push(SessionEvent::Noted(memos.clone()));
            }
            Ok(())
        })
    }

    fn lessons(&self, scope: &str) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(scope, SCOPE_LINE, |fold| Ok(fold.scope.lessons.clone()))
    }

    fn learn(&self, scope: &str, about: &str, lesson: &str) -> Result<(), StoreError> {
        self.write(scope, SCOPE_LINE, |fold, draft| {
            if fold.scope.lessons.get(about).is_none_or(|known| known != lesson) {
                let (about, lesson) = (about.to_owned(), lesson.to_owned());
                draft.push(SessionEvent::Learned { about, lesson });
            }
            Ok(())
        })
    }

    fn act(&self, scope: &str, name: &str, acts: &[RecordedAction]) -> Result<(), StoreError> {
        self.write_session(scope, name, |_, draft| {
            draft.extend(acts.iter().map(acted));
            Ok(())
        })
    }

    fn acts(&self, scope: &str, name: &str) -> Result<Vec<RecordedAction>, StoreError> {
        let acts =
            |fold: &SessionFold| fold.decided.acts.iter().map(|acted| acted.what.clone()).collect();
        self.read(scope, name, |fold| Ok(acts(fold)))
    }
}

impl<L> RecordStore<L> {
    /// The epochs that begin with any of these entries, and the pins.
    fn compaction_set(&self, fold: &SessionFold, keys: &[EntryKey]) -> CompactionSet {
        let (recorded, pins) = (epochs_of(fold, keys), fold.pins());
        CompactionSet { recorded, pins, seen: self.seen(fold) }
    }

    /// What [`Journal::revision`] says of a session.
    fn seen(&self, fold: &SessionFold) -> u64 {
        self.first + fold.decided.revision
    }
}

/// The epochs of a session whose run begins with any of these entries.
fn epochs_of(fold: &SessionFold, keys: &[EntryKey]) -> Vec<RecordedCompaction> {
    let epochs = &fold.decided.epochs;
    // Most often there is none, and all keys of the history are asked for.
    let keys: FxHashSet<&EntryKey> = match epochs.is_empty() {
        true => FxHashSet::default(),
        false => keys.iter().collect(),
    };
    let wanted = epochs.iter().map(|made| &made.what);
    wanted.filter(|it| keys.contains(&it.epoch.covered.first)).cloned().collect()
}

/// The rewrites of these entries in a session.
fn rewrites_of(fold: &SessionFold, keys: &[EntryKey]) -> Vec<ArrivalRewrite> {
    let mut seen = FxHashSet::default();
    let keys = keys.iter().filter(|&&key| seen.insert(key));
    let all = &fold.decided.rewrites;
    let found = keys.flat_map(|&key| all.range((key, 0)..=(key, u32::MAX)));
    found.map(|(_, rewrite)| rewrite.what.clone()).collect()
}

/// Whether a name is given away.
fn is_named(fold: &SessionFold) -> bool {
    is_session(fold) || fold.name() == SCOPE_LINE
}

/// How a session begins.
pub(super) fn begun(beginning: &Beginning, at: &str) -> BegunBody {
    BegunBody { at: at.to_owned(), label: beginning.label.clone(), opened: beginning.opened }
}

/// Adds what a batch brings that a session does not have yet.
fn appended(
    fold: &SessionFold,
    batch: &AppendBatch,
    banned: &FxHashSet<EntryKey>,
    draft: &mut LineDraft,
) -> Result<(), StoreError> {
    let end = fold.history.end_of(batch.after)?;
    batch::continues(batch, end.map(|end| fold.history.said[end].said.place))?;
    if fold.is_new() {
        draft.push(SessionEvent::Begun(begun(&batch::beginning(batch), &batch.at)));
    }
    let mut after = batch.after;
    for said in &batch.said {
        let before = std::mem::replace(&mut after, said.chain);
        if fold.history.find(said.chain).is_none() {
            let told = told(fold, said, before, banned, draft);
            draft.push(SessionEvent::Said(told));
        }
    }
    let Ok((rewrites, departure)) =
        batch::without_erased(batch, |key| Ok::<_, Infallible>(banned.contains(&key)));
    for rewrite in rewrites {
        if !fold.decided.rewrites.contains_key(&(rewrite.key, rewrite.part)) {
            draft.push(SessionEvent::Rewritten(rewrite.clone()));
        }
    }
    draft.keep(fold, &departure);
    if fold.info().title.is_empty() && !batch.title.is_empty() {
        draft.push(SessionEvent::Titled(batch.title.clone()));
    }
    let messages = match batch.said.last() {
        Some(last) => last.place + 1,
        None => fold.history.length(end),
    };
    let (format, model) = (batch.format.clone(), batch.model.clone());
    let (at, turn) = (batch.at.clone(), batch.turn.map(Into::into));
    let head = after;
    draft.push(SessionEvent::Brought(BroughtBody { head, messages, format, model, at, turn }));
    // They belong to the place where the messages end.
    draft.extend(batch.acts.iter().map(acted));
    Ok(())
}

fn acted(act: &RecordedAction) -> SessionEvent {
    SessionEvent::Acted(ActedBody { act: act.clone(), place: None })
}

/// A message behind a history, its bytes put into the draft unless nobody may say it again.
fn told(
    fold: &SessionFold,
    said: &MessageRecord,
    after: HistoryHash,
    banned: &FxHashSet<EntryKey>,
    draft: &mut LineDraft,
) -> SaidBody {
    let bytes = said.bytes.as_deref().filter(|_| !banned.contains(&said.key));
    SaidBody::of(said, after, bytes.map(|bytes| draft.put_bytes(fold.name(), bytes)))
}

/// Refuses to take an epoch back, or to do it again, where that is not to be done.
fn turnable(fold: &SessionFold, id: CompactionId, undone: bool) -> Result<(), StoreError> {
    let mut epochs = fold.decided.epochs.iter().map(|made| &made.what);
    match epochs.find(|recorded| recorded.epoch.id == id) {
        Some(recorded) if recorded.undone != undone => Ok(()),
        found => Err(marks::nothing(id, found.is_some(), undone)),
    }
}
