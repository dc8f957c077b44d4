//! How figures of an experiment are worded.

use epitome::{ExperimentReport, ExperimentVerdict, MetricEffect, SplitCheck, TableOrigin};
use epitome_experiments::{IntervalTerms, detectable_effect};

use crate::arm_table::{change, interval};

/// Whether it gets new units.
pub(super) fn state(report: &ExperimentReport, origin: TableOrigin) -> &'static str {
    match (&report.stopped, origin) {
        (Some(_), _) => "stopped",
        (None, TableOrigin::Recorded) => "not configured here",
        (None, TableOrigin::Unknown) => "not configured",
        (None, TableOrigin::Configured) if report.is_open() => "open",
        (None, TableOrigin::Configured) => "without two arms that are open, so no session is drawn",
    }
}

/// What is known of a split, in a word.
pub(super) fn split_word(split: &SplitCheck) -> &'static str {
    match split {
        SplitCheck { is_broken: true, .. } => "broken",
        SplitCheck { chance: Some(_), .. } => "as drawn",
        _ => "too few",
    }
}

/// What so many units would find, where costs vary by as much as their mean.
pub(super) fn outlook(report: &ExperimentReport) -> String {
    let terms = IntervalTerms::default().over(report.arms.len().saturating_sub(1));
    let [few, some, many] = [100.0_f64, 400.0, 1_600.0]
        .map(|units| 100.0 * detectable_effect((2.0 / units).sqrt(), 2.0 * units, terms));
    format!(
        "Where units differ by as much as their mean, four times of five are found: a change of \
         {few:.0} % with 100 units of each arm, of {some:.0} % with 400, of {many:.0} % with 1,600."
    )
}

/// What is proven of an arm, in a sentence.
pub(super) fn verdict(
    report: &ExperimentReport,
    arm: &str,
    verdict: ExperimentVerdict,
    effect: Option<&MetricEffect>,
) -> String {
    let control = report.arms.first().map_or("", |control| &control.figures.arm);
    let metric = report.primary.word();
    let found = effect.map(|effect| {
        format!("{metric} {} ({})", change(effect.estimate, effect.is_relative), interval(effect))
    });
    let found = found.unwrap_or_default();
    match (verdict, effect) {
        (ExperimentVerdict::Better, _) => format!("{arm} is better than {control}: {found}"),
        (ExperimentVerdict::Worse, _) => format!("{arm} is worse than {control}: {found}"),
        (ExperimentVerdict::Undecided, Some(effect)) => {
            let least = 100.0 * effect.detectable;
            let unit = if effect.is_relative { "%" } else { "pt" };
            format!(
                "{arm} against {control} is undecided: {found}; so many units find a change of \
                 {least:.0} {unit} four times of five"
            )
        }
        _ => format!(
            "{arm} against {control}: too few units; {} of each are needed",
            report.least_units
        ),
    }
}
