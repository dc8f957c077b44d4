//! The figures of a strategy as those of an arm: the report that comparisons share with experiments.
//!
//! Invariant: a change is told over the conversations that both strategies have, which are drawn again
//! together; so what is hard about a conversation is hard for both. Deterministic, as all intervals.

use std::collections::BTreeMap;

use epitome::{ArmFigures, ArmMetric, MetricEffect, MetricUnit};

use super::row::{EvalRow, WorkKind};
use super::summary::{
    DRAWS, MeanInterval, OUTSIDE, Random, SEED, StrategyMeans, StrategySummary, average, headline,
};

/// Standard errors between nothing and the least effect that is found four times of five, at 95 %.
const DETECTABLE: f64 = 1.96 + 0.841_621_2;

/// A figure of some rows together.
type RowsFigure<'f> = &'f dyn Fn(&[&EvalRow]) -> Option<f64>;

/// A summary with its report, and what its rows change against those of another strategy.
pub(super) fn reported(
    summary: StrategySummary,
    rows: &[&EvalRow],
    control: Option<&[&EvalRow]>,
) -> StrategySummary {
    let report = arm_figures(&summary.profile, &summary.all, rows, control);
    StrategySummary { report, ..summary }
}

/// The figures of a strategy over all conversations, with their changes against the rows of another.
fn arm_figures(
    profile: &str,
    means: &StrategyMeans,
    rows: &[&EvalRow],
    control: Option<&[&EvalRow]>,
) -> ArmFigures {
    let change = |is_relative, figure: RowsFigure<'_>| {
        control.and_then(|control| change(control, rows, is_relative, figure))
    };
    let scored = |metric, of: fn(&EvalRow) -> Option<f64>, own: Option<MeanInterval>| {
        let figure = |rows: &[&EvalRow]| score_of(rows, of);
        ArmMetric {
            metric,
            unit: MetricUnit::Score,
            value: own.map(|it| it.mean),
            interval: own.and_then(|it| it.interval),
            effect: change(false, &figure),
        }
    };
    let share = |metric, value| {
        let unit = MetricUnit::Score;
        ArmMetric { metric, unit, value, interval: None, effect: None }
    };
    let tokens = |rows: &[&EvalRow]| {
        let sent = rows.iter().filter(|row| row.tokens.after > 0);
        average(sent.map(|row| Some(row.tokens.after as f64)))
    };
    let cost = |rows: &[&EvalRow]| {
        let played = rows.iter().filter_map(|row| row.played.as_ref());
        average(played.map(|it| Some(it.cache_cost)))
    };
    let scores = &means.scores;
    let mut metrics = vec![
        scored("score", |row| row.score.headline(), scores.score),
        scored("score-recall", |row| row.score.recall_search, scores.score_recall),
        share("constraints", scores.constraints),
        share("kept", means.kept),
        ArmMetric {
            metric: "tokens",
            unit: MetricUnit::Count,
            value: tokens(rows),
            interval: None,
            effect: change(true, &tokens),
        },
    ];
    metrics.extend(means.cache_cost.map(|share| ArmMetric {
        metric: "cost",
        unit: MetricUnit::Score,
        value: Some(share),
        interval: None,
        effect: change(true, &cost),
    }));
    ArmFigures { arm: profile.to_owned(), units: rows.len() as u64, metrics }
}

/// A score of all rows: the mean of the kinds of work.
fn score_of(rows: &[&EvalRow], of: fn(&EvalRow) -> Option<f64>) -> Option<f64> {
    let mut kinds: BTreeMap<WorkKind, Vec<&EvalRow>> = BTreeMap::new();
    let asked = rows.iter().filter(|row| of(row).is_some());
    asked.for_each(|row| kinds.entry(row.group).or_default().push(row));
    average(kinds.values().map(|rows| headline(rows, &of)))
}

/// How much a figure changes, over the conversations that both have; `None` where they are fewer than
/// two.
fn change(
    control: &[&EvalRow],
    rows: &[&EvalRow],
    is_relative: bool,
    figure: RowsFigure<'_>,
) -> Option<MetricEffect> {
    let of_control: BTreeMap<&str, &EvalRow> =
        control.iter().map(|row| (row.id.as_str(), *row)).collect();
    let mut kinds: BTreeMap<WorkKind, Vec<(&EvalRow, &EvalRow)>> = BTreeMap::new();
    for row in rows {
        if let Some(base) = of_control.get(row.id.as_str()) {
            kinds.entry(row.group).or_default().push((base, row));
        }
    }
    let told = |pairs: &[(&EvalRow, &EvalRow)]| {
        let (base, with): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        let (base, with) = (figure(&base)?, figure(&with)?);
        match is_relative {
            false => Some(with - base),
            true => (base > 0.0).then(|| with / base - 1.0),
        }
    };
    let all: Vec<_> = kinds.values().flatten().copied().collect();
    let estimate = told(&all)?;
    if kinds.values().all(|pairs| pairs.len() < 2) {
        return None;
    }
    let mut random = Random(SEED);
    let mut drawn = || {
        let mut again = Vec::with_capacity(all.len());
        for pairs in kinds.values() {
            again.extend(pairs.iter().map(|_| pairs[random.below(pairs.len())]));
        }
        told(&again)
    };
    let mut draws: Vec<f64> = (0..DRAWS).filter_map(|_| drawn()).collect();
    draws.sort_by(f64::total_cmp);
    let last = draws.len().checked_sub(1)? as f64;
    let at = |share: f64| draws[(last * share).round() as usize];
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let squares: f64 = draws.iter().map(|draw| (draw - mean).powi(2)).sum();
    let error = (squares / draws.len() as f64).sqrt();
    let (low, high) = (at(OUTSIDE), at(1.0 - OUTSIDE));
    Some(MetricEffect { is_relative, estimate, low, high, detectable: DETECTABLE * error })
}

#[cfg(test)]
mod tests {
    use epitome::types::FactCounts;

    use super::super::RowTokens;
    use super::super::score::EvalScore;
    use super::*;

    /// Conversations that differ much, all with so much more of a score than the first strategy has.
    fn rows(more: f64, after: u64) -> Vec<EvalRow> {
        let row = |at: u32| EvalRow {
            profile: "p".to_owned(),
            id: format!("talk-{at}"),
            source: "a".to_owned(),
            group: WorkKind::Coding,
            tokens: RowTokens { before: 9_000, after: after + 100 * u64::from(at), pinned: 0 },
            faults: Vec::new(),
            score: EvalScore {
                n: 4,
                recall: Some(f64::from(at % 8) / 10.0 + more),
                ..EvalScore::default()
            },
            must_keep: FactCounts::default(),
            lost: 0,
            played: None,
            elapsed_ms: 1.0,
        };
        (0..16).map(row).collect()
    }

    #[test]
    fn what_is_hard_about_a_conversation_is_hard_for_both() {
        let (one, other) = (rows(0.0, 1_000), rows(0.1, 500));
        let [one, other] = [&one, &other].map(|rows| rows.iter().collect::<Vec<_>>());
        let summary = || reported(StrategySummary::of("p", "c", &other), &other, Some(&one));
        let again = summary();
        let summary = summary();
        let score = summary.report.metric("score").unwrap();
        let effect = score.effect.unwrap();
        // Each is better by the same, and nothing else moves the difference.
        for change in [effect.estimate, effect.low, effect.high] {
            assert!((change - 0.1).abs() < 1e-9, "{effect:?}");
        }
        let [low, high] = score.interval.unwrap();
        assert!(high - low > 0.15, "while the score itself is hardly known: {low} to {high}");
        let tokens = summary.report.metric("tokens").unwrap();
        assert_eq!((tokens.value, tokens.unit), (Some(1_250.0), MetricUnit::Count));
        let effect = tokens.effect.unwrap();
        assert!(effect.is_relative && effect.high < 0.0, "{effect:?}");
        assert_eq!(summary, again);
    }

    #[test]
    fn one_conversation_proves_nothing() {
        let (one, other) = (rows(0.0, 1_000), rows(0.1, 500));
        let summary = StrategySummary::of("p", "c", &[&other[0]]);
        let summary = reported(summary, &[&other[0]], Some(&[&one[0]]));
        assert!(summary.report.metrics.iter().all(|it| it.effect.is_none()));
    }
}
