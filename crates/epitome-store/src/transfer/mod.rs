//! Copying from any store into any other.
//!
//! Invariant: it is said once here what a copy has and when two sessions are equal; the stores only
//! hand over sessions and take them up. Called by the command.

mod check;
mod delta;
mod run;

use epitome_kernel::StoreError;
use epitome_kernel::types::EntryKey;

use crate::SessionArchive;
use crate::copied::{KeptTexts, SessionCopy};

pub use self::run::{TransferMode, TransferProgress, TransferReport, transfer};

/// How a session began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedBeginning {
    /// Its name.
    pub name: String,
    /// The id that its client gives it.
    pub label: Option<String>,
    /// How many of its first messages came without a record of who said them.
    pub opened: u32,
    /// When it began, ISO 8601.
    pub at: String,
}

/// A store that hands over sessions as a whole, and takes up those of others.
pub trait TransferStore: SessionArchive {
    /// All sessions of a scope, empty ones and those in the trash included, in the order in which
    /// they began.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn beginnings(&self, scope: &str) -> Result<Vec<CopiedBeginning>, StoreError>;

    /// A session as a whole, but for its snapshots, and for what [`Self::left_out`] names.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`]; [`StoreError::Damaged`] where something of it is not what was
    /// recorded; or when the store cannot be read.
    fn session_copy(&self, scope: &str, session: &str) -> Result<SessionCopy, StoreError>;

    /// What is not what was recorded, in words, and was left out when a session was handed over last; of
    /// no session, what a scope keeps outside of sessions.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn left_out(&self, scope: &str, session: Option<&str>) -> Result<Vec<String>, StoreError> {
        let _ = (scope, session);
        Ok(Vec::new())
    }

    /// Adds to a session what a copy brings, all of it or nothing. Messages, rewrites, originals and
    /// pieces that it has stay as they are; answers, epochs, acts and marks come behind those that
    /// it has. What the facts say holds from now on.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] for one that nobody began; or when the store cannot be written.
    fn take(&self, scope: &str, session: &str, copy: &SessionCopy) -> Result<(), StoreError>;

    /// What a scope keeps outside of sessions.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    fn kept_outside(&self, scope: &str) -> Result<KeptTexts, StoreError>;

    /// Keeps texts of a scope outside of sessions, but for those that it has.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn keep_outside(&self, scope: &str, kept: &KeptTexts) -> Result<(), StoreError>;

    /// Has nobody say these in a scope any more. What says one of them already is left alone.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    fn ban(&self, scope: &str, keys: &[EntryKey]) -> Result<(), StoreError>;
}
