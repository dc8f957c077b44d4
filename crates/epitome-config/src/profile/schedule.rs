//! Budgets by the turns of a conversation, and checkpoints by their age, as a profile states them.
//!
//! Invariant: what is stated holds whichever policy decides; what is not stated stays as policies say,
//! or follows what is stated.

use std::collections::BTreeMap;

use epitome_kernel::types::hook::{Ageing, Budgets, Standing};
use serde::{Deserialize, Serialize};

/// What holds from some turn on. Shares are parts of the limit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BudgetStep {
    /// Share of the limit from which on a warning is given.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub warn: Option<f64>,
    /// Share of the limit from which on the conversation is compressed. What is not stated of `ahead`,
    /// `target`, `checkpoints` and `keep_recent` comes down with it.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub soft: Option<f64>,
    /// Share of the limit above which no prompt is sent.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub hard: Option<f64>,
    /// Share of the limit that a compression comes to; at most `soft`.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub target: Option<f64>,
    /// Share of the limit that checkpoints may take together.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub checkpoints: Option<f64>,
    /// Share of the limit that the newest messages take which stay as they are.
    #[serde(default)]
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub keep_recent: Option<f64>,
}

/// What becomes of a checkpoint that is some compressions old.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "files", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AgeingStep {
    /// The level that it comes to: 2, 1, or 0, the least detailed.
    #[cfg_attr(feature = "files", schemars(range(min = 0, max = 2)))]
    pub level: u8,
    /// The share of its size that is left then.
    #[cfg_attr(feature = "files", schemars(range(min = 0.0, max = 1.0)))]
    pub share: f64,
}

/// Budgets, by the number of messages that a person typed.
pub type BudgetSteps = BTreeMap<u32, BudgetStep>;

/// Steps of checkpoints, by their age in compressions.
pub type AgeingSteps = BTreeMap<u32, AgeingStep>;

/// What holds in a turn: of each bound what was stated last up to there. None where nothing is.
pub(super) fn in_turn(steps: &BudgetSteps, turn: u32) -> Option<BudgetStep> {
    let mut stated = steps.range(..=turn).map(|(_, step)| step).peekable();
    stated.peek()?;
    Some(stated.fold(BudgetStep::default(), |before, step| BudgetStep {
        warn: step.warn.or(before.warn),
        soft: step.soft.or(before.soft),
        hard: step.hard.or(before.hard),
        target: step.target.or(before.target),
        checkpoints: step.checkpoints.or(before.checkpoints),
        keep_recent: step.keep_recent.or(before.keep_recent),
    }))
}

/// The bounds of policies with what a profile states of them, for a limit in tokens.
pub(super) fn stated(step: &BudgetStep, limit: u64, others: Budgets) -> Budgets {
    let share = |share: Option<f64>| share.map(|share| (limit as f64 * share) as u64);
    let soft = share(step.soft);
    // A compression that begins sooner has to come to less, else each request is compressed again.
    let ratio = match (soft, others.soft) {
        (Some(soft), Some(before)) if soft < before => soft as f64 / before as f64,
        _ => 1.0,
    };
    let follows = |before: Option<u64>| before.map(|tokens| (tokens as f64 * ratio) as u64);
    let soft = soft.or(others.soft);
    let target = share(step.target).or_else(|| follows(others.target));
    Budgets {
        warn: share(step.warn).or_else(|| follows(others.warn)),
        ahead: follows(others.ahead),
        soft,
        hard: share(step.hard).or(others.hard),
        target: target.map(|target| soft.map_or(target, |soft| target.min(soft))),
        checkpoints: share(step.checkpoints).or_else(|| follows(others.checkpoints)),
        keep_recent: share(step.keep_recent).or_else(|| follows(others.keep_recent)),
        ..others
    }
}

/// What becomes of checkpoints by their age: each comes to the level of the last step that it has reached.
pub(super) fn by_age(steps: &AgeingSteps, checkpoints: &[Standing]) -> Vec<Ageing> {
    let step = |one: &Standing| {
        let (_, step) = steps.range(..=one.age).next_back()?;
        (step.level < one.level).then(|| Ageing {
            checkpoint: one.id.clone(),
            to: step.level,
            target: ((one.tokens as f64 * step.share) as u64).max(1),
        })
    };
    checkpoints.iter().filter_map(step).collect()
}

/// What checkpoints come to after these steps, in tokens.
pub(super) fn size(checkpoints: &[Standing], steps: &[Ageing]) -> u64 {
    let after = |one: &Standing| {
        let step = steps.iter().find(|step| step.checkpoint == one.id);
        step.map_or(one.tokens, |step| step.target.min(one.tokens))
    };
    checkpoints.iter().map(after).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(soft: f64) -> BudgetStep {
        BudgetStep { soft: Some(soft), ..BudgetStep::default() }
    }

    #[test]
    fn a_step_holds_from_its_turn_on_and_what_was_said_before_stays() {
        let late = BudgetStep { target: Some(0.2), ..BudgetStep::default() };
        let steps = BudgetSteps::from([(4, step(0.5)), (9, late)]);
        assert_eq!(in_turn(&steps, 3), None);
        assert_eq!(in_turn(&steps, 4), Some(step(0.5)));
        let both = BudgetStep { soft: Some(0.5), target: Some(0.2), ..BudgetStep::default() };
        assert_eq!(in_turn(&steps, 90), Some(both));
    }

    #[test]
    fn what_is_not_stated_comes_down_with_what_is() {
        let of_policies = Budgets {
            soft: Some(8_000),
            hard: Some(9_500),
            target: Some(4_000),
            keep_recent: Some(2_000),
            ..Budgets::default()
        };
        let check = |step: BudgetStep, expected: [u64; 4]| {
            let found = stated(&step, 10_000, of_policies.clone());
            let found = [found.soft, found.hard, found.target, found.keep_recent];
            assert_eq!(found, expected.map(Some), "{step:?}");
        };
        check(step(0.4), [4_000, 9_500, 2_000, 1_000]);
        check(step(0.9), [9_000, 9_500, 4_000, 2_000]);
        check(BudgetStep { target: Some(0.7), ..step(0.4) }, [4_000, 9_500, 4_000, 1_000]);
        check(
            BudgetStep { hard: Some(0.9), ..BudgetStep::default() },
            [8_000, 9_000, 4_000, 2_000],
        );
    }

    #[test]
    fn a_checkpoint_comes_to_the_last_step_that_it_reached() {
        let one = |age, level| Standing {
            id: format!("c{age}"),
            level,
            number: 1,
            age,
            tokens: 1_000,
            original: 4_000,
            covers: 8,
            created: String::new(),
            rewritten: 0,
        };
        let steps = AgeingSteps::from([
            (2, AgeingStep { level: 2, share: 0.6 }),
            (4, AgeingStep { level: 1, share: 0.5 }),
        ]);
        let checkpoints = [one(5, 2), one(3, 2), one(2, 3), one(1, 3)];
        let found = by_age(&steps, &checkpoints);
        let found_steps: Vec<_> =
            found.iter().map(|it| (&*it.checkpoint, it.to, it.target)).collect();
        assert_eq!(found_steps, [("c5", 1, 500), ("c2", 2, 600)]);
        assert_eq!(size(&checkpoints, &found), 3_100);
    }
}
