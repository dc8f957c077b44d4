//! Sessions of a log, handed over as a whole.
//!
//! Invariant: nothing is left out that the log cannot give: bytes that are missing are an error.
//! Called through [`TransferStore`].

use epitome_kernel::types::{ContentId, EntryKey};
use epitome_kernel::{ResponseRecord, StoreError, StoredText};
use rustc_hash::FxHashMap;

use super::copy::decided;
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
        let find = |id: Option<ContentId>, what: EntryKey| -> Result<_, StoreError> {
            let missing = || format!("the bytes of the message {what} are missing");
            let found = id.map(|id| bytes.get(&id).cloned());
            match found {
                Some(None) => Err(StoreError::Damaged { what: missing() }),
                found => Ok(found.flatten()),
            }
        };
        let said = fold.history.said.iter().map(|node| {
            let said = node.said.with_bytes(find(node.said.bytes, node.said.key)?);
            Ok(CopiedMessage { after: node.said.after, said, indexed: node.indexed })
        });
        let answers = fold.history.answers.iter().map(|node| {
            let key = node.answered.key.unwrap_or(EntryKey([0; 16]));
            let bytes = find(node.answered.bytes, key)?;
            Ok(CopiedAnswer { answer: answer(node, bytes), indexed: node.indexed })
        });
        Ok(SessionCopy {
            said: said.collect::<Result<_, StoreError>>()?,
            answers: answers.collect::<Result<_, StoreError>>()?,
            kept,
            ..decided(fold)
        })
    }

    /// What a line keeps: originals with their pieces, and the bytes of its records.
    fn texts(&self, scope: &str, line: &str) -> Result<(KeptTexts, RecordBytes), StoreError> {
        let (mut originals, mut bytes) = (Vec::new(), RecordBytes::default());
        for blob in self.log.blobs(scope, &BlobQuery { line: Some(line), ids: &[ALL] })? {
            let Some(source) = blob.source else {
                bytes.insert(blob.id, blob.bytes);
                continue;
            };
            let id = blob.id;
            let text = String::from_utf8(blob.bytes).map_err(|_| super::search::not_text(id))?;
            originals.push(StoredText { id, source, text });
        }
        let pieces = self.log.all_pieces(scope, line)?;
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
