//! What a store says of itself while it cannot be written, or read.
//!
//! Invariant: it is told once when an outage begins, and once when it ends. Made by
//! `FallbackStore`, read by hosts.

use epitome_kernel::StoreError;

/// What is wrong with a store whose file is not at its path any more.
pub(crate) const GONE: &str = "is no longer there";

/// What is wrong with a store whose server does not answer.
pub const UNREACHABLE: &str = "cannot be reached";

/// What is wrong with a store that does not fit the key that is named for it, or its lack.
pub const SEALED: &str = "stays closed";

/// What can be done about a part of a store that is not what was written, where all else is used.
pub(crate) const PARTLY: &str = "`epitome session verify` says more, `epitome store salvage STORE NEW` makes a \
                                 store of all else";

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
    /// Something that it keeps is not what was written. It is passed over, and all else is used.
    Damaged(StoreOutage),
    /// It can be written again: conversations that begin are recorded.
    Back,
}

/// How an outage may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageKind {
    /// The file was opened for reading alone: this process never writes it.
    ReadOnly,
    /// It could not be opened: this process never reads or writes it.
    Unopened,
    /// Something that is kept cannot be read. What can be is used, each by itself.
    Damaged,
    /// Its file is not at its path: what is written to it is lost with the process. It may come back.
    Gone,
    /// Its server does not answer, for now.
    Away,
    /// No room, no access, somebody else holds it: it may be well again at any time.
    Unwritable,
}

impl OutageKind {
    /// What an error tells of the store itself; `None` of one that it is not to blame for.
    pub(crate) fn of(error: &StoreError) -> Option<Self> {
        match error {
            StoreError::Damaged { .. } => Some(Self::Damaged),
            StoreError::Broken { what: GONE, .. } => Some(Self::Gone),
            StoreError::Broken { what: UNREACHABLE, .. } => Some(Self::Away),
            // Whoever mends that does so before anything is said.
            StoreError::Broken { what: SEALED, .. } => None,
            StoreError::Broken { .. } => Some(Self::Unwritable),
            _ => None,
        }
    }

    /// Whether it may be over at any time, without a new start.
    pub(crate) fn may_pass(self) -> bool {
        matches!(self, Self::Away | Self::Gone | Self::Unwritable)
    }

    /// What can be done about it.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::ReadOnly => {
                "make the file and its folder writable and start again, or name another store \
                 with `--store`"
            }
            Self::Unopened => {
                "mend that and start again, or name another store with `--store`; nothing is recorded \
                 until then"
            }
            Self::Damaged => {
                "stop the program, run `epitome session verify --repair`, where that leaves anything \
                 `epitome store salvage STORE NEW`, and start again"
            }
            Self::Gone => {
                "put the file back where it was, or start the program again, which makes a new one \
                 and records there what clients send on"
            }
            Self::Away => {
                "start the server, or mend the way to it; new conversations are recorded from then on, \
                 and those under way once this program starts again"
            }
            Self::Unwritable => {
                "make room for it, or end what holds it; new conversations are recorded from then \
                 on, and those under way once the program starts again"
            }
        }
    }
}
