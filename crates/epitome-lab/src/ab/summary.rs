//! What the rows of a strategy come to, with what chance may have done to them.
//!
//! Invariant: deterministic: the bootstrap draws from a fixed seed. Means weigh a conversation by
//! its questions; what could not be sent scores 0 in `score` and `score_recall`, and nowhere else.

use std::collections::BTreeMap;

use epitome::ArmFigures;
use serde::Serialize;

use super::old_keys;
use super::row::{EvalRow, WorkKind};

/// How often rows are drawn anew for an interval, and the share of the draws outside of it on each
/// side.
pub(super) const DRAWS: usize = 1000;
pub(super) const OUTSIDE: f64 = 0.025;
pub(super) const SEED: u64 = 0x6570_6974_6f6d_6521;

/// A mean and its 95 % confidence interval; none where fewer than two conversations say something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// The interval.
    pub interval: Option<[f64; 2]>,
}

/// Means over conversations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StrategyMeans {
    /// Conversations with questions.
    pub cases: usize,
    /// Questions.
    pub n: usize,
    /// Conversations whose prompt cannot be sent.
    pub invalid: usize,
    /// How much of what is asked is still there.
    #[serde(flatten)]
    pub scores: ScoreMeans,
    /// Share of the must-keep facts that are still there.
    pub kept: Option<f64>,
    /// Facts that are neither there nor found.
    pub lost: u64,
    /// By how much it became smaller, what nothing may cut left out.
    pub ratio: f64,
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens after.
    pub tokens_after: u64,
    /// Compressions, of a replay.
    pub compressions: Option<usize>,
    /// What the prompts of a replay cost, against what they would have cost as they came.
    pub cache_cost: Option<f64>,
    /// Time, in milliseconds.
    pub elapsed_ms: f64,
}

/// The means of the scores.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScoreMeans {
    /// Names with their surroundings that are still there, or questions that are answered.
    pub score: Option<MeanInterval>,
    /// The same with what one search finds.
    #[serde(flatten, serialize_with = "old_keys::score_recall")]
    pub score_recall: Option<MeanInterval>,
    /// Shares of what is asked, as in a row.
    pub recall: Option<f64>,
    /// As in a row.
    pub recall_search: Option<f64>,
    /// As in a row.
    pub bound: Option<f64>,
    /// As in a row.
    pub far: Option<f64>,
    /// As in a row.
    #[serde(flatten, serialize_with = "old_keys::constraints")]
    pub constraints: Option<f64>,
    /// As in a row; of what cannot be sent nothing counts.
    #[serde(flatten, serialize_with = "old_keys::in_context")]
    pub in_context: Option<f64>,
}

/// The means of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategySummary {
    /// Always true.
    pub summary: bool,
    /// The strategy.
    pub profile: String,
    /// The hash of its options.
    pub config: String,
    /// All conversations; a score is the mean of the groups' scores.
    pub all: StrategyMeans,
    /// By kind of work.
    pub groups: BTreeMap<WorkKind, StrategyMeans>,
    /// By where they are from.
    pub sources: BTreeMap<String, StrategyMeans>,
    /// The strategy as an arm beside others, as experiments report theirs; empty until it stands beside
    /// any.
    pub report: ArmFigures,
}

impl StrategySummary {
    /// The means over the rows of one strategy.
    pub fn of(profile: &str, config: &str, rows: &[&EvalRow]) -> Self {
        let mut groups: BTreeMap<WorkKind, Vec<&EvalRow>> = BTreeMap::new();
        let mut sources: BTreeMap<&str, Vec<&EvalRow>> = BTreeMap::new();
        for row in rows {
            groups.entry(row.group).or_default().push(row);
            sources.entry(&row.source).or_default().push(row);
        }
        let parts: Vec<_> = groups.values().map(Vec::as_slice).collect();
        let all = StrategyMeans::of(&parts);
        Self {
            summary: true,
            profile: profile.to_owned(),
            config: config.to_owned(),
            report: ArmFigures::default(),
            all,
            groups: groups
                .iter()
                .map(|(group, rows)| (*group, StrategyMeans::of(&[rows])))
                .collect(),
            sources: sources
                .iter()
                .map(|(source, rows)| ((*source).to_owned(), StrategyMeans::of(&[rows])))
                .collect(),
        }
    }
}

impl StrategyMeans {
    fn of(parts: &[&[&EvalRow]]) -> Self {
        let asked = |row: &&&EvalRow| row.score.recall.is_some();
        let rows: Vec<&EvalRow> = parts.concat().iter().filter(asked).copied().collect();
        let all = parts.concat();
        let sum = |of: fn(&EvalRow) -> u64| all.iter().map(|row| of(row)).sum::<u64>();
        // What was not sent is not small.
        let sent = |of: fn(&EvalRow) -> u64| {
            let sent = all.iter().filter(|row| row.tokens.after > 0);
            sent.map(|row| of(row).saturating_sub(row.tokens.pinned)).sum::<u64>()
        };
        let [before, after] = [sum(|row| row.tokens.before), sum(|row| row.tokens.after)];
        let kept = sum(|row| row.must_keep.total()[0].into());
        let played: Vec<_> = all.iter().filter_map(|row| row.played.as_ref()).collect();
        let cost: f64 = played.iter().map(|it| it.cache_cost).sum();
        let raw: f64 = played.iter().map(|it| it.cache_cost_uncompressed).sum();
        Self {
            cases: rows.len(),
            n: rows.iter().map(|row| row.score.n).sum(),
            invalid: all.iter().filter(|row| !row.faults.is_empty()).count(),
            scores: ScoreMeans::new(parts, &rows),
            kept: ratio(kept as f64, sum(|row| row.must_keep.total()[1].into()) as f64),
            lost: sum(|row| row.lost),
            ratio: sent(|row| row.tokens.before) as f64
                / sent(|row| row.tokens.after).max(1) as f64,
            tokens_before: before,
            tokens_after: after,
            compressions: (!played.is_empty())
                .then(|| played.iter().map(|it| it.compressions).sum()),
            cache_cost: ratio(cost, raw),
            elapsed_ms: all.iter().map(|row| row.elapsed_ms).sum(),
        }
    }
}

impl ScoreMeans {
    /// Over the rows with questions, `parts` of which are judged by themselves first.
    fn new(parts: &[&[&EvalRow]], rows: &[&EvalRow]) -> Self {
        let n = |row: &EvalRow| row.score.n;
        Self {
            score: estimate(parts, |row| row.score.headline()),
            score_recall: estimate(parts, |row| row.score.recall_search),
            recall: mean(rows, |row| row.score.recall, n),
            recall_search: mean(rows, |row| row.score.recall_search, n),
            bound: mean(rows, |row| row.score.bound, n),
            far: mean(rows, |row| row.score.far, |row| row.score.n_far),
            constraints: mean(rows, |row| row.score.constraints, |row| row.score.n_constraints),
            in_context: mean(rows, |row| row.score.in_context.map(|it| sendable(row, it)), n),
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn sendable(row: &EvalRow, figure: f64) -> f64 {
    if row.faults.is_empty() { figure } else { 0.0 }
}

/// The mean of a figure, weighed; rows without it do not count.
fn mean(
    rows: &[&EvalRow],
    figure: impl Fn(&EvalRow) -> Option<f64>,
    weight: impl Fn(&EvalRow) -> usize,
) -> Option<f64> {
    let (mut sum, mut whole) = (0.0, 0.0);
    for row in rows {
        if let Some(figure) = figure(row) {
            sum += figure * weight(row) as f64;
            whole += weight(row) as f64;
        }
    }
    ratio(sum, whole)
}

/// One figure of a group of rows: talk is the mean of its collections, which differ much; work is
/// pooled over its questions.
pub(super) fn headline(
    rows: &[&EvalRow],
    figure: &impl Fn(&EvalRow) -> Option<f64>,
) -> Option<f64> {
    let figure = |row: &EvalRow| figure(row).map(|figure| sendable(row, figure));
    let n = |row: &EvalRow| row.score.n;
    if rows.first().is_none_or(|row| row.group != WorkKind::Chat) {
        return mean(rows, figure, n);
    }
    let mut sources: BTreeMap<&str, Vec<&EvalRow>> = BTreeMap::new();
    rows.iter().for_each(|row| sources.entry(&row.source).or_default().push(row));
    average(sources.values().map(|rows| mean(rows, figure, n)))
}

pub(super) fn average(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) = figures.flatten().fold((0.0, 0.0), |(sum, n), it| (sum + it, n + 1.0));
    ratio(sum, count)
}

/// The mean of the groups' figures, and how far it moves when other conversations of the same kinds
/// are drawn.
fn estimate(
    parts: &[&[&EvalRow]],
    figure: impl Fn(&EvalRow) -> Option<f64>,
) -> Option<MeanInterval> {
    let whole = |parts: &[Vec<&EvalRow>]| average(parts.iter().map(|rows| headline(rows, &figure)));
    let parts: Vec<Vec<&EvalRow>> = parts
        .iter()
        .map(|rows| rows.iter().filter(|row| figure(row).is_some()).copied().collect())
        .filter(|rows: &Vec<&EvalRow>| !rows.is_empty())
        .collect();
    let mean = whole(&parts)?;
    if parts.iter().all(|rows| rows.len() < 2) {
        return Some(MeanInterval { mean, interval: None });
    }
    let mut random = Random(SEED);
    let mut drawn = || -> Option<f64> {
        let mut again = Vec::with_capacity(parts.len());
        for rows in &parts {
            again.push(rows.iter().map(|_| rows[random.below(rows.len())]).collect());
        }
        whole(&again)
    };
    let mut draws: Vec<f64> = (0..DRAWS).filter_map(|_| drawn()).collect();
    draws.sort_by(f64::total_cmp);
    let at = |share: f64| draws[((draws.len() - 1) as f64 * share).round() as usize];
    Some(MeanInterval { mean, interval: Some([at(OUTSIDE), at(1.0 - OUTSIDE)]) })
}

/// SplitMix64: small, and the same everywhere.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut out = self.0;
        out = (out ^ (out >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        out = (out ^ (out >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        out ^ (out >> 31)
    }

    pub(super) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use epitome::types::FactCounts;

    use super::*;
    use crate::ab::RowTokens;
    use crate::ab::score::EvalScore;

    fn row(group: WorkKind, source: &str, n: usize, figure: f64, faulty: bool) -> EvalRow {
        let figure = Some(figure);
        let bound = figure.filter(|_| group != WorkKind::Chat);
        EvalRow {
            profile: "p".to_owned(),
            id: String::new(),
            source: source.to_owned(),
            group,
            tokens: RowTokens { before: 1100, after: 350, pinned: 100 },
            faults: if faulty { vec!["over".to_owned()] } else { Vec::new() },
            score: EvalScore {
                n,
                recall: figure,
                bound,
                recall_search: figure,
                ..EvalScore::default()
            },
            must_keep: FactCounts::default(),
            lost: 0,
            played: None,
            elapsed_ms: 1.0,
        }
    }

    fn check(rows: &[EvalRow], score: f64, recall: f64) -> StrategySummary {
        let summary = StrategySummary::of("p", "c", &rows.iter().collect::<Vec<_>>());
        assert_eq!(summary.all.scores.score.map(|it| it.mean), Some(score));
        assert_eq!(summary.all.scores.recall, Some(recall));
        summary
    }

    #[test]
    fn work_is_pooled_and_talk_is_a_mean_of_its_collections() {
        let (coding, chat) = (WorkKind::Coding, WorkKind::Chat);
        let coded = [row(coding, "a", 3, 1.0, false), row(coding, "b", 1, 0.0, false)];
        check(&coded, 0.75, 0.75);
        let talked = [row(chat, "a", 3, 1.0, false), row(chat, "b", 1, 0.0, false)];
        check(&talked, 0.5, 0.75);
        let both = [coded, talked].concat();
        let summary = check(&both, 0.625, 0.75);
        assert_eq!((summary.all.cases, summary.all.n, summary.all.ratio), (4, 8, 4.0));
        assert_eq!(summary.groups.len(), 2);
        assert_eq!(summary.sources["a"].scores.recall, Some(1.0));
    }

    #[test]
    fn what_cannot_be_sent_scores_nothing() {
        let rows =
            [row(WorkKind::Service, "a", 1, 1.0, true), row(WorkKind::Service, "a", 1, 1.0, false)];
        let summary = check(&rows, 0.5, 1.0);
        assert_eq!((summary.all.invalid, summary.all.ratio), (1, 4.0));
        let mut refused = rows[0].clone();
        refused.tokens.after = 0;
        let summary = check(&[refused, rows[1].clone()], 0.5, 1.0);
        assert_eq!(summary.all.ratio, 4.0, "what was not sent is not small");
    }

    #[test]
    fn intervals_hold_the_mean_and_come_out_the_same() {
        let rows: Vec<_> =
            (0..20).map(|at| row(WorkKind::Service, "a", 1, f64::from(at % 2), false)).collect();
        let [one, same] = [check(&rows, 0.5, 0.5), check(&rows, 0.5, 0.5)];
        assert_eq!(one, same);
        let [low, high] = one.all.scores.score.unwrap().interval.unwrap();
        // Twenty throws of a coin: 0.5 ± 0.22.
        assert!((0.2..0.35).contains(&low) && (0.65..0.8).contains(&high), "{low} {high}");
        let alone = check(&rows[1..2], 1.0, 1.0);
        assert_eq!(alone.all.scores.score.unwrap().interval, None);
    }
}
