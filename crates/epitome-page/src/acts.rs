//! Buttons, and what they do.
//!
//! Invariant: each does what the command does, by the same call, and leaves the same record. It names what
//! was looked at; where that holds no more, nothing is done.

use epitome::types::{JournalMark, Snapshot, SnapshotPurpose};
use epitome::{SessionAdmin, StatusWishes, UnmetWish};
use maud::{Markup, html};

use crate::error::PageError;
use crate::figures::{compact, dollars, grouped};
use crate::parts;
use crate::shown::line;
use crate::view::SessionView;
use crate::visit::PageVisit;
use crate::write_price::WritePrice;

/// What was done where a pin takes compressions back.
const PINNED_ANEW: &str = "pin-anew";
/// So many snapshots are offered.
const SNAPSHOTS: usize = 12;
/// The form that the buttons of messages belong to.
const PIN_FORM: &str = "pin";

/// Does what a form asks for; gives the way back.
pub(crate) fn perform(visit: &PageVisit<'_>, name: &str) -> Result<String, PageError> {
    let (admin, link) = visit.session(name)?;
    let form = &visit.query;
    // A button of a message says both what and which.
    let (act, entry) = match (form.get("pin"), form.get("unpin")) {
        (Some(entry), _) => ("pin", vec![entry.to_owned()]),
        (None, Some(entry)) => ("unpin", vec![entry.to_owned()]),
        (None, None) => (form.get("do").ok_or(PageError::NoAct)?, Vec::new()),
    };
    let history = admin.history(Some(name))?;
    let is_of_place = act == "restore";
    if form.get("seen") != Some(&history.place(is_of_place)) {
        return Err(PageError::MovedOn);
    }
    let at = visit.now.as_str();
    let mut done = act;
    match act {
        "undo" => drop(admin.compressions(name)?.undo(at)?),
        "redo" => drop(admin.compressions(name)?.redo(at)?),
        "pin" => {
            if !admin.pin(Some(name), &entry, JournalMark::Pin, at)?.left.is_empty() {
                done = PINNED_ANEW;
            }
        }
        "unpin" => drop(admin.pin(Some(name), &entry, JournalMark::Unpin, at)?),
        "compress" => admin.request_compression(name, at)?,
        "restore" => {
            let snapshot = form.get("snapshot").ok_or(PageError::NoAct)?;
            drop(admin.restore(Some(name), snapshot, at)?);
        }
        _ => return Err(PageError::NoAct),
    }
    let back = link.query().with("done", done).with("turns", form.get("turns").unwrap_or_default());
    let place = entry.first().map(|entry| format!("#{entry}")).unwrap_or_default();
    Ok(back.behind(link.path()) + &place)
}

/// What was done, where the page is shown after that.
pub(crate) fn done(visit: &PageVisit<'_>) -> Markup {
    let said = match visit.query.get("done") {
        Some("undo") => {
            "Taken back. The next request is made from what stood before; where that does not fit, it is \
             compressed again."
        }
        Some("redo") => "In force again, from the next request on.",
        Some("pin") => "Pinned. It stays in the prompt as it was said, from the next request on.",
        Some(PINNED_ANEW) => {
            "Pinned. Compressions that took it out apply no longer: the next request is made from what \
             stood before them. Unpin brings them back."
        }
        Some("unpin") => "Not pinned any longer.",
        Some("compress") => {
            "Asked for. The next request is compressed, unless it is within its bounds."
        }
        Some("restore") => {
            "Gone back. A snapshot of what stood before was kept, so this can be taken back too. Where what \
             stood then does not fit, the next request is compressed again."
        }
        _ => return html! {},
    };
    html! { p.card.done role="status" { (said) } }
}

/// What every form of a session carries.
fn carried(view: &SessionView<'_>, of_place: bool) -> Markup {
    let scope = view.link.query();
    html! {
        input type="hidden" name="token" value=(view.visit.form_token);
        input type="hidden" name="seen" value=(view.timeline.history.place(of_place));
        input type="hidden" name="in" value=(scope.get("in").unwrap_or_default());
    }
}

fn action(view: &SessionView<'_>) -> String {
    format!("{}/act", view.link.path())
}

/// A button of the session, with what it costs.
struct ActButton<'b> {
    act: &'b str,
    name: &'b str,
    price: Markup,
    is_there: bool,
}

/// The buttons of a session. One that an experiment holds out is not compressed whoever asks.
pub(crate) fn buttons(
    view: &SessionView<'_>,
    wishes: &StatusWishes,
    is_held_out: bool,
) -> Result<Markup, PageError> {
    let history = &view.timeline.history;
    let all = [
        ActButton {
            act: "undo",
            name: "Undo the last compression",
            price: undo_price(view),
            is_there: history.in_force().is_some(),
        },
        ActButton {
            act: "redo",
            name: "Redo",
            price: redo_price(view),
            is_there: history.redoable().is_some(),
        },
        ActButton {
            act: "compress",
            name: "Compress now",
            price: html! {
                @if is_held_out { "held out by its experiment, to measure what others save" }
                @else if wishes.asked.is_some() { "asked for, with the next request" }
                @else if let Some(unmet) = unmet(view, wishes) {
                    "asked for, and not done " (parts::since(&unmet.at, &view.visit.now)) ": "
                    (unmet.reason.in_words())
                }
            },
            is_there: wishes.asked.is_none() && !is_held_out,
        },
    ];
    Ok(html! {
        section.acts aria-label="Act" {
            @for ActButton { act, name, price, is_there } in &all {
                form method="post" action=(action(view)) {
                    (carried(view, false))
                    button id={ "do-" (act) } name="do" value=(act) disabled[!is_there] { (name) }
                    small { (price) }
                }
            }
            (restore(view, &view.admin)?)
        }
    })
}

/// The compression that was asked for last and not made, where none was made since.
fn unmet<'w>(view: &SessionView<'_>, wishes: &'w StatusWishes) -> Option<&'w UnmetWish> {
    let newest = view.timeline.compactions.iter().map(|it| &it.recorded.epoch.at).max();
    wishes.unmet.as_ref().filter(|unmet| newest.is_none_or(|newest| *newest < unmet.at))
}

/// Snapshots to go back to.
fn restore(view: &SessionView<'_>, admin: &SessionAdmin) -> Result<Markup, PageError> {
    let name = &view.timeline.history.info.name;
    let snapshots = admin.journal().snapshots(admin.scope(), Some(name))?;
    let purpose = |snapshot: &Snapshot| match snapshot.purpose {
        SnapshotPurpose::Recovery => "by hand",
        SnapshotPurpose::Rollback => "before a compression",
        SnapshotPurpose::Emergency => "before the emergency ladder",
    };
    let label = |snapshot: &Snapshot| {
        let named = snapshot.name.as_deref().map(|name| format!("{}, ", line(name, 40)));
        format!(
            "{}{}, {}, {} messages, {} tokens",
            named.unwrap_or_default(),
            parts::moment(&snapshot.at),
            purpose(snapshot),
            snapshot.size.messages,
            compact(snapshot.size.tokens[1] as f64)
        )
    };
    Ok(html! {
        @if !snapshots.is_empty() {
            form method="post" action=(action(view)) {
                (carried(view, true))
                select name="snapshot" aria-label="Snapshot" {
                    @for snapshot in snapshots.iter().take(SNAPSHOTS) {
                        option value=(snapshot.id) { (label(snapshot)) }
                    }
                }
                button #do-restore name="do" value="restore" { "Go back to it" }
            }
        }
    })
}

/// The form of the buttons beside messages.
pub(crate) fn pin_form(view: &SessionView<'_>) -> Markup {
    html! {
        form id=(PIN_FORM) method="post" action=(action(view)) {
            (carried(view, false))
            // The way back leads to the same turns.
            input type="hidden" name="turns" value=(view.visit.query.get("turns").unwrap_or_default());
        }
    }
}

/// A button that pins a message, or takes the pin out: it says both what and which.
pub(crate) fn pin_button(place: usize, is_pinned: bool) -> Markup {
    let (act, name) = if is_pinned { ("unpin", "Unpin") } else { ("pin", "Pin") };
    html! {
        button.ghost.pin id={ "pin-e" (place) } form=(PIN_FORM) name=(act) value={ "e" (place) } { (name) }
    }
}

/// What the next prompt costs that is written anew, at list prices: at most, since its cache may hold a
/// part of it still.
fn price(view: &SessionView<'_>, tokens: u64) -> Markup {
    html! {
        "a prompt of about " (grouped(tokens)) " tokens is written anew"
        @if let Some(dollars) = WritePrice::for_session(view).map(|it| it.dollars(tokens)) {
            ", at most " (about(dollars)) "; less while the provider's cache holds a part of it"
        }
    }
}

/// Dollars, as far as they are known.
pub(crate) fn about(amount: f64) -> String {
    if amount < 0.005 { "less than $0.01".to_owned() } else { format!("about {}", dollars(amount)) }
}

/// What the undo costs: the prompt that stood before, with all that came since.
fn undo_price(view: &SessionView<'_>) -> Markup {
    let Some(it) = view.timeline.newest() else { return html! {} };
    let [before, after] = it.recorded.epoch.outcome.tokens;
    let figures = &view.timeline.history.info.figures;
    let [came, sent] = figures.tokens;
    let last = view.timeline.turns.len().saturating_sub(1);
    let was_sent_by_it = view.timeline.in_force(last).is_some_and(|last| last == it);
    let anew = match was_sent_by_it {
        true => sent.saturating_sub(after).saturating_add(before).min(came),
        // It was put in force since, so the newest prompt is the one that stood before.
        false => sent,
    };
    // What does not fit is never sent.
    if figures.limit > 0 && anew > figures.limit {
        return html! {
            "about " (grouped(anew)) " tokens do not fit in " (grouped(figures.limit))
            ": the next request is compressed again"
        };
    }
    price(view, anew)
}

/// What the redo costs: what it left, with all that came since.
fn redo_price(view: &SessionView<'_>) -> Markup {
    let id = view.timeline.history.redoable();
    let Some(it) = view.timeline.compactions.iter().find(|it| Some(it.recorded.epoch.id) == id)
    else {
        return html! {};
    };
    let raw = |turn: usize| view.timeline.turns.get(turn).map_or(0, |turn| turn.raw);
    let since = raw(view.timeline.turns.len().saturating_sub(1)).saturating_sub(raw(it.turn));
    price(view, it.recorded.epoch.outcome.tokens[1].saturating_add(since))
}
