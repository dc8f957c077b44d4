//! A store of the host's own: a map of sessions, and one of what left their prompts.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome::TokenCounter;
use epitome::port::{
    AppendBatch, CommitOutcome, CompactionSet, Eviction, Excerpt, Journal, MessageRecord,
    OriginalStore, SessionArchive, StoreError, StoredText,
};
use epitome::types::{
    ArrivalRewrite, Compaction, EntryKey, HistoryHash, JournalMark, MeterReading,
    RecordedCompaction, SessionInfo,
};

/// Everything, by scope and name or id.
#[derive(Default)]
pub struct Shelf(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<String, Conversation>,
    originals: BTreeMap<String, StoredText>,
    /// Grows with every compression.
    seen: u64,
}

/// A session: its messages, each with the history that it follows, and what was decided of them.
#[derive(Default)]
struct Conversation {
    info: SessionInfo,
    said: BTreeMap<HistoryHash, (HistoryHash, MessageRecord)>,
    rewrites: Vec<ArrivalRewrite>,
    epochs: Vec<RecordedCompaction>,
    pins: Vec<EntryKey>,
    meter: MeterReading,
}

fn address(scope: &str, name: &str) -> String {
    format!("{scope}/{name}")
}

impl Kept {
    fn keep(&mut self, scope: &str, departure: &Eviction) {
        let blobs = departure.blobs.iter();
        self.originals.extend(blobs.map(|it| (address(scope, &it.id.to_string()), it.clone())));
    }

    fn session(&self, scope: &str, name: &str) -> Result<&Conversation, StoreError> {
        let missing = || StoreError::NoSession { name: name.to_owned(), nearest: None };
        self.sessions.get(&address(scope, name)).ok_or_else(missing)
    }
}

impl Shelf {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Shelf {
    fn find_deepest(
        &self,
        scope: &str,
        name: &str,
        chains: &[HistoryHash],
    ) -> Result<Option<usize>, StoreError> {
        let kept = self.kept();
        let Ok(session) = kept.session(scope, name) else { return Ok(None) };
        Ok(chains.iter().rposition(|chain| session.said.contains_key(chain)))
    }

    fn append(&self, scope: &str, name: &str, batch: &AppendBatch) -> Result<(), StoreError> {
        let mut kept = self.kept();
        kept.keep(scope, &batch.departure);
        let session = kept.sessions.entry(address(scope, name)).or_default();
        let info = &mut session.info;
        (info.name, info.format, info.head) = (name.into(), batch.format.clone(), batch.after);
        for said in &batch.said {
            let followed = std::mem::replace(&mut info.head, said.chain);
            session.said.entry(said.chain).or_insert_with(|| (followed, said.clone()));
            info.messages = said.place + 1;
        }
        session.rewrites.extend(batch.rewrites.iter().cloned());
        if let Some(turn) = batch.turn {
            (session.meter, info.tokens, info.turns) = (turn.meter, turn.tokens, info.turns + 1);
        }
        Ok(())
    }

    fn rewrites(
        &self,
        scope: &str,
        name: &str,
        of: &[EntryKey],
    ) -> Result<Vec<ArrivalRewrite>, StoreError> {
        let kept = self.kept();
        let all = kept.session(scope, name).map_or(&[][..], |session| &session.rewrites);
        Ok(all.iter().filter(|it| of.contains(&it.key)).cloned().collect())
    }

    fn compactions(
        &self,
        scope: &str,
        name: &str,
        keys: &[EntryKey],
    ) -> Result<CompactionSet, StoreError> {
        let kept = self.kept();
        let seen = kept.seen;
        let Ok(session) = kept.session(scope, name) else {
            return Ok(CompactionSet { seen, ..CompactionSet::default() });
        };
        let own = session.epochs.iter().filter(|it| keys.contains(&it.epoch.covered.first));
        Ok(CompactionSet { recorded: own.cloned().collect(), pins: session.pins.clone(), seen })
    }

    fn revision(&self, _scope: &str, _session: &str) -> Result<u64, StoreError> {
        Ok(self.kept().seen)
    }

    fn commit(
        &self,
        scope: &str,
        name: &str,
        epoch: &Compaction,
        departure: &Eviction,
        seen: u64,
    ) -> Result<CommitOutcome, StoreError> {
        let mut kept = self.kept();
        if kept.seen != seen {
            return Ok(CommitOutcome::Behind);
        }
        kept.keep(scope, departure);
        kept.seen += 1;
        let session = kept.sessions.entry(address(scope, name)).or_default();
        session.epochs.push(epoch.clone().into());
        Ok(CommitOutcome::Done(kept.seen))
    }

    fn record_mark(
        &self,
        scope: &str,
        name: &str,
        mark: &JournalMark,
        _at: &str,
    ) -> Result<(), StoreError> {
        let mut kept = self.kept();
        kept.seen += 1;
        let session = kept.sessions.entry(address(scope, name)).or_default();
        match *mark {
            JournalMark::Pin(key) => session.pins.push(key),
            JournalMark::Unpin(key) => session.pins.retain(|pinned| *pinned != key),
            _ => return Err(StoreError::NotOffered { what: "take compressions back" }),
        }
        Ok(())
    }

    fn meter(&self, scope: &str, name: &str) -> Result<MeterReading, StoreError> {
        Ok(self.kept().session(scope, name).map(|session| session.meter).unwrap_or_default())
    }
}

impl OriginalStore for Shelf {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        self.kept().keep(scope, departure);
        Ok(())
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        let (kept, begins) = (self.kept(), address(scope, id));
        let found = kept.originals.range(begins.clone()..).next();
        let found = found.filter(|(key, _)| key.starts_with(&begins));
        found.map(|(_, blob)| blob.clone()).ok_or(StoreError::Unknown { id: id.to_owned() })
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let (kept, here) = (self.kept(), address(scope, ""));
        let blobs = kept.originals.iter().filter(|(key, _)| key.starts_with(&here));
        let found =
            blobs.filter(|(_, blob)| blob.text.contains(query)).scan(0, |used, (_, blob)| {
                *used += counter.count(&blob.text);
                let StoredText { id, source, text } = blob.clone();
                (*used <= budget).then_some(Excerpt { id, text, source, also: Vec::new() })
            });
        Ok(found.collect())
    }
}

impl SessionArchive for Shelf {
    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError> {
        self.kept().session(scope, name).map(|session| session.info.clone())
    }

    fn history(
        &self,
        scope: &str,
        name: &str,
        head: HistoryHash,
        from: u32,
        most: usize,
    ) -> Result<Vec<MessageRecord>, StoreError> {
        let kept = self.kept();
        let session = kept.session(scope, name)?;
        let (mut way, mut at) = (Vec::new(), head);
        while let Some((followed, said)) = session.said.get(&at) {
            way.push(said.clone());
            at = *followed;
        }
        way.reverse();
        Ok(way.into_iter().skip(from as usize).take(most).collect())
    }
}
