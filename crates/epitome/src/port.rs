//! The ports of a store of the host's own: where a live conversation is recorded.
//!
//! A host fills [`RecordLog`]: eight blocking methods that keep records, blobs and search pieces and
//! know nothing of conversations. [`RecordStore::over`](crate::RecordStore::over) makes a store of
//! sessions of it, which is what
//! [`CompressorBuilder::session`](crate::CompressorBuilder::session) takes.
//! [`conformance::store`](crate::conformance::store) holds a log to what it promises, and
//! `examples/embed-minimal` has one of about 130 lines.
//!
//! ```
//! use std::sync::Arc;
//!
//! use epitome::{Compressor, MemoryLog, RecordStore, conformance};
//!
//! // `MemoryLog` in the place of a log of the host's own.
//! conformance::store::run_all(MemoryLog::default)?;
//! let store = Arc::new(RecordStore::over(MemoryLog::default()));
//! let mut session = Compressor::builder().session(store, Some("work"));
//! session.push(br#"{"role":"user","content":"Mend the parser."}"#)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is built on it are [`Journal`], which records what is said and decided, [`OriginalStore`],
//! which keeps what left prompts and finds it again, and [`SessionArchive`], by which people look
//! after sessions. Of these a host fills [`OriginalStore`] alone, and only where it compresses
//! conversations that stand by themselves
//! ([`CompressorBuilder::store`](crate::CompressorBuilder::store)).

pub use epitome_kernel::{
    AnswerClue, AppendBatch, Beginning, Clue, CommitOutcome, CompactionChanges, CompactionSet,
    Eviction, Excerpt, HistoryLookup, HistoryQuery, Holder, Journal, MessageRecord, OriginalStore,
    RequestRecord, ResponseRecord, SessionOf, StoreError, StoredText,
};
pub use epitome_store::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LineEnd, LinePosition, LineTail, LogBatch,
    LogRecord, PieceQuery, RecordKey, RecordLog, SearchPiece, SessionArchive, StoredBlob,
};
