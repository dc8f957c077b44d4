//! Why a page cannot be shown.

use epitome::{AdminError, StoreError};
use http::StatusCode;

/// Why a page cannot be shown, or something not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// What it is about is not there.
    #[error("there is no such page; it may have been deleted")]
    NotThere,
    /// What was to be done is none of what can be done.
    #[error("there is nothing of that name to do")]
    NoAct,
    /// It was done to another state than the one that was looked at.
    #[error(
        "the session has moved on since this page was shown: something was compressed, taken back or \
         pinned meanwhile. Look again before you act."
    )]
    MovedOn,
    /// The store, or what is recorded in it.
    #[error(transparent)]
    Admin(#[from] AdminError),
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Admin(error.into())
    }
}

impl PageError {
    /// The status that says it, and its title.
    pub(crate) fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotThere
            | Self::Admin(
                AdminError::NoSessions
                | AdminError::NoEntry { .. }
                | AdminError::ManyEntries { .. }
                | AdminError::NoCheckpoint { .. }
                | AdminError::NoLevel { .. }
                | AdminError::Store(StoreError::NoSession { .. } | StoreError::Unknown { .. }),
            ) => (StatusCode::NOT_FOUND, "Not there"),
            Self::NoAct => (StatusCode::BAD_REQUEST, "Not done"),
            Self::MovedOn => (StatusCode::CONFLICT, "The session moved on"),
            Self::Admin(
                AdminError::Store(StoreError::NothingToMark { .. } | StoreError::NoSnapshot { .. })
                | AdminError::NotPinned { .. },
            ) => (StatusCode::CONFLICT, "Nothing to do"),
            Self::Admin(_) => (StatusCode::INTERNAL_SERVER_ERROR, "That did not work"),
        }
    }
}
