//! The figures that are metrics: those of `/status`, and those of `epitome savings`.
//!
//! Invariant: each stands there under the same sum as on the page and in the ledger; nothing is
//! counted here.

use std::time::SystemTime;

use epitome::SavingsSums;
use epitome_types::TokenUsage;

use super::family::{FamilyKind, MetricFamily};
use crate::ledger::{LedgerSnapshot, RequestSums, categories};

/// What metrics are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricSources<'s> {
    /// The figures of the proxies on the store.
    pub(crate) books: &'s LedgerSnapshot,
    /// The sums of the store's ledger; none where there is none.
    pub(crate) savings: Option<&'s SavingsSums>,
    /// Whether the store can be written.
    pub(crate) is_writable: bool,
    /// What became of the spans that are exported; none where nothing is.
    pub(crate) telemetry: Option<TelemetryCounts>,
    /// The time.
    pub(crate) now: SystemTime,
}

/// How many spans went where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TelemetryCounts {
    /// To the collector.
    pub(crate) sent: u64,
    /// Nowhere, since the queue was full.
    pub(crate) dropped: u64,
    /// Nowhere, since the collector did not take them.
    pub(crate) failed: u64,
}

/// All figures.
pub(crate) fn families(sources: &MetricSources<'_>) -> Vec<MetricFamily> {
    let MetricSources { books, savings, is_writable, telemetry, now } = *sources;
    let mut all = requests(books);
    all.extend(tokens(&books.all));
    all.extend(costs(books));
    all.extend(troubles(books, now));
    all.extend(times(books));
    all.extend(facts(books, is_writable));
    all.extend(savings.into_iter().flat_map(of_ledger));
    all.extend(telemetry.map(of_telemetry));
    all
}

fn requests(books: &LedgerSnapshot) -> Vec<MetricFamily> {
    let help = "Requests by API and status; 0 without an answer.";
    let requests = MetricFamily::with("requests_total", FamilyKind::Counter, help);
    let requests = books.requests.iter().fold(requests, |family, ((api, status), count)| {
        family.sample(&[("api", api.name()), ("status", &status.to_string())], *count)
    });
    let all = &books.all;
    let open = books.conversations.len() as u64 + books.older.count;
    vec![
        requests,
        MetricFamily::counter(
            "passed_total",
            "Requests that passed through untouched and were taken.",
            books.passed,
        ),
        MetricFamily::counter(
            "conversation_requests_total",
            "Requests that held a conversation.",
            all.requests,
        ),
        MetricFamily::counter("side_requests_total", "Titles, counts and the like.", all.side),
        MetricFamily::by(
            "errors_total",
            "Requests of conversations that were not answered, by status; 0 without an answer.",
            "status",
            all.troubles.errors.iter().map(|(status, count)| (status, *count)),
        ),
        MetricFamily::counter("conversations_total", "Conversations.", open),
    ]
}

fn tokens(all: &RequestSums) -> Vec<MetricFamily> {
    let traffic = &all.traffic;
    vec![
        MetricFamily::by(
            "raw_tokens_total",
            "Tokens of prompts as they came, in our count.",
            "category",
            categories(&traffic.raw),
        ),
        MetricFamily::by(
            "sent_tokens_total",
            "Tokens of prompts as they were sent, in our count.",
            "category",
            categories(&traffic.sent),
        ),
        MetricFamily::counter(
            "answers_total",
            "Answers for which the provider said what it counted.",
            all.answers,
        ),
        MetricFamily::by(
            "provider_tokens_total",
            "What the provider counted, in its own tokens.",
            "kind",
            kinds(&all.usage),
        ),
        MetricFamily::by(
            "body_bytes_total",
            "Bytes of prompts: as they came, and as sent.",
            "side",
            [("raw", traffic.bytes_in), ("sent", traffic.bytes_sent)],
        ),
        MetricFamily::counter("epochs_total", "Compressions.", all.epochs),
        MetricFamily::counter(
            "arrivals_total",
            "Tool results made smaller before they were first sent.",
            all.arrivals,
        ),
    ]
}

/// What a provider counted, by kind.
fn kinds(usage: &TokenUsage) -> [(&'static str, u64); 4] {
    [
        ("input", usage.input),
        ("cache_read", usage.cache_read),
        ("cache_written", usage.cache_written),
        ("output", usage.output),
    ]
}

fn costs(books: &LedgerSnapshot) -> Vec<MetricFamily> {
    let (cost, own) = (&books.all.cost, books.own);
    vec![
        MetricFamily::by(
            "cost_tokens_total",
            "What prompts cost, in uncached input tokens: as paid, and as the raw history would.",
            "prompt",
            [("paid", cost.bill.paid), ("raw", cost.bill.raw)],
        ),
        MetricFamily::by(
            "cost_dollars_total",
            "The same in US dollars, of the models whose price is known.",
            "prompt",
            [("paid", cost.dollars.paid), ("raw", cost.dollars.raw)],
        ),
        MetricFamily::gauge(
            "net_saving_tokens",
            "What was saved net, in uncached input tokens; may be negative.",
            cost.bill.saved(),
        ),
        MetricFamily::gauge(
            "net_saving_dollars",
            "What was saved net in US dollars, where the model's price is known.",
            cost.dollars.saved(),
        ),
        MetricFamily::counter(
            "priced_answers_total",
            "Answers of models whose price is known.",
            cost.priced,
        ),
        MetricFamily::counter(
            "unpriced_answers_total",
            "Answers of models whose price is not known: in no sum of dollars.",
            cost.unpriced,
        ),
        MetricFamily::counter(
            "own_calls_total",
            "Calls of models that write summaries.",
            own.calls,
        ),
        MetricFamily::counter(
            "own_calls_cost_tokens_total",
            "What those calls cost, in uncached input tokens; net savings have it subtracted.",
            own.tokens,
        ),
        MetricFamily::counter(
            "own_calls_cost_dollars_total",
            "The same in US dollars, of the models whose price is known.",
            own.dollars,
        ),
        MetricFamily::counter(
            "own_calls_unpriced_total",
            "Those calls of models whose price is not known.",
            own.unpriced,
        ),
    ]
}

fn troubles(books: &LedgerSnapshot, now: SystemTime) -> Vec<MetricFamily> {
    let troubles = &books.all.troubles;
    vec![
        MetricFamily::by(
            "skips_total",
            "Prompts not sent as they should have been, by reason.",
            "reason",
            troubles.skips.iter().map(|(reason, count)| (reason, *count)),
        ),
        MetricFamily::counter("skip_alarms_total", "Runs of failures.", troubles.alarms),
        MetricFamily::gauge(
            "skip_alarms",
            "Conversations whose newest requests failed open, one after the other.",
            books.alarms(now).count() as u64,
        ),
        MetricFamily::counter(
            "overflows_total",
            "Prompts refused as too long and taken when made smaller.",
            troubles.overflows,
        ),
        MetricFamily::counter(
            "input_transformations_total",
            "What of prompts the provider left out: reasoning bound to another prompt.",
            troubles.transformations,
        ),
    ]
}

fn times(books: &LedgerSnapshot) -> Vec<MetricFamily> {
    vec![
        MetricFamily::times(
            "prepare_seconds",
            "From the arrival of a prompt until it was ready to be sent.",
            &books.times.prepared,
        ),
        MetricFamily::times(
            "upstream_first_byte_seconds",
            "From sending a request until the first byte of its answer.",
            &books.times.first_byte,
        ),
    ]
}

fn facts(books: &LedgerSnapshot, is_writable: bool) -> Vec<MetricFamily> {
    let seconds = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
    };
    vec![
        MetricFamily::gauge(
            "started_timestamp_seconds",
            "When this proxy started.",
            seconds(books.started),
        ),
        MetricFamily::gauge(
            "since_timestamp_seconds",
            "Since when the figures count, over all proxies on the store.",
            seconds(books.since),
        ),
        MetricFamily::gauge("shadow", "Whether all goes out as it came.", u64::from(books.shadow)),
        MetricFamily::gauge(
            "store_writable",
            "Whether the store can be written.",
            u64::from(is_writable),
        ),
    ]
}

/// The ledger of the store, as `epitome savings` has it under `all`.
fn of_ledger(sums: &SavingsSums) -> Vec<MetricFamily> {
    let estimates = |name, help, least: f64, most: f64| {
        let family = MetricFamily::with(name, FamilyKind::Gauge, help);
        family.sample(&[("estimate", "least")], least).sample(&[("estimate", "most")], most)
    };
    vec![
        MetricFamily::counter(
            "ledger_answers_total",
            "Answers that the provider counted, summaries included: all that the store's ledger has.",
            sums.answers,
        ),
        MetricFamily::counter(
            "ledger_uncounted_answers_total",
            "Answers that the provider did not count; they are in no sum of money.",
            sums.uncounted,
        ),
        MetricFamily::counter(
            "ledger_unpriced_answers_total",
            "Answers of models without a price; they are in no sum of dollars.",
            sums.unpriced,
        ),
        MetricFamily::by(
            "ledger_tokens_total",
            "Tokens of the prompts of those answers, in our count: as they came, and as sent.",
            "prompt",
            [("raw", sums.raw), ("sent", sums.sent)],
        ),
        MetricFamily::by(
            "ledger_provider_tokens_total",
            "What the provider counted for them, in its own tokens.",
            "kind",
            kinds(&sums.provider),
        ),
        MetricFamily::counter(
            "ledger_paid_dollars_total",
            "Paid for prompts, answers and summaries, in US dollars at list prices.",
            sums.paid,
        ),
        estimates(
            "ledger_saved_dollars",
            "Estimated saving in US dollars, after the summaries; may be negative.",
            sums.saved.least,
            sums.saved.most,
        ),
        estimates(
            "ledger_saved_tokens",
            "Estimated saving in uncached input tokens, of all models; may be negative.",
            sums.saved_tokens.least,
            sums.saved_tokens.most,
        ),
        MetricFamily::counter(
            "ledger_summaries_total",
            "Answered calls of models that wrote summaries.",
            sums.summaries.answers,
        ),
        MetricFamily::counter(
            "ledger_summaries_dollars_total",
            "Their cost in US dollars, which is among what was paid.",
            sums.summaries.paid,
        ),
    ]
}

fn of_telemetry(counts: TelemetryCounts) -> MetricFamily {
    let TelemetryCounts { sent, dropped, failed } = counts;
    MetricFamily::by(
        "telemetry_spans_total",
        "Spans for OpenTelemetry: sent, dropped since the queue was full, or not taken.",
        "outcome",
        [("sent", sent), ("dropped", dropped), ("failed", failed)],
    )
}
