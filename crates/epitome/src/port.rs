//! The port of a store of the host's own: where a live conversation is recorded.
//!
//! [`SessionArchive`] is what [`CompressorBuilder::session`](crate::Builder::session) takes; it is a [`Journal`], which
//! records what is said and decided, and a [`OriginalStore`], which keeps what left prompts and finds it again.
//! What a host has to write are the methods without a body, about 100 lines: `examples/embed-minimal`
//! is one. A [`PrefixCache`](crate::Memory) shows all of them.

pub use epitome_kernel::{
    AnswerClue, AppendBatch, Beginning, Clue, CommitOutcome, CompactionChanges, CompactionSet,
    Eviction, Excerpt, HistoryLookup, HistoryQuery, Holder, Journal, MessageRecord, OriginalStore,
    RequestRecord, ResponseRecord, SessionOf, StoreError, StoredText,
};
pub use epitome_store::SessionArchive;
