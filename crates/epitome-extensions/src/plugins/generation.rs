//! A plugin as it is at one time.
//!
//! Invariant: what is asked and the options that it is asked with belong together.

use std::sync::Arc;

use epitome_plugin::Plugin;
use serde_json::Value as Json;

use super::reference::PluginRef;

/// What is asked, and with what.
#[derive(Clone)]
pub struct PluginGeneration {
    /// What is asked.
    pub plugin: Arc<dyn Plugin>,
    /// The value of every option.
    pub options: Arc<Json>,
}

/// The files of a plugin have changed.
#[cfg(feature = "lua")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginReload {
    /// The plugin.
    pub plugin: String,
    /// The number of the generation that is in force now, or why it is still the old one.
    pub generation: Result<u64, String>,
}

impl PluginGeneration {
    /// This plugin with the options of the one that is named.
    pub(super) fn new(named: &PluginRef, plugin: Arc<dyn Plugin>) -> Self {
        Self { plugin, options: Arc::new(Json::Object(named.options())) }
    }
}
