//! The port of a store: append-only lines of records, blobs, and the pieces that a search finds.
//!
//! Invariant: a store knows nothing of conversations. What records mean, which of them may follow,
//! and what goes with what is erased is decided once, by [`crate::RecordStore`], which is the only
//! caller. What an implementation promises is said at each method; [`crate::conformance`] checks it.

mod batch;
mod memory;

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use epitome_kernel::StoreError;
use epitome_kernel::types::ContentId;

pub use self::batch::PieceQuery;
pub use self::batch::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LineEnd, LinePosition, LineTail, LogBatch,
    LogRecord, RecordKey, SearchPiece, StoredBlob,
};
pub use self::memory::MemoryLog;

/// Keeps lines of records, with the blobs and search pieces that belong to each line.
///
/// All is addressed by scope first, and nothing crosses it. A line is named by whoever writes it and
/// is there as soon as it has a record. Each call may block; all may be made from several threads at
/// once. An error means that nothing was done, and says what the store's own cause is
/// ([`StoreError::Broken`]).
pub trait RecordLog: Send + Sync + fmt::Debug {
    /// Adds a batch to the end of its line, all of it or nothing: on return it survives a crash of
    /// the process. Only where the line ends with `batch.after`, and the line that is `given` where
    /// that says; else nothing changes, and the answer is [`AppendOutcome::Moved`].
    ///
    /// The stamp that is given back is larger than that of every batch that the scope got before,
    /// and each of the records bears it. A blob or a piece that the line has already stays as it
    /// is.
    ///
    /// # Errors
    ///
    /// When it could not be written.
    fn append(&self, scope: &str, batch: LogBatch) -> Result<AppendOutcome, StoreError>;

    /// Of each of these lines the records from a number on, in their order; none of a line that is
    /// not there. Over a network this is one round trip, however many lines are asked for.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn read(&self, scope: &str, tails: &[LineTail<'_>]) -> Result<Vec<Vec<LogRecord>>, StoreError>;

    /// The scopes that have a line, in alphabetical order.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn scopes(&self) -> Result<Vec<String>, StoreError>;

    /// The lines of a scope, in the order in which they began.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError>;

    /// For each key the lines that have a record under it: those that began last first, at most as
    /// many as it says. Over a network this is one round trip, however many keys are asked for.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError>;

    /// Where a line ends as it is kept beside its records; none where nothing is.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn end(&self, _scope: &str, _line: &str) -> Result<Option<LinePosition>, StoreError> {
        Ok(None)
    }

    /// The blobs of a scope, or of one of its lines, whose ids lie in any of these ranges, in the
    /// order in which they were added.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError>;

    /// The pieces of a scope, or of one of its lines, in the order in which they were added. Of many
    /// a store may leave out those that hold none of the query's terms; of a query without any, all
    /// but the newest.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn pieces(&self, scope: &str, query: &PieceQuery<'_>) -> Result<Vec<SearchPiece>, StoreError>;

    /// The pieces of a line, all of them, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError>;

    /// Removes for good what an erasure names. What is not there any more is passed over, so that
    /// an erasure that was broken off is done again.
    ///
    /// # Errors
    ///
    /// When it could not be removed.
    fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError>;

    /// Makes anew what is kept of a line beside its records, blobs and pieces, from them alone: where it
    /// ends, which keys it has, and what finds its pieces. Nothing of a log that keeps nothing else.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or written.
    fn rebuild(&self, _scope: &str, _line: &str) -> Result<(), StoreError> {
        Ok(())
    }

    /// Of a log that ends with its process, and gives its bytes to nobody by their addresses: a number
    /// that nobody knows outside of it. Bytes that nobody asks for by an address of theirs are then known
    /// by a hash that is made much sooner, and holds in one line of this log alone. One that lasts has
    /// none.
    fn passing_seed(&self) -> Option<u64> {
        None
    }

    /// Which log it is, for people.
    fn name(&self) -> String {
        "of the host".to_owned()
    }

    /// How long a call may wait from now on for a server that is away.
    fn wait_at_most(&self, _patience: Duration) {}

    /// Whether it can be read and written again after a failure, as far as can be told at once.
    fn is_well(&self) -> bool {
        true
    }
}

impl<L: RecordLog + ?Sized> RecordLog for std::sync::Arc<L> {
    fn append(&self, scope: &str, batch: LogBatch) -> Result<AppendOutcome, StoreError> {
        (**self).append(scope, batch)
    }

    fn read(&self, scope: &str, tails: &[LineTail<'_>]) -> Result<Vec<Vec<LogRecord>>, StoreError> {
        (**self).read(scope, tails)
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        (**self).scopes()
    }

    fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        (**self).lines(scope)
    }

    fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError> {
        (**self).find(scope, keys)
    }

    fn end(&self, scope: &str, line: &str) -> Result<Option<LinePosition>, StoreError> {
        (**self).end(scope, line)
    }

    fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError> {
        (**self).blobs(scope, query)
    }

    fn pieces(&self, scope: &str, query: &PieceQuery<'_>) -> Result<Vec<SearchPiece>, StoreError> {
        (**self).pieces(scope, query)
    }

    fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError> {
        (**self).all_pieces(scope, line)
    }

    fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError> {
        (**self).erase(scope, line, what)
    }

    fn rebuild(&self, scope: &str, line: &str) -> Result<(), StoreError> {
        (**self).rebuild(scope, line)
    }

    fn passing_seed(&self) -> Option<u64> {
        (**self).passing_seed()
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn wait_at_most(&self, patience: Duration) {
        (**self).wait_at_most(patience);
    }

    fn is_well(&self) -> bool {
        (**self).is_well()
    }
}

/// The range of one id alone.
pub(crate) fn only(id: ContentId) -> RangeInclusive<ContentId> {
    id..=id
}
