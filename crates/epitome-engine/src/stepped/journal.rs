//! A journal whose answers are written down.
//!
//! Invariant: what a turn asks of a journal is an effect, whichever store it is; what no turn asks for is
//! not offered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use epitome_kernel::{
    AppendBatch, Beginning, Clue, CommitOutcome, CompactionSet, Eviction, Excerpt, HistoryLookup,
    HistoryQuery, Holder, Journal, MessageRecord, OriginalStore, RankedPassage, ResponseRecord,
    SearchRange, SessionOf, StoreError, StoredText, TokenCounter,
};
use epitome_store::{SessionArchive, StoreFinding};
use epitome_types::{
    ArrivalRewrite, Compaction, EntryKey, HistoryHash, JournalMark, MeterReading, RecordedAction,
    RecordedCompaction, SessionBranch, SessionInfo, Snapshot, TokenUsage,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::forms::{SessionReply, StoreReply};
use crate::tape::{StepTape, TurnEffect};

/// What looks after sessions, which a turn does not do.
const NO_TURN: StoreError = StoreError::NotOffered { what: "look after sessions during a turn" };

/// The journal of a stepped turn.
pub(super) struct TapedJournal {
    store: Arc<dyn SessionArchive>,
    tape: Arc<StepTape>,
}

impl TapedJournal {
    pub(super) fn new(store: Arc<dyn SessionArchive>, tape: Arc<StepTape>) -> Self {
        Self { store, tape }
    }

    fn ask<R: Serialize + DeserializeOwned>(
        &self,
        effect: TurnEffect,
        perform: impl FnOnce(&dyn SessionArchive) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let reply = self.tape.effect(effect, || StoreReply::from(perform(&*self.store)));
        let stands = || StoreReply::Failed { what: "the turn stands still".to_owned() };
        reply.unwrap_or_else(stands).into()
    }

    fn read<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        about: impl Serialize,
        perform: impl FnOnce(&dyn SessionArchive) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        self.ask(TurnEffect::read(name, about), perform)
    }

    /// `accepted` is what the store says where all went well.
    fn write<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        about: impl Serialize,
        accepted: R,
        perform: impl FnOnce(&dyn SessionArchive) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let accepted = StoreReply::Done(accepted);
        self.ask(TurnEffect::write(name, about, accepted), perform)
    }
}

impl Journal for TapedJournal {
    fn find_deepest(
        &self,
        scope: &str,
        session: &str,
        chains: &[HistoryHash],
    ) -> Result<Option<usize>, StoreError> {
        let about = json!({ "scope": scope, "session": session, "chains": chains });
        self.read("store.find_deepest", about, |store| store.find_deepest(scope, session, chains))
    }

    fn holders(&self, scope: &str, clue: &Clue<'_>) -> Result<Vec<Holder>, StoreError> {
        let Clue { chains, format, label, least, answers: _ } = clue;
        let about = json!({
            "scope": scope, "chains": chains, "format": format, "label": label, "least": least,
        });
        self.read("store.holders", about, |store| store.holders(scope, clue))
    }

    fn begin(
        &self,
        scope: &str,
        session: &str,
        beginning: &Beginning,
        at: &str,
    ) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "session": session, "beginning": beginning, "at": at });
        self.write("store.begin", about, (), |store| store.begin(scope, session, beginning, at))
    }

    fn append(&self, scope: &str, session: &str, batch: &AppendBatch) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "session": session, "batch": batch });
        self.write("store.append", about, (), |store| store.append(scope, session, batch))
    }

    fn record_response(
        &self,
        scope: &str,
        session: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "session": session, "answer": answer });
        self.write("store.record_response", about, (), |store| {
            store.record_response(scope, session, answer)
        })
    }

    fn rewrites(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<Vec<ArrivalRewrite>, StoreError> {
        let about = json!({ "scope": scope, "session": session, "keys": keys });
        self.read("store.rewrites", about, |store| store.rewrites(scope, session, keys))
    }

    fn compactions(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<CompactionSet, StoreError> {
        let about = json!({ "scope": scope, "session": session, "keys": keys });
        self.read("store.compactions", about, |store| store.compactions(scope, session, keys))
    }

    fn lookup(&self, scope: &str, history: &HistoryQuery<'_>) -> Result<HistoryLookup, StoreError> {
        let about = json!({ "scope": scope, "history": history });
        self.read("store.lookup", about, |store| store.lookup(scope, history))
    }

    fn revision(&self, scope: &str, session: &str) -> Result<u64, StoreError> {
        let about = json!({ "scope": scope, "session": session });
        self.read("store.revision", about, |store| store.revision(scope, session))
    }

    fn commit(
        &self,
        scope: &str,
        session: &str,
        epoch: &Compaction,
        departure: &Eviction,
        seen: u64,
    ) -> Result<CommitOutcome, StoreError> {
        let about = json!({
            "scope": scope, "session": session, "epoch": epoch, "departure": departure, "seen": seen,
        });
        let accepted = CommitOutcome::Done(seen.saturating_add(1));
        self.write("store.commit", about, accepted, |store| {
            store.commit(scope, session, epoch, departure, seen)
        })
    }

    fn record_mark(
        &self,
        scope: &str,
        session: &str,
        mark: &JournalMark,
        at: &str,
    ) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "session": session, "mark": mark, "at": at });
        self.write("store.record_mark", about, (), |store| {
            store.record_mark(scope, session, mark, at)
        })
    }

    fn meter(&self, scope: &str, session: &str) -> Result<MeterReading, StoreError> {
        let about = json!({ "scope": scope, "session": session });
        self.read("store.meter", about, |store| store.meter(scope, session))
    }

    fn memos(&self, scope: &str, session: &str) -> Result<BTreeMap<String, String>, StoreError> {
        let about = json!({ "scope": scope, "session": session });
        self.read("store.memos", about, |store| store.memos(scope, session))
    }

    fn note(
        &self,
        scope: &str,
        session: &str,
        memos: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "session": session, "memos": memos });
        self.write("store.note", about, (), |store| store.note(scope, session, memos))
    }

    fn lessons(&self, scope: &str) -> Result<BTreeMap<String, String>, StoreError> {
        self.read("store.lessons", json!({ "scope": scope }), |store| store.lessons(scope))
    }

    fn learn(&self, scope: &str, about: &str, lesson: &str) -> Result<(), StoreError> {
        let effect = json!({ "scope": scope, "about": about, "lesson": lesson });
        self.write("store.learn", effect, (), |store| store.learn(scope, about, lesson))
    }

    fn act(&self, scope: &str, session: &str, acts: &[RecordedAction]) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "session": session, "acts": acts });
        self.write("store.act", about, (), |store| store.act(scope, session, acts))
    }

    fn acts(&self, scope: &str, session: &str) -> Result<Vec<RecordedAction>, StoreError> {
        let about = json!({ "scope": scope, "session": session });
        self.read("store.acts", about, |store| store.acts(scope, session))
    }
}

impl OriginalStore for TapedJournal {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "departure": departure });
        self.write("store.keep", about, (), |store| store.keep(scope, departure))
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        let about = json!({ "scope": scope, "id": id });
        self.read("store.original", about, |store| store.original(scope, id))
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let about = json!({ "scope": scope, "query": query, "budget": budget });
        self.read("store.search", about, |store| store.search(scope, query, budget, counter))
    }

    fn search_session(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let SessionOf { scope, session } = of;
        let about = json!({ "scope": scope, "session": session, "query": query, "budget": budget });
        self.read("store.search_session", about, |store| {
            store.search_session(of, query, budget, counter)
        })
    }

    fn passages(
        &self,
        range: SearchRange<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<RankedPassage>, StoreError> {
        let within = match range {
            SearchRange::Scopes(scopes) => json!({ "scopes": scopes }),
            SearchRange::Session(SessionOf { scope, session }) => {
                json!({ "scope": scope, "session": session })
            }
        };
        let about = json!({ "in": within, "query": query, "budget": budget });
        self.read("store.passages", about, |store| store.passages(range, query, budget, counter))
    }
}

impl SessionArchive for TapedJournal {
    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError> {
        let about = json!({ "scope": scope, "session": name });
        let reply = self.read("store.session", about, |store| {
            store.session(scope, name).map(SessionReply::from)
        });
        reply.map(SessionInfo::from)
    }

    fn history(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        from: u32,
        most: usize,
    ) -> Result<Vec<MessageRecord>, StoreError> {
        let about = json!({
            "scope": scope, "session": session, "head": head, "from": from, "most": most,
        });
        self.read("store.history", about, |store| store.history(scope, session, head, from, most))
    }

    fn answer(&self, scope: &str, session: &str) -> Result<Option<MessageRecord>, StoreError> {
        let about = json!({ "scope": scope, "session": session });
        self.read("store.answer", about, |store| store.answer(scope, session))
    }

    fn compactions_of_session(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<Vec<RecordedCompaction>, StoreError> {
        let about = json!({ "scope": scope, "session": session });
        self.read("store.compactions_of_session", about, |store| {
            store.compactions_of_session(scope, session)
        })
    }

    fn save_snapshot(
        &self,
        scope: &str,
        snapshot: &Snapshot,
        keep: usize,
    ) -> Result<(), StoreError> {
        let about = json!({ "scope": scope, "snapshot": snapshot, "keep": keep });
        self.write("store.save_snapshot", about, (), |store| {
            store.save_snapshot(scope, snapshot, keep)
        })
    }

    fn erased(&self, scope: &str) -> Result<BTreeSet<EntryKey>, StoreError> {
        self.read("store.erased", json!({ "scope": scope }), |store| store.erased(scope))
    }

    fn lasts(&self, scope: &str, session: &str) -> bool {
        let about = json!({ "scope": scope, "session": session });
        let lasts = self.read("store.lasts", about, |store| Ok(store.lasts(scope, session)));
        lasts.unwrap_or_default()
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        Err(NO_TURN)
    }

    fn sessions(
        &self,
        _: &str,
        _: usize,
        _: usize,
        _: bool,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        Err(NO_TURN)
    }

    fn answer_to(
        &self,
        _: &str,
        _: &str,
        _: HistoryHash,
    ) -> Result<Option<MessageRecord>, StoreError> {
        Err(NO_TURN)
    }

    fn answer_usage(
        &self,
        _: &str,
        _: &str,
    ) -> Result<BTreeMap<HistoryHash, TokenUsage>, StoreError> {
        Err(NO_TURN)
    }

    fn branches(&self, _: &str, _: &str) -> Result<Vec<SessionBranch>, StoreError> {
        Err(NO_TURN)
    }

    fn snapshots(&self, _: &str, _: Option<&str>) -> Result<Vec<Snapshot>, StoreError> {
        Err(NO_TURN)
    }

    fn delete_snapshot(&self, _: &str, _: &str) -> Result<(), StoreError> {
        Err(NO_TURN)
    }

    fn set_head(
        &self,
        _: &str,
        _: &str,
        _: HistoryHash,
        _: Option<&MeterReading>,
    ) -> Result<(), StoreError> {
        Err(NO_TURN)
    }

    fn set_trashed(&self, _: &str, _: &str, _: bool) -> Result<(), StoreError> {
        Err(NO_TURN)
    }

    fn delete(&self, _: &str, _: &str) -> Result<u32, StoreError> {
        Err(NO_TURN)
    }

    fn erase(&self, _: &str, _: EntryKey) -> Result<u32, StoreError> {
        Err(NO_TURN)
    }

    fn unindexed(&self, _: &str, _: usize) -> Result<Vec<(String, MessageRecord)>, StoreError> {
        Err(NO_TURN)
    }

    fn index(&self, _: &str, _: &str, _: &[HistoryHash], _: &Eviction) -> Result<(), StoreError> {
        Err(NO_TURN)
    }

    fn learn_once(&self, _: &str, _: &str, _: &str) -> Result<String, StoreError> {
        Err(NO_TURN)
    }

    fn verify(&self, _: bool) -> Result<Vec<StoreFinding>, StoreError> {
        Err(NO_TURN)
    }

    fn rebuild(&self) -> Result<Vec<StoreFinding>, StoreError> {
        Err(NO_TURN)
    }
}
