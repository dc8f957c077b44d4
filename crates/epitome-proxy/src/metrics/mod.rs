//! `GET /metrics`: the figures in Prometheus' text format.
//!
//! Invariant: a function of the figures; nothing is counted here. Called by the server.

mod family;
mod figures;

use std::fmt::{self, Write};

pub(crate) use self::family::MetricFamily;
use self::family::MetricSample;
#[cfg(feature = "otel")]
pub(crate) use self::family::{FamilyKind, SampleValue};
pub(crate) use self::figures::{MetricSources, TelemetryCounts, families};

/// The type that the text is served as.
pub(crate) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All figures, as metrics.
pub(crate) fn text(sources: &MetricSources<'_>) -> String {
    let mut out = String::new();
    for family in families(sources) {
        // Writing to a string does not fail.
        family_text(&mut out, &family).unwrap_or_default();
    }
    out
}

fn family_text(out: &mut String, family: &MetricFamily) -> fmt::Result {
    let MetricFamily { name, kind, help, samples } = family;
    writeln!(out, "# HELP epitome_{name} {help}")?;
    writeln!(out, "# TYPE epitome_{name} {}", kind.word())?;
    for MetricSample { suffix, labels, value } in samples {
        let labels: Vec<_> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        match labels.as_slice() {
            [] => writeln!(out, "epitome_{name}{suffix} {value}")?,
            _ => writeln!(out, "epitome_{name}{suffix}{{{}}} {value}", labels.join(","))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::{Duration, SystemTime};

    use epitome::{SavedRange, SavingsSums};

    use super::*;
    use crate::ledger::FinishedRequest;
    use crate::ledger::tests::{ended_with, exchange, ledger, terms};
    use crate::skip::ProxySkip;

    fn told() -> String {
        let ledger = ledger(terms());
        ledger.record(&exchange("evil\"} 1\n", 10, 10_000, 4_000));
        let slow = Some(Duration::from_secs(3_600));
        let skip = Some(ProxySkip::Deadline);
        let mut skipped = FinishedRequest { skip, ..exchange("b", 20, 5_000, 5_000) };
        skipped.times.first_byte = slow;
        skipped.asks.model = Some("x\"y".into());
        ledger.record(&ended_with(529, skipped));
        let saved = SavedRange { least: -0.25, most: 1.5 };
        let savings = SavingsSums { answers: 7, paid: 2.5, saved, ..SavingsSums::default() };
        text(&MetricSources {
            books: &ledger.snapshot(),
            savings: Some(&savings),
            is_writable: true,
            telemetry: Some(TelemetryCounts { sent: 3, ..TelemetryCounts::default() }),
            now: SystemTime::UNIX_EPOCH,
        })
    }

    #[track_caller]
    fn check(line: &str) {
        let told = told();
        assert!(told.lines().any(|found| found == line), "no `{line}` in\n{told}");
    }

    #[test]
    fn figures_are_samples() {
        check("# TYPE epitome_requests_total counter");
        check("epitome_requests_total{api=\"anthropic\",status=\"200\"} 1");
        check("epitome_requests_total{api=\"anthropic\",status=\"529\"} 1");
        check("epitome_raw_tokens_total{category=\"tool_results\"} 9000");
        check("epitome_sent_tokens_total{category=\"tool_results\"} 3000");
        check("epitome_provider_tokens_total{kind=\"cache_written\"} 4000");
        check("epitome_net_saving_tokens 7500");
        check("epitome_skips_total{reason=\"deadline\"} 1");
        check("epitome_body_bytes_total{side=\"raw\"} 60000");
        check("epitome_errors_total{status=\"529\"} 1");
        check("epitome_store_writable 1");
        check("epitome_telemetry_spans_total{outcome=\"sent\"} 3");
        check("epitome_ledger_answers_total 7");
        check("epitome_ledger_paid_dollars_total 2.5");
        check("epitome_ledger_saved_dollars{estimate=\"least\"} -0.25");
    }

    #[test]
    fn buckets_are_cumulated_and_end_with_all() {
        check("epitome_prepare_seconds_bucket{le=\"0.0025\"} 0");
        check("epitome_prepare_seconds_bucket{le=\"0.005\"} 2");
        check("epitome_prepare_seconds_bucket{le=\"30\"} 2");
        check("epitome_upstream_first_byte_seconds_bucket{le=\"30\"} 1");
        check("epitome_upstream_first_byte_seconds_bucket{le=\"+Inf\"} 2");
        check("epitome_upstream_first_byte_seconds_count 2");
    }

    /// The grammar of the format, as far as it is used: every line is a help, a type or a sample;
    /// samples stand behind the type of their family, once each.
    #[test]
    fn every_line_is_of_the_format() {
        let told = told();
        assert!(told.ends_with('\n'));
        let (mut family, mut seen, mut families) = ("", HashSet::new(), HashSet::new());
        for line in told.lines() {
            if let Some(rest) = line.strip_prefix("# ") {
                let mut words = rest.split(' ');
                let (kind, name) = (words.next().unwrap(), words.next().unwrap());
                assert!(kind == "HELP" || kind == "TYPE", "{line}");
                if kind == "HELP" {
                    assert!(families.insert(name), "{name} twice");
                    family = name;
                }
                assert_eq!(name, family);
                continue;
            }
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(seen.insert(name), "{name} twice");
            let bare = name.split('{').next().unwrap();
            assert!(bare.starts_with(family), "{bare} behind {family}");
            assert!(bare.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{bare}");
            let label = name[bare.len()..].trim_matches(['{', '}']);
            let sound = label.split(',').all(|label| {
                label.is_empty() || label.ends_with('"') && label.matches('"').count() == 2
            });
            assert!(sound && !name.contains("evil") && !name.contains("x\"y"), "{line}");
        }
    }
}
