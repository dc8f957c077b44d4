//! Digests of one request: plugin after plugin, until one has one.
//!
//! Invariant: what is handed out is smaller than the result and within its bounds, whoever made it;
//! errors stay as they are (RULES 122). A plugin that fails, or answers what cannot be used, is
//! passed over and noted. Made by sessions, asked through the kernel's port.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_kernel::{DigestJob, ToolDigest, ToolDigester};
use epitome_plugin::{DigestInput, Plugin, PluginFailure};
use epitome_types::EventKind;

use super::load::{LoadedPlugin, ProfilePlugins};

/// What plugins failed at, and models that policies asked.
#[derive(Debug, Default)]
pub struct ExtensionFailures(Mutex<Vec<EventKind>>);

impl ExtensionFailures {
    /// Takes note of one.
    pub fn note(&self, plugin: &str, failed: PluginFailure) {
        let PluginFailure { cause, remedy } = failed;
        let remedy = match remedy.is_empty() {
            true => format!("the next one is asked; `epitome plugin check {plugin}` tells more"),
            false => remedy,
        };
        self.add(EventKind::PluginError { plugin: plugin.to_owned(), cause, remedy });
    }

    /// Takes note of one, as it is told.
    pub fn add(&self, event: EventKind) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Those since this was last called.
    pub fn take(&self) -> Vec<EventKind> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where digests are asked for.
pub struct DigestRunner<'a> {
    /// Those of the host, which are asked first.
    own: Vec<LoadedPlugin>,
    plugins: &'a ProfilePlugins,
    failures: &'a ExtensionFailures,
}

impl<'a> DigestRunner<'a> {
    /// Where the plugins of a profile are asked, behind those of the host.
    pub fn new(
        own: &[Arc<dyn Plugin>],
        plugins: &'a ProfilePlugins,
        failures: &'a ExtensionFailures,
    ) -> Self {
        let own = own.iter().filter(|plugin| plugin.about().digest);
        Self { own: own.cloned().map(LoadedPlugin::of_host).collect(), plugins, failures }
    }

    /// Who is asked about the results of a tool, in this order.
    fn asked(&self, tool: &str) -> impl Iterator<Item = LoadedPlugin> {
        let names = self.plugins.of(tool);
        let own = self.own.iter().filter(|_| !names.is_empty()).cloned();
        own.chain(names.iter().filter_map(|name| self.plugins.running(name)))
    }

    /// What one plugin makes of a result.
    fn one(&self, running: &LoadedPlugin, job: &DigestJob<'_>) -> Option<ToolDigest> {
        let current = running.current();
        let measure = |text: &str| job.measure.size(text);
        let asked = DigestInput::new(job.text, job.most, &measure)
            .of(job.tool, job.arguments)
            .with(&current.options);
        match epitome_plugin::check::digest(&*current.plugin, &asked) {
            Ok(digested) => {
                let epitome_plugin::DigestOutput { text, kind, left } = digested?;
                Some(ToolDigest { text, kind, left })
            }
            Err(failed) => {
                self.failures.note(&running.name, failed);
                None
            }
        }
    }
}

impl ToolDigester for DigestRunner<'_> {
    fn digest(&self, job: &DigestJob<'_>) -> Option<ToolDigest> {
        if job.error || job.measure.size(job.text) <= job.most {
            return None;
        }
        self.asked(job.tool).find_map(|running| self.one(&running, job))
    }
}
