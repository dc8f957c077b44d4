//! What a profile states itself, beside the options of its policies.
//!
//! Invariant: what is here holds whichever policy decides. Read by the configuration, asked by the
//! engine.

use epitome_extract::KeepRules;
use serde::Serialize;

/// The rules of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProfileRules {
    /// The lines that stay word for word.
    #[serde(serialize_with = "spelled")]
    pub keep: KeepRules,
}

/// The rules as the profile spells them.
fn spelled<S: serde::Serializer>(keep: &KeepRules, to: S) -> Result<S::Ok, S::Error> {
    keep.spelled().serialize(to)
}
