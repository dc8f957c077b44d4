//! What is wrong with an augment.
//!
//! Invariant: each says which file, where in it, and what to write instead.

use std::path::{Path, PathBuf};

/// Something about an augment, or about what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{fault}", place(.file.as_deref(), *.line))]
pub struct AugmentError {
    /// The file; none where nothing is wrong with any.
    pub file: Option<PathBuf>,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub fault: AugmentFault,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AugmentFault {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file is a link, in a folder that others can write to.
    #[error("is a link, and links are not followed here; put the text itself there")]
    Link,
    /// The file is too large for a prompt.
    #[error(
        "takes {size} bytes; an augment may take {most}: split it, and let one require the other"
    )]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The most that is read, in bytes.
        most: u64,
    },
    /// The file is no text.
    #[error("is no UTF-8; save it as UTF-8")]
    NotUtf8,
    /// There are more files than are looked at.
    #[error("there are more than {0} augments; take some away")]
    TooMany(usize),
    /// The name of the file cannot be asked for.
    #[error("`{0}` cannot be a name: it may hold letters, digits, `-`, `_` and `.`; rename it")]
    Name(String),
    /// The front matter does not end.
    #[error("the front matter does not end; close it with a line `---`")]
    Open,
    /// A line of the front matter has no value that fits.
    #[error("`{found}` is no {expected}")]
    Value {
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// The front matter has a key that means nothing.
    #[error("the key `{0}` means nothing; known are `title`, `requires` and `pinned`")]
    Key(String),
    /// The front matter says something twice.
    #[error("`{0}` is said twice; keep one")]
    Twice(String),
    /// There is no text behind the front matter.
    #[error("holds no text; write what the agent should know")]
    Empty,
    /// It requires one that is not there.
    #[error("requires `{missing}`, which is not there{}", nearest(.near))]
    Missing {
        /// What it requires.
        missing: String,
        /// The names that are nearest.
        near: Vec<String>,
    },
    /// It requires itself in the end.
    #[error("requires itself: {}; take one of these out", .0.join(" → "))]
    Circle(Vec<String>),
    /// Nothing is called so.
    #[error("no augment is called `{pattern}`{}", nearest(.near))]
    Unknown {
        /// What was asked for.
        pattern: String,
        /// The names that are nearest.
        near: Vec<String>,
    },
}

impl AugmentError {
    pub(super) fn of(file: &Path, line: Option<usize>, fault: AugmentFault) -> Self {
        Self { file: Some(file.to_owned()), line, fault }
    }
}

fn place(file: Option<&Path>, line: Option<usize>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", file.display()),
        (Some(file), None) => format!("{}: ", file.display()),
        (None, _) => String::new(),
    }
}

fn nearest(near: &[String]) -> String {
    match near {
        [] => "; there are none: put one at augments/GROUP/NAME.md".to_owned(),
        near => format!("; there is {}", near.join(", ")),
    }
}
