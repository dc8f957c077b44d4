//! Why something was not done to what is recorded.
//!
//! Invariant: on every error the journal stands as it was, but for what an earlier part of the same
//! errand recorded. A host tells by the variant whose move it is.

use epitome_extensions::problem::ConfigError;
use epitome_kernel::StoreError;
use epitome_kernel::goals::GoalError;
use epitome_wire::{InputError, WireError};
use epitome_workspace::augments::AugmentError;

/// Why something was not done to what is recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// A recording cannot be read; the message names the place and what was expected there.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is nothing in the recording.
    #[error("holds no message; expected a conversation")]
    Empty,
    /// Nothing was recorded yet.
    #[error("no session is recorded yet")]
    NoSessions,
    /// Several sessions made the same call of a lever.
    #[error("{} made this call of `{tool}` at once; name the one that is meant in `session`", sessions.join(" and "))]
    AmbiguousCall {
        /// The lever.
        tool: String,
        /// The sessions.
        sessions: Vec<String>,
    },
    /// A call of a lever with an id that no recorded answer holds, while there are several sessions.
    #[error("no recorded answer holds the call `{id}` of `{tool}`, so nobody knows whose it is; name the session that is meant in `session`: {}", known.join(", "))]
    UnknownCall {
        /// The lever.
        tool: String,
        /// The id of the call.
        id: String,
        /// The sessions used last.
        known: Vec<String>,
    },
    /// No entry of a session is named so.
    #[error("session `{session}` has no entry `{named}`; it has e0 to e{}, and each goes by the beginning of its key too", messages.saturating_sub(1))]
    NoEntry {
        /// What was asked for.
        named: String,
        /// The session.
        session: String,
        /// How many messages it has.
        messages: usize,
    },
    /// No way through the history of a session goes by that.
    #[error("session `{session}` has no branch `{named}`; it has {branches}")]
    NoBranch {
        /// What was asked for.
        named: String,
        /// The session.
        session: String,
        /// How many it has.
        branches: usize,
    },
    /// No checkpoint in force goes by this id, or several do.
    #[error("{}", no_checkpoint(named, session, *is_ambiguous, known))]
    NoCheckpoint {
        /// What was asked for.
        named: String,
        /// The session.
        session: String,
        /// Whether several ids begin with it.
        is_ambiguous: bool,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// A checkpoint never was at this level.
    #[error("checkpoint `{id}` never was at {}; it was at {}, and no model is asked for another", level_name(*level), levels.iter().map(|level| level_name(*level)).collect::<Vec<_>>().join(", "))]
    NoLevel {
        /// Its id.
        id: String,
        /// What was asked for.
        level: u8,
        /// The levels that it was at, in their order.
        levels: Vec<u8>,
    },
    /// More than one entry's key begins like this.
    #[error("`{named}` is ambiguous in session `{session}`: the keys of {} begin with it; give more digits", entries.join(", "))]
    ManyEntries {
        /// What was asked for.
        named: String,
        /// The session.
        session: String,
        /// The entries.
        entries: Vec<String>,
    },
    /// No session has this name.
    #[error("no session `{name}`; {}", known_sessions(known))]
    UnknownSession {
        /// What was asked for.
        name: String,
        /// Those that were used last.
        known: Vec<String>,
    },
    /// A pin was to be taken out that is not there.
    #[error("{entry} of session `{session}` is not pinned by hand")]
    NotPinned {
        /// The entry.
        entry: String,
        /// The session.
        session: String,
    },
    /// Something is to be done to a session that has no message yet.
    #[error("session `{name}` has no message yet, and goals belong to one that has: send its first message, then set the goal{}", or_meant(nearest.as_deref()))]
    NotBegun {
        /// What was asked for.
        name: String,
        /// The name that is nearest to it.
        nearest: Option<String>,
    },
    /// Snapshots of two sessions are to be compared.
    #[error("the snapshots are of two sessions, `{}` and `{}`; name two of one session", sessions[0], sessions[1])]
    SnapshotsApart {
        /// The sessions.
        sessions: [String; 2],
    },
    /// A snapshot of the session has this name already.
    #[error("session `{session}` has a snapshot `{name}` already; choose another name")]
    SnapshotNamed {
        /// The name.
        name: String,
        /// The session.
        session: String,
    },
    /// An augment is not there or cannot be used.
    #[error(transparent)]
    Augment(#[from] AugmentError),
    /// A goal cannot be changed so.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// A policy of the profile may not run, or cannot be loaded.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    /// The journal cannot be read or written, or has not what was asked for.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<WireError> for AdminError {
    fn from(error: WireError) -> Self {
        Self::Input(error.into())
    }
}

/// A level as people know it.
fn level_name(level: u8) -> String {
    match level {
        0 => "level 0 (merged)".to_owned(),
        level => format!("level {level}"),
    }
}

fn or_meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn known_sessions(known: &[String]) -> String {
    match known {
        [] => "none is recorded yet".to_owned(),
        known => format!("those used last are {}", known.join(", ")),
    }
}

/// What is said where no checkpoint is meant, or several are.
fn no_checkpoint(named: &str, session: &str, is_ambiguous: bool, known: &[String]) -> String {
    match known {
        [] => format!(
            "session `{session}` has no checkpoint `{named}`: nothing of it was summarized yet"
        ),
        known if is_ambiguous => {
            format!("`{named}` is ambiguous in session `{session}`; it has {}", known.join(", "))
        }
        known => {
            format!("session `{session}` has no checkpoint `{named}`; it has {}", known.join(", "))
        }
    }
}
