//! The new order of the messages: what stays, what is added, what is folded into a neighbour.
//!
//! Invariant: kept messages keep their order; no text for the user stands next to a message of
//! the user (RULES 11, 106). Neighbours are judged on what remains.

use std::borrow::Cow;

use epitome_types::Role;

use super::changes::Changes;
use super::seats;
use super::slot::OutputSlot;
use crate::{Format, RequestDocument};

/// The messages of the result; texts that found a neighbour are noted in its change.
pub(super) fn arrange<'e>(
    document: &RequestDocument<'_>,
    changes: &mut Changes<'e>,
) -> Vec<OutputSlot<'e>> {
    let mut slots = sequence(document, changes);
    if document.format() == Format::Anthropic {
        slots = seats::seated(document, slots);
    }
    let by_user = seats::reseat(document, changes, &slots);
    let is_user = |slot: Option<&OutputSlot<'_>>| match slot {
        Some(OutputSlot::Keep(place)) => {
            let site = document.sites().get(*place);
            let is_user = site.is_some_and(|site| site.role == Role::User);
            (is_user || by_user.contains(place)).then_some(*place)
        }
        _ => None,
    };
    let mut out: Vec<OutputSlot<'e>> = Vec::with_capacity(slots.len());
    let mut slots = slots.into_iter().peekable();
    while let Some(slot) = slots.next() {
        let OutputSlot::New { role: Role::User, texts } = slot else {
            out.push(slot);
            continue;
        };
        if let Some(next) = is_user(slots.peek()) {
            changes.messages[next].before = texts;
        } else if let Some(previous) = is_user(out.last()) {
            changes.messages[previous].after = texts;
        } else {
            out.push(OutputSlot::New { role: Role::User, texts });
        }
    }
    out
}

/// What remains and what is added, new texts of one role that meet joined into one message.
fn sequence<'e>(document: &RequestDocument<'_>, changes: &Changes<'e>) -> Vec<OutputSlot<'e>> {
    let mut slots: Vec<OutputSlot<'e>> = Vec::with_capacity(document.sites().len());
    for place in 0..=document.sites().len() {
        for insert in changes.inserts.iter().filter(|insert| insert.before == place) {
            match slots.last_mut() {
                Some(OutputSlot::New { role, texts }) if insert.role == *role => {
                    texts.push(Cow::Borrowed(insert.text));
                }
                _ => slots.push(OutputSlot::New {
                    role: insert.role,
                    texts: vec![Cow::Borrowed(insert.text)],
                }),
            }
        }
        if changes.messages.get(place).is_some_and(|change| !change.removed) {
            slots.push(OutputSlot::Keep(place));
        }
    }
    slots
}
