//! Where the policies of a project stand, and its plugins.
//!
//! Invariant: what is made here is found by every other verb in the same folder.

use std::path::{Path, PathBuf};

use crate::fault::CliError;

/// The folder of a project's policies, in the project's own.
pub(crate) const POLICIES: &str = ".epitome/policies";

/// The types of policies, beside the policies of a folder.
pub(super) const TYPES: &str = "types";

/// What makes a folder a project's.
const PROJECT: &str = "epitome.toml";

/// A folder of the project, whether or not there is one: in the nearest folder upwards that has an
/// `epitome.toml` or this folder, else in the current one.
pub(crate) fn project(below: &str) -> Result<PathBuf, CliError> {
    let here = std::env::current_dir()
        .map_err(|error| CliError::usage(format!("the current folder: {error}")))?;
    let is_project = |folder: &&Path| folder.join(PROJECT).is_file() || folder.join(below).is_dir();
    Ok(here.ancestors().find(is_project).unwrap_or(&here).join(below))
}

/// A path as people read it: from the current folder on where it stands below.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok());
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path).display().to_string()
}
