//! Where no plugin stands in a folder: nothing is watched, and nothing changes.

use epitome_lua::{PolicyWatch, WatchError};

use super::load::ProfilePlugins;

/// The files of a plugin have changed, which cannot be here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginReload {
    /// The plugin.
    pub plugin: String,
    /// The number of the generation that is in force now, or why it is still the old one.
    pub generation: Result<u64, String>,
}

impl ProfilePlugins {
    /// Watches nothing.
    ///
    /// # Errors
    ///
    /// Never.
    pub fn watch(
        &self,
        _tell: impl FnMut(PluginReload) + Send + 'static,
    ) -> Result<Option<PolicyWatch>, WatchError> {
        Ok(None)
    }
}
