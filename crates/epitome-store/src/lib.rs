//! What was said and what left the prompt, kept: the journal of live conversations, originals by
//! content id, and the pieces that a search finds again.
//!
//! The invariant of the crate: everything is addressed by scope first, and nothing crosses it
//! (RULES 66). [`RecordStore`] makes sessions of a [`RecordLog`], the small port that a host fills
//! which keeps conversations in its own way; [`conformance`] holds such a log to what it promises.
//! [`MemoryStore`] is one over a log in memory. `SqliteStore` has tables of its own and answers the
//! same. [`FallbackStore`] is a store that lasts with one in memory behind it. Only `SqliteStore` touches
//! files, and only this crate knows their modes; it is behind the feature `sqlite`.

mod archive;
mod batch;
mod common;
pub mod conformance;
mod content;
mod copied;
mod durability;
mod fallback;
mod lineage;
mod log;
mod marks;
mod mentions;
mod names;
mod near;
mod outage;
mod passage;
mod phrases;
mod piece;
mod piece_terms;
mod prefix;
mod query;
mod rank;
mod record_store;
mod refs;
mod relevance;
mod select;
#[cfg(feature = "sqlite")]
mod sqlite;
mod terms;
mod transfer;

pub use archive::{SessionArchive, StoreFinding};
pub use copied::{CopiedAnswer, CopiedMessage, KeptTexts, SessionCopy, SessionFacts};
pub use durability::Durability;
#[cfg(feature = "seal")]
pub use epitome_seal::{KeyFault, StoreKey};
pub use fallback::FallbackStore;
pub use log::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LineEnd, LinePosition, LineTail, LogBatch,
    LogRecord, MemoryLog, PieceQuery, RecordKey, RecordLog, SearchPiece, StoredBlob,
};
pub use names::names;
pub use outage::{SEALED, StoreNews, StoreOutage, UNREACHABLE};
pub use passage::excerpts_in_order;
pub use record_store::{MemoryStore, RecordStore};
pub use select::says_all;
#[cfg(feature = "sqlite")]
pub use sqlite::{SalvagedStore, SqliteStore, StoreFile};
pub use transfer::{
    CopiedBeginning, TransferMode, TransferProgress, TransferReport, TransferStore, transfer,
};
