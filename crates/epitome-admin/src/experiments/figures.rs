//! The metrics of a unit: what each is made of.
//!
//! Invariant: a metric is a numerator and a denominator for each unit, and nothing of them is judged.

use epitome_config::MetricName;
use epitome_experiments::EffectScale;
use serde::Serialize;

use super::calls::CallCounts;
use crate::savings::{PaidCost, PaidRow, PaidService};

/// What the requests of a unit add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct UnitSums {
    /// Answers with the provider's own count.
    pub(crate) answers: u64,
    /// Those of them whose model has no price.
    pub(crate) unpriced: u64,
    /// Dollars, where each answer has a price.
    pub(crate) dollars: f64,
    /// The same in the price of one token of input that is not cached.
    pub(crate) full_price: f64,
    /// Tokens of the prompts.
    pub(crate) prompt: u64,
    /// Those of them that were read from the cache.
    pub(crate) cached: u64,
    /// Tokens of the answers.
    pub(crate) output: u64,
    /// Sessions whose histories are deleted, so that nothing is counted of what they called.
    pub(crate) unread: u64,
    /// How its requests were served.
    #[serde(flatten)]
    pub(crate) service: PaidService,
    /// What its sessions called.
    #[serde(flatten)]
    pub(crate) calls: CallCounts,
}

/// In what money a unit is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Money {
    /// In dollars.
    Dollars,
    /// In full-price tokens, since not all have a price.
    Tokens,
}

impl UnitSums {
    /// Adds a row of the ledger.
    pub(crate) fn add(&mut self, row: &PaidRow) {
        let sums = &row.sums;
        let paid = PaidCost::paid;
        self.answers += sums.answers;
        self.unpriced += if row.key.priced { 0 } else { sums.answers };
        self.dollars += paid(&sums.dollars);
        self.full_price += paid(&sums.full_price);
        self.prompt += sums.usage.prompt();
        self.cached += sums.usage.cache_read;
        self.output += sums.usage.output;
        self.service += sums.service.unwrap_or_default();
    }

    /// What a metric divides, and by what.
    pub(crate) fn of_metric(&self, metric: MetricName, money: Money) -> (f64, f64) {
        let (requests, calls) = (self.service.requests as f64, self.calls.calls as f64);
        let CallCounts { regret, around, .. } = &self.calls;
        let typed = self.calls.typed as f64;
        match metric {
            MetricName::Paid if money == Money::Dollars => (self.dollars, 1.0),
            MetricName::Paid => (self.full_price, 1.0),
            MetricName::Tokens => ((self.prompt + self.output) as f64, 1.0),
            MetricName::Requests => (requests, 1.0),
            MetricName::Cached => (self.cached as f64, self.prompt as f64),
            MetricName::Overflows => (self.service.overflows as f64, requests),
            MetricName::Refusals => (self.service.refused as f64, requests),
            MetricName::Prepared => (self.service.prepared, requests),
            MetricName::Latency => (self.service.first_byte, self.service.first_bytes as f64),
            MetricName::Turns => (self.calls.model_turns as f64, typed),
            MetricName::Corrections => (self.calls.corrections as f64, typed),
            MetricName::Failures => (self.calls.failed as f64, calls),
            MetricName::FailuresAfter => (around.more_failed(), around.calls_after as f64),
            MetricName::Repeats => (self.calls.repeated as f64, calls),
            MetricName::Recalls => (self.calls.recalled as f64, calls),
            MetricName::Regret => (regret.again as f64, regret.left as f64),
            MetricName::RegretTokens => (regret.again_tokens as f64, regret.left_tokens as f64),
        }
    }
}

/// How a change of a metric is told.
pub(crate) fn scale(metric: MetricName) -> EffectScale {
    match metric {
        MetricName::Paid
        | MetricName::Tokens
        | MetricName::Requests
        | MetricName::Turns
        | MetricName::Prepared
        | MetricName::Latency => EffectScale::Relative,
        _ => EffectScale::Absolute,
    }
}

/// Whether more of a metric is better.
pub(crate) fn is_gain(metric: MetricName) -> bool {
    metric == MetricName::Cached
}
