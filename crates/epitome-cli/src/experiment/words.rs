//! How figures of an experiment are worded.

use epitome::{ExperimentReport, ExperimentVerdict, MetricEffect, SplitCheck};
use epitome_experiments::{IntervalTerms, detectable_effect};

use crate::arm_table::{change, interval};

/// Whether it gets new units.
pub(super) fn state(report: &ExperimentReport, is_configured: bool) -> &'static str {
    match (&report.stopped, is_configured) {
        (Some(_), _) => "stopped",
        (None, false) => "not configured",
        (None, true) if report.is_open() => "open",
        (None, true) => "without two arms that are open, so no session is drawn",
    }
}

/// Which units are left out, since their arms are not in the table any more.
pub(super) fn left_out(report: &ExperimentReport) -> Option<String> {
    let arms = report.left_out.iter().map(|(arm, units)| format!("{arm} {units}"));
    let arms = arms.collect::<Vec<_>>().join(", ");
    (!arms.is_empty()).then(|| {
        format!("Left out are units of arms that the table does not have any more: {arms}.")
    })
}

/// Which arms are not one thing: their profiles were edited since the first of their units was drawn.
pub(super) fn versions(report: &ExperimentReport) -> Option<String> {
    let several = report.arms.iter().filter(|arm| arm.versions > 1);
    let several = several.map(|arm| format!("{} {}", arm.figures.arm, arm.versions));
    let several = several.collect::<Vec<_>>().join(", ");
    (!several.is_empty()).then(|| {
        format!(
            "Pooled are units that were drawn under more than one version of their profile, because a \
             policy or an option was edited or another project has an experiment of this name: \
             {several}. `epitome experiment export` has the version of each."
        )
    })
}

/// Which sessions are missing where histories are read.
pub(super) fn unread(report: &ExperimentReport) -> Option<String> {
    let deleted = report.arms.iter().filter(|arm| arm.unread > 0);
    let deleted = deleted.map(|arm| format!("{} {}", arm.figures.arm, arm.unread));
    let deleted = deleted.collect::<Vec<_>>().join(", ");
    (!deleted.is_empty()).then(|| {
        format!(
            "Deleted are the histories of sessions: {deleted}. In the metrics from `turns` on these do \
             not count."
        )
    })
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
