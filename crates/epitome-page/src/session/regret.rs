//! What of a compression was fetched again.

use epitome::{CompactionRegret, FetchedText};
use maud::{Markup, html};

use crate::figures::grouped;
use crate::shown::line;
use crate::view::SessionView;

/// So many texts are listed.
const ROWS: usize = 100;

/// The section of a compression's page.
pub(super) fn section(view: &SessionView<'_>, regret: &CompactionRegret) -> Markup {
    let counts = regret.counts(u32::MAX);
    html! {
        section.card #again {
            h2 { "Read again" }
            p {
                @if counts.again == 0 {
                    "Nothing of the " (texts(counts.left)) " that left was fetched again."
                } @else {
                    "Read again: " b { (texts(counts.again)) ", " (grouped(counts.again_tokens)) " tokens" }
                    ", of " (texts(counts.left)) " with " (grouped(counts.left_tokens)) " tokens that left."
                }
                @if counts.refreshed > 0 {
                    " " (grouped(counts.refreshed))
                    @if counts.refreshed == 1 { " call" } @else { " calls" }
                    " for the same brought something new, which is not counted."
                }
            }
            @if !regret.again.is_empty() {
                table.list.cards {
                    thead { tr {
                        th { "What" } th { "How" } th.number { "Tokens" }
                        th.number { "Turns later" } th { "Left" } th { "Back" }
                    } }
                    tbody { @for it in regret.again.iter().take(ROWS) { (row(view, it)) } }
                }
            }
            @if regret.again.len() > ROWS {
                p.quiet { (grouped((regret.again.len() - ROWS) as u64)) " more are not listed." }
            }
        }
    }
}

fn row(view: &SessionView<'_>, it: &FetchedText) -> Markup {
    let entry = |place: usize| view.link.to(&format!("/e/e{place}"));
    html! {
        tr {
            td.title { (line(&it.name, 100)) }
            td data-label="How" { @if it.recalled { "recalled" } @else { "the same call" } }
            td.number data-label="Tokens" { (grouped(it.tokens)) }
            td.number data-label="Turns later" { (it.turns) }
            td data-label="Left" { a href=(entry(it.entry)) { "e" (it.entry) } }
            td data-label="Back" { a href=(entry(it.by)) { "e" (it.by) } }
        }
    }
}

fn texts(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "text" } else { "texts" })
}
