//! How the program of a plugin is started.
//!
//! Invariant: it gets its folder and what its user grants, and nothing is started here. Called where a
//! plugin is first asked, and where one is tried.

use std::time::Duration;

use epitome_plugin::host::{LaunchOptions, ProcessLimits};

use super::placed::MadeOf;
use super::reference::PluginRef;

/// A program in Python writes no byte code into its folder, whose content is what was trusted.
const QUIET: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

impl PluginRef {
    /// How its program is started, with those of the variables that it asks for which are granted;
    /// `None` where it is compiled in.
    pub fn launch(&self, granted: &[String]) -> Option<LaunchOptions> {
        let MadeOf::Program { folder, manifest } = &self.placed.made_of else { return None };
        let asked = manifest.env.iter().filter(|name| granted.contains(name));
        let value = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
        let quiet = (QUIET.0.to_owned(), QUIET.1.to_owned());
        let call = Duration::from_millis(manifest.deadline_ms);
        Some(LaunchOptions {
            command: manifest.command.clone(),
            folder: folder.clone(),
            env: asked.filter_map(value).chain([quiet]).collect(),
            limits: ProcessLimits { call, ..ProcessLimits::default() },
        })
    }
}
