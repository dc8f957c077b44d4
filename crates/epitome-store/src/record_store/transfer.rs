//! Sessions of a log, handed over as a whole.
//!
//! Invariant: what is not what was kept is left out, and named: a copy never makes damage valid.
//! Called through [`TransferStore`].

use epitome_kernel::types::{ContentId, EntryKey, HistoryHash};
use epitome_kernel::{ResponseRecord, StoreError, StoredText};
use rustc_hash::{FxHashMap, FxHashSet};

use super::copy::decided;
use super::damage::LOST;
use super::draft::LineDraft;
use super::fold::{AnswerNode, SessionFold};
use super::verify::ALL;
use super::{RecordStore, SCOPE_LINE};
use crate::copied::{CopiedAnswer, CopiedMessage, KeptTexts, SessionCopy};
use crate::log::{BlobQuery, RecordLog};
use crate::transfer::{CopiedBeginning, TransferStore};

impl<L: RecordLog> TransferStore for RecordStore<L> {
    fn beginnings(&self, scope: &str) -> Result<Vec<CopiedBeginning>, StoreError> {
        self.each_session(scope, |fold| CopiedBeginning {
            name: fold.name().to_owned(),
            label: fold.info().label.clone(),
            opened: fold.opened,
            at: fold.info().started.clone(),
        })
    }

    fn session_copy(&self, scope: &str, session: &str) -> Result<SessionCopy, StoreError> {
        self.in_session(scope, session, |fold| self.whole(scope, fold))
    }

    fn left_out(&self, scope: &str, session: Option<&str>) -> Result<Vec<String>, StoreError> {
        let line = session.unwrap_or(SCOPE_LINE);
        let mut all = self.damage_of(scope, line)?;
        all.extend(self.news.left_out(scope, line));
        Ok(all)
    }

    fn take(&self, scope: &str, session: &str, copy: &SessionCopy) -> Result<(), StoreError> {
        self.write_session(scope, session, |fold, draft| {
            super::take::taken(fold, copy, draft);
            Ok(())
        })
    }

    fn kept_outside(&self, scope: &str) -> Result<KeptTexts, StoreError> {
        Ok(self.texts(scope, SCOPE_LINE)?.0)
    }

    fn keep_outside(&self, scope: &str, kept: &KeptTexts) -> Result<(), StoreError> {
        self.write(scope, SCOPE_LINE, |fold, draft| {
            draft.put_texts(fold, kept);
            Ok(())
        })
    }

    fn ban(&self, scope: &str, keys: &[EntryKey]) -> Result<(), StoreError> {
        self.bar(scope, keys)
    }
}

/// The bytes of a line that are no originals.
type RecordBytes = FxHashMap<ContentId, Vec<u8>>;

impl<L: RecordLog> RecordStore<L> {
    fn whole(&self, scope: &str, fold: &SessionFold) -> Result<SessionCopy, StoreError> {
        let (kept, bytes) = self.texts(scope, fold.name())?;
        let find = |id: Option<ContentId>| id.and_then(|id| bytes.get(&id).cloned());
        let mut lost = self.news.left_out(scope, fold.name());
        let said = fold.history.said.iter().map(|node| {
            let said = node.said.with_bytes(find(node.said.bytes));
            if said.bytes.is_none() && node.said.bytes.is_some_and(|id| id != LOST) {
                lost.push(format!("the message e{}", said.place));
            }
            CopiedMessage { after: node.said.after, said, indexed: node.indexed }
        });
        let said = said.collect();
        // One to a message that is not there proves nothing.
        let is_there = |node: &&AnswerNode| {
            let after = node.answered.after;
            after == HistoryHash::default() || fold.history.find(after).is_some()
        };
        let answers = fold.history.answers.iter().filter(is_there).map(|node| {
            let bytes = find(node.answered.bytes);
            if bytes.is_none() && node.answered.bytes.is_some() {
                lost.push(format!("the answer of {}", node.answered.at));
            }
            CopiedAnswer { answer: answer(node, bytes), indexed: node.indexed }
        });
        let answers = answers.collect();
        self.news.leave_out(scope, fold.name(), lost);
        Ok(SessionCopy { said, answers, kept, ..decided(fold) })
    }

    /// What a line keeps: originals with their pieces, and the bytes of its records.
    fn texts(&self, scope: &str, line: &str) -> Result<(KeptTexts, RecordBytes), StoreError> {
        let (mut originals, mut bytes) = (Vec::new(), RecordBytes::default());
        let (mut lost, mut gone) = (Vec::new(), FxHashSet::default());
        for blob in self.log.blobs(scope, &BlobQuery { line: Some(line), ids: &[ALL] })? {
            if !blob.is_whole(self.log.passing_seed()) {
                gone.insert(blob.id);
                lost.extend(blob.source.map(|source| format!("the text of {source}")));
                continue;
            }
            let Some(source) = blob.source else {
                bytes.insert(blob.id, blob.bytes);
                continue;
            };
            let id = blob.id;
            // It was one when it was kept: its address says so.
            let text = String::from_utf8_lossy(&blob.bytes).into_owned();
            originals.push(StoredText { id, source, text });
        }
        let mut pieces = self.log.all_pieces(scope, line)?;
        pieces.retain(|piece| piece.is_whole() && !gone.contains(&piece.original));
        self.news.leave_out(scope, line, lost);
        Ok((KeptTexts { originals, pieces }, bytes))
    }

    /// Records what nobody may say again.
    pub(super) fn bar(&self, scope: &str, keys: &[EntryKey]) -> Result<(), StoreError> {
        self.write(scope, SCOPE_LINE, |fold, draft: &mut LineDraft| {
            let new = keys.iter().filter(|key| !fold.scope.banned.contains(key));
            draft.extend(new.map(|key| super::event::SessionEvent::Banned(*key)));
            Ok(())
        })
    }
}

fn answer(node: &AnswerNode, bytes: Option<Vec<u8>>) -> ResponseRecord {
    let body = &node.answered;
    ResponseRecord {
        after: body.after,
        ahead: body.ahead,
        key: body.key,
        chain: node.chain().unwrap_or(body.after),
        bytes,
        text: body.text,
        usage: body.usage,
        stop: body.stop.clone(),
        at: body.at.clone(),
        is_whole: false,
    }
}
