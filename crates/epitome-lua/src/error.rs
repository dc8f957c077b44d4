//! Why a policy cannot be loaded.
//!
//! Invariant: a message names the policy, the file and the line where there is one, what was found
//! and what was expected.

/// A policy cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{policy}: {cause}")]
pub struct LoadError {
    /// The policy.
    pub policy: String,
    /// What is wrong.
    pub cause: LoadCause,
}

/// What is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadCause {
    /// Its folder has no such file.
    #[error("its folder has no `policy.lua`{}", at(.0))]
    Missing(Option<std::path::PathBuf>),
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It may not run: why, and what to do about it.
    #[error("{0}")]
    Refused(String),
    /// It is written for another interface, or does not run, or is no policy: what and where.
    #[error("{0}")]
    Broken(String),
    /// It is given an option that it does not have, or a value that the option cannot have.
    #[error("{0}")]
    Options(String),
    /// One of its own tests fails.
    #[error("its test fails: {0}")]
    Test(String),
}

fn at(folder: &Option<std::path::PathBuf>) -> String {
    folder.as_ref().map(|folder| format!(" (`{}`)", folder.display())).unwrap_or_default()
}
