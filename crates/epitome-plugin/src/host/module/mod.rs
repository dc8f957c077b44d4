//! A plugin that is a module of WebAssembly: it sees what it is asked and nothing else.
//!
//! Each call runs in an instance of its own that ends with it, so the same job gives the same bytes
//! whatever was asked before. At most a few run at a time; who comes later waits for a seat.
//!
//! Invariant: a call ends within its fuel and its memory, on every machine at the same step; whatever
//! the module does, the host gets an answer or an error. Used by hosts.

mod loaded;
mod seats;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use self::loaded::LoadedModule;
use self::seats::Seats;
use super::asked::{self, FORGIVEN_AFTER, HELLO, HostedPlugin, ProtocolForm};
use super::error::{PluginError, PluginErrorCause, PluginErrorEffect};
use crate::protocol::HostMessage;
use crate::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

/// Each call has an instance of its own, so there is nothing to tell two calls apart by.
const ID: u64 = 0;

/// What a module is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleLimits {
    /// Steps of a call, about one for each instruction.
    pub fuel: u64,
    /// Memory of a call, in bytes.
    pub memory: usize,
    /// The longest answer, in bytes.
    pub answer: usize,
    /// The largest file, in bytes.
    pub file: u64,
    /// Calls that run at a time.
    pub seats: usize,
    /// So many failures are forgiven; after one more it stays off.
    pub forgiven: usize,
}

impl Default for ModuleLimits {
    fn default() -> Self {
        Self {
            fuel: 500_000_000,
            memory: 256 << 20,
            answer: 8 << 20,
            file: 8 << 20,
            seats: 4,
            forgiven: 3,
        }
    }
}

/// A plugin that is a module.
///
/// Calls run beside each other, as many as there are seats.
#[derive(Debug)]
pub struct PluginModule {
    about: PluginInfo,
    file: PathBuf,
    limits: ModuleLimits,
    seats: Seats,
    state: Mutex<ModuleState>,
}

#[derive(Debug, Default)]
struct ModuleState {
    loaded: Option<(Arc<LoadedModule>, PluginInfo)>,
    failures: usize,
    /// Answers since the last failure.
    answers: u32,
    off: bool,
}

impl PluginModule {
    /// A plugin whose file is read with its first call. `about` is what its manifest says.
    #[must_use]
    pub fn new(about: PluginInfo, file: PathBuf, limits: ModuleLimits) -> Self {
        let seats = Seats::new(limits.seats);
        Self { about, file, limits, seats, state: Mutex::default() }
    }

    /// Asks for a digest.
    ///
    /// # Errors
    ///
    /// Where it fails, or answers with what is no digest.
    pub fn try_digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginError> {
        asked::digest(self, job)
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
        asked::hook(self, hook, job, options)
    }

    /// The module, which is read and greeted where that has not been done.
    fn loaded(&self, call: &str) -> Result<(Arc<LoadedModule>, PluginInfo), PluginError> {
        let mut state = self.state();
        if state.off {
            return Err(self.failed(call, PluginErrorCause::Off, PluginErrorEffect::Off));
        }
        if let Some(loaded) = &state.loaded {
            return Ok(loaded.clone());
        }
        let greeted = LoadedModule::read(&self.file, &self.limits).and_then(|module| {
            let said = module.exchange(&asked::host_hello(), &self.limits)?;
            Ok((Arc::new(module), asked::greeted(said)?))
        });
        // The file says the same as long as it is not loaded anew, and so does the module.
        let loaded = greeted.map_err(|cause| {
            state.off = true;
            self.failed(HELLO, cause, PluginErrorEffect::Off)
        })?;
        Ok(state.loaded.insert(loaded).clone())
    }

    /// Draws the consequences of a failure.
    fn fail(&self, call: &str, cause: PluginErrorCause) -> PluginError {
        if !cause.is_fatal() {
            return self.passing(call, cause);
        }
        let mut state = self.state();
        state.answers = 0;
        state.failures += 1;
        state.off = state.failures > self.limits.forgiven;
        let now = if state.off { PluginErrorEffect::Off } else { PluginErrorEffect::GoesOn };
        self.failed(call, cause, now)
    }

    fn failed(&self, call: &str, cause: PluginErrorCause, now: PluginErrorEffect) -> PluginError {
        PluginError { plugin: self.about.name.to_string(), call: call.to_owned(), cause, now }
    }

    fn state(&self) -> MutexGuard<'_, ModuleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProtocolForm for PluginModule {
    fn call(
        &self,
        name: &str,
        provides: &dyn Fn(&PluginInfo) -> bool,
        asked: &dyn Fn(u64) -> HostMessage,
    ) -> Result<Value, PluginError> {
        let (module, about) = self.loaded(name)?;
        let answer = match provides(&about) {
            true => {
                let _seat = self.seats.take();
                let said = module.exchange(&asked(ID), &self.limits);
                said.and_then(|said| asked::answer_to(ID, said))
            }
            false => Err(PluginErrorCause::Lacks { what: name.to_owned() }),
        };
        let ok = answer.map_err(|cause| self.fail(name, cause))?;
        let mut state = self.state();
        state.answers += 1;
        if state.answers >= FORGIVEN_AFTER {
            state.failures = 0;
        }
        Ok(ok)
    }

    fn passing(&self, call: &str, cause: PluginErrorCause) -> PluginError {
        self.failed(call, cause, PluginErrorEffect::GoesOn)
    }
}

impl HostedPlugin for PluginModule {
    fn hello(&self) -> Result<PluginInfo, PluginError> {
        self.loaded(HELLO).map(|(_, about)| about)
    }
}

impl Plugin for PluginModule {
    fn about(&self) -> PluginInfo {
        self.about.clone()
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
