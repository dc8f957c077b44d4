//! Rows of the store's ledger: the cost of each answer of this proxy, by hour and session.
//!
//! Invariant: an answer is in one row. A page that was kept is only ever kept again with more in it,
//! under the same number; rows that were let go are followed by a new number. Kept by the ledger,
//! written to the store by [`LedgerKeeper::keep_paid`](super::LedgerKeeper::keep_paid).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use epitome::{PaidArm, PaidCost, PaidKey, PaidPurpose, PaidRow, PaidService, PaidSums};
use epitome_types::TokenUsage;

use super::exchange::FinishedRequest;
use super::figures::clipped;
use super::saving::{Settled, SettledAnswer};
use super::{OwnCost, OwnModelCost, Rates};
use crate::clients::program;

/// From so many sessions and hours on rows are let go as soon as they are kept.
const MOST: usize = 1_024;

/// Rows of one session within an hour.
#[derive(Clone, Debug, PartialEq)]
pub struct PaidPage {
    /// Whose it is; none where the proxy needs no token.
    pub tenant: Option<String>,
    /// Number of the page among those of the same session and hour.
    pub part: u64,
    /// The hour, in hours since 1970.
    pub hour: u64,
    /// The name of the session, as its tenant knows it; none for answers of none.
    pub session: Option<String>,
    /// The arm of an experiment that the session belongs to, if any.
    pub arm: Option<PaidArm>,
    /// Whether it is of calls for summaries; other requests of the session have a page of their own.
    pub is_of_summaries: bool,
    /// The rows.
    pub rows: Vec<PaidRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PagePlace {
    tenant: Option<String>,
    hour: u64,
    session: Option<String>,
    arm: Option<PaidArm>,
    /// Whether it is of the calls for summaries, which nobody's request brings.
    is_of_summaries: bool,
}

/// The rows that may still grow, or are not kept yet.
#[derive(Debug, Default)]
pub(super) struct PaidRows {
    pages: BTreeMap<PagePlace, BTreeMap<PaidKey, PaidSums>>,
    unkept: BTreeSet<PagePlace>,
    part: u64,
    /// The calls for summaries that are in rows already.
    own: BTreeMap<OwnCallKey, (OwnCost, TokenUsage)>,
}

/// The calls for summaries that are counted together: model, whether it is paid nothing, conversation,
/// arm.
type OwnCallKey = (String, bool, Option<[String; 2]>, Option<PaidArm>);

impl PaidRows {
    /// Adds a request that the provider took.
    pub(super) fn add(
        &mut self,
        exchange: &FinishedRequest,
        settled: Option<SettledAnswer>,
        rates: Option<Rates>,
    ) {
        let FinishedRequest { tenant, session, side, asks, answer, times, arm, .. } = exchange;
        let place = PagePlace {
            tenant: tenant.clone(),
            hour: hour(times.ended),
            session: session.as_deref().map(|name| bare(tenant.as_deref(), name).to_owned()),
            arm: arm.clone(),
            is_of_summaries: false,
        };
        let price = rates.and_then(|rates| rates.price);
        let key = PaidKey {
            client: asks.client.as_deref().and_then(program),
            model: asks.model.as_deref().map(|model| clipped(model).to_owned()),
            purpose: if *side { PaidPurpose::Side } else { PaidPurpose::Turn },
            priced: price.is_some(),
        };
        let mut sums = PaidSums {
            skips: u64::from(exchange.skip.is_some()),
            overflows: u64::from(answer.overflowed || answer.too_long),
            service: service(exchange),
            ..PaidSums::default()
        };
        if answer.was_taken() {
            (sums.raw, sums.sent) = (exchange.sizes.raw.sum(), exchange.sizes.sent.sum());
        }
        match (answer.counted(), settled) {
            (Some(usage), Some(settled)) => {
                let output = usage.output as f64 * rates.map_or(1.0, |rates| rates.output);
                (sums.answers, sums.usage) = (1, usage);
                sums.full_price = settled.cost(output, |side| [side.bill.paid, side.bill.raw]);
                if let Some(price) = price {
                    let output = price.of(usage.prompt(), output);
                    sums.dollars = settled.cost(output, |side| {
                        let dollars = side.dollars(&price);
                        [dollars.paid, dollars.raw]
                    });
                }
            }
            _ => sums.uncounted = u64::from(answer.was_taken()),
        }
        self.put(place, key, sums);
    }

    /// Adds the calls for summaries that came since.
    fn add_own(&mut self, own: &[OwnModelCost], now: SystemTime) {
        for call in own {
            let key =
                (call.model.clone(), call.unpaid, call.conversation.clone(), call.arm.clone());
            let (cost, usage) = self.own.get(&key).copied().unwrap_or_default();
            let answers = call.cost.calls.saturating_sub(cost.calls);
            if answers == 0 {
                continue;
            }
            self.own.insert(key, (call.cost, call.usage));
            let since = |now: u64, before: u64| now.saturating_sub(before);
            let priced = call.cost.unpriced == cost.unpriced;
            let paid = |prompts| PaidCost { prompts, ..PaidCost::default() };
            let dollars = if priced { call.cost.dollars - cost.dollars } else { 0.0 };
            let sums = PaidSums {
                answers,
                usage: TokenUsage {
                    input: since(call.usage.input, usage.input),
                    cache_read: since(call.usage.cache_read, usage.cache_read),
                    cache_written: since(call.usage.cache_written, usage.cache_written),
                    output: since(call.usage.output, usage.output),
                },
                full_price: paid(call.cost.tokens - cost.tokens),
                dollars: paid(dollars),
                ..PaidSums::default()
            };
            let arm = call.arm.clone();
            let (tenant, session) = call.conversation.clone().map(<(_, _)>::from).unzip();
            let place = PagePlace { tenant, hour: hour(now), session, arm, is_of_summaries: true };
            let model = Some(clipped(&call.model).to_owned());
            let key = PaidKey { client: None, model, purpose: PaidPurpose::Summary, priced };
            self.put(place, key, sums);
        }
    }

    fn put(&mut self, place: PagePlace, key: PaidKey, sums: PaidSums) {
        *self.pages.entry(place.clone()).or_default().entry(key).or_default() += sums;
        self.unkept.insert(place);
    }

    /// The pages that have something in them which is not kept. They count as kept from here on.
    pub(super) fn take_unkept(&mut self, own: Vec<OwnModelCost>, now: SystemTime) -> Vec<PaidPage> {
        self.add_own(&own, now);
        let part = self.part;
        let page = |place: PagePlace| {
            let rows = self.pages.get(&place)?.iter();
            let rows = rows.map(|(key, sums)| PaidRow { key: key.clone(), sums: *sums }).collect();
            let PagePlace { tenant, hour, session, arm, is_of_summaries } = place;
            Some(PaidPage { tenant, part, hour, session, arm, is_of_summaries, rows })
        };
        std::mem::take(&mut self.unkept).into_iter().filter_map(page).collect()
    }

    /// Takes back those that could not be kept, and lets go of what no longer grows where there is
    /// nothing left to keep.
    pub(super) fn kept(&mut self, failed: Vec<PaidPage>, now: SystemTime) {
        let places = failed.into_iter().map(|page| {
            let PaidPage { tenant, hour, session, arm, is_of_summaries, .. } = page;
            PagePlace { tenant, hour, session, arm, is_of_summaries }
        });
        self.unkept.extend(places);
        let has_old = self.pages.keys().any(|place| place.hour != hour(now));
        if self.unkept.is_empty() && (has_old || self.pages.len() > MOST) {
            self.pages.clear();
            self.part += 1;
        }
    }
}

impl SettledAnswer {
    /// The cost of an answer with its output; `of` gives the prompt that was paid for and that of
    /// the client alone.
    fn cost(&self, output: f64, of: impl Fn(&Settled) -> [f64; 2]) -> PaidCost {
        let [prompts, by_threshold] = of(&self.by_threshold);
        let [_, at_window] = of(&self.at_window);
        PaidCost { prompts, output, by_threshold, at_window }
    }
}

/// How the requests of an experiment were served; nobody asks it of others.
fn service(exchange: &FinishedRequest) -> Option<PaidService> {
    let FinishedRequest { answer, times, side, .. } = exchange;
    exchange.arm.as_ref().filter(|_| !side)?;
    let first_byte = times.first_byte.filter(|_| answer.was_taken());
    Some(PaidService {
        requests: 1,
        refused: u64::from(!answer.was_taken()),
        overflows: u64::from(answer.overflowed || answer.too_long),
        prepared: times.prepared.as_secs_f64(),
        first_bytes: u64::from(first_byte.is_some()),
        first_byte: first_byte.unwrap_or_default().as_secs_f64(),
    })
}

fn hour(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() / 3_600
}

/// The name of a session without its tenant.
fn bare<'n>(tenant: Option<&str>, name: &'n str) -> &'n str {
    let rest = tenant.and_then(|tenant| name.strip_prefix(tenant)?.strip_prefix('/'));
    rest.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use epitome::{MemoryStore, PaidRecord};
    use epitome::{SavingsLedger, record_paid, session_hash};

    use super::super::tests::{exchange, ledger, terms};
    use super::super::{LedgerOptions, OwnCost, UsageLedger};
    use super::*;

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    }

    /// Keeps what is not kept, as the program does.
    fn keep(ledger: &UsageLedger, store: &MemoryStore, writer: &str, now: u64) {
        for page in ledger.take_unkept(at(now)) {
            let PaidPage { part, hour, session, is_of_summaries, rows, .. } = page;
            let session = session.map(|name| session_hash("local/default", &name));
            let session = session.unwrap_or_default();
            let record = PaidRecord { hour, session, rows, ..PaidRecord::default() };
            let writer = format!("{writer}.{part}.{is_of_summaries}");
            record_paid(store, "local", &writer, &record).unwrap();
        }
        ledger.paid_kept(Vec::new(), at(now));
    }

    /// Answers, dollars paid, and the least that was saved.
    #[track_caller]
    fn check(store: &MemoryStore, answers: u64, paid: f64, least: f64) {
        let all = SavingsLedger::load(store, "local").unwrap();
        let sums = all.report("1970-01-01T02:00:00Z", None).all.sums;
        assert_eq!(sums.answers, answers, "{sums:?}");
        assert!((sums.paid - paid).abs() < 1e-9, "{sums:?}");
        assert!((sums.saved.least - least).abs() < 1e-9, "{sums:?}");
    }

    /// 4,000 written tokens and 100 of output, 5 times as dear, for 3 dollars a million; as it came
    /// it would have been 10,000 written tokens.
    const PAID: f64 = (5_000.0 + 500.0) * 3.0 / 1e6;
    const SAVED: f64 = 7_500.0 * 3.0 / 1e6;

    #[test]
    fn each_answer_is_counted_once_however_often_it_is_kept() {
        let store = MemoryStore::new();
        let [one, other] = [ledger(terms()), ledger(terms())];
        for (number, second) in [(1, 10), (2, 3_590), (3, 3_601), (4, 3_580)] {
            // The last one ended in an hour that was kept before.
            one.record(&exchange(&format!("s{number}"), second, 10_000, 4_000));
            keep(&one, &store, "one", second.max(3_700));
            keep(&one, &store, "one", second.max(3_700));
            check(&store, number, number as f64 * PAID, number as f64 * SAVED);
        }
        other.record(&exchange("s1", 3_700, 10_000, 4_000));
        keep(&other, &store, "other", 3_700);
        check(&store, 5, 5.0 * PAID, 5.0 * SAVED);
    }

    /// 180,000 tokens fit a window of 200,000, and Claude Code sums up from 167,000 on.
    #[test]
    fn a_saving_reaches_from_the_clients_threshold_to_its_window() {
        let range_of = |client: &str, raws: &[u64], terms: LedgerOptions| {
            let (store, ledger) = (MemoryStore::new(), ledger(terms));
            for (turn, raw) in (1..).zip(raws) {
                let mut exchange = exchange("a", turn * 60, *raw, 40_000);
                exchange.asks.client = Some(client.to_owned());
                ledger.record(&exchange);
            }
            keep(&ledger, &store, "one", 600);
            let all = SavingsLedger::load(&store, "local").unwrap();
            let report = all.report("1970-01-01T02:00:00Z", None);
            assert_eq!(report.by.client[0].name.as_deref(), client.split('/').next());
            report.all.sums.saved
        };
        let range = |client: &str, raws: &[u64]| range_of(client, raws, terms());
        let early = range("claude-cli/2.1.197", &[160_000, 180_000, 185_000]);
        assert!(early.least < early.most, "{early:?}");
        // Who told the client where to compact knows where it does.
        let raws = [160_000, 180_000, 185_000];
        let told = LedgerOptions { compacts_in: Some(200_000), ..terms() };
        let told = range_of("claude-cli/2.1.197", &raws, told);
        assert_eq!((told.least, told.most), (early.least, early.least));
        let below = range("claude-cli/2.1.197", &[100_000, 120_000]);
        assert!(below.least == below.most && below.least > 0.0, "{below:?}");
        let patient = range("somebody/1", &[160_000, 180_000, 185_000]);
        assert_eq!(patient.least, patient.most);
    }

    #[test]
    fn a_page_that_cannot_be_kept_is_kept_later() {
        let (store, ledger) = (MemoryStore::new(), ledger(terms()));
        ledger.record(&exchange("a", 10, 10_000, 4_000));
        let failed = ledger.take_unkept(at(20));
        assert_eq!(failed.len(), 1);
        ledger.paid_kept(failed, at(4_000));
        ledger.record(&exchange("a", 4_000, 10_000, 10_000));
        keep(&ledger, &store, "one", 4_000);
        assert!(ledger.take_unkept(at(4_000)).is_empty());
        let hash = session_hash("local/default", "a");
        let sums = SavingsLedger::load_session(&store, "local", &hash).unwrap().by_session();
        assert_eq!((sums.len(), sums[&hash].answers), (1, 2));
    }

    #[test]
    fn summaries_are_paid_and_save_nothing() {
        fn own() -> Vec<OwnModelCost> {
            let usage = TokenUsage { input: 1_000, output: 100, ..TokenUsage::default() };
            let cost = OwnCost { calls: 2, tokens: 1_500.0, dollars: 0.01, unpriced: 0 };
            vec![OwnModelCost { model: "writes".into(), cost, usage, ..OwnModelCost::default() }]
        }
        let (store, ledger) = (MemoryStore::new(), ledger(LedgerOptions { own, ..terms() }));
        ledger.record(&exchange("a", 10, 10_000, 4_000));
        keep(&ledger, &store, "one", 20);
        keep(&ledger, &store, "one", 30);
        check(&store, 3, PAID + 0.01, SAVED - 0.01);
    }

    #[test]
    fn a_summary_is_paid_by_the_session_that_asked_for_it() {
        fn own() -> Vec<OwnModelCost> {
            let call = |name: &str, calls| {
                let cost = OwnCost { calls, tokens: 500.0, dollars: 0.01, unpriced: 0 };
                let conversation = Some(["local".to_owned(), name.to_owned()]);
                OwnModelCost { conversation, cost, ..OwnModelCost::default() }
            };
            vec![call("a", 2), call("b", 1)]
        }
        let (store, ledger) = (MemoryStore::new(), ledger(LedgerOptions { own, ..terms() }));
        for second in [10, 20] {
            ledger.record(&exchange("a", second, 10_000, 10_000));
            keep(&ledger, &store, "one", second);
        }
        let summaries = |name: &str| {
            let hash = session_hash("local/default", name);
            let sums = SavingsLedger::load_session(&store, "local", &hash).unwrap().by_session();
            (sums[&hash].summaries.answers, sums[&hash].saved.most)
        };
        assert_eq!([summaries("a"), summaries("b")], [(2, -0.01), (1, -0.01)]);
        let of = |tenant| ledger.snapshot_of(tenant).own.calls;
        assert_eq!([of("local"), of("another"), ledger.snapshot().own.calls], [3, 0, 3]);
    }

    #[test]
    fn what_is_only_watched_is_paid_and_saves_nothing() {
        let (store, ledger) =
            (MemoryStore::new(), ledger(LedgerOptions { shadow: true, ..terms() }));
        ledger.record(&exchange("a", 10, 10_000, 4_000));
        keep(&ledger, &store, "one", 20);
        check(&store, 1, PAID, 0.0);
    }

    #[test]
    fn a_program_is_known_without_its_version() {
        let check = |agent, name: Option<&str>| assert_eq!(program(agent).as_deref(), name);
        check("claude-cli/2.1.197 (external, cli)", Some("claude-cli"));
        check("OpenAI/Python 1.0", Some("openai"));
        check("(none)", None);
        check("", None);
    }
}
