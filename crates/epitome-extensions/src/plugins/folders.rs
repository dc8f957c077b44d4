//! Where plugins are looked for: the project's folder, the user's, one that the configuration
//! names, and those that are compiled in.
//!
//! Invariant: the first folder that holds a name decides, and nothing is run. Made by the
//! configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use epitome_lua::TrustStore;

use super::manifest::{FILE, Manifest};
use super::placed::{FoundPlugin, MadeOf};
use super::reference::PluginRef;
use super::shipped;
use crate::folders::{ExtensionFolder, ExtensionFolders};
use crate::origin::ExtensionOrigin;
use crate::problem::{ConfigError, ConfigProblem};

/// All folders of plugins.
#[derive(Clone, Debug)]
pub struct PluginFolders(ExtensionFolders);

impl PluginFolders {
    /// The plugins in these folders; with `shipped_only` no other may be asked for.
    pub fn new(shelves: Vec<ExtensionFolder>, shipped_only: bool) -> Self {
        Self(ExtensionFolders::new(shelves, FILE, shipped_only))
    }

    /// The plugin of a name that may be asked for.
    ///
    /// # Errors
    ///
    /// When its manifest cannot be read or says what may not be said.
    pub fn find(&self, name: &str) -> Result<Option<FoundPlugin>, ConfigError> {
        if let Some(shelf) = self.0.find(name) {
            return placed(shelf, name).map(Some);
        }
        let (name, origin) = (name.to_owned(), ExtensionOrigin::Shipped);
        let code = shipped::plugin(&name);
        Ok(code.map(|code| FoundPlugin {
            name,
            origin,
            made_of: MadeOf::Code(code),
            foreign: None,
        }))
    }

    /// Passes over what may not run, or cannot, and would hide something that may; gives the reason
    /// by name.
    pub fn pass_over(&mut self, trust: Option<&TrustStore>) -> BTreeMap<String, ConfigProblem> {
        let mut problems = BTreeMap::new();
        for name in self.0.foreign_names() {
            while let Some(shelf) = self.0.find(&name).filter(|shelf| shelf.only.is_none()).cloned()
                && let Some(next) = self.next(&name)
                && shelf.foreign
            {
                let problem = match placed(&shelf, &name) {
                    Err(error) => {
                        let what = format!(
                            "the plugin `{name}` is passed over, and the {next} one of that name \
                             answers: {error}"
                        );
                        ConfigProblem::new(
                            shelf.place(&name).join(FILE).display().to_string(),
                            what,
                        )
                    }
                    Ok(placed) => {
                        let plugin = PluginRef::unset(placed);
                        let Some(refusal) = plugin.refusal(trust) else { break };
                        refusal.passed_over(next)
                    }
                };
                problems.entry(name.clone()).or_insert(problem);
                self.0.pass_over(&shelf, &name);
            }
        }
        problems
    }

    /// Where the plugin is from that is hidden by the one of this name.
    fn next(&self, name: &str) -> Option<ExtensionOrigin> {
        let behind = self.0.behind(name).next().map(|shelf| shelf.origin);
        behind.or_else(|| shipped::plugin(name).map(|_| ExtensionOrigin::Shipped))
    }

    /// Where a plugin stands that may not be asked for, since only what is shipped may.
    pub fn barred(&self, name: &str) -> Option<PathBuf> {
        self.0.barred(name).map(|shelf| shelf.place(name).join(FILE))
    }

    /// Whether there is a plugin of this name, whether or not it may be asked for.
    pub fn knows(&self, name: &str) -> bool {
        let own = self.0.find(name).or_else(|| self.0.barred(name));
        own.is_some() || shipped::plugin(name).is_some()
    }

    /// The folders of plugins that need to be trusted.
    pub fn foreign(&self) -> impl Iterator<Item = PathBuf> {
        self.0.foreign()
    }

    /// The names of all plugins, each once.
    pub fn names(&self) -> Vec<String> {
        self.0.names(shipped::names())
    }
}

/// A plugin that stands on a shelf.
fn placed(shelf: &ExtensionFolder, name: &str) -> Result<FoundPlugin, ConfigError> {
    let folder = shelf.place(name);
    let manifest = Box::new(Manifest::read(&folder)?);
    Ok(FoundPlugin {
        name: name.to_owned(),
        origin: shelf.origin,
        made_of: MadeOf::Folder { folder, manifest },
        foreign: shelf.trusted_whole(),
    })
}
