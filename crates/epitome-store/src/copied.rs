//! A session as one store gives it to another.
//!
//! Invariant: facts and records as they were recorded; what could not be read is missing, and never
//! made up. Read from one store, taken up by another.

use std::collections::BTreeMap;

use epitome_kernel::types::{
    ArrivalRewrite, HistoryHash, JournalMark, MeterReading, RecordedAction, RecordedCompaction,
    SessionInfo,
};
use epitome_kernel::{MessageRecord, ResponseRecord, StoredText};

use crate::log::SearchPiece;

/// A session, or a part of one. What was done to it is beside the place that it had come to then.
#[derive(Clone, Debug, Default)]
pub struct SessionCopy {
    /// What is known of it as a whole; none in a part that others follow.
    pub facts: Option<SessionFacts>,
    /// Its messages: each behind the one that it follows.
    pub said: Vec<CopiedMessage>,
    /// What came back, oldest first.
    pub answers: Vec<CopiedAnswer>,
    /// What was made smaller before it was first sent.
    pub rewrites: Vec<ArrivalRewrite>,
    /// Its epochs, oldest first.
    pub epochs: Vec<(HistoryHash, RecordedCompaction)>,
    /// Its acts, oldest first.
    pub acts: Vec<(HistoryHash, RecordedAction)>,
    /// Its marks, oldest first.
    pub marks: Vec<(HistoryHash, JournalMark)>,
    /// What left its prompts.
    pub kept: KeptTexts,
}

/// What is known of a session as a whole.
#[derive(Clone, Debug, Default)]
pub struct SessionFacts {
    /// What people are told of it.
    pub info: SessionInfo,
    /// How many of its first messages came without a record of who said them.
    pub opened: u32,
    /// What its trigger goes by.
    pub meter: MeterReading,
    /// What policies noted of it.
    pub memos: BTreeMap<String, String>,
}

/// A message of a session.
#[derive(Clone, Debug)]
pub struct CopiedMessage {
    /// The history that it follows.
    pub after: HistoryHash,
    /// The message.
    pub said: MessageRecord,
    /// Whether the search knows it.
    pub indexed: bool,
}

/// What came back for a request.
#[derive(Clone, Debug)]
pub struct CopiedAnswer {
    /// The answer.
    pub answer: ResponseRecord,
    /// Whether the search knows it.
    pub indexed: bool,
}

/// What left prompts, as it is searched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptTexts {
    /// The originals.
    pub originals: Vec<StoredText>,
    /// Their pieces, in the order in which they were added.
    pub pieces: Vec<SearchPiece>,
}
