//! Why a configuration cannot be used.
//!
//! Invariant: every line names the place, what stands there, what was expected and, where a name
//! is not known, the nearest that is (RULES 70).

use std::fmt;

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{file}: {cause}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        cause: String,
    },
    /// Something in the files or variables may not be said.
    #[error("{}", first(.0))]
    Invalid(Vec<ConfigProblem>),
    /// A store is named by a URL that this program does not know.
    #[error("{place}: {what}")]
    UnknownStore {
        /// Where it is named.
        place: String,
        /// What is known.
        what: String,
    },
    /// No profile has this name.
    #[error("unknown profile `{name}`; {}", hint(nearest.as_deref(), known))]
    UnknownProfile {
        /// The name as given.
        name: String,
        /// The name that is nearest to it.
        nearest: Option<String>,
        /// Every name there is.
        known: Vec<String>,
    },
}

/// Something that may not be said, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The place: a file with its line, a variable or a flag.
    pub place: String,
    /// What is wrong there, and what was expected.
    pub what: String,
}

impl ConfigProblem {
    /// A problem at a place.
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl From<ConfigProblem> for ConfigError {
    fn from(problem: ConfigProblem) -> Self {
        Self::Invalid(vec![problem])
    }
}

/// The first problem, and how many there are.
fn first(problems: &[ConfigProblem]) -> String {
    let first = problems.first().map_or_else(String::new, ToString::to_string);
    match problems.len() {
        0 | 1 => first,
        all => format!("{first} (and {} more)", all - 1),
    }
}

/// Returns what may have been meant: the nearest name, else all that there are.
pub fn hint(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("there is `{}`", known.join("`, `")),
    }
}
