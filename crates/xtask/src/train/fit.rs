//! Fits weights to labelled units: logistic regression, one step after the other.
//!
//! Invariant: the order of the data and of every sum is fixed. Called by `train`.

use std::collections::BTreeMap;

use epitome_extract::DeletionKind;

/// A unit and whether it may go.
pub(crate) struct LabelledUnit {
    pub(crate) kind: DeletionKind,
    pub(crate) features: Vec<String>,
    pub(crate) goes: bool,
    /// Whether it is of a sentence that the model is tested on.
    pub(crate) held_out: bool,
}

const EPOCHS: i32 = 12;
const RATE: f64 = 0.1;
/// What of a weight is lost at each step that it has part in.
const DECAY: f64 = 0.002;
/// A part that is deleted and should stay weighs so much more than one that stays and may go.
const CARE: f64 = 2.0;
/// A feature that is seen less often tells nothing.
const LEAST: usize = 4;
/// Weights are whole hundredths; smaller ones are left out.
const SMALL: i32 = 8;

/// The weights, in hundredths, of the units that are learned from.
pub(crate) fn weights(
    units: &[LabelledUnit],
    learned: impl Fn(&LabelledUnit) -> bool,
) -> BTreeMap<String, i32> {
    let units: Vec<&LabelledUnit> = units.iter().filter(|unit| learned(unit)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let all = units.iter().flat_map(|unit| &unit.features);
    all.for_each(|it| *counts.entry(it).or_default() += 1);
    let known: BTreeMap<&str, usize> = counts
        .iter()
        .filter(|(_, count)| **count >= LEAST)
        .zip(0..)
        .map(|((feature, _), number)| (*feature, number))
        .collect();
    let numbered: Vec<(Vec<usize>, bool)> = (units.iter())
        .map(|unit| {
            (unit.features.iter().filter_map(|it| known.get(&**it).copied()).collect(), unit.goes)
        })
        .collect();
    let mut weights = vec![0.0; known.len()];
    for epoch in 0..EPOCHS {
        let rate = RATE / f64::from(1 + epoch);
        for (features, goes) in &numbered {
            let sum: f64 = features.iter().map(|it| weights[*it]).sum();
            let chance = 1.0 / (1.0 + (-sum).exp());
            let step = if *goes { 1.0 - chance } else { -chance * CARE };
            for it in features {
                weights[*it] += rate * (step - DECAY * weights[*it]);
            }
        }
    }
    let whole = |weight: f64| (weight * 100.0).round() as i32;
    known
        .into_iter()
        .map(|(feature, number)| (feature.to_owned(), whole(weights[number])))
        .filter(|(_, weight)| weight.abs() >= SMALL)
        .collect()
}

/// For each kind, how many of the units held out may go, and what the model finds of them.
pub(crate) fn report(units: &[LabelledUnit], weights: &BTreeMap<String, i32>) -> Vec<String> {
    let mut found: BTreeMap<DeletionKind, [usize; 4]> = BTreeMap::new();
    for unit in units.iter().filter(|unit| unit.held_out) {
        let sum: i32 = unit.features.iter().filter_map(|it| weights.get(it)).sum();
        let [all, may, gone, right] = found.entry(unit.kind).or_default();
        *all += 1;
        *may += usize::from(unit.goes);
        *gone += usize::from(sum > 0);
        *right += usize::from(unit.goes && sum > 0);
    }
    let line = |(kind, [all, may, gone, right]): (DeletionKind, [usize; 4])| {
        let name = kind.name();
        format!("{name}: {all} units, {may} may go, {gone} would, {right} of these rightly")
    };
    found.into_iter().map(line).collect()
}
