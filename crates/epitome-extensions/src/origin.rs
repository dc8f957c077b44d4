//! Where a policy or a plugin is from.
//!
//! Invariant: the order of the variants is the order in which one is looked for.

use std::fmt;

use serde::Serialize;

/// Where a policy or a plugin is from, in the order in which one is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionOrigin {
    /// A folder that the host named for this one alone.
    Given,
    /// `.epitome` of a project.
    Project,
    /// The user's own folder, or one that the host added.
    User,
    /// The folder that the configuration names.
    Config,
    /// The program.
    Shipped,
}

impl fmt::Display for ExtensionOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "given",
            Self::Project => "project",
            Self::User => "user",
            Self::Config => "config",
            Self::Shipped => "shipped",
        })
    }
}
