//! What came back for requests, over a log.
//!
//! Invariant: an answer stands beside the tree, never in it. Called by the ports of this folder.

use epitome_kernel::types::{EntryKey, HistoryHash, Role};
use epitome_kernel::{AnswerClue, MessageRecord, ResponseRecord, StoreError};
use rustc_hash::FxHashSet;

use super::event::{AnsweredBody, SessionEvent};
use super::fold::{AnswerNode, HistoryFold, SaidNode, SessionFold};
use super::{RecordStore, SCOPE_LINE, is_session};
use crate::batch;
use crate::log::RecordLog;

/// What tells that a session had an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswerProof {
    pub(super) was_answered: bool,
    pub(super) has_drawn: bool,
}

impl<L: RecordLog> RecordStore<L> {
    /// Records an answer.
    pub(super) fn add_answer(
        &self,
        scope: &str,
        name: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError> {
        if name == SCOPE_LINE {
            return Err(self.missing(scope, name));
        }
        let done = self.write_said(scope, name, |fold, bans, draft| {
            if !is_session(fold) {
                return Ok(None);
            }
            fold.history.end_of(answer.after)?;
            let ResponseRecord { after, ahead, key, chain, text, usage, is_whole, .. } = *answer;
            let chain = (ahead > 0).then_some(chain);
            let kept = key.is_some_and(|key| !bans.keys.contains(&key));
            let bytes = answer.bytes.as_deref().filter(|_| kept);
            let bytes = bytes.map(|bytes| draft.put_bytes(name, bytes));
            let (stop, at) = (answer.stop.clone(), answer.at.clone());
            let body =
                AnsweredBody { after, ahead, chain, key, bytes, text, usage, stop, at, is_whole };
            draft.push(SessionEvent::Answered(body));
            Ok(Some(()))
        })?;
        done.ok_or_else(|| self.missing(scope, name))
    }

    /// The newest answer to a history of a session.
    pub(super) fn newest_answer(
        &self,
        scope: &str,
        name: &str,
        head: impl Fn(&SessionFold) -> HistoryHash,
    ) -> Result<Option<MessageRecord>, StoreError> {
        self.in_session(scope, name, |fold| {
            let head = head(fold);
            let own = |answer: &&AnswerNode| {
                answer.answered.after == head && answer.answered.key.is_some()
            };
            let Some(newest) = fold.history.answers.iter().rev().find(own) else {
                return Ok(None);
            };
            let mut bytes = self.bytes(scope, name, newest.answered.bytes)?;
            Ok(newest.said(newest.answered.bytes.and_then(|id| bytes.remove(&id))))
        })
    }

    /// Whether a session had this answer to a history, which ends `chain`; and whether its record
    /// holds the id that a provider drew.
    pub(super) fn was_answered(
        &self,
        scope: &str,
        fold: &SessionFold,
        [after, chain]: [HistoryHash; 2],
        next: Option<&AnswerClue>,
    ) -> Result<AnswerProof, StoreError> {
        let mut proof = AnswerProof::default();
        let own = fold.history.answers.iter().filter(|answer| answer.answered.after == after);
        for answer in own {
            let is_same = answer.chain() == Some(chain);
            if is_same || next.is_some_and(|next| next.text == answer.answered.text) {
                proof.was_answered = true;
                proof.has_drawn |= is_same || self.has_drawn(scope, fold, answer, next)?;
            }
        }
        Ok(proof)
    }

    fn has_drawn(
        &self,
        scope: &str,
        fold: &SessionFold,
        answer: &AnswerNode,
        next: Option<&AnswerClue>,
    ) -> Result<bool, StoreError> {
        if next.is_none_or(|next| next.drawn.is_none()) {
            return Ok(false);
        }
        let bytes = self.bytes(scope, fold.name(), answer.answered.bytes)?;
        Ok(batch::has_drawn(bytes.values().next().map(Vec::as_slice), next))
    }
}

impl HistoryFold {
    /// Whether there is an answer that ends this history and that the search may still learn.
    pub(super) fn has_open_answer(&self, chain: HistoryHash) -> bool {
        self.answers.iter().any(|answer| !answer.indexed && answer.chain() == Some(chain))
    }

    /// Answers that the search does not know yet and that nobody sent back as they are.
    pub(super) fn open_answers(&self) -> impl Iterator<Item = &AnswerNode> {
        let sent_back =
            |answer: &AnswerNode| answer.chain().is_some_and(|it| self.find(it).is_some());
        self.answers.iter().filter(move |answer| !answer.indexed && !sent_back(answer))
    }

    /// The answers that say this, and those that messages which say it may have been.
    pub(super) fn answers_like(&self, key: EntryKey) -> impl Iterator<Item = &AnswerNode> {
        let messages = self.said.iter().filter(|node| node.said.key == key);
        let places: FxHashSet<_> = messages.flat_map(|node| self.asked_for(node)).collect();
        self.answers.iter().filter(move |answer| {
            let place = (answer.answered.after, answer.place);
            answer.answered.key == Some(key) || places.contains(&place)
        })
    }

    /// The histories that a message may be the answer to, each with the place of the message: those
    /// before all messages of the model's that it ends.
    fn asked_for<'f>(
        &'f self,
        node: &'f SaidNode,
    ) -> impl Iterator<Item = (HistoryHash, u32)> + 'f {
        let before = |node: &&SaidNode| node.parent.map(|parent| &self.said[parent]);
        let is_said = |node: &&SaidNode| node.said.role == Role::Assistant;
        let place = self.length(node.parent);
        std::iter::successors(Some(node), before)
            .take_while(is_said)
            .map(move |node| (node.said.after, place))
    }
}
