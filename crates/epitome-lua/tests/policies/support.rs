//! Small policies, chains of them, and jobs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use epitome_kernel::{Policy, PolicyChain, TokenCounter};
use epitome_lua::{FoundPolicy, Generation, LoadError, LuaLimits, PolicyEngine, PolicySource};
use epitome_testkit::FixedCounter;
use epitome_types::CompactionCause;
use epitome_types::hook::{
    Budgets, Cache, Columns, Common, MessageTexts, Occasion, PlanJob, TriggerJob,
};
use serde_json::{Map, Value as Json};

/// Limits that a busy machine does not reach by itself.
pub(crate) fn patient() -> PolicyEngine {
    PolicyEngine::new(LuaLimits { call: Duration::from_secs(60), ..LuaLimits::default() }).unwrap()
}

pub(crate) fn counter() -> Arc<dyn TokenCounter> {
    Arc::new(FixedCounter::Quarters)
}

/// A policy whose `policy.lua` is the header and this text.
pub(crate) fn found(name: &str, text: &str) -> FoundPolicy {
    of_api(name, 2, text)
}

/// Returns a policy of this api whose `policy.lua` is the header and this text.
pub(crate) fn of_api(name: &str, api: u32, text: &str) -> FoundPolicy {
    let text: &'static str = format!("--- @api {api}\n{text}").leak();
    let files = PolicySource::Embedded(vec![("policy.lua", text)].leak());
    FoundPolicy { name: name.to_owned(), files, libraries: Vec::new() }
}

pub(crate) fn load_with(
    engine: &PolicyEngine,
    found: &FoundPolicy,
    options: Json,
) -> Result<Generation, LoadError> {
    let options = options.as_object().cloned().unwrap_or_else(Map::new);
    engine.load(found, &counter(), &options)
}

pub(crate) fn load(name: &str, text: &str) -> Arc<Generation> {
    Arc::new(load_with(&patient(), &found(name, text), Json::Null).unwrap())
}

/// A chain of policies, first one first.
pub(crate) fn chain(policies: &[Arc<Generation>]) -> PolicyChain {
    let policies = policies.iter().map(|policy| Arc::clone(policy) as Arc<dyn Policy>);
    PolicyChain::new(policies.collect(), BTreeMap::new())
}

pub(crate) fn trigger_job() -> TriggerJob {
    TriggerJob {
        common: Common { session: "s".to_owned(), seed: 7, ..Common::default() },
        cause: Occasion::Turn,
        floor: 100,
        budgets: Budgets { soft: Some(4000), ..Budgets::default() },
        cache: Cache::default(),
        stalled_at: None,
        new_model_message: false,
        new_results: Vec::new(),
        requested_by: None,
        recall_pending: false,
        watermark: None,
    }
}

pub(crate) fn plan_job(entries: Columns, texts: &dyn MessageTexts) -> PlanJob<'_> {
    PlanJob {
        common: Common::default(),
        entries,
        checkpoints: Vec::new(),
        target: 1000,
        max_tokens: 2000,
        floor: 100,
        budgets: Budgets::default(),
        cause: CompactionCause::Soft,
        watermark: None,
        watermark_lost: false,
        texts,
    }
}
