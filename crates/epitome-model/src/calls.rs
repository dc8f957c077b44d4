//! What models were asked for on behalf of compressions: somebody pays for that, too.
//!
//! Invariant: a call counts once, when it was answered, by what the provider says that it took.
//! Filled by clients, read wherever savings are shown.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use epitome_kernel::types::TokenUsage;

use crate::spec::{ModelApi, ModelSpec};

/// The calls of the models that compressions ask.
#[derive(Debug, Default)]
pub struct OwnCalls(Mutex<BTreeMap<CallKey, CallSum>>);

/// Which calls are added up together: those of a model, and whether it is paid nothing, for a session.
type CallKey = (String, bool, Option<AskingSession>);

/// A session on whose behalf a model is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskingSession {
    /// Its scope.
    pub scope: String,
    /// Its name.
    pub name: String,
}

/// What one model was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSum {
    /// How many calls were answered.
    pub calls: u64,
    /// What the provider counted.
    pub usage: TokenUsage,
}

/// The calls of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCalls {
    /// Its name, without that of the API.
    pub model: String,
    /// Whether it runs on a server that is paid nothing.
    pub unpaid: bool,
    /// The session that had it asked; none where that is not known.
    pub session: Option<AskingSession>,
    /// What it was asked for.
    pub sum: CallSum,
}

impl CallSum {
    /// What came after an earlier sum.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let TokenUsage { input, cache_read, cache_written, output } = self.usage;
        Self {
            calls: self.calls.saturating_sub(before.calls),
            usage: TokenUsage {
                input: input.saturating_sub(before.usage.input),
                cache_read: cache_read.saturating_sub(before.usage.cache_read),
                cache_written: cache_written.saturating_sub(before.usage.cache_written),
                output: output.saturating_sub(before.usage.output),
            },
        }
    }
}

impl OwnCalls {
    /// Adds an answered call.
    pub(crate) fn add(&self, spec: &ModelSpec, session: Option<&AskingSession>, usage: TokenUsage) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (spec.name.clone(), spec.api == ModelApi::Ollama, session.cloned());
        let sum = calls.entry(key).or_default();
        sum.calls += 1;
        sum.usage += usage;
    }

    /// All of them, by model and session.
    pub fn all(&self) -> Vec<ModelCalls> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls
            .iter()
            .map(|((model, unpaid, session), sum)| ModelCalls {
                model: model.clone(),
                unpaid: *unpaid,
                session: session.clone(),
                sum: *sum,
            })
            .collect()
    }
}
