//! A session as it was last read, for a store that takes it up while the log is away.
//!
//! Invariant: nothing is asked of the log. The bytes of messages are left out: whoever goes on with a
//! session brings them. Called by [`crate::FallbackStore`].

use std::sync::PoisonError;

use epitome_kernel::ResponseRecord;
use epitome_kernel::types::{EntryKey, HistoryHash, TokenUsage};

use super::fold::{AnswerNode, PlacedRecord, SessionFold};
use super::{RecordStore, SCOPE_LINE, is_session, lock};
use crate::copied::{CopiedAnswer, CopiedMessage, SessionCopy, SessionFacts};
use crate::log::RecordLog;

impl<L: RecordLog> RecordStore<L> {
    /// A session as far as this process has read it, and what was erased in its scope.
    pub(crate) fn copied(
        &self,
        scope: &str,
        session: &str,
    ) -> Option<(SessionCopy, Vec<EntryKey>)> {
        let (own, shared) = {
            let folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
            let lines = folds.scopes.get(scope)?;
            (lines.get(session).cloned()?, lines.get(SCOPE_LINE).cloned())
        };
        let erased = shared.map(|shared| lock(&shared).scope.banned.iter().copied().collect());
        let fold = lock(&own);
        is_session(&fold).then(|| (copy(&fold), erased.unwrap_or_default()))
    }
}

fn copy(fold: &SessionFold) -> SessionCopy {
    let head = fold.info().head;
    let end = fold.history.end_of(head).ok().flatten();
    let said = fold.history.way(end).into_iter().map(|at| {
        let node = &fold.history.said[at].said;
        // The search of the store that it came from knows it, or will.
        CopiedMessage { after: node.after, said: node.with_bytes(None), indexed: true }
    });
    let newest = fold.history.answers.iter().rev();
    let newest = newest.filter(|answer| answer.answered.after == head).find_map(answered);
    SessionCopy {
        said: said.collect(),
        answers: newest.into_iter().map(|answer| CopiedAnswer { answer, indexed: true }).collect(),
        ..decided(fold)
    }
}

/// What is known and was decided of a session, without what was said.
pub(super) fn decided(fold: &SessionFold) -> SessionCopy {
    let (info, opened, meter) = (fold.summed_up(), fold.opened, fold.meter);
    let decided = &fold.decided;
    SessionCopy {
        facts: Some(SessionFacts { info, opened, meter, memos: fold.memos.clone() }),
        rewrites: decided.rewrites.values().map(|placed| placed.what.clone()).collect(),
        epochs: placed(&decided.epochs),
        acts: placed(&decided.acts),
        marks: placed(&decided.marks),
        ..SessionCopy::default()
    }
}

fn placed<T: Clone>(records: &[PlacedRecord<T>]) -> Vec<(HistoryHash, T)> {
    records.iter().map(|record| (record.place, record.what.clone())).collect()
}

/// An answer as it was recorded, but for its bytes and for what the provider counted of its prompt.
fn answered(answer: &AnswerNode) -> Option<ResponseRecord> {
    let said = answer.said(None)?;
    Some(ResponseRecord {
        after: answer.answered.after,
        ahead: answer.answered.ahead,
        key: Some(said.key),
        chain: said.chain,
        bytes: None,
        text: said.text,
        usage: TokenUsage { output: said.tokens, ..TokenUsage::default() },
        stop: None,
        at: said.at.unwrap_or_default(),
        is_whole: false,
    })
}
