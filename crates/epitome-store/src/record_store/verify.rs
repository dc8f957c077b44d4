//! Whether what a log holds is what was written.
//!
//! Invariant: it changes nothing: each record has its checksum, and nothing of it can be derived
//! anew. Called by [`super::archive`].

use epitome_kernel::StoreError;
use epitome_kernel::types::ContentId;

use super::event::SessionEvent;
use super::{RecordStore, draft};
use crate::StoreFinding;
use crate::log::{BlobQuery, LinePosition, LineTail, RecordLog};

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
        let (mut position, mut found) = (LinePosition::default(), Vec::new());
        let all = LineTail { line, from: 1 };
        for record in self.log.read(scope, &[all])?.into_iter().flatten() {
            let what =
                |cause: &str| format!("{scope}: the record {} of `{line}` {cause}", record.seq);
            if !record.follows(position) {
                found.push(finding(what("is not what was written")));
            } else if let Some(Err(cause)) = record.body.as_deref().map(SessionEvent::read) {
                found.push(finding(what(&format!("cannot be read: {cause}"))));
            }
            position = record.position();
        }
        Ok(found)
    }

    fn wrong_blobs(&self, scope: &str, line: &str) -> Result<Vec<StoreFinding>, StoreError> {
        let mut found = Vec::new();
        for blob in self.log.blobs(scope, &BlobQuery { line: Some(line), ids: &[ALL] })? {
            let id = match blob.source {
                Some(_) => ContentId::for_bytes(&blob.bytes),
                None => draft::packed(&blob.bytes, self.log.passing_seed()),
            };
            if id != blob.id {
                let what =
                    format!("{scope}: the bytes {} of `{line}` are not what was kept", blob.id);
                found.push(finding(what));
            }
        }
        Ok(found)
    }
}

fn finding(what: String) -> StoreFinding {
    let remedy = "restore the store from a backup".to_owned();
    StoreFinding { what, repaired: false, remedy }
}
