//! Pieces that several pages are made of.

use std::time::{Duration, SystemTime};

use epitome::{SavingsSums, WindowLevel};
use maud::{Markup, html};

use crate::figures::{ago, compact, dollars, grouped, percent};
use crate::shown::shown;

/// So many bytes of a text are shown at a time.
pub(crate) const PART: usize = 64 << 10;

/// A number of tokens, exact where the mouse rests.
pub(crate) fn tokens(count: u64) -> Markup {
    html! { span title={ (grouped(count)) " tokens" } { (compact(count as f64)) } }
}

/// What was saved, between two estimates; in dollars where the price is known.
pub(crate) fn saved(money: &SavingsSums) -> Markup {
    let range = |least: f64, most: f64, shown: fn(f64) -> String| {
        let (least, most) = (shown(least), shown(most));
        if least == most { least } else { format!("{least} to {most}") }
    };
    let class = match money.saved.least + money.saved.most + money.saved_tokens.most {
        sum if sum > 0.0 => "good",
        sum if sum < 0.0 => "bad",
        _ => "",
    };
    html! {
        span class=(class) {
            @if money.priced() > 0 {
                (range(money.saved.least, money.saved.most, dollars))
            } @else {
                (range(money.saved_tokens.least, money.saved_tokens.most, compact)) " tokens"
            }
        }
    }
}

/// How many answers are in no sum of dollars.
pub(crate) fn unpriced(money: &SavingsSums) -> Markup {
    html! {
        @if money.unpriced > 0 {
            " " span.nowrap {
                @if money.priced() > 0 { "(" (grouped(money.unpriced)) " unpriced)" } @else { "(unpriced)" }
            }
        }
    }
}

/// Which requests did not go as they should; nothing where all did.
pub(crate) fn troubles(money: &SavingsSums) -> Markup {
    let SavingsSums { skips, overflows, .. } = *money;
    html! {
        @if skips > 0 {
            "; " a.bad href="/health" { (grouped(skips)) " skipped" }
        }
        @if overflows > 0 {
            "; " span.bad { (grouped(overflows)) " refused as too long" }
        }
    }
}

/// A prompt as a bar against the limit, with both in figures.
pub(crate) fn bar(sent: u64, limit: u64, level: WindowLevel) -> Markup {
    let share = sent as f64 / limit.max(1) as f64;
    let width = format!("{:.1}", (share * 100.0).clamp(0.0, 100.0));
    let (class, word) = match level {
        WindowLevel::Roomy => ("roomy", ""),
        WindowLevel::Filling => ("filling", ", filling"),
        WindowLevel::Due => ("due", ", due"),
        WindowLevel::Full => ("full", ", full"),
    };
    html! {
        span.bar {
            svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="100" height="6" {}
                rect class=(class) width=(width) height="6" {}
            }
            span {
                (tokens(sent)) " of " (tokens(limit)) " " small { (percent(share)) (word) }
            }
        }
    }
}

/// How long ago a time was.
pub(crate) fn since(at: &str, now: &str) -> Markup {
    let time = |at: &str| humantime::parse_rfc3339_weak(at).unwrap_or(SystemTime::UNIX_EPOCH);
    html! { time datetime=(at) title=(moment(at)) { (ago(time(at), time(now))) } }
}

/// Whether a time is less than so many seconds ago, or ahead: the clock that told it may be another one.
pub(crate) fn is_within(at: &str, now: &str, seconds: u64) -> bool {
    let (Ok(at), Ok(now)) = (humantime::parse_rfc3339_weak(at), humantime::parse_rfc3339_weak(now))
    else {
        return false;
    };
    let apart = now.duration_since(at).unwrap_or_else(|ahead| ahead.duration());
    apart < Duration::from_secs(seconds)
}

/// A time as people read it, UTC.
pub(crate) fn moment(at: &str) -> String {
    let at = at.split_once('.').map_or(at, |(whole, _)| whole);
    format!("{} UTC", at.replace('T', " ").trim_end_matches('Z'))
}

/// A figure with its name and what there is to say of it.
pub(crate) fn tile(name: &str, value: &Markup, more: &Markup) -> Markup {
    html! { div.card.tile { span.quiet { (name) } b { (value) } small { (more) } } }
}

/// A text of a conversation: the beginning of it, or another part of it where it is long.
pub(crate) fn text(text: &str, part: usize, more: impl Fn(usize) -> String) -> Markup {
    if text.len() <= PART {
        return html! { pre.text { (shown(text)) } };
    }
    let parts = text.len().div_ceil(PART);
    let part = part.min(parts - 1);
    let edge = |at: usize| text.floor_char_boundary(at.min(text.len()));
    let here = &text[edge(part * PART)..edge((part + 1) * PART)];
    html! {
        nav.parts aria-label="Parts of the text" {
            span.quiet { "Part " (part + 1) " of " (parts) }
            @if part > 0 { a href=(more(part - 1)) rel="prev" { "Before" } }
            @if part + 1 < parts { a href=(more(part + 1)) rel="next" { "Next" } }
        }
        pre.text { (shown(here)) }
    }
}

/// The beginning of a text, with a way to all of it.
pub(crate) fn excerpt(text: &str, most: usize, all: &str) -> Markup {
    let end = text.floor_char_boundary(most.min(text.len()));
    html! {
        pre.text { (shown(&text[..end])) @if end < text.len() { "…" } }
        @if end < text.len() && !all.is_empty() {
            p { a href=(all) { "All of it, " (grouped(text.len() as u64)) " bytes" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_come_in_parts_that_lose_nothing() {
        let long = "ä<b>\n".repeat(40_000);
        let count = long.len().div_ceil(PART);
        assert_eq!(count, 4);
        let shown = |part| text(&long, part, |part| format!("?part={part}")).into_string();
        let words = |page: &str| {
            let (_, rest) = page.split_once("<pre class=\"text\">").unwrap();
            rest.trim_end_matches("</pre>").replace("&lt;", "<").replace("&gt;", ">")
        };
        let all: String = (0..count).map(|part| words(&shown(part))).collect();
        assert_eq!(all, long);
        assert!(shown(1).contains("Part 2 of 4") && shown(1).contains("?part=0"));
        assert!(shown(9).contains("Part 4 of 4") && !shown(9).contains("?part=4"));
        let short = text("a<b", 3, |_| String::new()).into_string();
        assert_eq!(short, "<pre class=\"text\">a&lt;b</pre>");
    }

    #[test]
    fn a_saving_is_told_with_its_range_and_what_has_no_price_apart() {
        let range = epitome::SavedRange { least: 1.0, most: 2.5 };
        let mut money = SavingsSums { answers: 3, saved: range, ..SavingsSums::default() };
        assert_eq!(saved(&money).into_string(), "<span class=\"good\">$1.00 to $2.50</span>");
        assert_eq!(unpriced(&money).into_string(), "");
        assert_eq!(troubles(&money).into_string(), "");
        (money.skips, money.overflows) = (2, 1);
        let told = troubles(&money).into_string();
        assert!(told.contains("2 skipped") && told.contains("1 refused as too long"), "{told}");
        money.unpriced = 1;
        assert!(unpriced(&money).into_string().contains("(1 unpriced)"));
        money.unpriced = 3;
        money.saved_tokens = epitome::SavedRange { least: 100.0, most: 100.0 };
        assert!(saved(&money).into_string().contains("100 tokens"));
    }
}
