//! Where no plugin stands in a folder: nothing is watched, and nothing changes.

use epitome_lua::{PolicyWatch, WatchError};

use super::generation::PluginReload;
use super::load::ProfilePlugins;

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
