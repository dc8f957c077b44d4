//! The bounds that policies answer, made known where they contradict each other.
//!
//! Invariant: what a prompt is held to is worked out by the configuration; here it meets the policies.
//! Called by the compressor and by sessions.

use epitome_config::limits::contradiction;
pub(crate) use epitome_config::limits::{
    CompressionTarget, LimitSource, OneShotBounds, PromptBounds, PromptLimit, SessionBounds,
    WindowSetting, relieved,
};
use epitome_kernel::{HookJob, PolicyError};
use epitome_types::hook::{Budgets, BudgetsJob};

use crate::policy_runner::{Decision, PolicyRunner};

/// The bounds that a chain answered. A policy whose bounds contradict each other is told of.
pub(crate) fn answered(council: &PolicyRunner, said: Decision<Budgets>) -> Budgets {
    let policy = said.policy();
    let said = said.value.unwrap_or_default();
    if let Some(what) = contradiction(&said) {
        let error = PolicyError { policy, hook: BudgetsJob::HOOK, what };
        council.notes().errors.push(error);
    }
    said
}
