//! A plugin that is a program: started when first asked, stopped when it fails, started again.
//!
//! Invariant: one call at a time; a call ends within its deadline; whatever the program does, the
//! host gets an answer or an error that says what happens now. Used by hosts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use super::asked::{self, FORGIVEN_AFTER, HELLO, HostedPlugin, ProtocolForm};
use super::child::{ChildProcess, StderrLog};
use super::error::{PluginError, PluginErrorCause, PluginErrorEffect};
use super::launch::LaunchOptions;
use crate::protocol::HostMessage;
use crate::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

/// A plugin that is a program.
///
/// Calls wait for one another, each no longer than those before it may take.
#[derive(Debug)]
pub struct PluginProcess {
    about: PluginInfo,
    launch: LaunchOptions,
    log: StderrLog,
    state: Mutex<ProcessState>,
}

#[derive(Debug, Default)]
struct ProcessState {
    running: Option<(ChildProcess, PluginInfo)>,
    failures: usize,
    /// Answers since the last failure.
    answers: u32,
    rests_until: Option<Instant>,
    off: bool,
    calls: u64,
}

impl PluginProcess {
    /// A plugin that is started with its first call. `about` is what its manifest says.
    #[must_use]
    pub fn new(about: PluginInfo, launch: LaunchOptions) -> Self {
        Self { about, launch, log: StderrLog::default(), state: Mutex::default() }
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

    /// The program, which is started where it does not run and may.
    fn running<'s>(
        &self,
        state: &'s mut ProcessState,
        call: &str,
    ) -> Result<&'s mut (ChildProcess, PluginInfo), PluginError> {
        let running = match state.running.take() {
            Some(running) => running,
            None => self.start(state, call)?,
        };
        Ok(state.running.insert(running))
    }

    fn start(
        &self,
        state: &mut ProcessState,
        call: &str,
    ) -> Result<(ChildProcess, PluginInfo), PluginError> {
        if state.off {
            return Err(self.failed(call, PluginErrorCause::Off, PluginErrorEffect::Off));
        }
        let rest = state.rests_until.map(|until| until.saturating_duration_since(now()));
        if let Some(after) = rest.filter(|rest| !rest.is_zero()) {
            return Err(self.failed(
                call,
                PluginErrorCause::Resting,
                PluginErrorEffect::Restart { after },
            ));
        }
        let started = ChildProcess::start(&self.launch, &self.log).map_err(|error| {
            PluginErrorCause::Start { program: self.launch.command.join(" "), error }
        });
        let greeted = started.and_then(|mut running| {
            let limits = &self.launch.limits;
            let said = running.exchange(&asked::host_hello(), limits.hello, limits)?;
            Ok((running, asked::greeted(said)?))
        });
        greeted.map_err(|cause| self.fail(state, HELLO, cause))
    }

    /// Draws the consequences of a failure.
    fn fail(&self, state: &mut ProcessState, call: &str, cause: PluginErrorCause) -> PluginError {
        if !cause.is_fatal() && state.running.is_some() {
            return self.failed(call, cause, PluginErrorEffect::GoesOn);
        }
        state.running = None;
        state.answers = 0;
        let pause = self.launch.limits.pauses.get(state.failures).copied();
        state.failures += 1;
        let happens = match pause.filter(|_| !cause.is_final()) {
            Some(after) => {
                state.rests_until = Some(now() + after);
                PluginErrorEffect::Restart { after }
            }
            None => {
                state.off = true;
                PluginErrorEffect::Off
            }
        };
        self.failed(call, cause, happens)
    }

    fn failed(&self, call: &str, cause: PluginErrorCause, now: PluginErrorEffect) -> PluginError {
        PluginError { plugin: self.about.name.to_string(), call: call.to_owned(), cause, now }
    }

    fn state(&self) -> MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProtocolForm for PluginProcess {
    fn call(
        &self,
        name: &str,
        provides: &dyn Fn(&PluginInfo) -> bool,
        asked: &dyn Fn(u64) -> HostMessage,
    ) -> Result<Value, PluginError> {
        let mut state = self.state();
        let id = state.calls;
        state.calls += 1;
        let limits = &self.launch.limits;
        let (running, about) = self.running(&mut state, name)?;
        let answer = match provides(about) {
            true => running
                .exchange(&asked(id), limits.call, limits)
                .and_then(|said| asked::answer_to(id, said)),
            false => Err(PluginErrorCause::Lacks { what: name.to_owned() }),
        };
        match answer {
            Ok(ok) => {
                state.answers += 1;
                if state.answers >= FORGIVEN_AFTER {
                    state.failures = 0;
                }
                Ok(ok)
            }
            Err(cause) => Err(self.fail(&mut state, name, cause)),
        }
    }

    fn passing(&self, call: &str, cause: PluginErrorCause) -> PluginError {
        self.failed(call, cause, PluginErrorEffect::GoesOn)
    }
}

impl HostedPlugin for PluginProcess {
    fn hello(&self) -> Result<PluginInfo, PluginError> {
        let mut state = self.state();
        self.running(&mut state, HELLO).map(|(_, about)| about.clone())
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Plugin for PluginProcess {
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

#[expect(clippy::disallowed_methods, reason = "it times how long a program that failed rests")]
fn now() -> Instant {
    Instant::now()
}
