//! Units with their figures, out of the records and the ledger.
//!
//! Invariant: a unit belongs to the arm that it was recorded with, whatever became of it; what nobody
//! paid for is still a unit.

use std::collections::{BTreeMap, BTreeSet};

use epitome_config::MetricName;
use epitome_experiments::ClusterSums;
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use serde::Serialize;

use super::calls::SessionsAsked;
use super::figures::{Money, UnitSums};
use super::record::{ExperimentBook, UnitRecord};
use super::shadow::ShadowReplay;
use crate::savings::{PaidRecord, SavingsLedger};

/// A unit with what it came to.
#[derive(Clone, Debug, Serialize)]
pub struct UnitFigures {
    /// Its hash.
    pub unit: String,
    /// What is recorded of it.
    #[serde(flatten)]
    pub record: UnitRecord,
    /// What its requests add up to.
    #[serde(flatten)]
    pub(crate) sums: UnitSums,
}

impl UnitFigures {
    /// The arm.
    pub fn arm(&self) -> &str {
        self.record.arm.as_deref().unwrap_or_default()
    }

    /// Whether its provider counted anything.
    pub fn is_counted(&self) -> bool {
        self.sums.answers > 0
    }
}

/// Reads the units of an experiment with what each came to, in the order of their hashes.
///
/// # Errors
///
/// When the store cannot be read.
pub fn collect_units(
    store: &dyn SessionArchive,
    tenant: &str,
    experiment: &str,
) -> Result<Vec<UnitFigures>, StoreError> {
    let units = ExperimentBook::new(store, tenant).units(experiment)?;
    let ledger = SavingsLedger::load(store, tenant)?;
    let unit_of = units_of_sessions(&ledger, experiment);
    let mut by_unit = BTreeMap::<&str, UnitSums>::new();
    let mut summaries = BTreeMap::<&str, UnitSums>::new();
    for record in ledger.of_experiment(experiment) {
        let Some(arm) = &record.arm else { continue };
        let sums = match (arm.unit.as_str(), unit_of.get(&*record.session)) {
            ("", None) => summaries.entry(&arm.arm).or_default(),
            ("", Some(unit)) => by_unit.entry(*unit).or_default(),
            (unit, _) => by_unit.entry(unit).or_default(),
        };
        record.rows.iter().for_each(|row| sums.add(row));
    }
    let figures = |(unit, record): (String, UnitRecord)| {
        let sums = by_unit.get(&*unit).copied().unwrap_or_default();
        UnitFigures { unit, record, sums }
    };
    let mut units: Vec<_> = units.into_iter().map(figures).collect();
    for (arm, sums) in summaries {
        share_out(&mut units, arm, &sums);
    }
    Ok(units)
}

/// The unit that each session belongs to, by the hashes of both.
fn units_of_sessions<'l>(
    ledger: &'l SavingsLedger,
    experiment: &'l str,
) -> BTreeMap<&'l str, &'l str> {
    let unit = |record: &'l PaidRecord| {
        let arm = record.arm.as_ref().filter(|arm| !arm.unit.is_empty())?;
        Some((&*record.session, &*arm.unit))
    };
    ledger.of_experiment(experiment).filter_map(unit).collect()
}

/// Shares those calls for summaries of an arm out over its units of which it is not known who asked for
/// one.
fn share_out(units: &mut [UnitFigures], arm: &str, summaries: &UnitSums) {
    let is_own = |unit: &&mut UnitFigures| unit.arm() == arm && unit.is_counted();
    let count = units.iter_mut().filter(is_own).count();
    for unit in units.iter_mut().filter(is_own) {
        unit.sums.dollars += summaries.dollars / count as f64;
        unit.sums.full_price += summaries.full_price / count as f64;
        unit.sums.unpriced += summaries.unpriced;
    }
}

/// Reads the units of an experiment, with what the histories of their sessions tell besides. Those that
/// were held out are replayed by `shadow`, for what would have left them.
///
/// # Errors
///
/// When the store cannot be read.
pub fn collect_histories(
    store: &dyn SessionArchive,
    tenant: &str,
    experiment: &str,
    shadow: Option<&dyn ShadowReplay>,
) -> Result<Vec<UnitFigures>, StoreError> {
    let mut units = collect_units(store, tenant, experiment)?;
    let ledger = SavingsLedger::load(store, tenant)?;
    let unit_of = units_of_sessions(&ledger, experiment);
    let arms: BTreeSet<_> = units.iter().map(UnitFigures::arm).collect();
    let profiles: Vec<_> = arms.into_iter().collect();
    let asked = SessionsAsked { store, tenant, profiles: &profiles, shadow };
    let found = asked.calls(|hash| unit_of.contains_key(hash))?;
    for (session, unit) in unit_of {
        let Ok(place) = units.binary_search_by(|it| it.unit.as_str().cmp(unit)) else { continue };
        match found.get(session) {
            Some(counts) => units[place].sums.calls += *counts,
            None => units[place].sums.unread += 1,
        }
    }
    Ok(units)
}

/// In what money units can be compared: in dollars where each has its price.
pub(crate) fn money(units: &[UnitFigures]) -> Money {
    let is_priced = units.iter().all(|unit| unit.sums.unpriced == 0);
    if is_priced { Money::Dollars } else { Money::Tokens }
}

/// The sums of a metric over the units of an arm that anybody counted.
pub(crate) fn clusters(
    units: &[&UnitFigures],
    arm: &str,
    metric: MetricName,
    money: Money,
) -> ClusterSums {
    let mut sums = ClusterSums::default();
    let size = size_of_thing(units, metric, money);
    for unit in units.iter().filter(|unit| unit.arm() == arm && unit.is_counted()) {
        let (numerator, denominator) = unit.sums.of_metric(metric, money);
        sums.add(numerator / size, denominator / size);
    }
    sums
}

/// How much of a metric's denominator is one thing that may happen or not. A text comes back as a whole:
/// of its tokens none is there by itself, and what was seen of a thousand was seen of one.
fn size_of_thing(units: &[&UnitFigures], metric: MetricName, money: Money) -> f64 {
    if metric != MetricName::RegretTokens {
        return 1.0;
    }
    let all = |metric| units.iter().map(|unit| unit.sums.of_metric(metric, money).1).sum::<f64>();
    let (tokens, texts) = (all(MetricName::RegretTokens), all(MetricName::Regret));
    if tokens > 0.0 && texts > 0.0 { tokens / texts } else { 1.0 }
}
