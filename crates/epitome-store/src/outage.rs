//! What a store says of itself while it cannot be written, or read.
//!
//! Invariant: it is told once when an outage begins, and once when it ends. Made by
//! `FallbackStore`, read by hosts.

#[cfg(feature = "sqlite")]
use epitome_kernel::StoreError;

/// A store that cannot be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOutage {
    /// Which store, and why, as its error says it.
    pub cause: String,
    /// What can be done about it.
    pub remedy: &'static str,
}

/// What there is to tell of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreNews {
    /// It cannot be written, or read: what is said goes to memory.
    Lost(StoreOutage),
    /// It can be written again: conversations that begin are recorded.
    Back,
}

/// How an outage may end.
#[cfg(feature = "sqlite")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageKind {
    /// The file was opened for reading alone: this process never writes it.
    ReadOnly,
    /// Something that is kept cannot be read. What can be is used, each by itself.
    Damaged,
    /// No room, no access, somebody else holds it: it may be well again at any time.
    Unwritable,
}

#[cfg(feature = "sqlite")]
impl OutageKind {
    /// What an error tells of the store itself; `None` of one that it is not to blame for.
    pub(crate) fn of(error: &StoreError) -> Option<Self> {
        match error {
            StoreError::Damaged { .. } => Some(Self::Damaged),
            StoreError::Broken { .. } => Some(Self::Unwritable),
            _ => None,
        }
    }

    /// What can be done about it.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::ReadOnly => {
                "make the file and its folder writable and start again, or name another store \
                 with `--store`"
            }
            Self::Damaged => {
                "stop the program, run `epitome session verify --repair` and start again"
            }
            Self::Unwritable => {
                "make room for it, or end what holds it; new conversations are recorded from then \
                 on, and those under way once the program starts again"
            }
        }
    }
}
