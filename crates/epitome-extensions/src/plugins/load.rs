//! The plugins of a profile, ready to be asked.
//!
//! Invariant: a program starts with the first call for it and not before, once for all clones of
//! the profile; nothing starts that somebody else may have written and the user has not trusted.
//! Called by profiles.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use epitome_kernel::ApiNames;
use epitome_lua::TrustStore;
use epitome_plugin::Plugin;
use epitome_types::hook::OLD_API;
use serde_json::{Value as Json, json};

#[cfg(feature = "plugins")]
use super::folder_plugin::FolderPlugin;
use super::generation::PluginGeneration;
use super::pattern::{means, precision};
use super::placed::{FoundPlugin, MadeOf, PluginForm};
use super::reference::PluginRef;
use super::shipped;
use crate::origin::ExtensionOrigin;
use crate::problem::ConfigProblem;

/// The plugins of a profile.
#[derive(Clone, Default)]
pub struct ProfilePlugins {
    /// Each that is named, once.
    pub named: Vec<PluginRef>,
    /// Those that digest, in the order in which they are asked.
    pub digests: Vec<String>,
    /// The same for the results of tools, by a pattern of their names.
    pub tools: BTreeMap<String, Vec<String>>,
    /// The variables of the environment that the user lets a plugin have.
    grants: BTreeMap<String, Vec<String>>,
    trust: Option<TrustStore>,
    /// What clones of a profile share: what was asked for.
    kept: Arc<Mutex<BTreeMap<String, LoadedPlugin>>>,
}

/// A plugin that can be asked.
#[derive(Clone)]
pub struct LoadedPlugin {
    /// Its name.
    pub name: String,
    from: LoadedFrom,
    /// The names that it may use in hooks.
    pub(super) names: Arc<ApiNames>,
}

/// Where a plugin was loaded from.
#[derive(Clone)]
enum LoadedFrom {
    /// Nothing can change it.
    Code(PluginGeneration),
    /// A folder, whose files may change.
    #[cfg(feature = "plugins")]
    Folder(Arc<FolderPlugin>),
}

impl LoadedPlugin {
    /// One that the host handed over; nobody sets options for it.
    pub fn of_host(plugin: Arc<dyn Plugin>) -> Self {
        let name = plugin.about().name.into_owned();
        Self::new(name, LoadedFrom::Code(PluginGeneration { plugin, options: Arc::default() }))
    }

    fn new(name: String, from: LoadedFrom) -> Self {
        // The protocol states no api, so a plugin may use the names of any.
        let names = Arc::new(ApiNames::new(OLD_API));
        Self { name, from, names }
    }

    /// What is asked now, with the value of every option.
    pub fn current(&self) -> PluginGeneration {
        match &self.from {
            LoadedFrom::Code(generation) => generation.clone(),
            #[cfg(feature = "plugins")]
            LoadedFrom::Folder(plugin) => plugin.current(),
        }
    }

    /// The folder that it was loaded from.
    #[cfg(all(feature = "plugins", feature = "find", feature = "lua"))]
    pub(super) fn folder(&self) -> Option<Arc<FolderPlugin>> {
        match &self.from {
            LoadedFrom::Code(_) => None,
            LoadedFrom::Folder(plugin) => Some(Arc::clone(plugin)),
        }
    }
}

impl ProfilePlugins {
    /// Plugins that are still to be named; `grants` are the variables that each may have.
    pub fn new(trust: Option<TrustStore>, grants: BTreeMap<String, Vec<String>>) -> Self {
        Self { trust, grants, ..Self::default() }
    }

    /// The one of a name, where the profile names it.
    pub fn named(&self, name: &str) -> Option<&PluginRef> {
        self.named.iter().find(|plugin| plugin.name() == name)
    }

    /// Why one may not run, with the remedy.
    pub fn refusal(&self, plugin: &PluginRef) -> Option<ConfigProblem> {
        plugin.refused_by(self.trust.as_ref())
    }

    /// Whether all of them may run. A module that was loaded goes on as it was trusted, whatever its file
    /// says now; a program could be started anew.
    ///
    /// # Errors
    ///
    /// The first that may not, with the remedy.
    pub fn permitted(&self) -> Result<(), ConfigProblem> {
        let goes_on = |plugin: &&PluginRef| {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            plugin.form() == PluginForm::Module && kept.contains_key(plugin.name())
        };
        let mut asked = self.named.iter().filter(|plugin| !goes_on(plugin));
        asked.find_map(|plugin| self.refusal(plugin)).map_or(Ok(()), Err)
    }

    /// What the hash of a configuration covers: who is asked for what, and their versions, files
    /// and options.
    pub fn address(&self) -> Json {
        let named = self.named.iter().map(|plugin| {
            let content = plugin.content().unwrap_or_else(|error| error.to_string());
            let (name, options) = (plugin.name(), plugin.options());
            json!({ "name": name, "content": content, "options": options })
        });
        let named: Json = named.collect();
        json!({ "digests": self.digests, "tools": self.tools, "named": named })
    }

    /// One that can be asked; `None` where the profile does not name it or it may not run.
    pub fn running(&self, name: &str) -> Option<LoadedPlugin> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(name) {
            return Some(known.clone());
        }
        let plugin = self.named(name)?;
        if self.refusal(plugin).is_some() {
            return None;
        }
        let from = match plugin.code() {
            Some(code) => LoadedFrom::Code(PluginGeneration::new(plugin, code)),
            None => self.in_folder(plugin)?,
        };
        let running = LoadedPlugin::new(name.to_owned(), from);
        kept.insert(name.to_owned(), running.clone());
        Some(running)
    }

    /// One that is none of ours.
    #[cfg(feature = "plugins")]
    fn in_folder(&self, plugin: &PluginRef) -> Option<LoadedFrom> {
        let granted = self.grants.get(plugin.name()).cloned().unwrap_or_default();
        Some(LoadedFrom::Folder(Arc::new(FolderPlugin::new(
            plugin.clone(),
            granted,
            self.trust.clone(),
        )?)))
    }

    /// Programs are not started here; a profile that names one is refused.
    #[cfg(not(feature = "plugins"))]
    fn in_folder(&self, _plugin: &PluginRef) -> Option<LoadedFrom> {
        None
    }

    /// The plugins that are compiled in, of those that a shipped profile has digest.
    pub fn shipped(digests: Vec<String>) -> Self {
        let found = |name: &String| {
            let (name, made_of) = (name.clone(), MadeOf::Code(shipped::plugin(name)?));
            let placed =
                FoundPlugin { name, origin: ExtensionOrigin::Shipped, made_of, foreign: None };
            Some(PluginRef::unset(placed))
        };
        let named: Vec<_> = digests.iter().filter_map(found).collect();
        let digests = named.iter().map(|plugin| plugin.name().to_owned()).collect();
        Self { named, digests, ..Self::default() }
    }

    /// The names of those that digest the results of a tool: what the pattern says that says most
    /// of its name, else the list for all.
    pub fn of(&self, tool: &str) -> &[String] {
        let meant = self.tools.iter().filter(|(pattern, _)| means(pattern, tool));
        let nearest = meant.max_by_key(|(pattern, _)| precision(pattern));
        nearest.map_or(&self.digests, |(_, names)| names)
    }
}

impl fmt::Debug for ProfilePlugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { named, digests, tools, .. } = self;
        let names: Vec<_> = named.iter().map(PluginRef::name).collect();
        f.debug_struct("ProfilePlugins")
            .field("named", &names)
            .field("digests", digests)
            .field("tools", tools)
            .finish()
    }
}

impl PartialEq for ProfilePlugins {
    fn eq(&self, other: &Self) -> bool {
        self.named == other.named
            && self.digests == other.digests
            && self.tools == other.tools
            && self.grants == other.grants
    }
}
