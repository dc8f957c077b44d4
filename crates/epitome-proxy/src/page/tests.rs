//! What the page says.

use std::time::Duration;

use epitome_types::TokenUsage;

use super::*;
use crate::ledger::tests::{ended_with, exchange, ledger, terms};
use crate::ledger::{FinishedRequest, LedgerOptions, UsageLedger};
use crate::skip::ProxySkip;

fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(second)
}

#[track_caller]
fn check(ledger: &UsageLedger, there: &[&str], absent: &[&str]) {
    let page = page(&ledger.snapshot(), None, at(1_000));
    for text in there {
        assert!(page.contains(text), "no `{text}` in\n{page}");
    }
    for text in absent {
        assert!(!page.contains(text), "`{text}` in\n{page}");
    }
}

#[test]
fn an_empty_ledger_is_a_page() {
    let nothing = ["No prompt was sent yet.", "None yet.", "no answer came with a count yet"];
    check(&ledger(terms()), &nothing, &["NaN", "inf", "role=\"alert\"", "Calls for summaries"]);
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let ledger = ledger(terms());
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    let absent = ["<script", "http://", "https://", "src=", "onload", "@import", "url("];
    check(&ledger, &["http-equiv=\"refresh\"", "prefers-color-scheme"], &absent);
}

#[test]
fn what_was_saved_is_told_net() {
    let ledger = ledger(terms());
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    let net =
        "<b class=\"good\">60 %</b><small>$0.02 · 5,000 full-price tokens, not 12.5 k</small>";
    check(&ledger, &[net, "10.0 k raw, 4,000 sent", "16 min ago"], &[]);
}

#[test]
fn calls_for_summaries_are_told_beside_the_saving_that_is_without_them() {
    let own = || {
        let cost = OwnCost { calls: 2, tokens: 1_500.0, dollars: 0.05, unpriced: 0 };
        vec![crate::ledger::OwnModelCost { cost, ..<_>::default() }]
    };
    let ledger = ledger(LedgerOptions { own, ..terms() });
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    let net = "6,500 full-price tokens, not 12.5 k";
    let calls = "Calls for summaries</span><b class=\"\">2</b><small>$0.05 · 1,500 full-price \
                 tokens, taken off the net saving";
    check(&ledger, &[net, calls], &[]);
}

#[test]
fn calls_for_summaries_without_a_price_are_in_no_dollars() {
    let own = || {
        let cost = OwnCost { calls: 2, tokens: 1_500.0, dollars: 0.0, unpriced: 2 };
        vec![crate::ledger::OwnModelCost { cost, ..<_>::default() }]
    };
    let ledger = ledger(LedgerOptions { own, ..terms() });
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    let calls = "<small>unpriced, in no dollars · 1,500 full-price tokens, taken off";
    check(&ledger, &[calls], &[]);
}

#[test]
fn a_loss_is_told_as_one() {
    let ledger = ledger(terms());
    ledger.record(&exchange("a", 10, 100_000, 100_000));
    let mut rewritten = exchange("a", 20, 101_000, 20_000);
    rewritten.acts.rewritten = true;
    rewritten.answer.usage = Some(TokenUsage { cache_written: 20_000, ..TokenUsage::default() });
    ledger.record(&rewritten);
    // 125,000 + 25,000 paid; 125,000 + 10,000 + 1,250 raw.
    check(&ledger, &["<b class=\"bad\">−10 %</b><small>−$0.04 · "], &["class=\"good\""]);
}

#[test]
fn nothing_of_a_request_is_read_as_html() {
    let ledger = ledger(terms());
    let name = "<script>alert('x')</script>\" onload=\"x";
    let model = Some("<b>m</b>".to_owned());
    let skip = Some(ProxySkip::Failed);
    for second in 1..9 {
        let mut skipped = FinishedRequest { skip, ..exchange(name, second, 5_000, 5_000) };
        skipped.asks.model.clone_from(&model);
        ledger.record(&skipped);
    }
    let there = ["&lt;script&gt;alert(&#39;x&#39;)", "&lt;b&gt;m&lt;/b&gt;"];
    check(&ledger, &there, &["<script", "<b>m", "\" onload"]);
}

#[test]
fn a_run_of_failures_is_in_plain_sight() {
    let ledger = ledger(terms());
    for second in 1..=4 {
        let skip = Some(ProxySkip::Deadline);
        ledger.record(&FinishedRequest { skip, ..exchange("a", second, 5_000, 5_000) });
    }
    let mut refused = ended_with(429, exchange("b", 9, 5_000, 5_000));
    refused.answer.overflowed = true;
    ledger.record(&refused);
    let there = [
        "<title>Not compressing",
        "role=\"alert\"",
        "its last 4 requests",
        "sent as it came: deadline",
        "status 429",
        "too long, sent again smaller",
    ];
    check(&ledger, &there, &["Nothing: no request"]);
}

#[test]
fn what_is_only_watched_says_so() {
    let ledger = ledger(LedgerOptions { shadow: true, ..terms() });
    ledger.record(&exchange("a", 10, 10_000, 4_000));
    check(&ledger, &["Watching only", "60 %"], &["class=\"good\""]);
}

#[test]
fn older_sessions_are_one_line() {
    let ledger = ledger(LedgerOptions { conversations: 2, ..terms() });
    for number in 0..5 {
        ledger.record(&exchange(&format!("s{number}"), number, 10_000, 4_000));
    }
    check(&ledger, &["s4", "s3", "3 older", "30.0 k"], &["s2", "s0"]);
}
