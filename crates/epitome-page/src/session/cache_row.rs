//! Below the bands: what of each prompt the provider read from its cache and wrote to it, turn by turn.
//!
//! Invariant: the provider's own count, and nothing where it said none; what is drawn stands in figures in
//! the list below it.

use epitome::TimelineTurn;
use epitome::types::TokenUsage;
use maud::{Markup, html};

use super::columns::{ChartColumn, area};

/// The height of the drawing, in its own units.
const HEIGHT: f64 = 60.0;

/// The colours, the lowest band first, with what they mean.
const BANDS: [(&str, &str); 3] =
    [("read", "read from the cache"), ("written", "written to it"), ("plain", "neither")];

/// The legend, with what it is a legend of. None of this where no provider counted.
pub(super) fn legend(turns: &[TimelineTurn]) -> Markup {
    html! {
        @if is_counted(turns) {
            p.quiet.below aria-hidden="true" {
                "By the provider's count: "
                span.key { @for (class, name) in BANDS { span { i class=(class) {} (name) } } }
            }
        }
    }
}

/// The drawing.
pub(super) fn drawing(turns: &[TimelineTurn], columns: &[ChartColumn<'_>]) -> Markup {
    let counted = |turn: &TimelineTurn| turn.usage.as_ref().map_or(0, TokenUsage::prompt);
    let top = columns.iter().map(|column| counted(column.largest)).max().unwrap_or_default();
    let y = |tokens: u64| HEIGHT - tokens as f64 * HEIGHT / (top.max(1) as f64 * 1.05);
    let view_box = format!("0 0 {} {HEIGHT}", columns.len());
    html! {
        @if is_counted(turns) {
            svg.cache viewBox=(view_box) preserveAspectRatio="none" aria-hidden="true" {
                // Each band covers those below it from the base on; the highest is drawn first.
                @for band in (0..BANDS.len()).rev() {
                    path class=(BANDS[band].0) d=(area(columns, HEIGHT, |turn| y(up_to(turn, band)))) {}
                }
            }
        }
    }
}

/// The same of a turn in words.
pub(super) fn words(turn: &TimelineTurn, told: impl Fn(u64) -> String) -> Option<String> {
    let TokenUsage { input, cache_read, cache_written, .. } = turn.usage?;
    let [read, written, plain] = [cache_read, cache_written, input].map(told);
    Some(format!("cache: {read} read, {written} written, {plain} neither"))
}

fn is_counted(turns: &[TimelineTurn]) -> bool {
    turns.iter().any(|turn| turn.usage.is_some())
}

/// The tokens of a band of a turn and of those below it.
fn up_to(turn: &TimelineTurn, band: usize) -> u64 {
    let TokenUsage { input, cache_read, cache_written, .. } = turn.usage.unwrap_or_default();
    [cache_read, cache_written, input][..=band].iter().sum()
}
