//! Whose a record is: the numbers of a scope and of a session in it.
//!
//! Invariant: a session's number means nothing without that of its scope. Called by every module
//! of the store on disk that reads or writes what a session recorded.

/// The number of a session in the database.
pub(crate) type SessionRowId = i64;

/// A session and its scope, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub(crate) scope: i64,
    pub(crate) session: SessionRowId,
}
