//! Whether what a log holds is what was written.
//!
//! Invariant: it changes nothing: each record has its checksum, and nothing of it can be derived
//! anew. Called by [`super::archive`].

use epitome_kernel::StoreError;
use epitome_kernel::types::ContentId;
use rustc_hash::FxHashSet;

use super::RecordStore;
use super::damage::{LOST, line_name};
use super::sift::{SiftedRecord, sift};
use crate::StoreFinding;
use crate::log::{BlobQuery, LinePosition, LineTail, LogRecord, RecordLog};

/// All ids there are.
pub(super) const ALL: std::ops::RangeInclusive<ContentId> =
    ContentId([0; 16])..=ContentId([255; 16]);

impl<L: RecordLog> RecordStore<L> {
    /// What is wrong with the records and blobs of all scopes.
    pub(super) fn findings(&self) -> Result<Vec<StoreFinding>, StoreError> {
        let mut found = Vec::new();
        for scope in self.log.scopes()? {
            for line in self.log.lines(&scope)? {
                found.extend(self.wrong_records(&scope, &line)?);
                found.extend(self.wrong_blobs(&scope, &line)?);
            }
        }
        Ok(found)
    }

    fn wrong_records(&self, scope: &str, line: &str) -> Result<Vec<StoreFinding>, StoreError> {
        let kept = self.log.end(scope, line)?;
        let all = self.log.read(scope, &[LineTail { line, from: 1 }])?.pop().unwrap_or_default();
        let of = line_name(scope, line);
        let last = all.last().map(LogRecord::position).unwrap_or_default();
        // Others may have gone on meanwhile.
        let cut = kept.filter(|kept| kept.seq > last.seq || kept.seq == last.seq && *kept != last);
        let cut = cut.map(|kept| {
            let (has, seq) = (last.seq, kept.seq);
            format!("{of} ends with another record than it did: with {has}, expected {seq}")
        });
        let wrong = |it| match it {
            SiftedRecord::Damaged(it) => Some(format!("{} of {of} {}", it.named(), it.cause)),
            SiftedRecord::Whole { record, has_sum: false, .. } => {
                let seq = record.seq;
                Some(format!("the checksum of the record {seq} of {of} is not what was written"))
            }
            SiftedRecord::Whole { .. } => None,
        };
        let sifted = sift(LinePosition::default(), all).into_iter();
        Ok(sifted.filter_map(wrong).chain(cut).map(finding).collect())
    }

    fn wrong_blobs(&self, scope: &str, line: &str) -> Result<Vec<StoreFinding>, StoreError> {
        let of = line_name(scope, line);
        let all = self.log.blobs(scope, &BlobQuery { line: Some(line), ids: &[ALL] })?;
        let wrong = all.iter().filter(|blob| !blob.is_whole(self.log.passing_seed()));
        let wrong =
            wrong.map(|blob| format!("the bytes {} of {of} are not what was kept", blob.id));
        let mut found: Vec<String> = wrong.collect();
        let there: FxHashSet<ContentId> = all.iter().map(|blob| blob.id).collect();
        self.read(scope, line, |fold| {
            let is_gone =
                |id: Option<ContentId>| id.is_some_and(|id| id != LOST && !there.contains(&id));
            let said = fold.history.said.iter().filter(|node| is_gone(node.said.bytes));
            let answers = fold.history.answers.iter();
            let answers = answers.filter(|node| is_gone(node.answered.bytes));
            let gone = said.map(|node| format!("message e{}", node.said.place));
            let gone = gone.chain(answers.map(|node| format!("answer of {}", node.answered.at)));
            found.extend(gone.map(|what| format!("the bytes of the {what} of {of} are missing")));
            let kept = fold.kept.iter().filter(|(id, _)| !there.contains(id));
            found
                .extend(kept.map(|(_, source)| format!("the text of {source} of {of} is missing")));
            Ok(())
        })?;
        Ok(found.into_iter().map(finding).collect())
    }
}

fn finding(what: String) -> StoreFinding {
    let remedy =
        "`epitome store salvage STORE NEW` makes a store of all else; a backup may have it"
            .to_owned();
    StoreFinding { what, repaired: false, remedy }
}
