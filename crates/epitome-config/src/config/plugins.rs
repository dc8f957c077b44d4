//! The plugins of a profile, and plugins by themselves, resolved without running any.
//!
//! Invariant: what a profile names is there, provides what it is named for, and has the options
//! that are set; otherwise an error says where. Called where profiles are resolved, and by those
//! who list and check plugins.

use std::collections::BTreeMap;
#[cfg(feature = "plugins")]
use std::sync::Arc;

use epitome_extensions::plugins::{PREFIX, PluginForm, PluginRef, ProfilePlugins, is_shipped};
use epitome_extensions::policies::ChainLink;
use epitome_extensions::problem::hint;
use epitome_extensions::stated::StatedOptions;
use epitome_kernel::nearest;
#[cfg(feature = "plugins")]
use epitome_plugin::host::HostedPlugin;
use figment::Figment;
use figment::value::{Dict, Value};

use super::{Config, ConfigError, ConfigProblem};

/// The keys of a profile.
const DIGESTS: &str = "digests";
pub(super) const TOOLS: &str = "digests_by_tool";

/// How often a plugin that is tried is asked again.
#[cfg(feature = "plugins")]
const RESTARTS: usize = 100;

/// What a plugin is named for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Use {
    Digest,
    Hooks,
}

impl Config {
    /// Every plugin there is, each name once: the one that is asked where the name is used. One
    /// that cannot be used comes with the reason.
    pub fn plugins(&self) -> Vec<(String, Result<PluginRef, ConfigError>)> {
        let names = self.extensions.plugins.names().into_iter();
        names.map(|name| (name.clone(), self.plugin(&name))).collect()
    }

    /// The plugin of a name.
    ///
    /// # Errors
    ///
    /// When there is none, it may not be asked for, or its manifest says what may not be said.
    pub fn plugin(&self, name: &str) -> Result<PluginRef, ConfigError> {
        let place = format!("plugin `{name}`");
        self.found(name, StatedOptions::default(), &place)
    }

    /// Why a plugin may not run, with the remedy; `None` where it may.
    pub fn plugin_refusal(&self, plugin: &PluginRef) -> Option<ConfigProblem> {
        plugin.refused_by(self.extensions.trust.as_ref())
    }

    /// A plugin in a folder to try it on: it starts with its first call, and again at once where it
    /// fails. `None` for one that is compiled in, or whose form nothing here runs. Whether it may run is
    /// for the caller to ask first.
    #[cfg(feature = "plugins")]
    pub fn hosted_plugin(&self, plugin: &PluginRef) -> Option<Arc<dyn HostedPlugin>> {
        Some(plugin.launch(self.granted(plugin.name()))?.patient(RESTARTS).host())
    }

    /// The variables of the environment that a plugin may have.
    pub fn granted(&self, plugin: &str) -> &[String] {
        self.settings.extensions.grants.get(plugin).map(Vec::as_slice).unwrap_or_default()
    }

    /// The plugins of a profile: those that digest, and those in its chain of policies.
    pub(super) fn plugins_of(
        &self,
        figment: &Figment,
        digests: Vec<String>,
        tools: BTreeMap<String, Vec<String>>,
        chain: &[ChainLink],
    ) -> Result<ProfilePlugins, ConfigError> {
        let mut plugins = ProfilePlugins::new(
            self.extensions.trust.clone(),
            self.settings.extensions.grants.clone(),
        );
        let place = self.source(figment, DIGESTS).unwrap_or_default();
        for name in &digests {
            self.add_plugin(&mut plugins, figment, name, &place, Use::Digest)?;
        }
        for (pattern, names) in &tools {
            let place = self.source_of(figment, &[TOOLS, pattern]).unwrap_or_default();
            for name in names {
                self.add_plugin(&mut plugins, figment, name, &place, Use::Digest)?;
            }
        }
        for link in chain {
            if let ChainLink::Plugin { name, place } = link {
                self.add_plugin(&mut plugins, figment, name, place, Use::Hooks)?;
            }
        }
        (plugins.digests, plugins.tools) = (digests, tools);
        Ok(plugins)
    }

    fn add_plugin(
        &self,
        plugins: &mut ProfilePlugins,
        figment: &Figment,
        name: &str,
        place: &str,
        what: Use,
    ) -> Result<(), ConfigError> {
        let plugin = match plugins.named(name) {
            Some(known) => known.clone(),
            None => self.found(name, self.stated(name, figment), place)?,
        };
        let about = plugin.about();
        let wrong = match what {
            _ if cfg!(not(feature = "plugins")) && plugin.folder().is_some() => {
                "is a program, and none is started here; build with the feature `plugins`"
            }
            _ if cfg!(not(feature = "wasm")) && plugin.form() == PluginForm::Module => {
                "is a module of WebAssembly, and none runs here; build with the feature `wasm`"
            }
            Use::Digest if !about.digest => "digests nothing; its `provides` lacks \"digest\"",
            Use::Hooks if about.hooks.is_empty() => "answers no hooks; its `hooks` is empty",
            _ => {
                if plugins.named(name).is_none() {
                    plugins.named.push(plugin);
                }
                return Ok(());
            }
        };
        Err(ConfigProblem::new(place, format!("the plugin `{name}` {wrong}")).into())
    }

    fn found(
        &self,
        name: &str,
        stated: StatedOptions,
        place: &str,
    ) -> Result<PluginRef, ConfigError> {
        match self.extensions.plugins.find(name)? {
            Some(placed) => Ok(PluginRef::new(placed, stated)?),
            None => Err(self.no_plugin(name, place)),
        }
    }

    /// A plugin is not there, or may not be asked for.
    fn no_plugin(&self, name: &str, place: &str) -> ConfigError {
        let what = match self.extensions.plugins.barred(name) {
            Some(file) => {
                let file = file.display();
                format!("the plugin `{name}` ({file}) may not run: only shipped plugins may")
            }
            None => {
                let known = self.extensions.plugins.names();
                let nearest = nearest(name, known.iter().map(String::as_str));
                format!("there is no plugin `{name}`; {}", hint(nearest, &known))
            }
        };
        ConfigProblem::new(place, what).into()
    }
}

/// The name of a plugin, where a name in a chain of policies is one.
pub(super) fn in_chain(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// What stands beside the options of a shipped profile in its file: who digests. Those of them that
/// are not compiled in are left out.
pub(super) fn built_in(options: &mut Dict) -> impl Iterator<Item = (String, Value)> {
    let taken = [DIGESTS, TOOLS].map(|key| options.remove_entry(key));
    taken.into_iter().flatten().map(|(key, mut value)| {
        if let Value::Array(_, names) = &mut value {
            names.retain(|name| name.as_str().is_some_and(is_shipped));
        }
        (key, value)
    })
}
