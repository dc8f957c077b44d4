//! `GET /status` for people: one page that refreshes itself.
//!
//! Invariant: a function of a copy of the ledger and the time; the page loads nothing and runs no
//! script, so it works wherever HTML does and can be served under the strictest policy. Called by
//! the server.

mod chart;

use std::fmt::{self, Display, Write};
use std::time::SystemTime;

use epitome::StoreOutage;
use epitome_page::STYLE;
use epitome_page::figures::{EscapedText, ago, compact, dollars, grouped, percent};

use crate::ledger::{
    ConversationFigures, LedgerSnapshot, OwnCost, PromptCost, RequestSums, categories,
};
use crate::status::moment;

/// The type that the page is served as.
pub(crate) const TYPE: &str = "text/html; charset=utf-8";

/// Seconds until the page is loaded again.
const REFRESH: u32 = 5;

/// All figures, as a page.
pub(crate) fn page(
    books: &LedgerSnapshot,
    outage: Option<&StoreOutage>,
    now: SystemTime,
) -> String {
    let mut out = String::with_capacity(32 * 1024);
    // Writing to a string does not fail.
    write(&mut out, books, outage, now).unwrap_or_default();
    out
}

fn write(
    out: &mut String,
    books: &LedgerSnapshot,
    outage: Option<&StoreOutage>,
    now: SystemTime,
) -> fmt::Result {
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"refresh\" content=\"{REFRESH}\">\n\
         <title>{} · Epitome</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n",
        title(books, now),
    )?;
    inner(out, books, outage, now)?;
    out.write_str("</main>\n</body>\n</html>\n")
}

/// The same to stand in a page of another frame.
pub(crate) fn fragment(
    books: &LedgerSnapshot,
    outage: Option<&StoreOutage>,
    now: SystemTime,
) -> String {
    let mut out = String::with_capacity(32 * 1024);
    // Writing to a string does not fail.
    inner(&mut out, books, outage, now).unwrap_or_default();
    out
}

fn inner(
    out: &mut String,
    books: &LedgerSnapshot,
    outage: Option<&StoreOutage>,
    now: SystemTime,
) -> fmt::Result {
    writeln!(
        out,
        "<header><h1>Health</h1><span class=\"quiet\">started {}, counted since {} UTC, as of {} UTC</span></header>",
        ago(books.started, now),
        moment(books.since).replace('T', " ").trim_end_matches('Z'),
        moment(now).replace('T', " ").trim_end_matches('Z'),
    )?;
    if let Some(StoreOutage { cause, remedy }) = outage {
        writeln!(
            out,
            "<div class=\"card alarm\" role=\"alert\"><strong>Compressing from memory</strong>: {}. \
             Nothing of this is kept over a restart: {}.</div>",
            EscapedText(cause),
            EscapedText(remedy),
        )?;
    }
    banners(out, books, now)?;
    tiles(out, books)?;
    out.write_str("<div class=\"halves\">\n")?;
    by_category(out, &books.all)?;
    faults(out, books)?;
    out.write_str("</div>\n")?;
    sessions(out, books, now)?;
    out.write_str(FOOTER)
}

const FOOTER: &str = "<footer class=\"quiet\">Tokens are counted here, before and after. \
    <b>Net saving</b> is what the provider was paid for its prompts, by its own count, against what \
    the raw history would have cost under the same cache, in tokens at the full price; reading from a cache is cheap, so it is \
    less than the share of tokens, and negative while a compression has not paid for the prompt \
    that it rewrote. The same as <a href=\"/status.json\">JSON</a> and as \
    <a href=\"/metrics\">metrics</a>.</footer>\n";

/// What the tab of the browser says: the alarm, or the saving.
fn title(books: &LedgerSnapshot, now: SystemTime) -> String {
    match books.alarms(now).next() {
        Some(_) => "Not compressing".to_owned(),
        None if books.all.cost.bill.raw > 0.0 => {
            format!("{} saved", percent(books.all.cost.bill.share()))
        }
        None => "Status".to_owned(),
    }
}

fn banners(out: &mut String, books: &LedgerSnapshot, now: SystemTime) -> fmt::Result {
    for alarm in books.alarms(now) {
        writeln!(
            out,
            "<div class=\"card alarm\" role=\"alert\"><strong>Not compressing {}</strong>: its last \
             {} requests went out as they came ({}). They cost what they would without Epitome; the \
             log says more.</div>",
            EscapedText(&alarm.name),
            grouped(alarm.run),
            EscapedText(alarm.reason.unwrap_or("no reason known")),
        )?;
    }
    if books.shadow {
        out.write_str(
            "<div class=\"card note\"><strong>Watching only</strong>: everything goes out as it \
             came. What stands under “sent” is what would have been sent.</div>\n",
        )?;
    }
    Ok(())
}

fn tiles(out: &mut String, books: &LedgerSnapshot) -> fmt::Result {
    let all = &books.all;
    let [raw, sent] = all.tokens();
    let less = 1.0 - share(sent, raw);
    out.write_str("<div class=\"tiles\">\n")?;
    tile(
        out,
        "Tokens not sent",
        TileValue::plain(if raw > 0 { percent(less) } else { "–".to_owned() }),
        format_args!("{} raw, {} sent", compact(raw as f64), compact(sent as f64)),
    )?;
    net(out, all)?;
    own(out, &books.own)?;
    let read = percent(share(all.usage.cache_read, all.usage.prompt()));
    tile(
        out,
        "Read from the cache",
        TileValue::plain(if all.answers > 0 { read } else { "–".to_owned() }),
        format_args!(
            "{} read, {} written, {} neither",
            compact(all.usage.cache_read as f64),
            compact(all.usage.cache_written as f64),
            compact(all.usage.input as f64)
        ),
    )?;
    tile(
        out,
        "Compressions",
        TileValue::plain(grouped(all.epochs)),
        format_args!("{} results made smaller on arrival", grouped(all.arrivals)),
    )?;
    tile(
        out,
        "Requests",
        TileValue::plain(grouped(all.requests)),
        format_args!("{} on the side, {} passed through", grouped(all.side), grouped(books.passed)),
    )?;
    out.write_str("</div>\n")
}

/// The figure of a tile.
struct TileValue<'a> {
    /// The class of its style, empty where it has none.
    class: &'a str,
    text: String,
}

impl TileValue<'_> {
    /// A figure in no style of its own.
    fn plain(text: String) -> Self {
        Self { class: "", text }
    }
}

fn tile(out: &mut String, name: &str, value: TileValue<'_>, more: impl Display) -> fmt::Result {
    let TileValue { class, text } = value;
    writeln!(
        out,
        "<div class=\"card tile\"><span class=\"quiet\">{name}</span>\
         <b class=\"{class}\">{text}</b><small>{more}</small></div>"
    )
}

fn net(out: &mut String, all: &RequestSums) -> fmt::Result {
    let bill = all.cost.bill;
    if bill.raw <= 0.0 {
        let none = TileValue::plain("–".to_owned());
        return tile(out, "Net saving", none, "no answer came with a count yet");
    }
    let paid = format!("{} full-price tokens, not {}", compact(bill.paid), compact(bill.raw));
    let more = match all.cost.priced {
        0 => format!("unpriced · {paid}"),
        _ => format!("{}{} · {paid}", dollars(all.cost.dollars.saved()), unpriced(all)),
    };
    tile(out, "Net saving", TileValue { class: sign(bill), text: percent(bill.share()) }, more)
}

/// What the program's own calls of models cost, which the net saving is without.
fn own(out: &mut String, own: &OwnCost) -> fmt::Result {
    if own.calls == 0 {
        return Ok(());
    }
    let paid = format!("{} full-price tokens", compact(own.tokens));
    let price = match own.unpriced {
        0 => dollars(own.dollars),
        unpriced if unpriced == own.calls => "unpriced, in no dollars".to_owned(),
        unpriced => {
            format!("{} ({} unpriced, in no dollars)", dollars(own.dollars), grouped(unpriced))
        }
    };
    let more = format_args!("{price} · {paid}, taken off the net saving");
    tile(out, "Calls for summaries", TileValue::plain(grouped(own.calls)), more)
}

/// How many answers are in no sum of money.
fn unpriced(figures: &RequestSums) -> String {
    match figures.cost.unpriced {
        0 => String::new(),
        unpriced => format!(" ({} unpriced)", grouped(unpriced)),
    }
}

/// The class of a saving: good, bad, or neither.
fn sign(bill: PromptCost) -> &'static str {
    match bill.saved() {
        saved if saved >= 0.5 => "good",
        saved if saved <= -0.5 => "bad",
        _ => "",
    }
}

fn by_category(out: &mut String, all: &RequestSums) -> fmt::Result {
    out.write_str(
        "<section class=\"card\"><h2>Tokens by kind<span class=\"key\">\
         <span><i class=\"raw\"></i>raw</span><span><i class=\"sent\"></i>sent</span></span></h2>\n<table class=\"plain\"><tbody>\n",
    )?;
    let (raw, sent) = (categories(&all.traffic.raw), categories(&all.traffic.sent));
    let both = raw.iter().zip(&sent).map(|((name, raw), (_, sent))| (*name, [*raw, *sent]));
    let longest = both.clone().flat_map(|(_, tokens)| tokens).max().unwrap_or_default();
    let mut none = true;
    for (name, tokens) in both.filter(|(_, tokens)| *tokens != [0, 0]) {
        none = false;
        writeln!(
            out,
            "<tr><td>{}</td><td class=\"wide\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td></tr>",
            name.replace('_', " "),
            chart::bars(tokens, longest),
            compact(tokens[0] as f64),
            compact(tokens[1] as f64),
        )?;
    }
    out.write_str("</tbody></table>\n")?;
    if none {
        out.write_str("<p class=\"quiet\">No prompt was sent yet.</p>\n")?;
    }
    out.write_str("</section>\n")
}

fn faults(out: &mut String, books: &LedgerSnapshot) -> fmt::Result {
    let all = &books.all;
    out.write_str("<section class=\"card\"><h2>What went otherwise</h2>\n")?;
    let mut rows = Vec::new();
    let skips = all.troubles.skips.iter();
    rows.extend(skips.map(|(reason, count)| (format!("sent as it came: {reason}"), *count)));
    let told = |status: u16| match status {
        0 => "no answer".to_owned(),
        status => format!("answered with status {status}"),
    };
    rows.extend(all.troubles.errors.iter().map(|(status, count)| (told(*status), *count)));
    if all.troubles.transformations > 0 {
        let name = "left out by the provider (`input_transformations`)".to_owned();
        rows.push((name, all.troubles.transformations));
    }
    if all.troubles.overflows > 0 {
        rows.push(("too long, sent again smaller".to_owned(), all.troubles.overflows));
    }
    if rows.is_empty() {
        return out.write_str(
            "<p class=\"quiet\">Nothing: no request was skipped, and no answer told of an error.\
             </p></section>\n",
        );
    }
    out.write_str("<table class=\"plain\"><tbody>\n")?;
    for (what, count) in rows {
        writeln!(
            out,
            "<tr><td>{}</td><td class=\"number\">{}</td></tr>",
            EscapedText(&what),
            grouped(count)
        )?;
    }
    out.write_str("</tbody></table></section>\n")
}

fn sessions(out: &mut String, books: &LedgerSnapshot, now: SystemTime) -> fmt::Result {
    out.write_str("<section class=\"card\"><h2>Sessions</h2>\n")?;
    if books.conversations.is_empty() {
        return out.write_str(
            "<p class=\"quiet\">None yet. Point a client here, or start one with \
             <code>epitome run -- COMMAND</code>.</p></section>\n",
        );
    }
    out.write_str(
        "<div class=\"scroll\"><table><thead><tr><th>session</th><th>tokens a request</th>\
         <th class=\"number\">raw</th><th class=\"number\">sent</th>\
         <th class=\"number\">net saving</th><th class=\"number\">cache read</th>\
         <th class=\"number\">compressions</th><th class=\"number\">requests</th>\
         <th class=\"number\">skips</th><th class=\"number\">last used</th></tr></thead>\n<tbody>\n",
    )?;
    for shown in &books.conversations {
        row(out, shown, now)?;
    }
    out.write_str("</tbody>\n")?;
    if books.older.count > 0 {
        write!(out, "<tfoot><tr><td>{} older</td><td></td>", grouped(books.older.count))?;
        figures(out, &books.older.sums)?;
        out.write_str("<td></td></tr></tfoot>\n")?;
    }
    out.write_str("</table></div></section>\n")
}

fn row(out: &mut String, shown: &ConversationFigures, now: SystemTime) -> fmt::Result {
    let model = shown.model.as_deref().unwrap_or(shown.api.name());
    write!(
        out,
        "<tr><td class=\"name\" title=\"{name}\">{name}<small>{}</small></td><td>{}</td>",
        EscapedText(model),
        chart::curve(shown.recent.iter().copied()),
        name = EscapedText(&shown.name),
    )?;
    figures(out, &shown.figures)?;
    writeln!(out, "<td class=\"number\">{}</td></tr>", ago(shown.last, now))
}

/// The cells that sessions and the rest have in common.
fn figures(out: &mut String, figures: &RequestSums) -> fmt::Result {
    let [raw, sent] = figures.tokens();
    let bill = figures.cost.bill;
    let net = if bill.raw > 0.0 { percent(bill.share()) } else { "–".to_owned() };
    let money = match figures.cost.priced {
        0 => String::new(),
        _ => {
            format!("<small>{}{}</small>", dollars(figures.cost.dollars.saved()), unpriced(figures))
        }
    };
    let read = match figures.answers {
        0 => "–".to_owned(),
        _ => percent(share(figures.usage.cache_read, figures.usage.prompt())),
    };
    let skips: u64 = figures.troubles.skips.values().sum();
    let worry = if skips > 0 { " bad" } else { "" };
    write!(
        out,
        "<td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number {}\">{net}{money}</td><td class=\"number\">{read}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number{worry}\">{}</td>",
        compact(raw as f64),
        compact(sent as f64),
        sign(bill),
        grouped(figures.epochs),
        grouped(figures.requests),
        grouped(skips),
    )
}

/// A part of a whole; none of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
