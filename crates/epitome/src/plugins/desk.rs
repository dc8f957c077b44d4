//! Digests of one request: plugin after plugin, until one has one.
//!
//! Invariant: what is handed out is smaller than the result and within its bounds, whoever made it;
//! errors stay as they are (RULES 122). A plugin that fails, or answers what cannot be used, is
//! passed over and noted. Made by sessions, asked through the kernel's port.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_kernel::{DigestJob, Digested, Digester};
use epitome_plugin::{Digest, Failed, Plugin};
use epitome_types::Happened;

use super::load::{Plugins, Running};

/// What plugins failed at, and models that policies asked.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Vec<Happened>>);

impl Failures {
    /// Takes note of one.
    pub(crate) fn note(&self, plugin: &str, failed: Failed) {
        let Failed { cause, remedy } = failed;
        let remedy = match remedy.is_empty() {
            true => format!("the next one is asked; `epitome plugin check {plugin}` tells more"),
            false => remedy,
        };
        self.add(Happened::PluginError { plugin: plugin.to_owned(), cause, remedy });
    }

    /// Takes note of one, as it is told.
    pub(crate) fn add(&self, event: Happened) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Those since this was last called.
    pub(crate) fn take(&self) -> Vec<Happened> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where digests are asked for.
pub(crate) struct Desk<'a> {
    /// Those of the host, which are asked first.
    own: Vec<Running>,
    plugins: &'a Plugins,
    failures: &'a Failures,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(
        own: &[Arc<dyn Plugin>],
        plugins: &'a Plugins,
        failures: &'a Failures,
    ) -> Self {
        let own = own.iter().filter(|plugin| plugin.about().digest);
        Self { own: own.cloned().map(Running::of_host).collect(), plugins, failures }
    }

    /// Who is asked about the results of a tool, in this order.
    fn asked(&self, tool: &str) -> impl Iterator<Item = Running> {
        let names = self.plugins.of(tool);
        let own = self.own.iter().filter(|_| !names.is_empty()).cloned();
        own.chain(names.iter().filter_map(|name| self.plugins.running(name)))
    }

    /// What one plugin makes of a result.
    fn one(&self, running: &Running, job: &DigestJob<'_>) -> Option<Digested> {
        let measure = |text: &str| job.measure.size(text);
        let asked = Digest::new(job.text, job.most, &measure)
            .of(job.tool, job.arguments)
            .with(&running.options);
        match epitome_plugin::check::digest(&*running.plugin, &asked) {
            Ok(digested) => {
                let epitome_plugin::Digested { text, kind, left } = digested?;
                Some(Digested { text, kind, left })
            }
            Err(failed) => {
                self.failures.note(&running.name, failed);
                None
            }
        }
    }
}

impl Digester for Desk<'_> {
    fn digest(&self, job: &DigestJob<'_>) -> Option<Digested> {
        if job.error || job.measure.size(job.text) <= job.most {
            return None;
        }
        self.asked(job.tool).find_map(|running| self.one(&running, job))
    }
}
