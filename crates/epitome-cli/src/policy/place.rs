//! Where the policies of a project stand, and its plugins.
//!
//! Invariant: what is made here is found by every other verb in the same folder, and stands in the project:
//! a link that came with it leads nowhere else.

use std::path::{Path, PathBuf};

use crate::fault::CliError;

/// The folder of a project's policies, in the project's own.
pub(crate) const POLICIES: &str = ".epitome/policies";

/// The types of policies, beside the policies of a folder.
pub(super) const TYPES: &str = "types";

/// The modules that policies share, beside them.
pub(crate) const LIBRARY: &str = "lib";

/// What makes a folder a project's: its configuration.
pub(super) const PROJECT: &str = "epitome.toml";

/// A folder of the project, whether or not there is one: in the nearest folder upwards that has an
/// `epitome.toml` or this folder, else in the current one.
///
/// # Errors
///
/// When a link on the way to it leads out of the project: what somebody else wrote there would be written
/// anywhere.
pub(crate) fn project(below: &str) -> Result<PathBuf, CliError> {
    let here = std::env::current_dir()
        .map_err(|error| CliError::usage(format!("the current folder: {error}")))?;
    let is_project = |folder: &&Path| folder.join(PROJECT).is_file() || folder.join(below).is_dir();
    let top = here.ancestors().find(is_project).unwrap_or(&here);
    stays_inside(top, below)?;
    Ok(top.join(below))
}

/// Whether every folder on the way from the top of a project to one below is in the project, links followed.
fn stays_inside(top: &Path, below: &str) -> Result<(), CliError> {
    let whole = top.canonicalize().unwrap_or_else(|_| top.to_owned());
    let mut path = top.to_owned();
    for step in Path::new(below) {
        path.push(step);
        // What is not there yet leads nowhere.
        let Ok(real) = path.canonicalize() else { break };
        if !real.starts_with(&whole) {
            return Err(CliError::usage(format!(
                "{}: leads out of the project, to {}; expected a folder in it, and no link",
                shown(&path),
                real.display()
            )));
        }
    }
    Ok(())
}

/// A path as people read it: from the current folder on where it stands below.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok());
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path).display().to_string()
}
