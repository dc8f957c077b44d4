//! `GET /status` for programs: the figures as JSON.
//!
//! Invariant: a function of a copy of the ledger and the time; names are a contract, added to and
//! never changed. Called by the server.

use std::collections::BTreeMap;
use std::time::SystemTime;

use epitome::StoreOutage;
use epitome_types::{TokenBreakdown, TokenUsage};
use serde::Serialize;

use crate::ledger::{
    ConversationFigures, LedgerSnapshot, OwnCost, PromptCost, RequestSums, TroubleSums,
};

/// The type that the JSON is served as.
pub(crate) const TYPE: &str = "application/json";

/// The value of the field `schema`.
const SCHEMA: &str = "epitome/status@1";

/// All figures, as JSON.
pub(crate) fn json(
    books: &LedgerSnapshot,
    outage: Option<&StoreOutage>,
    now: SystemTime,
) -> String {
    let status = StatusDocument {
        proxy: ProxyFacts {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            now: moment(now),
            started: moment(books.started),
            since: moment(books.since),
            shadow: books.shadow,
        },
        store: Store::of(outage),
        all: StatusSums::of(&books.all),
        own_calls: OwnCalls::of(books.own),
        passed: books.passed,
        alarms: books.alarms(now).map(Alarm::of).collect(),
        sessions: books.conversations.iter().map(SessionStatusRow::of).collect(),
        older: Older { sessions: books.older.count, sums: StatusSums::of(&books.older.sums) },
    };
    // Nothing in it can fail to be written; were it so, an empty object says as much.
    serde_json::to_string_pretty(&status).unwrap_or_else(|_| "{}".to_owned())
}

/// A time, ISO 8601.
pub(crate) fn moment(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(epitome::calendar_time(time)).to_string()
}

#[derive(Serialize)]
struct StatusDocument<'a> {
    #[serde(flatten)]
    proxy: ProxyFacts,
    store: Store<'a>,
    all: StatusSums<'a>,
    /// Calls of models that write summaries; what they cost is part of what was paid in `all.net`.
    own_calls: OwnCalls,
    /// Requests that passed through untouched, since they hold no conversation.
    passed: u64,
    alarms: Vec<Alarm<'a>>,
    /// The one used last first.
    sessions: Vec<SessionStatusRow<'a>>,
    /// Those that are no longer kept apart.
    older: Older<'a>,
}

/// Which proxy tells, and when.
#[derive(Serialize)]
struct ProxyFacts {
    schema: &'static str,
    version: &'static str,
    now: String,
    started: String,
    /// Since when the sums count, over all proxies on this store.
    since: String,
    /// Whether all goes out as it came; `sent` is what would have been sent then.
    shadow: bool,
}

/// The store behind the proxy; what is said goes to memory while it cannot be written.
#[derive(Serialize)]
struct Store<'a> {
    writable: bool,
    cause: Option<&'a str>,
    remedy: Option<&'a str>,
}

impl<'a> Store<'a> {
    fn of(outage: Option<&'a StoreOutage>) -> Self {
        let (cause, remedy) = outage.map(|it| (it.cause.as_str(), it.remedy)).unzip();
        Self { writable: outage.is_none(), cause, remedy }
    }
}

#[derive(Serialize)]
struct SessionStatusRow<'a> {
    session: &'a str,
    api: &'static str,
    model: Option<&'a str>,
    first: String,
    last: String,
    /// Tokens of its newest prompts, oldest first: as they came and as they were sent.
    recent: Vec<[u64; 2]>,
    #[serde(flatten)]
    sums: StatusSums<'a>,
}

#[derive(Serialize)]
struct Older<'a> {
    sessions: u64,
    #[serde(flatten)]
    sums: StatusSums<'a>,
}

/// Requests of a conversation that failed open one after the other.
#[derive(Serialize)]
struct Alarm<'a> {
    session: &'a str,
    skips: u64,
    reason: &'static str,
}

#[derive(Serialize)]
struct StatusSums<'a> {
    requests: u64,
    side_requests: u64,
    tokens: Tokens<'a>,
    compressions: u64,
    /// Tool results that were made smaller before they were first sent.
    arrivals: u64,
    provider: Provider,
    net: Net,
    #[serde(flatten)]
    troubles: StatusTroubles<'a>,
    bytes: Sides,
}

/// What did not go as it should.
#[derive(Serialize)]
struct StatusTroubles<'a> {
    skips: &'a BTreeMap<&'static str, u64>,
    alarms: u64,
    overflows: u64,
    input_transformations: u64,
    /// By status; 0 where there was no answer.
    errors: &'a BTreeMap<u16, u64>,
}

#[derive(Serialize)]
struct Tokens<'a> {
    raw: u64,
    sent: u64,
    raw_by: &'a TokenBreakdown,
    sent_by: &'a TokenBreakdown,
}

#[derive(Serialize)]
struct Provider {
    answers: u64,
    #[serde(flatten)]
    usage: TokenUsage,
}

/// What the provider was paid against what the client would have paid by itself, under the same cache
/// and as far as its window goes.
#[derive(Serialize)]
struct Net {
    /// In the price of one token of input that is not cached.
    #[serde(flatten)]
    tokens: StatusCost,
    /// In US dollars, for those answers whose model's price is known.
    dollars: Option<StatusCost>,
    priced_answers: u64,
    /// Answers of models whose price is not known; they are in no sum of money.
    unpriced_answers: u64,
}

#[derive(Serialize)]
struct StatusCost {
    paid: f64,
    raw: f64,
    saved: f64,
    /// Of what the raw history would have cost; negative where it would have cost less.
    share: f64,
}

#[derive(Serialize)]
struct Sides {
    raw: u64,
    sent: u64,
}

/// Calls of models that write summaries.
#[derive(Serialize)]
struct OwnCalls {
    calls: u64,
    paid: f64,
    dollars: f64,
    unpriced: u64,
}

impl OwnCalls {
    fn of(own: OwnCost) -> Self {
        let OwnCost { calls, tokens, dollars, unpriced } = own;
        let dollars = (dollars * 1e6).round() / 1e6;
        Self { calls, paid: tokens.round(), dollars, unpriced }
    }
}

impl<'a> SessionStatusRow<'a> {
    fn of(shown: &'a ConversationFigures) -> Self {
        Self {
            session: &shown.name,
            api: shown.api.name(),
            model: shown.model.as_deref(),
            first: moment(shown.first),
            last: moment(shown.last),
            recent: shown.recent.iter().copied().collect(),
            sums: StatusSums::of(&shown.figures),
        }
    }
}

impl<'a> Alarm<'a> {
    fn of(shown: &'a ConversationFigures) -> Self {
        Self { session: &shown.name, skips: shown.run, reason: shown.reason.unwrap_or_default() }
    }
}

impl<'a> StatusSums<'a> {
    fn of(figures: &'a RequestSums) -> Self {
        let [raw, sent] = figures.tokens();
        Self {
            requests: figures.requests,
            side_requests: figures.side,
            tokens: Tokens {
                raw,
                sent,
                raw_by: &figures.traffic.raw,
                sent_by: &figures.traffic.sent,
            },
            compressions: figures.epochs,
            arrivals: figures.arrivals,
            provider: Provider { answers: figures.answers, usage: figures.usage },
            net: Net {
                tokens: StatusCost::of(figures.cost.bill, 1.0),
                dollars: (figures.cost.priced > 0)
                    .then(|| StatusCost::of(figures.cost.dollars, 1e6)),
                priced_answers: figures.cost.priced,
                unpriced_answers: figures.cost.unpriced,
            },
            troubles: StatusTroubles::new(&figures.troubles),
            bytes: Sides { raw: figures.traffic.bytes_in, sent: figures.traffic.bytes_sent },
        }
    }
}

impl<'a> StatusTroubles<'a> {
    fn new(troubles: &'a TroubleSums) -> Self {
        Self {
            skips: &troubles.skips,
            alarms: troubles.alarms,
            overflows: troubles.overflows,
            input_transformations: troubles.transformations,
            errors: &troubles.errors,
        }
    }
}

impl StatusCost {
    /// A bill, to so many parts of its unit.
    fn of(bill: PromptCost, parts: f64) -> Self {
        // Nothing is not less than nothing: 0 is added to a 0 below it.
        let round = |cost: f64| (cost * parts).round() / parts + 0.0;
        Self {
            paid: round(bill.paid),
            raw: round(bill.raw),
            saved: round(bill.saved()),
            share: (bill.share() * 1e4).round() / 1e4,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::ledger::tests::{ended_with, exchange, ledger, terms};
    use crate::ledger::{FinishedRequest, RequestEffects};
    use crate::skip::ProxySkip;

    #[test]
    fn programs_are_told_everything() {
        let ledger = ledger(terms());
        let mut first = exchange("a \"b\"", 10, 10_000, 4_000);
        first.acts = RequestEffects {
            compressions: vec![[10_000, 4_000]],
            arrivals: 2,
            rewritten: true,
            overtaken: false,
        };
        ledger.record(&first);
        for second in 20..23 {
            let skip = Some(ProxySkip::Failed);
            let skipped = FinishedRequest { skip, ..exchange("b", second, 5_000, 5_000) };
            ledger.record(&ended_with(529, skipped));
        }
        let text = json(&ledger.snapshot(), None, SystemTime::UNIX_EPOCH + Duration::from_secs(90));
        let told: Value = serde_json::from_str(&text).unwrap();
        let at = |path: &str| told.pointer(path).unwrap_or(&Value::Null).clone();
        for (path, expected) in [
            ("/schema", json!("epitome/status@1")),
            ("/now", json!("1970-01-01T00:01:30Z")),
            ("/shadow", json!(false)),
            ("/all/requests", json!(4)),
            ("/all/tokens/raw", json!(10_000)),
            ("/all/tokens/sent_by/tool_results", json!(3_000)),
            ("/all/compressions", json!(1)),
            ("/all/provider/cache_written", json!(4_000)),
            ("/all/net/saved", json!(7_500.0)),
            ("/all/net/share", json!(0.6)),
            ("/all/net/dollars/saved", json!(0.0225)),
            ("/all/errors/529", json!(3)),
            ("/alarms/0", json!({"session": "b", "skips": 3, "reason": "failed"})),
            ("/sessions/1/session", json!("a \"b\"")),
            ("/sessions/1/recent", json!([[10_000, 4_000]])),
            ("/sessions/0/skips", json!({"failed": 3})),
            ("/sessions/0/net/dollars", Value::Null),
            ("/older/sessions", json!(0)),
        ] {
            assert_eq!(at(path), expected, "{path} in {text}");
        }
    }
}
