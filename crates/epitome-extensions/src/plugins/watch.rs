//! Watches the folders of plugins and loads anew what changed.
//!
//! Invariant: nothing is watched before a host asks for it, nor after the watch falls. Called by
//! sessions that are watched.

use std::sync::Arc;

use epitome_lua::{FoundPolicy, PolicySource, PolicyWatch, SETTLE, WatchError};

use super::folder_plugin::FolderPlugin;
use super::generation::PluginReload;
use super::load::ProfilePlugins;
use super::reference::PluginRef;

impl ProfilePlugins {
    /// Has the folders of the plugins watched, and tells of what became of each change, until what is
    /// given back falls. Of a change that cannot be used the last good generation stays. `None` where
    /// no plugin stands in a folder.
    ///
    /// # Errors
    ///
    /// When the system does not let a folder be watched.
    pub fn watch(
        &self,
        mut tell: impl FnMut(PluginReload) + Send + 'static,
    ) -> Result<Option<PolicyWatch>, WatchError> {
        let (found, loaded): (Vec<_>, Vec<_>) = self.in_folders().into_iter().unzip();
        if found.is_empty() {
            return Ok(None);
        }
        loaded.iter().for_each(|plugin| plugin.look());
        let names: Vec<_> = found.iter().map(|found| found.name.clone()).collect();
        let changed = move || {
            for (plugin, loaded) in names.iter().zip(&loaded) {
                if let Some(generation) = loaded.reload() {
                    tell(PluginReload { plugin: plugin.clone(), generation });
                }
            }
        };
        PolicyWatch::files(&found, &[], SETTLE, changed).map(Some)
    }

    /// Those that stand in folders and may run, with where that is.
    fn in_folders(&self) -> Vec<(FoundPolicy, Arc<FolderPlugin>)> {
        let one = |plugin: &PluginRef| {
            let (name, folder) = (plugin.name(), plugin.folder()?);
            let loaded = self.running(name)?.folder()?;
            let files = PolicySource::Folder(folder.to_owned());
            Some((FoundPolicy { name: name.to_owned(), files, libraries: Vec::new() }, loaded))
        };
        self.named.iter().filter_map(one).collect()
    }
}
