//! `GET /metrics`: the figures in Prometheus' text format.
//!
//! Invariant: labels are words of the code, names of categories and statuses; no label comes from
//! a request, so the number of series is bounded. Called by the server.

use std::fmt::{Display, Write};
use std::time::SystemTime;

use crate::ledger::{BOUNDS, LatencyHistogram, LedgerSnapshot, categories};

/// The type that the text is served as.
pub(crate) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All figures, as metrics.
pub(crate) fn text(books: &LedgerSnapshot, now: SystemTime) -> String {
    let mut out = Exposition::default();
    let all = &books.all;
    out.family("requests_total", "counter", "Requests by API and status; 0 without an answer.");
    for ((api, status), count) in &books.requests {
        out.sample("requests_total", &[("api", &api.name()), ("status", status)], count);
    }
    out.single(
        "passed_total",
        "counter",
        "Requests that passed through untouched and were taken.",
        books.passed,
    );
    out.single("side_requests_total", "counter", "Titles, counts and the like.", all.side);
    for (name, help, by) in [
        ("raw_tokens_total", "Tokens of prompts as they came, in our count.", &all.traffic.raw),
        (
            "sent_tokens_total",
            "Tokens of prompts as they were sent, in our count.",
            &all.traffic.sent,
        ),
    ] {
        out.family(name, "counter", help);
        for (category, tokens) in categories(by) {
            out.sample(name, &[("category", &category)], tokens);
        }
    }
    let name = "provider_tokens_total";
    out.family(name, "counter", "What the provider counted, in its own tokens.");
    for (kind, tokens) in [
        ("input", all.usage.input),
        ("cache_read", all.usage.cache_read),
        ("cache_written", all.usage.cache_written),
        ("output", all.usage.output),
    ] {
        out.sample(name, &[("kind", &kind)], tokens);
    }
    let help =
        "What prompts cost, in uncached input tokens: as paid, and as the raw history would.";
    out.family("cost_tokens_total", "counter", help);
    for (kind, cost) in [("paid", all.cost.bill.paid), ("raw", all.cost.bill.raw)] {
        out.sample("cost_tokens_total", &[("prompt", &kind)], cost);
    }
    let help = "What was saved net, in uncached input tokens; may be negative.";
    out.single("net_saving_tokens", "gauge", help, all.cost.bill.saved());
    let help = "What was saved net in US dollars, where the model's price is known.";
    out.single("net_saving_dollars", "gauge", help, all.cost.dollars.saved());
    let help = "Calls of models that write summaries.";
    out.single("own_calls_total", "counter", help, books.own.calls);
    let help = "What those calls cost, in uncached input tokens; net savings have it subtracted.";
    out.single("own_calls_cost_tokens_total", "counter", help, books.own.tokens);
    let help = "Answers of models whose price is not known: in no sum of dollars.";
    out.single("unpriced_answers_total", "counter", help, all.cost.unpriced);
    out.single("epochs_total", "counter", "Compressions.", all.epochs);
    let help = "Tool results made smaller before they were first sent.";
    out.single("arrivals_total", "counter", help, all.arrivals);
    out.family("skips_total", "counter", "Prompts not sent as they should have been, by reason.");
    for (reason, count) in &all.troubles.skips {
        out.sample("skips_total", &[("reason", reason)], count);
    }
    out.single("skip_alarms_total", "counter", "Runs of failures.", all.troubles.alarms);
    let help = "Conversations whose newest requests failed open, one after the other.";
    out.single("skip_alarms", "gauge", help, books.alarms(now).count());
    let help = "Prompts refused as too long and taken when made smaller.";
    out.single("overflows_total", "counter", help, all.troubles.overflows);
    let help = "What of prompts the provider left out: reasoning bound to another prompt.";
    out.single("input_transformations_total", "counter", help, all.troubles.transformations);
    out.family("body_bytes_total", "counter", "Bytes of prompts: as they came, and as sent.");
    for (side, bytes) in [("raw", all.traffic.bytes_in), ("sent", all.traffic.bytes_sent)] {
        out.sample("body_bytes_total", &[("side", &side)], bytes);
    }
    let help = "From the arrival of a prompt until it was ready to be sent.";
    out.histogram("prepare_seconds", help, &books.times.prepared);
    let help = "From sending a request until the first byte of its answer.";
    out.histogram("upstream_first_byte_seconds", help, &books.times.first_byte);
    let open = books.conversations.len() as u64 + books.older.count;
    out.single("conversations_total", "counter", "Conversations.", open);
    out.0
}

/// A text of metrics in the making.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    /// Begins a family of samples.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP epitome_{name} {help}"));
        self.line(format_args!("# TYPE epitome_{name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let labels: Vec<_> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        match labels.as_slice() {
            [] => self.line(format_args!("epitome_{name} {value}")),
            _ => self.line(format_args!("epitome_{name}{{{}}} {value}", labels.join(","))),
        }
    }

    /// A family of one sample.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn histogram(&mut self, name: &str, help: &str, times: &LatencyHistogram) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().zip(times.buckets) {
            below += count;
            self.sample(&bucket, &[("le", bound)], below);
        }
        self.sample(&bucket, &[("le", &"+Inf")], times.count);
        self.sample(&format!("{name}_sum"), &[], times.sum);
        self.sample(&format!("{name}_count"), &[], times.count);
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        writeln!(self.0, "{line}").unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

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
        text(&ledger.snapshot(), SystemTime::UNIX_EPOCH)
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
