//! What is known of a plugin's failures, whichever form it has.
//!
//! Invariant: enough answers make up for the failures before them; what is off stays off. Called by the
//! forms, which say what a failure is followed by.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{PluginError, PluginErrorCause, PluginErrorEffect};
use crate::PluginInfo;

/// So many answers make up for the failures before them.
const FORGIVEN_AFTER: u32 = 50;

/// The failures of one plugin.
#[derive(Debug)]
pub struct FailureRecord {
    /// What its manifest says of it.
    pub(super) about: PluginInfo,
    state: Mutex<FailureCounts>,
}

#[derive(Debug, Default)]
struct FailureCounts {
    failures: usize,
    /// Answers since the last failure.
    answers: u32,
    off: bool,
}

impl FailureRecord {
    /// Nothing has failed.
    pub(super) fn new(about: PluginInfo) -> Self {
        Self { about, state: Mutex::default() }
    }

    /// Whether it may be asked.
    ///
    /// # Errors
    ///
    /// Where it is off.
    pub(super) fn admit(&self, call: &str) -> Result<(), PluginError> {
        match self.state().off {
            true => Err(self.error(call, PluginErrorCause::Off, PluginErrorEffect::Off)),
            false => Ok(()),
        }
    }

    /// It answered.
    pub(super) fn add_answer(&self) {
        let mut state = self.state();
        state.answers += 1;
        if state.answers >= FORGIVEN_AFTER {
            state.failures = 0;
        }
    }

    /// It failed; `effect` is told how many failures that makes, and says what follows.
    pub(super) fn add_failure(
        &self,
        call: &str,
        cause: PluginErrorCause,
        effect: impl FnOnce(usize, &PluginErrorCause) -> PluginErrorEffect,
    ) -> PluginError {
        let mut state = self.state();
        state.answers = 0;
        state.failures += 1;
        let now = effect(state.failures, &cause);
        state.off = now == PluginErrorEffect::Off;
        drop(state);
        self.error(call, cause, now)
    }

    /// An error after which it is asked again as if nothing had happened.
    pub(super) fn passing(&self, call: &str, cause: PluginErrorCause) -> PluginError {
        self.error(call, cause, PluginErrorEffect::GoesOn)
    }

    /// An error that is no failure of its own.
    pub(super) fn error(
        &self,
        call: &str,
        cause: PluginErrorCause,
        now: PluginErrorEffect,
    ) -> PluginError {
        PluginError { plugin: self.about.name.to_string(), call: call.to_owned(), cause, now }
    }

    fn state(&self) -> MutexGuard<'_, FailureCounts> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
