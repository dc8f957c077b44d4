//! A plugin that is a program: started when first asked, stopped when it fails, started again.
//!
//! Invariant: one call at a time; a call ends within its deadline; whatever the program does, the
//! host gets an answer or an error that says what happens now. Used by hosts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use super::asked::{self, FormCall, HELLO, ProtocolForm};
use super::child::{ChildProcess, StderrLog};
use super::error::{PluginError, PluginErrorCause, PluginErrorEffect};
use super::failures::FailureRecord;
use super::hosted::ProtocolPlugin;
use super::launch::LaunchOptions;
use crate::PluginInfo;

/// A plugin that is a program.
///
/// Calls wait for one another, each no longer than those before it may take.
pub type PluginProcess = ProtocolPlugin<ProcessForm>;

/// How a program is asked.
#[derive(Debug)]
pub struct ProcessForm {
    launch: LaunchOptions,
    log: StderrLog,
    state: Mutex<ProcessState>,
}

#[derive(Debug, Default)]
struct ProcessState {
    running: Option<(ChildProcess, PluginInfo)>,
    rests_until: Option<Instant>,
    calls: u64,
}

impl PluginProcess {
    /// A plugin that is started with its first call. `about` is what its manifest says.
    #[must_use]
    pub fn new(about: PluginInfo, launch: LaunchOptions) -> Self {
        let form = ProcessForm { launch, log: StderrLog::default(), state: Mutex::default() };
        Self::with_form(about, form)
    }
}

impl ProcessForm {
    /// The program, which is started where it does not run and may.
    fn running<'s>(
        &self,
        record: &FailureRecord,
        state: &'s mut ProcessState,
        call: &str,
    ) -> Result<&'s mut (ChildProcess, PluginInfo), PluginError> {
        let running = match state.running.take() {
            Some(running) => running,
            None => self.start(record, state, call)?,
        };
        Ok(state.running.insert(running))
    }

    fn start(
        &self,
        record: &FailureRecord,
        state: &mut ProcessState,
        call: &str,
    ) -> Result<(ChildProcess, PluginInfo), PluginError> {
        record.admit(call)?;
        let rest = state.rests_until.map(|until| until.saturating_duration_since(now()));
        if let Some(after) = rest.filter(|rest| !rest.is_zero()) {
            let effect = PluginErrorEffect::Restart { after };
            return Err(record.error(call, PluginErrorCause::Resting, effect));
        }
        let started = ChildProcess::start(&self.launch, &self.log).map_err(|error| {
            PluginErrorCause::Start { program: self.launch.command.join(" "), error }
        });
        let greeted = started.and_then(|mut running| {
            let limits = &self.launch.limits;
            let said = running.exchange(&asked::host_hello(), limits.hello, limits)?;
            Ok((running, asked::greeted(said)?))
        });
        greeted.map_err(|cause| self.fail(record, state, HELLO, cause))
    }

    /// Draws the consequences of a failure.
    fn fail(
        &self,
        record: &FailureRecord,
        state: &mut ProcessState,
        call: &str,
        cause: PluginErrorCause,
    ) -> PluginError {
        if !cause.is_fatal() && state.running.is_some() {
            return record.passing(call, cause);
        }
        state.running = None;
        record.add_failure(call, cause, |failures, cause| {
            let pause = self.launch.limits.pauses.get(failures - 1).copied();
            match pause.filter(|_| !cause.is_final()) {
                Some(after) => {
                    state.rests_until = Some(now() + after);
                    PluginErrorEffect::Restart { after }
                }
                None => PluginErrorEffect::Off,
            }
        })
    }

    fn state(&self) -> MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProtocolForm for ProcessForm {
    fn call(&self, record: &FailureRecord, call: FormCall) -> Result<Value, PluginError> {
        let (mut state, name) = (self.state(), call.name.clone());
        let id = state.calls;
        state.calls += 1;
        let limits = &self.launch.limits;
        let (running, about) = self.running(record, &mut state, &name)?;
        let answer = call.admit(about).and_then(|()| {
            let said = running.exchange(&call.numbered(id), limits.call, limits)?;
            asked::answer_to(id, said)
        });
        match answer {
            Ok(ok) => {
                record.add_answer();
                Ok(ok)
            }
            Err(cause) => Err(self.fail(record, &mut state, &name, cause)),
        }
    }

    fn hello(&self, record: &FailureRecord) -> Result<PluginInfo, PluginError> {
        let mut state = self.state();
        self.running(record, &mut state, HELLO).map(|(_, about)| about.clone())
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "it times how long a program that failed rests")]
fn now() -> Instant {
    Instant::now()
}
