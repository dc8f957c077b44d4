//! The bands: tokens of each prompt by what they are, turn by turn.
//!
//! Invariant: what is drawn stands in figures in the list below it; colours are the style sheet's.

use epitome::TimelineTurn;
use maud::{Markup, PreEscaped, html};

use super::cache_row;
use super::columns::{ChartColumn, area, columns, steps};
use super::turns::turn_address;
use crate::figures::{compact, grouped};
use crate::view::SessionView;

/// The height of the drawing, in its own units.
const HEIGHT: f64 = 200.0;

/// The colours, the lowest band first, with what they mean.
const BANDS: [(&str, &str); 6] = [
    ("tools", "tools and framing"),
    ("system", "system"),
    ("summaries", "summaries"),
    ("people", "people"),
    ("model", "model"),
    ("results", "tool results"),
];

/// The drawing, with its legend.
pub(super) fn section(view: &SessionView<'_>) -> Markup {
    let turns = &view.timeline.turns;
    if turns.is_empty() {
        return html! {};
    }
    let columns = columns(turns);
    let limit = view.timeline.history.info.figures.limit;
    let largest = turns.iter().map(|turn| turn.raw.max(turn.sent.sum())).max().unwrap_or_default();
    // The limit is in sight where prompts come near it.
    let is_near = limit > 0 && limit < largest.saturating_mul(2);
    let top = if is_near { largest.max(limit) } else { largest }.max(1) as f64 * 1.05;
    html! {
        section.card.bands {
            h2 {
                "Tokens of each prompt"
                span.key {
                    @for (class, name) in BANDS { span { i class=(class) {} (name) } }
                    span { i.rawline {} "as it came" }
                    @if is_near { span { i.limitline {} "limit" } }
                    span { i.cutline {} "compression" }
                    @if !view.timeline.client_compactions.is_empty() {
                        span { i.ownline {} "the client's own" }
                    }
                }
            }
            div.plot {
                div.axis aria-hidden="true" {
                    span { (compact(top)) } span { (compact(top / 2.0)) } span { "0" }
                }
                div.scroll tabindex="0" role="img" aria-label=(summary(turns)) {
                    (drawing(view, &columns, top, is_near.then_some(limit)))
                    (cache_row::drawing(turns, &columns))
                    div.axis.across aria-hidden="true" {
                        span { "turn 1" } span { "turn " (grouped(turns.len() as u64)) }
                    }
                }
            }
            (cache_row::legend(turns))
        }
    }
}

fn summary(turns: &[TimelineTurn]) -> String {
    let largest = turns.iter().map(|turn| turn.sent.sum()).max().unwrap_or_default();
    let last = turns.last().map_or(0, |turn| turn.sent.sum());
    format!(
        "Tokens sent in {} turns: {} at most, {} in the last one. The list below has the figures.",
        grouped(turns.len() as u64),
        grouped(largest),
        grouped(last)
    )
}

fn drawing(
    view: &SessionView<'_>,
    columns: &[ChartColumn<'_>],
    top: f64,
    limit: Option<u64>,
) -> Markup {
    let y = |tokens: u64| HEIGHT - tokens as f64 * HEIGHT / top;
    let width = columns.len();
    let view_box = format!("0 0 {width} {HEIGHT}");
    html! {
        svg viewBox=(view_box) preserveAspectRatio="none" {
            // Each band covers those below it from the base on; the highest is drawn first.
            @for band in (0..BANDS.len()).rev() {
                path class=(BANDS[band].0) d=(area(columns, HEIGHT, |turn| y(up_to(turn, band)))) {}
            }
            path.rawline d=(steps(columns, |turn| y(turn.raw))) {}
            @if let Some(limit) = limit {
                path.limitline d={ "M0 " (format!("{:.1}", y(limit))) "H" (width) } {}
            }
            (flags(view, columns))
            @for (at, column) in columns.iter().enumerate() { (hit(view, column, at)) }
        }
    }
}

/// The tokens of a band and of those below it.
fn up_to(turn: &TimelineTurn, band: usize) -> u64 {
    turn.sent.all()[..=band].iter().map(|(_, tokens)| tokens).sum()
}

/// Where compressions were made.
fn flags(view: &SessionView<'_>, columns: &[ChartColumn<'_>]) -> Markup {
    let flag = |at: usize, is_undone: bool| {
        let class = if is_undone { "cutline undone" } else { "cutline" };
        html! { path class=(class) d={ "M" (at) " 0V" (HEIGHT) } {} }
    };
    html! {
        @for it in &view.timeline.compactions {
            @let column = columns.iter().position(|column| column.turns.contains(&it.turn));
            @if let (Some(at), Some(_)) = (column, it.start) { (flag(at, it.recorded.undone)) }
        }
        @for turn in &view.timeline.client_compactions {
            @if let Some(at) = columns.iter().position(|column| column.turns.contains(turn)) {
                path.ownline d={ "M" (at) " 0V" (HEIGHT) } {}
            }
        }
    }
}

/// What a click on a column leads to.
fn hit(view: &SessionView<'_>, column: &ChartColumn<'_>, at: usize) -> Markup {
    let turn = column.largest;
    let parts = turn.sent.all();
    let parts = parts.iter().filter(|(_, tokens)| *tokens > 0);
    let parts: Vec<_> =
        parts.map(|(name, tokens)| format!("{name} {}", compact(*tokens as f64))).collect();
    let sum = compact(turn.sent.sum() as f64);
    html! {
        a href=(turn_address(view, turn.number)) tabindex="-1" {
            rect.hit x=(at) y="0" width="1" height=(HEIGHT) {
                title {
                    "Turn " (turn.number) ": " (sum) " of " (compact(turn.raw as f64)) " sent\n"
                    (PreEscaped(parts.join(", ")))
                    @if let Some(cached) = cache_row::words(turn, |it| compact(it as f64)) {
                        "\n" (cached)
                    }
                }
            }
        }
    }
}
