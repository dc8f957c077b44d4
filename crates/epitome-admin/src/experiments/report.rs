//! What came of an experiment, computed.
//!
//! Invariant: where the split is broken there are no metrics, no effects and no verdict. An effect is
//! never told without its interval, and the interval of the verdict is divided over the arms. Rendered
//! by the command.

use std::collections::{BTreeMap, BTreeSet};

use epitome_config::{ExperimentConfig, ExperimentUnit, MetricName};
use epitome_experiments::{EffectScale, IntervalTerms, LEAST_CLUSTERS, compare, detectable_effect};
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use serde::Serialize;

use super::arm_figures::{ArmFigures, ArmMetric, MetricEffect, unit_of};
use super::collect::{UnitFigures, clusters, money};
use super::figures::{Money, is_gain, scale};
use super::pairs::drawn_alike;
use super::record::{ExperimentBook, StopRecord};
use super::split::SplitCheck;

/// The schema of the report.
const SCHEMA: &str = "epitome/experiment@1";

/// What came of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentReport {
    /// `epitome/experiment@1`.
    pub schema: &'static str,
    /// The name of the experiment.
    pub name: String,
    /// What gets one arm as a whole.
    pub unit: ExperimentUnit,
    /// The metric that decides.
    pub primary: MetricName,
    /// Why it gets no new units, if so.
    pub stopped: Option<StopRecord>,
    /// Whether costs are in dollars; in full-price tokens where a model has no price.
    pub in_dollars: bool,
    /// Whether the units are divided as they were drawn.
    pub split: SplitCheck,
    /// The units that each arm needs before anything is said.
    pub least_units: u64,
    /// The arms, the one that the others are compared with first.
    pub arms: Vec<ArmReport>,
    /// Units of arms that the table does not have any more, by arm.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
}

/// What came of an arm.
#[derive(Clone, Debug, Serialize)]
pub struct ArmReport {
    /// The arm with its metrics; none where the split is broken.
    #[serde(flatten)]
    pub figures: ArmFigures,
    /// Its weight, as it is configured now.
    pub weight: u64,
    /// Those of its units that the provider counted anything for.
    pub counted: u64,
    /// What its profile has been when its units were drawn: so many sets of options and policies.
    pub versions: u64,
    /// Those of its units that were drawn at other odds than the rest, and are not compared.
    pub not_compared: u64,
    /// Sessions whose histories are deleted: in metrics that are read from histories they do not count.
    pub unread: u64,
    /// Why it gets no new units, if so.
    pub stopped: Option<StopRecord>,
    /// What its primary metric proves against the first arm.
    pub verdict: Option<ExperimentVerdict>,
}

/// What is proven of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentVerdict {
    /// It is better than the first.
    Better,
    /// It is worse.
    Worse,
    /// Either may be.
    Undecided,
    /// There are too few units to say anything.
    TooFew,
}

impl ExperimentReport {
    /// Computes what came of an experiment with these units, and reads what of it is stopped.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn load(
        store: &dyn SessionArchive,
        tenant: &str,
        name: &str,
        experiment: &ExperimentConfig,
        units: &[UnitFigures],
    ) -> Result<Self, StoreError> {
        let stops = ExperimentBook::new(store, tenant).stops(name)?;
        let mut report = Self::of_units(name, experiment, units);
        report.stopped = stops.get("").cloned();
        for arm in &mut report.arms {
            arm.stopped = stops.get(&arm.figures.arm).cloned();
        }
        Ok(report)
    }

    /// Whether new units are drawn: an arm that is alone has nothing to be compared with.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let open = self.arms.iter().filter(|arm| arm.stopped.is_none() && arm.weight > 0);
        self.stopped.is_none() && open.count() > 1
    }

    /// Computes what came of an experiment with these units.
    #[must_use]
    pub fn of_units(name: &str, experiment: &ExperimentConfig, units: &[UnitFigures]) -> Self {
        let split = SplitCheck::of_units(units);
        let reads_histories = !split.has_lost_histories();
        let table = ArmComparison { experiment, units, money: money(units), reads_histories };
        let arms = experiment.weighted().map(|(arm, weight)| {
            let own = || units.iter().filter(|unit| unit.arm() == arm);
            let metrics = if split.is_broken { Vec::new() } else { table.metrics(arm) };
            let figures = ArmFigures { arm: arm.to_owned(), units: own().count() as u64, metrics };
            ArmReport {
                weight,
                counted: own().filter(|unit| unit.is_counted()).count() as u64,
                versions: own()
                    .filter_map(|it| it.record.profile.as_ref())
                    .collect::<BTreeSet<_>>()
                    .len() as u64,
                not_compared: table.not_compared(arm),
                unread: own().map(|unit| unit.sums.unread).sum(),
                stopped: None,
                verdict: table.verdict(&figures),
                figures,
            }
        });
        let mut left_out = BTreeMap::new();
        for unit in units.iter().filter(|unit| !experiment.arms.iter().any(|it| it == unit.arm())) {
            *left_out.entry(unit.arm().to_owned()).or_default() += 1;
        }
        Self {
            schema: SCHEMA,
            name: name.to_owned(),
            unit: experiment.unit,
            primary: experiment.primary,
            stopped: None,
            in_dollars: table.money == Money::Dollars,
            least_units: LEAST_CLUSTERS,
            arms: arms.collect(),
            left_out,
            split,
        }
    }
}

/// The arms beside each other.
struct ArmComparison<'e> {
    experiment: &'e ExperimentConfig,
    units: &'e [UnitFigures],
    money: Money,
    /// Whether what is read from histories can be compared.
    reads_histories: bool,
}

impl ArmComparison<'_> {
    fn metrics(&self, arm: &str) -> Vec<ArmMetric> {
        MetricName::ALL.into_iter().map(|metric| self.metric(arm, metric)).collect()
    }

    fn metric(&self, arm: &str, metric: MetricName) -> ArmMetric {
        let unit = unit_of(metric, self.money == Money::Dollars);
        if metric.is_of_histories() && !self.reads_histories {
            let (interval, effect) = (None, None);
            return ArmMetric { metric: metric.word(), unit, value: None, interval, effect };
        }
        let control = self.experiment.arms.first();
        let compared = self.compared(arm);
        let with = match compared.is_empty() {
            // What it came to is told all the same.
            true => clusters(&self.units.iter().collect::<Vec<_>>(), arm, metric, self.money),
            false => clusters(&compared, arm, metric, self.money),
        };
        let effect = control.filter(|control| *control != arm).and_then(|control| {
            let base = clusters(&compared, control, metric, self.money);
            let terms = IntervalTerms::default().over(self.experiment.arms.len() - 1);
            let effect = compare(&base, &with, scale(metric), terms)?;
            let both = (base.count() + with.count()) as f64;
            Some(MetricEffect {
                is_relative: scale(metric) == EffectScale::Relative,
                estimate: effect.estimate,
                low: effect.low,
                high: effect.high,
                detectable: detectable_effect(effect.error, both, terms),
            })
        });
        ArmMetric { metric: metric.word(), unit, value: with.ratio(), interval: None, effect }
    }

    /// The units that an arm is compared by: with the first, or of that with any other.
    fn compared(&self, arm: &str) -> Vec<&UnitFigures> {
        let [control, others @ ..] = &self.experiment.arms[..] else { return Vec::new() };
        if arm != control {
            return drawn_alike(self.units, [control, arm]);
        }
        let with = others.iter().flat_map(|other| drawn_alike(self.units, [control, other]));
        let own = with.filter(|unit| unit.arm() == control).map(|unit| (&*unit.unit, unit));
        own.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// How many units of an arm are in no comparison.
    fn not_compared(&self, arm: &str) -> u64 {
        let compared = self.compared(arm);
        let own = |unit: &&UnitFigures| unit.arm() == arm;
        (self.units.iter().filter(own).count() - compared.iter().copied().filter(own).count())
            as u64
    }

    fn verdict(&self, arm: &ArmFigures) -> Option<ExperimentVerdict> {
        let primary = self.experiment.primary;
        let own = arm.metric(primary.word())?;
        let has_lost_it = primary.is_of_histories() && !self.reads_histories;
        if self.experiment.arms.first() == Some(&arm.arm) || has_lost_it {
            return None;
        }
        let Some(effect) = own.effect else { return Some(ExperimentVerdict::TooFew) };
        let (is_less, is_more) = (effect.high < 0.0, effect.low > 0.0);
        Some(match (is_less, is_more, is_gain(primary)) {
            (true, _, false) | (_, true, true) => ExperimentVerdict::Better,
            (true, _, true) | (_, true, false) => ExperimentVerdict::Worse,
            _ => ExperimentVerdict::Undecided,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::UnitSums;
    use super::super::guardrail::tripped_guardrails;
    use super::super::record::UnitRecord;
    use super::*;
    use crate::savings::PaidService;

    fn experiment() -> ExperimentConfig {
        ExperimentConfig::of_arms(vec!["default".to_owned(), "short".to_owned()])
    }

    /// So many units of an arm whose costs lie around this.
    fn units(arm: &str, count: u32, cost: f64) -> Vec<UnitFigures> {
        let unit = |at: u32| {
            let odds = BTreeMap::from([("default".to_owned(), 1), ("short".to_owned(), 1)]);
            let dollars = cost * (0.8 + 0.4 * f64::from(at % 5) / 4.0);
            let service = PaidService { requests: 10, ..PaidService::default() };
            UnitFigures {
                unit: format!("{arm} {at}"),
                record: UnitRecord { arm: Some(arm.to_owned()), odds, ..UnitRecord::default() },
                sums: UnitSums { answers: 10, dollars, service, ..UnitSums::default() },
            }
        };
        (0..count).map(unit).collect()
    }

    #[track_caller]
    fn check(arms: [(u32, f64); 2], verdict: Option<ExperimentVerdict>, is_broken: bool) {
        let [default, short] = arms;
        let units = [units("default", default.0, default.1), units("short", short.0, short.1)];
        let report = ExperimentReport::of_units("x", &experiment(), &units.concat());
        assert_eq!(report.split.is_broken, is_broken, "{report:?}");
        assert_eq!(report.arms[1].verdict, verdict, "{report:?}");
        assert_eq!(report.arms[0].verdict, None);
    }

    #[test]
    fn an_arm_is_better_worse_or_undecided() {
        check([(40, 1.0), (40, 0.5)], Some(ExperimentVerdict::Better), false);
        check([(40, 1.0), (40, 1.5)], Some(ExperimentVerdict::Worse), false);
        check([(40, 1.0), (40, 1.01)], Some(ExperimentVerdict::Undecided), false);
        check([(40, 1.0), (29, 0.5)], Some(ExperimentVerdict::TooFew), false);
    }

    #[test]
    fn nothing_is_said_of_a_broken_split() {
        check([(80, 1.0), (30, 0.5)], None, true);
        let units = [units("default", 80, 1.0), units("short", 30, 0.5)].concat();
        let report = ExperimentReport::of_units("x", &experiment(), &units);
        assert!(report.arms.iter().all(|arm| arm.figures.metrics.is_empty()));
        let mut guarded = experiment();
        guarded.guardrails.paid = Some(0.1);
        assert_eq!(tripped_guardrails(&guarded, &units), []);
    }

    #[test]
    fn a_guardrail_trips_beyond_its_margin() {
        let units = [units("default", 40, 1.0), units("short", 40, 1.5)].concat();
        let tripped = |margin| {
            let mut guarded = experiment();
            guarded.guardrails.paid = Some(margin);
            tripped_guardrails(&guarded, &units)
        };
        let [one] = &tripped(0.2)[..] else { panic!() };
        assert_eq!((one.arm.as_str(), one.metric), ("short", MetricName::Paid));
        assert!(one.why().starts_with("guardrail `paid`: at least "), "{}", one.why());
        assert_eq!(tripped(0.49), [], "certainly worse than that it is not");
    }
}
