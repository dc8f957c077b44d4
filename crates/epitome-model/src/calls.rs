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
pub struct OwnCalls(Mutex<BTreeMap<(String, bool), CallSum>>);

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
    pub(crate) fn add(&self, spec: &ModelSpec, usage: TokenUsage) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = calls.entry((spec.name.clone(), spec.api == ModelApi::Ollama)).or_default();
        sum.calls += 1;
        sum.usage += usage;
    }

    /// All of them, by model.
    pub fn all(&self) -> Vec<ModelCalls> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls
            .iter()
            .map(|((model, unpaid), sum)| ModelCalls {
                model: model.clone(),
                unpaid: *unpaid,
                sum: *sum,
            })
            .collect()
    }
}
