//! The line behind a client that has ended: what was sent for what it asked, and how to undo it.
//!
//! Invariant: figures of this run alone; what was lost is said as plainly as what was saved.

use std::io::Write;

use epitome_proxy::{LedgerSnapshot, OwnCost, RequestSums};

use crate::shell::quoted;
use crate::text::{counted, grouped};

/// Says it on standard error. Nobody is left to tell when that fails.
pub(super) fn say(figures: &LedgerSnapshot, flag: &str) {
    let compressed = figures.conversations.iter().find(|one| one.figures.epochs > 0);
    // What went out as it came is not to be taken back.
    let compressed = compressed.filter(|_| !figures.shadow);
    let undo = compressed.map(|one| format!("epitome session undo{flag} {}", quoted(&one.name)));
    drop(writeln!(anstream::stderr(), "epitome: {}", line(figures, undo.as_deref())));
}

fn line(books: &LedgerSnapshot, undo: Option<&str>) -> String {
    let figures = &books.all;
    let passed = match books.passed {
        0 => None,
        passed => Some(format!("{} passed unchanged", counted(passed, "other request"))),
    };
    let untaken = untaken(books);
    if figures.requests == 0 {
        let came = counted(books.passed, "request");
        return match (passed, untaken) {
            (None, None) => {
                "no request came through; the client sends them elsewhere, or sent none".to_owned()
            }
            (None, Some(untaken)) => format!("no request came through, {untaken}"),
            (Some(_), untaken) => {
                let came =
                    format!("{came} came through, none of them with a conversation to compress");
                [came].into_iter().chain(untaken).collect::<Vec<_>>().join(", ")
            }
        };
    }
    let [raw, sent] = figures.tokens();
    let percent = (raw.saturating_sub(sent) * 100).checked_div(raw).unwrap_or_default();
    let (raw, sent) = (grouped(raw), grouped(sent));
    let mut parts = vec![match books.shadow {
        false => format!("{raw} tokens raw → {sent} sent ({percent} % less)"),
        true => format!(
            "{raw} tokens sent as they came; {sent} would have been sent ({percent} % less)"
        ),
    }];
    parts.extend(net(figures));
    parts.extend(own(&books.own, figures));
    parts.extend([skips(figures)].into_iter().chain(passed).chain(untaken));
    let line = parts.join(", ");
    match undo {
        Some(undo) => format!("{line}; undo: {undo}"),
        None => line,
    }
}

/// What was paid for summaries beside it; nothing where there was none.
fn own(own: &OwnCost, figures: &RequestSums) -> Option<String> {
    let calls = counted(own.calls, "call");
    // Tokens are known of each call, dollars of those alone whose model has a price.
    let unpriced = if figures.cost.priced > 0 { own.unpriced } else { 0 };
    match own.calls {
        0 => None,
        all if all == unpriced => Some(format!("{calls} for summaries unpriced, not in the sum")),
        _ if unpriced == 0 => Some(format!("{calls} for summaries subtracted")),
        _ => Some(format!(
            "{calls} for summaries subtracted ({} unpriced, not in the sum)",
            grouped(unpriced)
        )),
    }
}

/// How many requests of no conversation nobody took, by the status that answered them.
fn untaken(books: &LedgerSnapshot) -> Option<String> {
    let all: u64 = books.untaken.values().sum();
    let by: Vec<_> = books
        .untaken
        .iter()
        .map(|(status, count)| format!("{} with {status}", grouped(*count)))
        .collect();
    (all > 0).then(|| format!("{} not taken ({})", counted(all, "other request"), by.join(", ")))
}

/// How many requests were not sent as they should have been, and why.
fn skips(figures: &RequestSums) -> String {
    let all = counted(figures.troubles.skips.values().sum(), "skip");
    let reasons: Vec<_> = figures
        .troubles
        .skips
        .iter()
        .map(|(why, count)| format!("{} {why}", grouped(*count)))
        .collect();
    if reasons.is_empty() { all } else { format!("{all} ({})", reasons.join(", ")) }
}

/// What was saved in the end: in dollars where the price of the model is known, otherwise in tokens
/// at the full price. Nothing where the provider said nothing of what it counted.
fn net(figures: &RequestSums) -> Option<String> {
    match (figures.cost.priced, figures.answers) {
        (0, 0) => None,
        (0, _) => {
            let saved = figures.cost.bill.saved();
            let tokens = grouped(saved.abs() as u64);
            let word = if saved < 0.0 { "lost" } else { "saved" };
            Some(format!("net {tokens} full-price tokens {word} (model unpriced)"))
        }
        _ => {
            let unpriced = match figures.cost.unpriced {
                0 => String::new(),
                unpriced => format!(" ({} unpriced)", counted(unpriced, "answer")),
            };
            Some(format!("net {}{unpriced}", range(figures.cost.saved())))
        }
    }
}

/// What lies between two estimates: `$1.23 saved`, `$0.70 to $1.85 lost`.
fn range([least, most]: [f64; 2]) -> String {
    let amount = |saved: f64| match saved.abs() {
        ..0.000_05 => "$0".to_owned(),
        amount @ ..0.1 => format!("${amount:.4}"),
        amount => format!("${amount:.2}"),
    };
    let word = |saved: f64| if saved < 0.0 { "lost" } else { "saved" };
    let [one, other] = [amount(least), amount(most)];
    match (word(least), word(most)) {
        _ if one == other => format!("{one} {}", word(most)),
        ("lost", "saved") => format!("between {one} lost and {other} saved"),
        ("lost", word) => format!("{other} to {one} {word}"),
        (_, word) => format!("{one} to {other} {word}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use epitome::types::TokenBreakdown;
    use epitome_proxy::{CostSums, OlderConversations, PromptCost, ReplyTimes, TrafficSums};

    use super::*;

    fn figures(raw: u64, sent: u64) -> RequestSums {
        let of = |user| TokenBreakdown { user, ..TokenBreakdown::default() };
        let traffic = TrafficSums { raw: of(raw), sent: of(sent), ..TrafficSums::default() };
        RequestSums { requests: 2, traffic, ..RequestSums::default() }
    }

    fn books(all: &RequestSums, passed: u64) -> LedgerSnapshot {
        LedgerSnapshot {
            started: SystemTime::UNIX_EPOCH,
            since: SystemTime::UNIX_EPOCH,
            shadow: false,
            run: 3,
            all: all.clone(),
            own: OwnCost::default(),
            requests: BTreeMap::new(),
            passed,
            untaken: BTreeMap::new(),
            times: ReplyTimes::default(),
            conversations: Vec::new(),
            older: OlderConversations::default(),
        }
    }

    #[track_caller]
    fn check(figures: &RequestSums, undo: Option<&str>, expected: &str) {
        assert_eq!(line(&books(figures, 0), undo), expected);
    }

    #[test]
    fn what_passed_as_it_came_came_through() {
        let nothing = RequestSums::default();
        let came = "3 requests came through, none of them with a conversation to compress";
        assert_eq!(line(&books(&nothing, 3), None), came);
        let some = "10 tokens raw → 10 sent (0 % less), 0 skips, 1 other request passed unchanged";
        assert_eq!(line(&books(&figures(10, 10), 1), None), some);
    }

    #[test]
    fn what_was_only_watched_was_not_saved() {
        let books = LedgerSnapshot { shadow: true, ..books(&figures(10, 4), 0) };
        let watched = "10 tokens sent as they came; 4 would have been sent (60 % less), 0 skips";
        assert_eq!(line(&books, None), watched);
    }

    #[test]
    fn what_nobody_took_did_not_pass() {
        let untaken = BTreeMap::from([(413, 1), (502, 2)]);
        let check = |all: &RequestSums, passed, expected: &str| {
            let books = LedgerSnapshot { untaken: untaken.clone(), ..books(all, passed) };
            assert_eq!(line(&books, None), expected);
        };
        let refused = "3 other requests not taken (1 with 413, 2 with 502)";
        let none = RequestSums::default();
        check(&none, 0, &format!("no request came through, {refused}"));
        let came = "1 request came through, none of them with a conversation to compress";
        check(&none, 1, &format!("{came}, {refused}"));
        let some = "10 tokens raw → 10 sent (0 % less), 0 skips";
        check(&figures(10, 10), 0, &format!("{some}, {refused}"));
    }

    #[test]
    fn it_tells_of_what_was_done() {
        let mut some = figures(1_234_567, 345_678);
        some.answers = 2;
        some.cost.bill = PromptCost { paid: 100.0, raw: 1100.4 };
        some.troubles.skips.insert("timeout", 2);
        some.troubles.skips.insert("body", 1);
        let sent = "1,234,567 tokens raw → 345,678 sent (72 % less)";
        let expected = format!(
            "{sent}, net 1,000 full-price tokens saved (model unpriced), 3 skips (1 body, 2 timeout)"
        );
        check(&some, None, &expected);
        let set = |some: &mut RequestSums, paid, raw, raw_at_window| {
            some.cost.dollars = PromptCost { paid, raw };
            some.cost.raw_at_window = raw_at_window;
        };
        some.cost.priced = 2;
        set(&mut some, 0.5, 1.73, 1.73);
        some.troubles.skips.clear();
        let undo = "epitome session undo a";
        check(&some, Some(undo), &format!("{sent}, net $1.23 saved, 0 skips; undo: {undo}"));
        set(&mut some, 1.05, 1.0, 1.0);
        check(&some, None, &format!("{sent}, net $0.0500 lost, 0 skips"));
        // It is not known where the client would have compacted.
        set(&mut some, 1.0, 1.5, 2.25);
        check(&some, None, &format!("{sent}, net $0.50 to $1.25 saved, 0 skips"));
        set(&mut some, 3.0, 1.5, 2.25);
        check(&some, None, &format!("{sent}, net $0.75 to $1.50 lost, 0 skips"));
        set(&mut some, 2.0, 1.5, 2.25);
        check(&some, None, &format!("{sent}, net between $0.50 lost and $0.25 saved, 0 skips"));
        some.cost.unpriced = 1;
        set(&mut some, 1.0, 1.0, 1.0);
        let one = "net $0 saved (1 answer unpriced)";
        check(&some, None, &format!("{sent}, {one}, 0 skips"));
        some.cost.unpriced = 0;
        check(&some, None, &format!("{sent}, net $0 saved, 0 skips"));
    }

    #[test]
    fn a_call_without_a_price_is_not_said_to_be_subtracted() {
        let check = |priced, unpriced, expected: &str| {
            let cost = CostSums {
                priced,
                dollars: PromptCost { paid: 0.5, raw: 1.5 },
                raw_at_window: 1.5,
                bill: PromptCost { paid: 100.0, raw: 1100.0 },
                ..CostSums::default()
            };
            let all = RequestSums { answers: 2, cost, ..figures(10, 10) };
            let own = OwnCost { calls: 3, unpriced, ..OwnCost::default() };
            let line = line(&LedgerSnapshot { own, ..books(&all, 0) }, None);
            assert!(line.ends_with(&format!("{expected}, 0 skips")), "{line}");
        };
        check(2, 0, "net $1.00 saved, 3 calls for summaries subtracted");
        check(2, 1, "saved, 3 calls for summaries subtracted (1 unpriced, not in the sum)");
        check(2, 3, "saved, 3 calls for summaries unpriced, not in the sum");
        // In tokens nothing is left out.
        check(0, 3, "tokens saved (model unpriced), 3 calls for summaries subtracted");
    }

    #[test]
    fn without_figures_none_are_made_up() {
        check(&figures(10, 10), None, "10 tokens raw → 10 sent (0 % less), 0 skips");
        check(&figures(0, 0), None, "0 tokens raw → 0 sent (0 % less), 0 skips");
        let expected = "no request came through; the client sends them elsewhere, or sent none";
        check(&RequestSums::default(), None, expected);
    }
}
