//! Why an access to the database failed, before its path is known.
//!
//! Invariant: what the database says is turned into the port's error in one place. Called by every
//! module of the store on disk.

use std::path::Path;

use epitome_kernel::StoreError;
use rusqlite::ErrorCode;

/// A failure inside the store.
#[derive(Debug)]
pub(crate) enum Fail {
    /// What the database says.
    Sql(rusqlite::Error),
    /// The port's own error.
    Port(StoreError),
}

impl Fail {
    /// What is kept is not what was written.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Port(StoreError::Damaged { what: what.into() })
    }

    /// The port's error.
    pub(crate) fn at(self, path: &Path, what: &'static str) -> StoreError {
        match self {
            Self::Port(error) => error,
            Self::Sql(error) => refused(&error, path, what),
        }
    }
}

/// The port's error for what the database says.
pub(crate) fn refused(error: &rusqlite::Error, path: &Path, what: &'static str) -> StoreError {
    let is_corrupt = error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt);
    if is_corrupt || unreadable(error) {
        return StoreError::Damaged { what: format!("`{}`: {error}", path.display()) };
    }
    broken(path, what, error)
}

/// Whether a row holds what this program never wrote.
fn unreadable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows,
        Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | QueryReturnedNoRows
            | Utf8Error(..)
    )
}

/// The port's error for a file.
pub(crate) fn broken(path: &Path, what: &'static str, cause: &dyn std::fmt::Display) -> StoreError {
    StoreError::Broken { path: path.display().to_string(), what, cause: cause.to_string() }
}

impl From<rusqlite::Error> for Fail {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fail {
    fn from(error: StoreError) -> Self {
        Self::Port(error)
    }
}
