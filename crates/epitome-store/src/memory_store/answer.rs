//! What came back for requests, in memory.
//!
//! Invariant: an answer stands beside the tree, never in it; what goes and what stays is the same
//! as on disk. Called by the journal and the archive in memory.

use epitome_kernel::types::{EntryKey, HistoryHash, Role, SessionInfo};
use epitome_kernel::{AnswerClue, MessageRecord, ResponseRecord, StoreError};
use rustc_hash::FxHashSet;

use super::{MemorySessionId, ScopeRecords};
use crate::batch;
use crate::content::ErasedContent;

/// An answer, and where it stands.
#[derive(Debug)]
pub(super) struct MemoryResponse {
    pub(super) session: MemorySessionId,
    place: u32,
    answered: ResponseRecord,
    indexed: bool,
}

impl MemoryResponse {
    /// The history that ends with it.
    fn chain(&self) -> Option<HistoryHash> {
        self.answered.key.map(|key| self.answered.after.append(key))
    }

    /// The message that it will be.
    fn said(&self) -> Option<MessageRecord> {
        let ResponseRecord { after, bytes, text, usage, at, .. } = &self.answered;
        let key = self.answered.key?;
        Some(MessageRecord {
            chain: after.append(key),
            key,
            place: self.place,
            role: Role::Assistant,
            bytes: bytes.clone(),
            text: *text,
            tokens: usage.output,
            at: Some(at.clone()),
        })
    }
}

impl ScopeRecords {
    /// Records an answer.
    pub(super) fn answered(
        &mut self,
        name: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError> {
        let session = self.named(name)?;
        let end = self.tree.end_of(session, answer.after)?;
        let place = end.map_or(0, |id| self.tree.place(id) + 1);
        let mut answered = answer.clone();
        let erased = answer.key.is_none_or(|key| self.erased.contains(&key));
        answered.bytes = answered.bytes.filter(|_| !erased);
        let indexed = answered.bytes.is_none();
        self.answers.push(MemoryResponse { session, place, answered, indexed });
        Ok(())
    }

    /// The newest answer to the newest message of a session.
    pub(super) fn newest_answer(&self, name: &str) -> Result<Option<MessageRecord>, StoreError> {
        let id = self.named(name)?;
        let head = self.sessions.get(&id).map(|session| session.info.head).unwrap_or_default();
        let own = |answer: &&MemoryResponse| answer.session == id && answer.answered.after == head;
        Ok(self.answers.iter().rev().filter(own).find_map(MemoryResponse::said))
    }

    /// Adds to the facts of a session what its provider counted.
    pub(super) fn sum_up(&self, id: MemorySessionId, info: &mut SessionInfo) {
        for answer in self.answers.iter().filter(|answer| answer.session == id) {
            info.answers += 1;
            info.usage += answer.answered.usage;
        }
    }

    /// Answers that the search does not know yet and that nobody sent back as they are.
    pub(super) fn open_answers(&self, most: usize) -> Vec<(String, MessageRecord)> {
        let sent_back = |answer: &MemoryResponse| {
            answer.chain().is_some_and(|it| self.tree.find(answer.session, it).is_some())
        };
        let open = self.answers.iter().filter(|answer| !answer.indexed && !sent_back(answer));
        let named = open.take(most).filter_map(|answer| {
            let session = self.sessions.get(&answer.session)?;
            Some((session.info.name.clone(), answer.said()?))
        });
        named.collect()
    }

    /// Whether a session has an answer that ends this history and that the search may still learn.
    pub(super) fn has_open_answer(&self, session: MemorySessionId, chain: HistoryHash) -> bool {
        let mut own = self.answers.iter().filter(|answer| answer.session == session);
        own.any(|answer| !answer.indexed && answer.chain() == Some(chain))
    }

    /// Remembers that the search knows the answers of a session that end a history.
    pub(super) fn answer_is_indexed(&mut self, session: MemorySessionId, chain: HistoryHash) {
        let own = self.answers.iter_mut().filter(|answer| answer.session == session);
        for answer in own.filter(|answer| answer.chain() == Some(chain)) {
            answer.indexed = true;
        }
    }

    /// Whether a session had this answer to a history, which ends `chain`; and whether its record holds
    /// the id that a provider drew.
    pub(super) fn was_answered(
        &self,
        session: MemorySessionId,
        after: HistoryHash,
        chain: HistoryHash,
        next: Option<&AnswerClue>,
    ) -> (bool, bool) {
        let (mut was_answered, mut has_drawn) = (false, false);
        let own = self.answers.iter().filter(|answer| answer.session == session);
        for answer in own.filter(|answer| answer.answered.after == after) {
            let is_same = answer.chain() == Some(chain);
            if is_same || next.is_some_and(|next| next.text == answer.answered.text) {
                was_answered = true;
                let bytes = answer.answered.bytes.as_deref();
                has_drawn |= is_same || batch::has_drawn(bytes, next);
            }
        }
        (was_answered, has_drawn)
    }

    /// Erases all answers that say this, and those that messages which say it may have been; gives
    /// what they told, and whether there was one that says it.
    pub(super) fn erase_answers(&mut self, key: EntryKey) -> (ErasedContent, bool) {
        let tree = &self.tree;
        let messages = tree
            .nodes
            .values()
            .filter(|node| node.said.key == key && node.said.role == Role::Assistant);
        let before = |parent| tree.nodes.get(&parent).map(|node| node.said.chain);
        let place = |parent: Option<_>| parent.and_then(before).unwrap_or_default();
        let places: FxHashSet<(MemorySessionId, HistoryHash)> =
            messages.map(|node| (node.session, place(node.parent))).collect();
        let (mut told, mut found) = (ErasedContent::default(), false);
        for answer in &mut self.answers {
            let says_it = answer.answered.key == Some(key);
            if says_it || places.contains(&(answer.session, answer.answered.after)) {
                found |= says_it;
                answer.indexed = true;
                let bytes = answer.answered.bytes.take();
                told.add(answer.answered.text, bytes.as_deref());
            }
        }
        (told, found)
    }
}
