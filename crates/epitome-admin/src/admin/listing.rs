//! Messages of a session, read for people: what each is, and what it says.
//!
//! Invariant: what is read is bounded by what is asked for, however long the session is.

use std::ops::Range;

use epitome_types::{Entry, EntryId, Speaker};

use super::{SessionAdmin, SessionHistory};
use crate::decode::decode;
use crate::error::AdminError;
use crate::names::CallTools;

/// How far behind its call a result may stand and be named by it.
const NEAR: usize = 64;

/// A message that was read.
#[derive(Clone, Debug)]
pub struct ListedEntry {
    /// What it is: `user`, `read_file result`.
    pub name: String,
    /// Whether a person typed any of it.
    pub is_typed: bool,
    /// The message.
    pub entry: Entry,
}

impl SessionAdmin {
    /// The messages in these places of a history; the answer to the newest one stands behind it.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn entries_in(
        &self,
        history: &SessionHistory,
        places: Range<usize>,
    ) -> Result<Vec<ListedEntry>, AdminError> {
        let info = &history.info;
        let from = places.start.saturating_sub(NEAR);
        let most = places.end.min(history.messages.len()).saturating_sub(from);
        let mut said =
            self.journal.history(&self.scope, &info.name, info.head, from as u32, most)?;
        if places.end > history.messages.len() {
            said.extend(self.journal.answer_to(&self.scope, &info.name, info.head)?);
        }
        let mut names = CallTools::default();
        let mut entries = decode(&info.format, &said)?;
        for (entry, place) in entries.iter_mut().zip(from as u32..) {
            names.learn(entry);
            entry.id = EntryId(place);
        }
        let behind = entries.into_iter().skip(places.start - from);
        let listed = behind.map(|entry| ListedEntry {
            name: names.of(&entry),
            is_typed: entry.has_speaker(Speaker::Human),
            entry,
        });
        Ok(listed.collect())
    }
}
