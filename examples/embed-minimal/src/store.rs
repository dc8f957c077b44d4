//! A store of the host's own: a map of sessions, and one of what left their prompts.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome::Counter;
use epitome::port::{
    Archive, Batch, Blob, Commit, Departure, Epochs, Excerpt, Journal, Said, Store, StoreError,
};
use epitome::types::{Chain, EntryKey, Epoch, Mark, MeterReading, Recorded, Rewrite, SessionInfo};

/// Everything, by scope and name or id.
#[derive(Default)]
pub struct Shelf(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<String, Conversation>,
    originals: BTreeMap<String, Blob>,
    /// Grows with every compression.
    seen: u64,
}

/// A session: its messages, each with the history that it follows, and what was decided of them.
#[derive(Default)]
struct Conversation {
    info: SessionInfo,
    said: BTreeMap<Chain, (Chain, Said)>,
    rewrites: Vec<Rewrite>,
    epochs: Vec<Recorded>,
    pins: Vec<EntryKey>,
    meter: MeterReading,
}

fn address(scope: &str, name: &str) -> String {
    format!("{scope}/{name}")
}

impl Kept {
    fn keep(&mut self, scope: &str, departure: &Departure) {
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
    fn known(
        &self,
        scope: &str,
        name: &str,
        chains: &[Chain],
    ) -> Result<Option<usize>, StoreError> {
        let kept = self.kept();
        let Ok(session) = kept.session(scope, name) else { return Ok(None) };
        Ok(chains.iter().rposition(|chain| session.said.contains_key(chain)))
    }

    fn append(&self, scope: &str, name: &str, batch: &Batch) -> Result<(), StoreError> {
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
    ) -> Result<Vec<Rewrite>, StoreError> {
        let kept = self.kept();
        let all = kept.session(scope, name).map_or(&[][..], |session| &session.rewrites);
        Ok(all.iter().filter(|it| of.contains(&it.key)).cloned().collect())
    }

    fn epochs(&self, scope: &str, name: &str, keys: &[EntryKey]) -> Result<Epochs, StoreError> {
        let kept = self.kept();
        let seen = kept.seen;
        let Ok(session) = kept.session(scope, name) else {
            return Ok(Epochs { seen, ..Epochs::default() });
        };
        let own = session.epochs.iter().filter(|it| keys.contains(&it.epoch.covered.first));
        Ok(Epochs { recorded: own.cloned().collect(), pins: session.pins.clone(), seen })
    }

    fn seen(&self, _scope: &str) -> Result<u64, StoreError> {
        Ok(self.kept().seen)
    }

    fn commit(
        &self,
        scope: &str,
        name: &str,
        epoch: &Epoch,
        departure: &Departure,
        seen: u64,
    ) -> Result<Commit, StoreError> {
        let mut kept = self.kept();
        if kept.seen != seen {
            return Ok(Commit::Behind);
        }
        kept.keep(scope, departure);
        kept.seen += 1;
        let session = kept.sessions.entry(address(scope, name)).or_default();
        session.epochs.push(epoch.clone().into());
        Ok(Commit::Done(kept.seen))
    }

    fn mark(&self, scope: &str, name: &str, mark: &Mark, _at: &str) -> Result<(), StoreError> {
        let mut kept = self.kept();
        kept.seen += 1;
        let session = kept.sessions.entry(address(scope, name)).or_default();
        match *mark {
            Mark::Pin(key) => session.pins.push(key),
            Mark::Unpin(key) => session.pins.retain(|pinned| *pinned != key),
            _ => return Err(StoreError::NotOffered { what: "take compressions back" }),
        }
        Ok(())
    }

    fn meter(&self, scope: &str, name: &str) -> Result<MeterReading, StoreError> {
        Ok(self.kept().session(scope, name).map(|session| session.meter).unwrap_or_default())
    }
}

impl Store for Shelf {
    fn keep(&self, scope: &str, departure: &Departure) -> Result<(), StoreError> {
        self.kept().keep(scope, departure);
        Ok(())
    }

    fn original(&self, scope: &str, id: &str) -> Result<Blob, StoreError> {
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
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let (kept, here) = (self.kept(), address(scope, ""));
        let blobs = kept.originals.iter().filter(|(key, _)| key.starts_with(&here));
        let found =
            blobs.filter(|(_, blob)| blob.text.contains(query)).scan(0, |used, (_, blob)| {
                *used += counter.count(&blob.text);
                let Blob { id, source, text } = blob.clone();
                (*used <= budget).then_some(Excerpt { id, text, source, also: Vec::new() })
            });
        Ok(found.collect())
    }
}

impl Archive for Shelf {
    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError> {
        self.kept().session(scope, name).map(|session| session.info.clone())
    }

    fn history(
        &self,
        scope: &str,
        name: &str,
        head: Chain,
        from: u32,
        most: usize,
    ) -> Result<Vec<Said>, StoreError> {
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
