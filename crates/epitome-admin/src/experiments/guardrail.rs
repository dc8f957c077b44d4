//! Guardrails: which arms are certainly worse than they may be.
//!
//! Invariant: an arm is stopped only where its whole interval is beyond the margin, at a level that is
//! divided over all guardrails and arms. Asked by proxies before they draw.

use epitome_config::{ExperimentConfig, MetricName};
use epitome_experiments::{IntervalTerms, compare};

use super::collect::{UnitFigures, clusters, money};
use super::figures::scale;
use super::pairs::drawn_alike;
use super::split::SplitCheck;

/// A guardrail that an arm broke.
#[derive(Clone, Debug, PartialEq)]
pub struct TrippedGuardrail {
    /// The arm.
    pub arm: String,
    /// The metric.
    pub metric: MetricName,
    /// The least that it is worse by.
    pub least: f64,
    /// How much worse it may be.
    pub margin: f64,
}

impl TrippedGuardrail {
    /// Returns why the arm is stopped, for people.
    #[must_use]
    pub fn why(&self) -> String {
        let Self { metric, least, margin, .. } = self;
        let [least, margin] = [least, margin].map(|share| 100.0 * share);
        format!("guardrail `{}`: at least {least:.1} % worse, {margin:.1} % allowed", metric.word())
    }
}

/// Finds the guardrails that arms of an experiment broke. Where its split is broken nothing can be
/// said, and nothing is found.
#[must_use]
pub fn tripped_guardrails(
    experiment: &ExperimentConfig,
    units: &[UnitFigures],
) -> Vec<TrippedGuardrail> {
    let guardrails: Vec<_> = experiment.guardrails.set().collect();
    let [control, others @ ..] = &experiment.arms[..] else { return Vec::new() };
    if guardrails.is_empty() || SplitCheck::of_units(units).is_broken {
        return Vec::new();
    }
    let money = money(units);
    let terms = IntervalTerms::default().over(guardrails.len() * others.len()).one_sided();
    let mut tripped = Vec::new();
    for (metric, margin) in guardrails {
        for arm in others {
            let compared = drawn_alike(units, [control, arm]);
            let [base, with] = [control, arm].map(|arm| clusters(&compared, arm, metric, money));
            let effect = compare(&base, &with, scale(metric), terms);
            if let Some(effect) = effect.filter(|effect| effect.low > margin) {
                let (arm, least) = (arm.clone(), effect.low);
                tripped.push(TrippedGuardrail { arm, metric, least, margin });
            }
        }
    }
    tripped
}
