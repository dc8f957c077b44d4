//! The turns of a session in a list: what came, what was sent, and the compressions between them.

use std::collections::BTreeMap;

use epitome::types::{Part, Speaker};
use epitome::{EntryState, ListedEntry, TimelineTurn};
use maud::{Markup, html};

use super::cut;
use crate::acts;
use crate::error::PageError;
use crate::figures::grouped;
use crate::parts;
use crate::shown::line;
use crate::view::SessionView;

/// So many turns stand on a page.
const ROWS: usize = 50;
/// So many messages of a turn are listed.
const ENTRIES: usize = 60;

/// The address of a turn in the list.
pub(super) fn turn_address(view: &SessionView<'_>, number: usize) -> String {
    let last = view.timeline.turns.len().saturating_sub(1) / ROWS;
    let page = number.saturating_sub(1) / ROWS;
    let query = view.link.query();
    let query = if page == last { query } else { query.with("turns", page.to_string()) };
    format!("{}#t{number}", query.behind(view.link.path()))
}

/// The list: the newest turns, or the page that is asked for.
pub(super) fn section(view: &SessionView<'_>) -> Result<Markup, PageError> {
    let turns = &view.timeline.turns;
    let last = turns.len().saturating_sub(1) / ROWS;
    let page = view.visit.query.number("turns").unwrap_or(last).min(last);
    let shown = page * ROWS..((page + 1) * ROWS).min(turns.len());
    let (Some(first), Some(end)) = (turns.get(shown.start), turns[shown.clone()].last()) else {
        return Ok(html! { section.card { p.quiet { "Nothing was said yet." } } });
    };
    let history = &view.timeline.history;
    let is_newest = shown.end == turns.len();
    let until = end.entries.end + usize::from(is_newest && history.answer.is_some());
    let base = first.entries.start;
    let entries = view.admin.entries_in(history, base..until)?;
    let list = TurnList {
        view,
        states: view.timeline.entry_states(),
        pins: history.pinned().iter().map(|id| id.index()).collect(),
        entries: &entries,
        base,
    };
    Ok(html! {
        section.card.turns #turns {
            h2 { "Turns" (pager(view, page, last)) }
            (acts::pin_form(view))
            div.turnhead aria-hidden="true" {
                span { "Turn" } span { "What was asked" } span.number { "Messages" }
                span.number { "As it came" } span.number { "Sent" } span.number { "When" }
            }
            @for place in shown.clone().rev() {
                @let turn = &turns[place];
                (list.turn(turn, is_newest && place + 1 == turns.len()))
                @if view.timeline.client_compactions.contains(&place) {
                    p.turn.quiet { "The client compacted its history by itself here." }
                }
                @for it in view.timeline.compactions.iter().rev().filter(|it| it.turn == place) {
                    (cut::row(view, it))
                }
            }
            (pager(view, page, last))
        }
    })
}

/// The ways to other pages of the list; the newest turns are the last page.
fn pager(view: &SessionView<'_>, page: usize, last: usize) -> Markup {
    let to = |page: usize| {
        let query = view.link.query();
        let query = if page == last { query } else { query.with("turns", page.to_string()) };
        format!("{}#turns", query.behind(view.link.path()))
    };
    html! {
        @if last > 0 {
            nav.pager aria-label="More turns" {
                @if page < last { a rel="prev" href=(to(page + 1)) { "Newer" } }
                span.quiet {
                    (page * ROWS + 1) " to "
                    (((page + 1) * ROWS).min(view.timeline.turns.len()))
                    " of " (grouped(view.timeline.turns.len() as u64))
                }
                @if page > 0 { a rel="next" href=(to(page - 1)) { "Older" } }
            }
        }
    }
}

/// Turns with their messages.
struct TurnList<'v> {
    view: &'v SessionView<'v>,
    states: BTreeMap<usize, EntryState>,
    pins: Vec<usize>,
    /// The messages of the turns on the page.
    entries: &'v [ListedEntry],
    /// The place of the first of them.
    base: usize,
}

impl TurnList<'_> {
    fn of_turn(&self, turn: &TimelineTurn, is_newest: bool) -> &[ListedEntry] {
        let end = if is_newest { usize::MAX } else { turn.entries.end - self.base };
        let end = end.min(self.entries.len());
        &self.entries[(turn.entries.start - self.base).min(end)..end]
    }

    fn turn(&self, turn: &TimelineTurn, is_newest: bool) -> Markup {
        let entries = self.of_turn(turn, is_newest);
        let typed = entries.iter().find(|it| it.is_typed);
        let opening = typed.or_else(|| entries.first());
        let opening = opening.map(opening_of).unwrap_or_default();
        let sent = turn.sent.sum();
        html! {
            details.turn.row id={ "t" (turn.number) } {
                summary {
                    span.place { (turn.number) }
                    span.opening {
                        @if typed.is_none() { span.quiet { (opening) } } @else { (opening) }
                    }
                    span.number data-label="messages" { (grouped(entries.len() as u64)) }
                    span.number data-label="came" { (parts::tokens(turn.raw)) }
                    span.number data-label="sent" {
                        @if turn.came_before { "–" } @else { (parts::tokens(sent)) }
                    }
                    span.number.when {
                        @if let Some(at) = &turn.at { (parts::since(at, &self.view.visit.now)) }
                    }
                }
                @if turn.came_before {
                    p.quiet { "It came with the history of the first request: nothing was sent for it here." }
                }
                (bands(turn))
                (usage(turn))
                table.entries.cards {
                    thead { tr {
                        th { "Entry" } th { "What" } th { "Says" } th.number { "Tokens" } th { "Now" } th {}
                    } }
                    tbody { @for entry in entries.iter().take(ENTRIES) { (self.entry(entry)) } }
                }
                @if entries.len() > ENTRIES {
                    p.quiet { (entries.len() - ENTRIES) " more messages came with this turn." }
                }
            }
        }
    }

    fn entry(&self, listed: &ListedEntry) -> Markup {
        let entry = &listed.entry;
        let place = entry.id.index();
        let message = self.view.timeline.history.message(entry.id);
        let says = line(&entry.readable(), 200);
        html! {
            tr id={ "e" (place) } {
                td { a href=(self.view.link.to(&format!("/e/{}", entry.id))) { (entry.id) } }
                td data-label="What" { (line(&listed.name, 40)) }
                td.says { @if says.is_empty() { span.quiet { "(nothing to read)" } } @else { (says) } }
                td.number data-label="Tokens" {
                    @if let Some(message) = message { (parts::tokens(message.tokens)) }
                }
                td data-label="Now" { (self.state(place)) }
                td { (acts::pin_button(place, self.pins.contains(&place))) }
            }
        }
    }

    fn state(&self, place: usize) -> Markup {
        let is_pinned = self.pins.contains(&place);
        let is_erased = || {
            let message = self.view.timeline.history.messages.get(place);
            message.is_some_and(|message| message.erased)
        };
        let (class, word) = match self.states.get(&place) {
            None if is_erased() => ("left", "erased"),
            None => ("whole", "whole"),
            Some(EntryState::Shortened) => ("shortened", "shortened"),
            Some(EntryState::Summarized) => ("left", "in a summary"),
            Some(EntryState::Dropped) => ("left", "left"),
        };
        html! {
            @if is_pinned { span.chip.pinned { "pinned" } }
            @else { span class={ "state " (class) } { (word) } }
        }
    }
}

/// The beginning of what a message says: of what a person typed in it, where one did.
fn opening_of(listed: &ListedEntry) -> String {
    let parts = listed.entry.parts.iter();
    let typed = parts.filter(|part| part.speaker == Speaker::Human).filter_map(Part::text);
    match typed.collect::<Vec<_>>().join(" ") {
        typed if typed.trim().is_empty() => line(&listed.entry.readable(), 160),
        typed => line(&typed, 160),
    }
}

/// What the provider counted.
fn usage(turn: &TimelineTurn) -> Markup {
    let Some(usage) = turn.usage else { return html! {} };
    html! {
        p.figures.usage {
            span { "The provider counted: read from its cache " b { (grouped(usage.cache_read)) } }
            span { "written to it " b { (grouped(usage.cache_written)) } }
            span { "neither " b { (grouped(usage.input)) } }
            span { "answered " b { (grouped(usage.output)) } }
        }
    }
}

/// The figures behind a column of the drawing.
fn bands(turn: &TimelineTurn) -> Markup {
    html! {
        p.figures {
            @for (name, tokens) in turn.sent.all().into_iter().filter(|(_, tokens)| *tokens > 0) {
                span { i class=(name) {} (name) " " b { (grouped(tokens)) } }
            }
        }
    }
}
