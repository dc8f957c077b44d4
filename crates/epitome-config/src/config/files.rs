//! The files of a configuration: which there are, and what stands in them.
//!
//! Invariant: nothing is written, and a file that is not there is no error unless it was named.

use std::path::{Path, PathBuf};

use epitome_extensions::problem::ConfigError;
use epitome_extensions::project::CONFIG_FILE;
use epitome_extensions::toml_file::read_text;

/// The policies of a project.
pub(crate) const POLICIES: &str = ".epitome/policies";

/// The plugins of a project.
pub(crate) const PLUGINS: &str = ".epitome/plugins";

/// The text of a file that is to be a configuration.
///
/// # Errors
///
/// When there is none, or it is no text.
pub(crate) fn read(path: &Path) -> Result<String, ConfigError> {
    read_text(path, "an epitome.toml", "--config")
}

/// The nearest file of a project, from a folder upwards.
pub(crate) fn nearest(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(CONFIG_FILE)).find(|path| path.is_file())
}

/// The nearest folder of a project that is called so, from a folder upwards.
pub(crate) fn nearest_folder(folder: &Path, below: &str) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(below)).find(|path| path.is_dir())
}

/// Whether two paths lead to the same file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
