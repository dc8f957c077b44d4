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
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use self::loaded::LoadedModule;
use self::seats::Seats;
use super::asked::{self, FormCall, HELLO, ProtocolForm};
use super::error::{PluginError, PluginErrorCause, PluginErrorEffect};
use super::failures::FailureRecord;
use super::hosted::ProtocolPlugin;
use crate::PluginInfo;

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
pub type PluginModule = ProtocolPlugin<ModuleForm>;

/// How a module is asked.
#[derive(Debug)]
pub struct ModuleForm {
    file: PathBuf,
    limits: ModuleLimits,
    seats: Seats,
    loaded: Mutex<Option<(Arc<LoadedModule>, PluginInfo)>>,
}

impl PluginModule {
    /// A plugin whose file is read with its first call. `about` is what its manifest says.
    #[must_use]
    pub fn new(about: PluginInfo, file: PathBuf, limits: ModuleLimits) -> Self {
        let seats = Seats::new(limits.seats);
        Self::with_form(about, ModuleForm { file, limits, seats, loaded: Mutex::default() })
    }
}

impl ModuleForm {
    /// The module, which is read and greeted where that has not been done.
    fn loaded(
        &self,
        record: &FailureRecord,
        call: &str,
    ) -> Result<(Arc<LoadedModule>, PluginInfo), PluginError> {
        let mut known = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        record.admit(call)?;
        if let Some(loaded) = &*known {
            return Ok(loaded.clone());
        }
        let greeted = LoadedModule::read(&self.file, &self.limits).and_then(|module| {
            let said = module.exchange(&asked::host_hello(), &self.limits)?;
            Ok((Arc::new(module), asked::greeted(said)?))
        });
        // The file says the same as long as it is not loaded anew, and so does the module.
        let off = |_, _: &PluginErrorCause| PluginErrorEffect::Off;
        let loaded = greeted.map_err(|cause| record.add_failure(HELLO, cause, off))?;
        Ok(known.insert(loaded).clone())
    }

    /// Draws the consequences of a failure.
    fn fail(&self, record: &FailureRecord, call: &str, cause: PluginErrorCause) -> PluginError {
        if !cause.is_fatal() {
            return record.passing(call, cause);
        }
        let forgiven = self.limits.forgiven;
        record.add_failure(call, cause, |failures, _| match failures > forgiven {
            true => PluginErrorEffect::Off,
            false => PluginErrorEffect::GoesOn,
        })
    }
}

impl ProtocolForm for ModuleForm {
    fn call(&self, record: &FailureRecord, call: FormCall) -> Result<Value, PluginError> {
        let name = call.name.clone();
        let (module, about) = self.loaded(record, &name)?;
        let answer = call.admit(&about).and_then(|()| {
            let _seat = self.seats.take();
            let said = module.exchange(&call.numbered(ID), &self.limits)?;
            asked::answer_to(ID, said)
        });
        let ok = answer.map_err(|cause| self.fail(record, &name, cause))?;
        record.add_answer();
        Ok(ok)
    }

    fn hello(&self, record: &FailureRecord) -> Result<PluginInfo, PluginError> {
        self.loaded(record, HELLO).map(|(_, about)| about)
    }
}
