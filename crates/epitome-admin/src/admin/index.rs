//! What was said, made findable.
//!
//! Invariant: a message is cut into pieces once, long after it was recorded, and only where somebody
//! searches; a store that cannot be written is searched as it is.

use std::collections::HashMap;

use epitome_config::profile::Back;
use epitome_kernel::{Eviction, MessageRecord, StoreError, StoredText};
use epitome_plan::split_passages;
use epitome_types::{ContentId, Entry, EntryId, EntryKey, HistoryHash, Passage};

use super::SessionAdmin;
use crate::decode::decode;
use crate::names::CallTools;

/// So many messages are indexed in one transaction.
const BATCH: usize = 256;
/// How far behind its calls a result may stand.
const NEAR: u32 = 64;

/// What is remembered of a session while its messages are indexed.
#[derive(Default)]
struct IndexState {
    format: String,
    names: CallTools,
}

impl SessionAdmin {
    /// Adds to the search what it does not know yet; `told` hears now and then how many messages
    /// that were. Gives how many it was in all.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read or written; what was added before stays added.
    pub fn index_new_entries(&self, mut told: impl FnMut(u64)) -> Result<u64, StoreError> {
        let mut sessions: HashMap<String, IndexState> = HashMap::new();
        let (mut done, mut last) = (0, None);
        loop {
            let batch = self.journal.unindexed(&self.scope, BATCH)?;
            let first = batch.first().map(|(_, said)| said.chain);
            // What is offered again and again, since somebody deletes it right now, can wait.
            if first.is_none() || first == last {
                return Ok(done);
            }
            last = first;
            for group in batch.chunk_by(|one, next| one.0 == next.0) {
                let Some((session, _)) = group.first() else { continue };
                let said: Vec<_> = group.iter().map(|(_, said)| said.clone()).collect();
                if !sessions.contains_key(session) {
                    let format = self.journal.session(&self.scope, session)?.format;
                    sessions
                        .insert(session.clone(), IndexState { format, ..IndexState::default() });
                }
                let Some(known) = sessions.get_mut(session) else { continue };
                let departure = self.pieces(session, known, &said)?;
                let chains: Vec<HistoryHash> = said.iter().map(|said| said.chain).collect();
                self.journal.index(&self.scope, session, &chains, &departure)?;
                done += chains.len() as u64;
            }
            told(done);
        }
    }

    /// The pieces of messages of one session.
    fn pieces(
        &self,
        session: &str,
        known: &mut IndexState,
        said: &[MessageRecord],
    ) -> Result<Eviction, StoreError> {
        let most = self.profile.door(Back::Store).passage_bytes;
        let mut departure = Eviction::default();
        let keys: Vec<EntryKey> = said.iter().map(|said| said.key).collect();
        let mut entries = decode(&known.format, said)?;
        self.mask(session, &keys, &mut entries)?;
        for (entry, said) in entries.iter().zip(said) {
            if !known.names.knows(entry) {
                self.look_back(session, known, said)?;
            }
            known.names.learn(entry);
            let text = entry.readable();
            let is_there = said.bytes.as_ref().is_some_and(|bytes| !bytes.is_empty());
            if text.trim().is_empty() || !is_there {
                continue;
            }
            let source = format!("{session}: {} {}", entry.id, known.names.of(entry));
            let id = ContentId::for_text(&text);
            // Places of two branches may be the same; these are numbers of this departure alone.
            let number = EntryId(departure.sources.len() as u32);
            let cut = split_passages(&text, most).map(|text| Passage { entry: number, text });
            departure.passages.extend(cut);
            departure.sources.push((number, id, source.clone()));
            departure.blobs.push(StoredText { id, source, text: text.into_owned() });
        }
        Ok(departure)
    }

    /// Learns the calls that stand shortly before a message.
    fn look_back(
        &self,
        session: &str,
        known: &mut IndexState,
        said: &MessageRecord,
    ) -> Result<(), StoreError> {
        let from = said.place.saturating_sub(NEAR);
        let near = (said.place - from) as usize;
        let before = self.journal.history(&self.scope, session, said.chain, from, near)?;
        let entries: Vec<Entry> = decode(&known.format, &before)?;
        entries.iter().for_each(|entry| known.names.learn(entry));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, most: usize, expected: &[&str]) {
        assert_eq!(split_passages(text, most).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn texts_are_cut_at_line_ends() {
        check("", 8, &[]);
        check("one\ntwo\nthree", 8, &["one\ntwo", "three"]);
        check("one\n\n\ntwo", 5, &["one", "two"]);
        check("abcdefgh", 4, &["abcd", "efgh"]);
        check("äöü", 4, &["äö", "ü"]);
    }
}
