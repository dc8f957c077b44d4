//! What the ledger makes of requests.

use epitome_types::{TokenBreakdown, TokenUsage};

use super::*;

/// A request of a conversation at a second: tokens as it came and as it was sent.
pub(crate) fn exchange(session: &str, second: u64, raw: u64, sent: u64) -> FinishedRequest {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    let by = |results: u64| TokenBreakdown {
        system: 1_000,
        tool_results: results - 1_000,
        ..<_>::default()
    };
    FinishedRequest {
        tenant: None,
        session: Some(session.to_owned()),
        side: false,
        asks: RequestTerms {
            api: UpstreamApi::Anthropic,
            model: Some("claude-test".to_owned()),
            client: None,
            window: None,
            limit: 0,
            hour: false,
            parent: None,
        },
        sizes: RequestSizes {
            raw: by(raw),
            sent: by(sent),
            bytes_in: raw * 4,
            bytes_sent: sent * 4,
        },
        acts: RequestEffects::default(),
        skip: None,
        answer: RequestAnswer {
            status: 200,
            usage: Some(TokenUsage { cache_written: sent, output: 100, ..TokenUsage::default() }),
            ..RequestAnswer::default()
        },
        times: RequestTimes {
            started: at,
            prepared: Duration::from_millis(3),
            first_byte: Some(Duration::from_millis(700)),
            ended: at + Duration::from_secs(2),
        },
        arm: None,
    }
}

/// A request that ended with a status.
pub(crate) fn ended_with(status: u16, mut exchange: FinishedRequest) -> FinishedRequest {
    exchange.answer.status = status;
    exchange
}

fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(second)
}

pub(crate) fn terms() -> LedgerOptions {
    fn rates(model: Option<&str>, _: UpstreamApi, hour: bool) -> Option<Rates> {
        let cache = CachePrices { read: 0.1, write: if hour { 2.0 } else { 1.25 } };
        let price = Price { input: 3.0, cache, long: None };
        let price = model.filter(|model| model.starts_with("claude")).map(|_| price);
        Some(Rates { cache, price, window: 200_000, output: 5.0 })
    }
    LedgerOptions { rates, ..LedgerOptions::new(CachePrices { read: 0.1, write: 1.25 }) }
}

pub(crate) fn ledger(terms: LedgerOptions) -> UsageLedger {
    UsageLedger::new(terms, SystemTime::UNIX_EPOCH)
}

#[test]
fn a_request_is_counted_once_for_its_conversation_and_once_in_all() {
    let ledger = ledger(terms());
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    ledger.record(&exchange("b", 20, 6_000, 6_000));
    let books = ledger.snapshot();
    assert_eq!(books.all.tokens(), [16_000, 10_000]);
    assert_eq!((books.all.requests, books.all.answers, books.all.usage.output), (2, 2, 200));
    let names: Vec<_> = books.conversations.iter().map(|shown| shown.name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    let a = &books.conversations[1];
    assert_eq!((a.figures.tokens(), a.recent[0]), ([10_000, 4_000], [10_000, 4_000]));
    // 4,000 × 1.25 against 10,000 × 1.25, at 3 dollars a million.
    assert_eq!(a.figures.cost.bill, PromptCost { paid: 5_000.0, raw: 12_500.0 });
    assert!((a.figures.cost.dollars.saved() - 0.0225).abs() < 1e-9);
    assert_eq!(books.conversations[0].figures.cost.bill.saved(), 0.0);
    assert_eq!(books.requests[&(UpstreamApi::Anthropic, 200)], 2);
    assert_eq!((books.times.prepared.count, books.times.prepared.buckets[3]), (2, 2));
}

/// A request may ask for caches of both kinds; what was written to which is known from the answer.
#[test]
fn what_is_written_for_an_hour_costs_more_where_the_provider_says_so() {
    let check = |asks_hour: bool, for_hour: Option<u64>, expected: f64| {
        let ledger = ledger(terms());
        let mut request = exchange("a", 10, 4_000, 4_000);
        request.asks.hour = asks_hour;
        request.answer.written_for_hour = for_hour;
        ledger.record(&request);
        let paid = ledger.snapshot().all.cost.bill.paid;
        assert!((paid - expected).abs() < 1e-6, "{asks_hour} {for_hour:?}: {paid}");
    };
    for asks_hour in [false, true] {
        check(asks_hour, Some(0), 4_000.0 * 1.25);
        check(asks_hour, Some(1_000), 3_000.0 * 1.25 + 1_000.0 * 2.0);
        check(asks_hour, Some(4_000), 4_000.0 * 2.0);
    }
    check(false, None, 4_000.0 * 1.25);
    check(true, None, 4_000.0 * 2.0);
}

#[test]
fn nobody_pays_for_what_was_refused() {
    let ledger = ledger(terms());
    for status in [400, 529, 0] {
        ledger.record(&ended_with(status, exchange("a", 10, 10_000, 4_000)));
    }
    let all = ledger.snapshot().all;
    assert_eq!((all.requests, all.tokens(), all.cost.bill), (3, [0, 0], PromptCost::default()));
    assert_eq!(all.troubles.errors.into_iter().collect::<Vec<_>>(), [(0, 1), (400, 1), (529, 1)]);
}

#[test]
fn a_run_of_skips_is_an_alarm_until_one_goes_well() {
    let ledger = ledger(terms());
    let skip = |second| FinishedRequest {
        skip: Some(ProxySkip::Panicked),
        ..exchange("a", second, 5_000, 5_000)
    };
    for second in 1..=2 {
        ledger.record(&skip(second));
    }
    assert_eq!(ledger.snapshot().alarms(at(9)).count(), 0);
    for second in 3..=5 {
        ledger.record(&skip(second));
        ledger.record(&FinishedRequest { side: true, ..exchange("a", second, 2_000, 2_000) });
    }
    let books = ledger.snapshot();
    let alarm = books.alarms(at(9)).next().unwrap();
    assert_eq!((alarm.run, alarm.reason, books.all.troubles.alarms), (5, Some("panicked"), 1));
    assert_eq!(books.all.troubles.skips[&"panicked"], 5);
    assert_eq!(books.alarms(at(4_000)).count(), 0, "nobody uses it any longer");
    ledger.record(&FinishedRequest { skip: Some(ProxySkip::Chained), ..skip(6) });
    assert_eq!(ledger.snapshot().alarms(at(9)).count(), 1);
    ledger.record(&exchange("a", 7, 5_000, 5_000));
    assert_eq!(ledger.snapshot().alarms(at(9)).count(), 0);
}

#[test]
fn old_conversations_are_folded_and_nothing_is_lost() {
    let ledger = ledger(LedgerOptions { conversations: 3, ..terms() });
    for number in 0..10 {
        let mut exchange = exchange(&format!("s{number}"), number, 10_000, 4_000);
        exchange.skip = (number % 2 == 0).then_some(ProxySkip::Deadline);
        exchange.answer.overflowed = number == 1;
        ledger.record(&exchange);
        ledger.record(&ended_with(500, exchange));
    }
    let books = ledger.snapshot();
    assert_eq!((books.conversations.len(), books.older.count), (3, 7));
    let mut sum = books.older.sums.clone();
    books.conversations.iter().for_each(|shown| sum.merge(&shown.figures));
    assert_eq!(sum, books.all);
    assert_eq!(books.all.requests, 20);
}

#[test]
fn a_skip_that_broke_the_cache_is_ours() {
    let ledger = ledger(terms());
    let usage = |read, written| {
        Some(TokenUsage { cache_read: read, cache_written: written, ..TokenUsage::default() })
    };
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    // Failing open sends all of it: 11,000 × 1.25 = 13,750 was paid, and the raw history would have
    // read 10,000 and written 1,000 = 1,000 + 1,250.
    let mut skip =
        FinishedRequest { skip: Some(ProxySkip::Panicked), ..exchange("a", 20, 11_000, 11_000) };
    skip.answer.usage = usage(0, 11_000);
    ledger.record(&skip);
    let bill = ledger.snapshot().all.cost.bill;
    assert_eq!(bill, PromptCost { paid: 5_000.0 + 13_750.0, raw: 12_500.0 + 2_250.0 });
    assert!(bill.saved() < 0.0 && bill.share() < 0.0);
}

#[test]
fn what_is_only_watched_saves_nothing() {
    let ledger = ledger(LedgerOptions { shadow: true, ..terms() });
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    // One that would have been compressed, in a conversation that was answered before.
    let mut compressed = exchange("a", 70, 12_000, 3_000);
    compressed.acts.rewritten = true;
    compressed.sizes.raw.assistant = 100;
    ledger.record(&compressed);
    let all = ledger.snapshot().all;
    assert_eq!(all.tokens(), [22_100, 7_000]);
    let paid = 7_000.0 * 1.25;
    assert_eq!((all.cost.bill, all.cost.priced), (PromptCost { paid, raw: paid }, 2));
}

#[test]
fn what_passes_through_is_no_conversation() {
    let ledger = ledger(terms());
    for status in [200, 404, 413, 404] {
        let passed = FinishedRequest { session: None, ..exchange("", 10, 1_000, 1_000) };
        ledger.record(&ended_with(status, passed));
    }
    let books = ledger.snapshot();
    assert_eq!((books.passed, books.all.requests, books.conversations.len()), (1, 0, 0));
    assert_eq!(books.untaken.into_iter().collect::<Vec<_>>(), [(404, 2), (413, 1)]);
    assert_eq!(books.requests[&(UpstreamApi::Anthropic, 404)], 2);
}

#[test]
fn failures_before_a_conversation_is_known_are_told_too() {
    let ledger = ledger(terms());
    for second in 1..=4 {
        let mut lost = exchange("", second, 1_000, 1_000);
        (lost.session, lost.sizes.raw, lost.sizes.sent) = (None, <_>::default(), <_>::default());
        lost.answer.usage =
            Some(TokenUsage { cache_read: 8_000, cache_written: 2_000, ..TokenUsage::default() });
        ledger.record(&FinishedRequest { skip: Some(ProxySkip::Unreadable), ..lost });
    }
    let books = ledger.snapshot();
    let alarm = books.alarms(at(9)).next().unwrap();
    assert_eq!(
        (alarm.name.as_str(), alarm.run, alarm.reason),
        ("(unknown)", 4, Some("unreadable"))
    );
    // It went out as it came, and so it cost what it would have: 800 + 2,500 each.
    assert_eq!(books.all.cost.bill, PromptCost { paid: 13_200.0, raw: 13_200.0 });
    assert_eq!((books.passed, books.all.troubles.skips[&"unreadable"]), (0, 4));
}

#[test]
fn a_name_of_any_length_takes_bounded_room() {
    let ledger = ledger(terms());
    let model = Some("m".repeat(1 << 20));
    let mut long = exchange(&"ä".repeat(1 << 20), 10, 10_000, 4_000);
    long.asks.model = model;
    ledger.record(&long);
    let shown = &ledger.snapshot().conversations[0];
    assert_eq!((shown.name.len(), shown.model.as_ref().unwrap().len()), (200, 200));
}

#[test]
fn many_threads_may_tell_it() {
    let ledger = ledger(terms());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                for second in 0..250 {
                    ledger.record(&exchange(&format!("s{thread}"), second, 2_000, 1_500));
                }
            });
        }
    });
    let books = ledger.snapshot();
    assert_eq!((books.all.requests, books.all.tokens()), (2_000, [4_000_000, 3_000_000]));
    assert_eq!(books.conversations.len(), 8);
    assert!(books.conversations.iter().all(|shown| shown.recent.len() == 60));
}

/// What one proxy counted stands in the figures of the next, and the one after that.
#[test]
fn a_ledger_goes_on_from_those_before_it() {
    let first = ledger(terms());
    let skip = Some(ProxySkip::Deadline);
    first.record(&FinishedRequest { skip, ..exchange("a", 10, 10_000, 4_000) });
    first.record(&exchange("b", 20, 6_000, 6_000));
    let kept = [first.kept(), "torn".to_owned()];
    let second = UsageLedger::new(terms(), at(90)).after(&kept);
    let [before, after] = [first.snapshot(), second.snapshot()];
    assert_eq!((&after.all, &after.requests), (&before.all, &before.requests));
    assert_eq!(
        (&after.times.prepared, &after.times.first_byte),
        (&before.times.prepared, &before.times.first_byte)
    );
    assert_eq!((after.conversations.len(), after.older.count), (0, 2));
    assert_eq!((after.started, after.since), (at(90), at(0)));
    second.record(&exchange("a", 100, 9_000, 9_000));
    let both = second.snapshot();
    assert_eq!((both.all.requests, both.older.sums.requests), (3, 2));
    // Each keeps its own alone, so that nothing is counted twice.
    let third = UsageLedger::new(terms(), at(200)).after(&[first.kept(), second.kept()]).snapshot();
    assert_eq!((third.all.tokens(), third.older.count), (both.all.tokens(), 3));
}

/// Each tenant has its own sums, after a restart, too; the sums over all have both.
#[test]
fn tenants_see_nothing_of_each_other() {
    let first = ledger(terms());
    for (tenant, session, tokens) in [("anna", "anna/a", 10_000), ("ben", "ben/b", 6_000)] {
        let tenant = Some(tenant.to_owned());
        first.record(&FinishedRequest { tenant, ..exchange(session, 10, tokens, 4_000) });
    }
    let anna = first.snapshot_of("anna");
    let names: Vec<_> = anna.conversations.iter().map(|shown| shown.name.as_str()).collect();
    assert_eq!((names, anna.all.tokens()), (vec!["anna/a"], [10_000, 4_000]));
    assert_eq!(anna.requests.values().sum::<u64>(), 1);
    assert_eq!(first.snapshot_of("carl").all, RequestSums::default());
    assert_eq!(first.snapshot().all.requests, 2);
    let second = UsageLedger::new(terms(), at(90)).after(&[first.kept()]);
    assert_eq!(second.snapshot_of("ben").all, first.snapshot_of("ben").all);
    assert_eq!(second.snapshot_of("ben").older.count, 1);
    assert_eq!(second.snapshot().all, first.snapshot().all);
}

/// Of a model that nobody knows the window is guessed, and the limit that its provider told counts.
#[test]
fn what_a_prompt_would_have_cost_ends_with_the_limit_of_an_unknown_model() {
    let of = |model, limit| {
        let asks = RequestTerms { limit, ..exchange("a", 0, 4_000, 2_000).asks };
        (terms().rates)(Some(model), asks.api, asks.hour).map(|rates| rates.window_of(&asks))
    };
    assert_eq!(of("my-model", 0), Some(200_000));
    assert_eq!(of("my-model", 6_000), Some(6_000));
    assert_eq!(of("claude-x", 6_000), Some(200_000));
}

/// A conversation that is compressed twice, of which the provider counts parts otherwise than we do.
fn talk() -> Vec<FinishedRequest> {
    let mut talk = Vec::new();
    let (mut raw, mut sent, mut counted) = (0, 0, 0.0);
    for turn in 0..60 {
        let grown = 2_000 + 700 * (turn % 3);
        let rewritten = turn % 25 == 24;
        raw += grown;
        (sent, counted) = match rewritten {
            true => (8_000, 13_000.0),
            false => (sent + grown, counted + grown as f64 * 1.1),
        };
        let request = exchange("a", 60 * (turn + 1), raw, sent);
        let usage = Some(TokenUsage { input: counted as u64, output: 7, ..TokenUsage::default() });
        let mut request = FinishedRequest {
            answer: RequestAnswer { usage, ..request.answer },
            acts: RequestEffects { rewritten, ..request.acts },
            ..request
        };
        (request.sizes.raw.assistant, request.sizes.sent.assistant) = (u64::from(turn > 0), 0);
        talk.push(request);
    }
    talk
}

#[test]
fn what_is_saved_depends_on_no_restart() {
    let talk = talk();
    let undisturbed = ledger(terms());
    talk.iter().for_each(|request| undisturbed.record(request));
    let expected = undisturbed.snapshot().all.cost;
    assert!(expected.bill.saved() > 100_000.0, "{expected:?}");
    for every in [1, 7, 26, 40] {
        let mut kept = Vec::new();
        for part in talk.chunks(every) {
            let ledger = ledger(terms()).after(&kept);
            part.iter().for_each(|request| ledger.record(request));
            kept.push(ledger.kept());
        }
        let cost = ledger(terms()).after(&kept).snapshot().all.cost;
        let off =
            (cost.bill.raw - expected.bill.raw).abs() + (cost.bill.paid - expected.bill.paid).abs();
        assert!(off < 1.0, "every {every} requests: {cost:?}, not {expected:?}");
    }
}

/// Two proxies that serve it by turns count no more than one.
#[test]
fn what_is_saved_is_no_more_where_several_serve_a_conversation() {
    let talk = talk();
    let one = ledger(terms());
    talk.iter().for_each(|request| one.record(request));
    let most = one.snapshot().all.cost.bill.saved();
    for every in [1, 2, 9] {
        let both = [ledger(terms()), ledger(terms())];
        let (mut served, mut compressed) = (usize::MAX, [0; 2]);
        for (turn, request) in talk.iter().enumerate() {
            let serves = turn / every % 2;
            let mut request = request.clone();
            // Whoever did not see a compression is told that another one is in force.
            let now = turn / 25 + usize::from(turn % 25 == 24);
            request.acts.rewritten |= compressed[serves] != now;
            request.acts.overtaken = served != serves && served != usize::MAX;
            (served, compressed[serves]) = (serves, now);
            both[serves].record(&request);
        }
        let bills = both.map(|ledger| ledger.snapshot().all.cost.bill.saved());
        let saved = bills[0] + bills[1];
        assert!(saved <= most * 1.001 && saved > most * 0.5, "{every}: {saved} of {most}");
    }
}
