//! Whether the units are divided as they were drawn.
//!
//! Invariant: each unit is expected where it had a chance to be, by the weights of its own draw; so
//! changed weights and stopped arms break nothing.

use std::collections::BTreeMap;

use epitome_experiments::{BROKEN, sample_ratio};
use serde::Serialize;

use super::collect::UnitFigures;

/// The split of an experiment over its arms.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SplitCheck {
    /// The chance of a split at least as uneven; none where there are too few units to tell.
    pub chance: Option<f64>,
    /// The same of the units that the provider counted anything for.
    pub chance_counted: Option<f64>,
    /// The same by client, where that can be told.
    pub by_client: BTreeMap<String, f64>,
    /// Whether any of them is smaller than chance allows: then nothing of the arms can be compared.
    pub is_broken: bool,
    /// The same as `chance` of the units whose histories are all there; none where none is deleted.
    pub chance_read: Option<f64>,
    /// The number of units that each arm is expected to have.
    pub expected: BTreeMap<String, f64>,
}

impl SplitCheck {
    /// Checks the split of units.
    #[must_use]
    pub fn of_units(units: &[UnitFigures]) -> Self {
        let mut by_client = BTreeMap::<String, Vec<&UnitFigures>>::new();
        for unit in units {
            let client = unit.record.client.clone().unwrap_or_default();
            by_client.entry(client).or_default().push(unit);
        }
        let all: Vec<_> = units.iter().collect();
        let counted: Vec<_> = units.iter().filter(|unit| unit.is_counted()).collect();
        let chance = chance_of(&all);
        let chance_counted = chance_of(&counted);
        let clients = by_client.into_iter();
        let by_client: BTreeMap<_, _> =
            clients.filter_map(|(client, units)| Some((client, chance_of(&units)?))).collect();
        let lowest = by_client.values().copied().chain(chance).chain(chance_counted);
        let is_broken = lowest.fold(1.0, f64::min) < BROKEN;
        let read: Vec<_> = units.iter().filter(|unit| unit.sums.unread == 0).collect();
        let chance_read = chance_of(&read).filter(|_| read.len() < units.len());
        let expected = expected(&all);
        Self { chance, chance_counted, by_client, is_broken, chance_read, expected }
    }

    /// Whether histories are deleted so unevenly that what is read from them cannot be compared.
    #[must_use]
    pub fn has_lost_histories(&self) -> bool {
        self.chance_read.is_some_and(|chance| chance < BROKEN)
    }

    /// What is not divided as it was drawn.
    pub(super) fn broken_part(&self) -> Option<BrokenPart<'_>> {
        let is_low = |chance: &f64| *chance < BROKEN;
        let client = self.by_client.iter().find(|(_, chance)| is_low(chance));
        match client {
            _ if !self.is_broken => None,
            _ if self.chance.as_ref().is_some_and(is_low) => Some(BrokenPart::All),
            Some((client, _)) => Some(BrokenPart::OfClient(client)),
            None => Some(BrokenPart::Answered),
        }
    }
}

/// Units that are not divided as they were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenPart<'s> {
    /// All of them.
    All,
    /// Those of a client.
    OfClient(&'s str),
    /// Those that got an answer.
    Answered,
}

/// The number of units that each arm is expected to have.
fn expected(units: &[&UnitFigures]) -> BTreeMap<String, f64> {
    let mut expected = BTreeMap::<String, f64>::new();
    for unit in units {
        let odds = &unit.record.odds;
        let total: u64 = odds.values().sum();
        for (arm, weight) in odds.iter().filter(|(_, weight)| **weight > 0) {
            *expected.entry(arm.clone()).or_default() += *weight as f64 / total as f64;
        }
    }
    expected
}

/// The chance of a split at least as uneven as that of these.
fn chance_of(units: &[&UnitFigures]) -> Option<f64> {
    let mut arms = BTreeMap::<String, (u64, f64)>::new();
    for (arm, expected) in expected(units) {
        arms.entry(arm).or_default().1 = expected;
    }
    for unit in units {
        arms.entry(unit.arm().to_owned()).or_default().0 += 1;
    }
    sample_ratio(&arms.into_values().collect::<Vec<_>>())
}
