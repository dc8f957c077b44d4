//! A plugin that is asked over the protocol, whichever form it has.
//!
//! Invariant: whatever the plugin does, the host gets an answer or an error that says what happens now.
//! Used by hosts.

use serde_json::Value;

use super::asked::{self, ProtocolForm};
use super::error::PluginError;
use super::failures::FailureRecord;
use crate::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

/// A plugin that is asked over the protocol.
pub trait HostedPlugin: Plugin {
    /// What it says about itself; starts it where it was not asked before.
    ///
    /// # Errors
    ///
    /// Where it does not say hello.
    fn hello(&self) -> Result<PluginInfo, PluginError>;

    /// What it wrote to its log, the newest lines.
    fn log(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A plugin of some form.
#[derive(Debug)]
pub struct ProtocolPlugin<F> {
    form: F,
    record: FailureRecord,
}

impl<F: ProtocolForm> ProtocolPlugin<F> {
    /// A plugin that was not asked yet. `about` is what its manifest says.
    pub(super) fn with_form(about: PluginInfo, form: F) -> Self {
        Self { form, record: FailureRecord::new(about) }
    }

    /// Asks for a digest.
    ///
    /// # Errors
    ///
    /// Where it fails, or answers with what is no digest.
    pub fn try_digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginError> {
        asked::digest(&self.form, &self.record, job)
    }

    /// Asks a hook.
    ///
    /// # Errors
    ///
    /// Where it fails.
    pub fn try_hook(
        &self,
        hook: &str,
        job: &Value,
        options: &Value,
    ) -> Result<Option<Value>, PluginError> {
        self.form.call(&self.record, asked::hook(hook, job, options)).map(asked::said)
    }
}

impl<F: ProtocolForm> HostedPlugin for ProtocolPlugin<F> {
    fn hello(&self) -> Result<PluginInfo, PluginError> {
        self.form.hello(&self.record)
    }

    fn log(&self) -> Vec<String> {
        self.form.log()
    }
}

impl<F: ProtocolForm> Plugin for ProtocolPlugin<F> {
    fn about(&self) -> PluginInfo {
        self.record.about.clone()
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        Ok(self.try_digest(job)?)
    }

    fn hook(
        &self,
        hook: &str,
        job: &Value,
        options: &Value,
    ) -> Result<Option<Value>, PluginFailure> {
        Ok(self.try_hook(hook, job, options)?)
    }
}
