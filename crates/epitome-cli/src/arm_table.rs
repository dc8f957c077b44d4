//! Arms beside each other as a table: each metric with its interval.
//!
//! Invariant: no change is shown without its interval. Called by `experiment show` and `ab`.

use std::io::{self, Write};

use epitome::{ArmFigures, ArmMetric, MetricEffect, MetricUnit};

use crate::figure::dollars;
use crate::table::{Column, TextTable, left, right};
use crate::text::grouped;

/// The columns; the interval of the value itself only where one is known.
const COLUMNS: [Column; 6] = [
    left("metric"),
    left("arm").least(8),
    right("value"),
    left("95 %").spare(2),
    right("change"),
    left("interval").spare(1),
];
const OWN_INTERVAL: usize = 3;

/// Writes the metrics of arms, the one that the others are compared with first.
pub(crate) fn write(out: &mut dyn Write, arms: &[&ArmFigures]) -> io::Result<()> {
    let Some(first) = arms.first() else { return Ok(()) };
    let metrics = || arms.iter().flat_map(|arm| &arm.metrics);
    let has_own = metrics().any(|it| it.interval.is_some());
    let mut columns = COLUMNS.to_vec();
    if !has_own {
        columns.remove(OWN_INTERVAL);
    }
    let mut rows = Vec::new();
    for metric in &first.metrics {
        for (place, arm) in arms.iter().enumerate() {
            let Some(own) = arm.metric(metric.metric) else { continue };
            let mut row = cells(own, place == 0);
            row.insert(0, if place == 0 { metric.metric.to_owned() } else { String::new() });
            row.insert(1, arm.arm.clone());
            if !has_own {
                row.remove(OWN_INTERVAL);
            }
            rows.push(row);
        }
    }
    TextTable::new(&columns).print(out, &rows)
}

/// The value of a metric with its interval, and its change with that.
fn cells(metric: &ArmMetric, is_first: bool) -> Vec<String> {
    let dash = || "–".to_owned();
    let told = |it: f64| value(metric.unit, it);
    let own = metric.interval.map(|[low, high]| format!("{} to {}", told(low), told(high)));
    let (changed, lies) = match &metric.effect {
        Some(it) => (change(it.estimate, it.is_relative), interval(it)),
        None if is_first => (String::new(), String::new()),
        None => (dash(), dash()),
    };
    vec![metric.value.map_or_else(dash, told), own.unwrap_or_else(dash), changed, lies]
}

/// A value of a metric.
pub(crate) fn value(unit: MetricUnit, value: f64) -> String {
    match unit {
        MetricUnit::Dollars => dollars(value),
        MetricUnit::Count => grouped(value.round().max(0.0) as u64),
        MetricUnit::Mean => format!("{value:.1}"),
        MetricUnit::Score => format!("{value:.3}"),
        MetricUnit::Seconds if value >= 1.0 => format!("{value:.2} s"),
        MetricUnit::Seconds => format!("{:.1} ms", 1_000.0 * value),
        MetricUnit::Share => format!("{:.1} %", 100.0 * value),
    }
}

/// A share with its sign: in percent of the other value, or in points.
pub(crate) fn change(share: f64, is_relative: bool) -> String {
    let unit = if is_relative { "%" } else { "pt" };
    match format!("{:+.1}", 100.0 * share).as_str() {
        "+0.0" | "-0.0" => format!("0.0 {unit}"),
        other => format!("{other} {unit}"),
    }
}

/// Where a change lies.
pub(crate) fn interval(effect: &MetricEffect) -> String {
    let MetricEffect { low, high, is_relative, .. } = *effect;
    format!("{} to {}", change(low, is_relative), change(high, is_relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(is_relative: bool) -> MetricEffect {
        MetricEffect { is_relative, estimate: 0.1, low: -0.05, high: 0.25, detectable: 0.3 }
    }

    #[test]
    fn changes_have_their_sign_and_unit() {
        assert_eq!(change(-0.1234, true), "-12.3 %");
        assert_eq!(change(0.02, false), "+2.0 pt");
        assert_eq!(change(-0.000_01, false), "0.0 pt");
        assert_eq!(interval(&effect(true)), "-5.0 % to +25.0 %");
    }

    #[test]
    fn a_value_has_its_interval_where_that_is_known() {
        let arm = |name: &str, interval, effect| ArmFigures {
            arm: name.to_owned(),
            units: 9,
            metrics: vec![ArmMetric {
                metric: "score",
                unit: MetricUnit::Score,
                value: Some(0.5),
                interval,
                effect,
            }],
        };
        let check = |interval, effect, expected: &[&str]| {
            let arms = [arm("one", interval, None), arm("other", interval, effect)];
            let mut out = Vec::new();
            write(&mut out, &arms.iter().collect::<Vec<_>>()).unwrap();
            let lines = String::from_utf8(out).unwrap();
            let lines = lines.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
            let lines: Vec<_> = lines
                .lines()
                .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(lines, expected);
        };
        let rows = ["score one 0.500", "other 0.500 +10.0 pt -5.0 pt to +25.0 pt"];
        check(
            None,
            Some(effect(false)),
            &[&["metric arm value change interval"][..], &rows].concat(),
        );
        let rows = ["score one 0.500 0.400 to 0.600", "other 0.500 0.400 to 0.600 – –"];
        let head = ["metric arm value 95 % change interval"];
        check(Some([0.4, 0.6]), None, &[&head[..], &rows].concat());
    }
}
