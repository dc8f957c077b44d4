//! How a plugin that stands in a folder is started.
//!
//! Invariant: a program gets its folder and what its user grants, a module gets nothing, and nothing is
//! started here. Called where a plugin is first asked, and where one is tried.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "wasm")]
use std::path::PathBuf;

use epitome_plugin::PluginInfo;
use epitome_plugin::host::{
    HostedPlugin, LaunchOptions, PluginProcess, ProcessLimits, ProcessNeeds,
};
#[cfg(feature = "wasm")]
use epitome_plugin::host::{ModuleLimits, PluginModule};

use super::manifest::{Manifest, Needed};
use super::placed::MadeOf;
use super::reference::PluginRef;

/// A program in Python writes no byte code into its folder, whose content is what was trusted.
const QUIET: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// How a plugin is started.
#[derive(Clone, Debug)]
pub struct PluginLaunch {
    about: PluginInfo,
    form: LaunchForm,
}

#[derive(Clone, Debug)]
enum LaunchForm {
    Program(LaunchOptions),
    #[cfg(feature = "wasm")]
    Module(PathBuf, ModuleLimits),
}

impl PluginLaunch {
    /// The same for one that is tried: after a failure it is asked again at once, and so many times.
    #[must_use]
    pub fn patient(mut self, times: usize) -> Self {
        match &mut self.form {
            LaunchForm::Program(launch) => launch.limits.pauses = vec![Duration::ZERO; times],
            #[cfg(feature = "wasm")]
            LaunchForm::Module(_, limits) => limits.forgiven = times,
        }
        self
    }

    /// The plugin, which starts with its first call.
    pub fn host(self) -> Arc<dyn HostedPlugin> {
        match self.form {
            LaunchForm::Program(launch) => Arc::new(PluginProcess::new(self.about, launch)),
            #[cfg(feature = "wasm")]
            LaunchForm::Module(file, limits) => {
                Arc::new(PluginModule::new(self.about, file, limits))
            }
        }
    }
}

impl PluginRef {
    /// How it is started, with those of the variables that it asks for which are granted; `None`
    /// where it is compiled in, or nothing here runs its form.
    pub fn launch(&self, granted: &[String]) -> Option<PluginLaunch> {
        let MadeOf::Folder { folder, manifest } = &self.placed.made_of else { return None };
        let form = match &manifest.module {
            None => LaunchForm::Program(LaunchOptions {
                command: manifest.command.clone(),
                folder: folder.clone(),
                env: variables(manifest, granted),
                needs: ProcessNeeds {
                    network: manifest.needs.contains(&Needed::Network),
                    files: manifest.needs.contains(&Needed::Files),
                },
                limits: process_limits(manifest),
            }),
            #[cfg(feature = "wasm")]
            Some(module) => LaunchForm::Module(folder.join(module), module_limits(manifest)),
            #[cfg(not(feature = "wasm"))]
            Some(_) => return None,
        };
        Some(PluginLaunch { about: self.about(), form })
    }
}

/// The variables of a program.
fn variables(manifest: &Manifest, granted: &[String]) -> Vec<(String, String)> {
    let asked = manifest.env.iter().filter(|name| granted.contains(name));
    let value = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
    let quiet = (QUIET.0.to_owned(), QUIET.1.to_owned());
    asked.filter_map(value).chain([quiet]).collect()
}

/// What a program is held to.
fn process_limits(manifest: &Manifest) -> ProcessLimits {
    let usual = ProcessLimits::default();
    ProcessLimits {
        call: manifest.deadline_ms.map_or(usual.call, Duration::from_millis),
        memory: manifest.memory_mb.map(|mib| mib << 20).or(usual.memory),
        ..usual
    }
}

/// What a module is held to.
#[cfg(feature = "wasm")]
fn module_limits(manifest: &Manifest) -> ModuleLimits {
    let usual = ModuleLimits::default();
    let bytes = |mib: u64| usize::try_from(mib << 20).unwrap_or(usize::MAX);
    ModuleLimits {
        fuel: manifest.fuel.map_or(usual.fuel, |millions| millions.saturating_mul(1_000_000)),
        memory: manifest.memory_mb.map_or(usual.memory, bytes),
        ..usual
    }
}
