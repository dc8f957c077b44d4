//! `/experiments`: the arms of each experiment, its split, and what is proven.
//!
//! Invariant: where the split is broken no effect is shown, and none without its interval.

use epitome::{
    ArmMetric, ArmReport, ExperimentBook, ExperimentReport, ExperimentVerdict, MetricEffect,
    MetricName, MetricUnit, TableOrigin, collect_units,
};
use maud::{Markup, html};

use crate::error::PageError;
use crate::figures::{counted, grouped, percent, tenths};
use crate::layout::{PageContent, PageTab};
use crate::parts;
use crate::shown::line;
use crate::visit::PageVisit;

/// The page.
pub(crate) fn page(visit: &PageVisit<'_>) -> Result<PageContent, PageError> {
    let (store, tenant) = (&*visit.source.store, visit.admin.tenant());
    let book = ExperimentBook::new(store, tenant);
    let mut names: Vec<String> = book.names()?.into_iter().collect();
    names.extend(visit.source.experiments.keys().cloned());
    names.sort();
    names.dedup();
    let mut reports = Vec::new();
    for name in &names {
        let (table, origin) = book.table(name, visit.source.experiments.get(name))?;
        let units = collect_units(store, tenant, name)?;
        let report = ExperimentReport::load(store, tenant, name, &table, &units)?;
        reports.push((report, origin));
    }
    let main = html! {
        h1 { "Experiments" }
        @if reports.is_empty() {
            section.card { p.quiet {
                "There is none. A table " code { "[experiment.NAME]" } " in " code { "epitome.toml" }
                " compares profiles on live sessions."
            } }
        }
        @for (report, origin) in &reports { (experiment(report, *origin)) }
    };
    Ok(PageContent { title: "Experiments".to_owned(), tab: PageTab::Experiments, main })
}

fn experiment(report: &ExperimentReport, origin: TableOrigin) -> Markup {
    let units: u64 = report.arms.iter().map(|arm| arm.figures.units).sum();
    html! {
        section.card {
            h2 {
                (line(&report.name, 60)) " "
                @if report.stopped.is_some() { span.chip { "stopped" } }
                @else if origin == TableOrigin::Recorded {
                    span.chip title="It is of another project, or its table was taken out." {
                        "not configured here"
                    }
                }
                @else if origin == TableOrigin::Unknown { span.chip { "not configured any more" } }
                @else if report.is_open() { span.chip { "running" } }
                @else { span.chip { "one arm is open: no session is drawn" } }
            }
            p.quiet {
                (counted(units, "unit"))
                @if origin != TableOrigin::Unknown { ", decided by " code { (report.primary.word()) } }
            }
            @if let Some(stopped) = &report.stopped {
                p { "Stopped " (parts::moment(&stopped.at)) ": " (line(&stopped.why, 300)) }
            }
            (split(report))
            (arms(report))
            @if origin == TableOrigin::Unknown {
                p { (ExperimentReport::without_a_table()) }
            } @else if report.primary.is_of_histories() {
                p { (of_histories(report)) }
            } @else {
                @for arm in &report.arms { (verdict(report, arm)) }
            }
            @if !report.split.is_broken && !report.in_dollars {
                p.quiet { code { "paid" } " is in full-price tokens: not every model has a price." }
            }
            @if !report.split.is_broken { (others(report)) }
        }
    }
}

/// Whether the units are divided as they were drawn, and what else is to be known of the figures.
fn split(report: &ExperimentReport) -> Markup {
    html! {
        @if report.split.is_broken {
            p.bad role="alert" { (line(&report.split_in_words(), 600)) }
        } @else {
            p.quiet { (line(&report.split_in_words(), 600)) }
        }
        @for said in report.caveats() { p.quiet { (line(&said, 1_200)) } }
    }
}

fn arms(report: &ExperimentReport) -> Markup {
    let primary = |arm: &ArmReport| arm.figures.metric(report.primary.word()).cloned();
    html! {
        table.list.cards {
            thead { tr {
                th { "Arm" } th.number { "Weight" } th.number { "Units" } th.number { "Expected" }
                th.number { "Counted" } th.number { (report.primary.word()) }
                th { "Change against the first" }
            } }
            tbody { @for arm in &report.arms {
                @let expected = report.split.expected.get(&arm.figures.arm).copied().unwrap_or_default();
                tr {
                    td.title {
                        (line(&arm.figures.arm, 60))
                        @if let Some(stopped) = &arm.stopped {
                            small { "stopped: " (line(&stopped.why, 200)) }
                        }
                    }
                    td.number data-label="Weight" { (arm.weight) }
                    td.number data-label="Units" { (grouped(arm.figures.units)) }
                    td.number data-label="Expected" { (format!("{expected:.1}")) }
                    td.number data-label="Counted" { (grouped(arm.counted)) }
                    td.number data-label=(report.primary.word()) { (value(primary(arm))) }
                    td data-label="Change" { (change(primary(arm))) }
                }
            } }
        }
    }
}

/// Where a metric stands that no page reads: every message of every session would be looked at.
fn of_histories(report: &ExperimentReport) -> Markup {
    html! {
        code { "epitome experiment show " (line(&report.name, 60)) } " reads the histories of the \
         sessions, and says what " code { (report.primary.word()) } " came to."
    }
}

/// All other metrics of the ledger, arm by arm.
fn others(report: &ExperimentReport) -> Markup {
    let is_other = |metric: &MetricName| *metric != report.primary && !metric.is_of_histories();
    html! {
        details {
            summary { "Other metrics" }
            table.list.cards {
                thead { tr {
                    th { "Metric" } th { "Arm" } th.number { "Value" }
                    th { "Change against the first" }
                } }
                tbody { @for metric in MetricName::ALL.into_iter().filter(is_other) {
                    @for (at, arm) in report.arms.iter().enumerate() {
                        @let told = arm.figures.metric(metric.word()).cloned();
                        tr {
                            td.title { @if at == 0 { (metric.word()) } }
                            td data-label="Arm" { (line(&arm.figures.arm, 60)) }
                            td.number data-label="Value" { (value(told.clone())) }
                            td data-label="Change" { (change(told)) }
                        }
                    }
                } }
            }
            p.quiet {
                "No effect of these is proven by itself: looked at together, some seem to be there by chance."
            }
        }
    }
}

fn value(metric: Option<ArmMetric>) -> Markup {
    let told = metric.and_then(|it| Some((it.unit, it.value?)));
    html! {
        @match told {
            Some((MetricUnit::Dollars, value)) => { "$" (format!("{value:.4}")) }
            Some((MetricUnit::Share, value)) => (tenths(value)),
            Some((MetricUnit::Count, value)) => { (grouped(value.round().max(0.0) as u64)) " tokens" }
            Some((MetricUnit::Mean, value)) => (format!("{value:.1}")),
            Some((MetricUnit::Seconds, value)) if value < 1.0 => (format!("{:.1} ms", value * 1_000.0)),
            Some((MetricUnit::Seconds, value)) => (format!("{value:.2} s")),
            Some((MetricUnit::Score, value)) => (format!("{value:.3}")),
            None => "–",
        }
    }
}

/// A difference of shares, in points of a hundred.
fn points(difference: f64) -> String {
    tenths(difference).replace('%', "pt")
}

/// A change with its interval, as a line on which zero stands in the middle.
fn change(metric: Option<ArmMetric>) -> Markup {
    let Some(effect) = metric.and_then(|it| it.effect) else { return html! { "–" } };
    let MetricEffect { is_relative, estimate, low, high, .. } = effect;
    let said = |value: f64| match is_relative {
        true => tenths(value),
        false => points(value),
    };
    let reach = low.abs().max(high.abs()).max(1e-9);
    let x = |value: f64| format!("{:.1}", 50.0 + value / reach * 48.0);
    html! {
        span.interval {
            svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true" {
                path.zero d="M50 0V12" {}
                path.reach d={ "M" (x(low)) " 6H" (x(high)) } {}
                path.middle d={ "M" (x(estimate)) " 2V10" } {}
            }
            span { (said(estimate)) " " small { "from " (said(low)) " to " (said(high)) } }
        }
    }
}

fn verdict(report: &ExperimentReport, arm: &ArmReport) -> Markup {
    let word = match arm.verdict {
        None => return html! {},
        Some(ExperimentVerdict::Better) => "is better than the first",
        Some(ExperimentVerdict::Worse) => "is worse than the first",
        Some(ExperimentVerdict::Undecided) => "is undecided: the change may be either way",
        Some(ExperimentVerdict::TooFew) => "has too few units to say anything",
    };
    let metric = arm.figures.metric(report.primary.word());
    let effect = metric.and_then(|it| it.effect);
    html! {
        p {
            b { (line(&arm.figures.arm, 60)) } " " (word)
            @if arm.verdict == Some(ExperimentVerdict::TooFew) {
                " (" (report.least_units) " in each arm)"
            }
            "."
            @if let Some(effect) = effect {
                @let least = if effect.is_relative { percent } else { points };
                span.quiet { " So many units find a change of " (least(effect.detectable)) " four times of five." }
            }
        }
    }
}
