//! What a policy failed at last in a session, as the session remembers it.
//!
//! Invariant: it stands among the notes of the session's policies under a name that no policy has, so
//! that it is erased with the session, and nobody's note is in its place.

use serde::{Deserialize, Serialize};

/// What the name of such a note begins with. Names of policies have no spaces.
const BEGINNING: &str = "failure of ";

/// The last failure of a policy in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFault {
    /// What went wrong, where, and what was expected.
    pub cause: String,
    /// When the request came that it was asked about, ISO 8601.
    pub at: String,
    /// Messages of the history then.
    pub messages: u32,
}

impl PolicyFault {
    /// The name of the note about a policy.
    #[must_use]
    pub fn note_of(policy: &str) -> String {
        format!("{BEGINNING}{policy}")
    }

    /// The policy that a note of this name is about; `None` of any other note.
    #[must_use]
    pub fn policy_of(note: &str) -> Option<&str> {
        note.strip_prefix(BEGINNING)
    }
}
