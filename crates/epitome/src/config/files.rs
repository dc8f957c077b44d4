//! The only place of the facade that reads files: those of the configuration.
//!
//! Invariant: nothing is written, and a file that is not there is no error unless it was named.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::ConfigError;
use crate::scope::NAME;

/// The policies of a project.
pub(crate) const POLICIES: &str = ".epitome/policies";

/// The plugins of a project.
pub(crate) const PLUGINS: &str = ".epitome/plugins";

/// The text of a file.
///
/// # Errors
///
/// When there is none, or it is no text.
pub(crate) fn read(path: &Path) -> Result<String, ConfigError> {
    read_as(path, "an epitome.toml", "--config")
}

/// The text of a file that is to be `what`, as `who` names one.
///
/// # Errors
///
/// As [`read`].
#[expect(clippy::disallowed_methods, reason = "the configuration is read here and nowhere else")]
pub(super) fn read_as(path: &Path, what: &str, who: &str) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|error| {
        let cause = match error.kind() {
            ErrorKind::NotFound => format!("no such file; `{who}` names {what}"),
            ErrorKind::IsADirectory => format!("is a folder; expected {what}"),
            ErrorKind::InvalidData => "is no text in UTF-8".to_owned(),
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        ConfigError::Unreadable { file: path.display().to_string(), cause }
    })
}

/// The nearest file of a project, from a folder upwards.
pub(crate) fn nearest(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file())
}

/// The nearest folder of a project that is called so, from a folder upwards.
pub(crate) fn nearest_folder(folder: &Path, below: &str) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(below)).find(|path| path.is_dir())
}

/// Whether two paths lead to the same file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
