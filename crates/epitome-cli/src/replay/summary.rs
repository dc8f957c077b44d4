//! The summary of a replay for people.
//!
//! Invariant: at most 80 columns, and nothing in it that the JSON summary does not hold.

use epitome_lab::{ReplaySummary, ReplayTotals, SavingCount};

use crate::columns::COLUMNS;
use crate::figure::{dollars, middle, percent};
use crate::text::{clipped, counted, grouped};

/// Width of the names and of each column of figures.
const NAME: usize = 15;
const FIGURE: usize = 12;

/// The table of a replay that began with the turn `first`.
pub(crate) fn table(
    summary: &ReplaySummary,
    name: &str,
    profile: &str,
    first: usize,
    turns: usize,
) -> String {
    let ReplaySummary { figures, elapsed_ms, .. } = summary;
    let bold = anstyle::Style::new().bold();
    let mut rows = vec![heading(figures, name, first, turns), String::new()];
    rows.push(format!("{bold}{:NAME$}{:>FIGURE$}{:>FIGURE$}{bold:#}", "", "none", profile));
    rows.push(row(
        "tokens, in all",
        grouped(figures.tokens.raw),
        grouped(figures.tokens.sent),
        &format!("{} of them sent", percent(figures.tokens.sent, figures.tokens.raw)),
    ));
    rows.push(row(
        "largest prompt",
        grouped(figures.tokens.max_raw),
        grouped(figures.tokens.max_sent),
        &format!("limit {}", grouped(figures.limit)),
    ));
    rows.extend(costs(figures));
    rows.push(String::new());
    rows.extend(events(figures));
    rows.extend(facts(figures));
    rows.push(line("time", &time(*elapsed_ms, figures.requests.turns)));
    rows.join("\n")
}

fn heading(figures: &ReplayTotals, name: &str, first: usize, turns: usize) -> String {
    let bold = anstyle::Style::new().bold();
    let last = first - 1 + figures.requests.turns;
    let mut played = match first {
        1 if last == turns => counted(turns as u64, "turn"),
        _ => format!("turns {first}–{last} of {turns}"),
    };
    if last < turns {
        played.push_str(" (interrupted)");
    }
    let session = match figures.recording.session.as_str() {
        "" => String::new(),
        session => format!(", session {}", middle(session, 24)),
    };
    let about = format!(": {played}{session}");
    let name = middle(name, COLUMNS.saturating_sub(about.chars().count()));
    format!("{bold}{name}{bold:#}{about}")
}

fn costs(figures: &ReplayTotals) -> [String; 2] {
    let (raw, sent) = (figures.cache.cost_uncompressed, figures.cache.cost);
    let ratio = if raw > 0.0 { format!("× {:.2}", sent / raw) } else { String::new() };
    let money = &figures.money;
    let saved = match money.saved {
        Some(saved) if saved < 0.0 => format!("{} more", dollars(-saved)),
        Some(saved) => format!("{} saved", dollars(saved)),
        None => "unpriced".to_owned(),
    };
    let priced = match (&money.priced_as, &figures.recording.model, money.saved) {
        (Some(model), ..) => format!("as {model}"),
        (None, _, Some(_)) => "at the default of your own price table".to_owned(),
        (None, Some(model), None) => format!("no price of {} is known", middle(model, 24)),
        (None, None, None) => "model unknown".to_owned(),
    };
    let calls = match (money.saved, figures.own.unpriced) {
        (None, _) | (_, 0) => String::new(),
        (_, calls) => format!(", {} unpriced", counted(calls, "call")),
    };
    let amount = |amount: Option<f64>| amount.map_or_else(|| "–".to_owned(), dollars);
    [
        row("cache cost", grouped(raw.round() as u64), grouped(sent.round() as u64), &ratio),
        row("money", amount(money.raw), amount(money.sent), &format!("{saved}, {priced}{calls}")),
    ]
}

fn events(figures: &ReplayTotals) -> Vec<String> {
    let made = |name: &str, all: SavingCount| match all.count {
        0 => None,
        count => Some(line(
            name,
            &format!("{}, {} tokens saved", counted(count, "tool result"), grouped(all.tokens)),
        )),
    };
    let refused = figures.requests.refused.first().map(|first| {
        let turn = first.turn;
        format!(
            "{}, the first in turn {turn}",
            counted(figures.requests.refused.len() as u64, "request")
        )
    });
    let mut rows = vec![line("compressions", &grouped(figures.requests.compressions as u64))];
    rows.extend(made("digested", figures.digested));
    rows.extend(made("offloaded", figures.offloaded));
    rows.push(line("oversized", &grouped(figures.requests.oversized as u64)));
    rows.push(line("refused", &refused.unwrap_or_else(|| "0".to_owned())));
    let kept = (figures.prefix_kept * 1000.0).floor() / 10.0;
    rows.push(line("prefix kept", &format!("{kept} % between compressions")));
    rows
}

/// What the last prompt still says, and what comes back.
fn facts(figures: &ReplayTotals) -> Vec<String> {
    let facts = &figures.must_keep.kept;
    let [kept, all] = facts.total();
    let gone = all - kept;
    let kinds: Vec<_> =
        facts.kinds().map(|(name, [kept, all])| format!("{name} {kept}/{all}")).collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![line("still there", &kinds.join(", "))];
    if gone > 0 {
        let back = format!("{} of the other {}", facts.recallable, grouped(gone.into()));
        rows.push(line("recallable", &back));
    }
    rows
}

fn time(elapsed_ms: f64, turns: usize) -> String {
    let each = elapsed_ms / turns.max(1) as f64;
    format!("{:.2} s, {each:.1} ms a turn", elapsed_ms / 1000.0)
}

fn row(name: &str, raw: String, sent: String, note: &str) -> String {
    let note = clipped(note, COLUMNS - NAME - 2 * FIGURE - 2);
    format!("{name:NAME$}{raw:>FIGURE$}{sent:>FIGURE$}  {note}").trim_end().to_owned()
}

fn line(name: &str, text: &str) -> String {
    format!("{name:NAME$}{}", clipped(text, COLUMNS - NAME))
}
