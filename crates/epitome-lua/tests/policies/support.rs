//! Small policies, chains of them, and jobs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use epitome_kernel::{Chain, Counter, Policy};
use epitome_lua::{Engine, Found, Generation, Limits, LoadError, Source};
use epitome_testkit::FixedCounter;
use epitome_types::Cause;
use epitome_types::hook::{Budgets, Cache, Columns, Common, Occasion, PlanJob, Texts, TriggerJob};
use serde_json::{Map, Value as Json};

/// Limits that a busy machine does not reach by itself.
pub(crate) fn patient() -> Engine {
    Engine::new(Limits { call: Duration::from_secs(60), ..Limits::default() }).unwrap()
}

pub(crate) fn counter() -> Arc<dyn Counter> {
    Arc::new(FixedCounter::Quarters)
}

/// A policy whose `policy.lua` is the header and this text.
pub(crate) fn found(name: &str, text: &str) -> Found {
    let text: &'static str = format!("--- @api 1\n{text}").leak();
    let files = Source::Embedded(vec![("policy.lua", text)].leak());
    Found { name: name.to_owned(), files, libraries: Vec::new() }
}

pub(crate) fn load_with(
    engine: &Engine,
    found: &Found,
    options: Json,
) -> Result<Generation, LoadError> {
    let options = options.as_object().cloned().unwrap_or_else(Map::new);
    engine.load(found, &counter(), &options)
}

pub(crate) fn load(name: &str, text: &str) -> Arc<Generation> {
    Arc::new(load_with(&patient(), &found(name, text), Json::Null).unwrap())
}

/// A chain of policies, first one first.
pub(crate) fn chain(policies: &[Arc<Generation>]) -> Chain {
    let policies = policies.iter().map(|policy| Arc::clone(policy) as Arc<dyn Policy>);
    Chain::new(policies.collect(), BTreeMap::new())
}

pub(crate) fn trigger_job() -> TriggerJob {
    TriggerJob {
        common: Common { session: "s".to_owned(), seed: 7, ..Common::default() },
        cause: Occasion::Turn,
        floor: 100,
        budgets: Budgets { soft: Some(4000), ..Budgets::default() },
        cache: Cache::default(),
        stalled: None,
        replied: false,
        answered: Vec::new(),
        asked: None,
        waiting: false,
        mark: None,
    }
}

pub(crate) fn plan_job(entries: Columns, texts: &dyn Texts) -> PlanJob<'_> {
    PlanJob {
        common: Common::default(),
        entries,
        checkpoints: Vec::new(),
        target: 1000,
        most: 2000,
        floor: 100,
        budgets: Budgets::default(),
        cause: Cause::Soft,
        mark: None,
        mark_lost: false,
        texts,
    }
}
