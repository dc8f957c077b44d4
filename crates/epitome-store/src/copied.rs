//! A session as one store gives it to another.
//!
//! Invariant: facts and records as they were recorded; what could not be read is missing, and never
//! made up. Read from the store on disk, taken up by the one in memory.

use std::collections::BTreeMap;

use epitome_kernel::types::{
    ArrivalRewrite, EntryKey, HistoryHash, JournalMark, MeterReading, RecordedAction,
    RecordedCompaction, SessionInfo,
};
use epitome_kernel::{MessageRecord, ResponseRecord};

/// All that is needed to go on with a session where it stands. What was done to it is beside the place
/// that it had come to then.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionCopy {
    pub(crate) info: SessionInfo,
    pub(crate) opened: u32,
    pub(crate) meter: MeterReading,
    /// The messages on the way to its newest one.
    pub(crate) said: Vec<MessageRecord>,
    pub(crate) rewrites: Vec<ArrivalRewrite>,
    pub(crate) epochs: Vec<(HistoryHash, RecordedCompaction)>,
    pub(crate) acts: Vec<(HistoryHash, RecordedAction)>,
    pub(crate) marks: Vec<(HistoryHash, JournalMark)>,
    pub(crate) memos: BTreeMap<String, String>,
    /// The newest answer, where nobody went on from it yet.
    pub(crate) answer: Option<ResponseRecord>,
    /// What was erased in its scope.
    pub(crate) erased: Vec<EntryKey>,
}
