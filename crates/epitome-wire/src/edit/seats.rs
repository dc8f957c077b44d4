//! What Anthropic takes in some places only: system messages in mid-conversation, behind the user
//! and before the assistant or at the end, and new messages of the assistant.
//!
//! Invariant: one that stands as its client placed it stays as it came. Any other is said by the
//! user's side, in the tag that clients wrap their reminders in; its words stay. Called by `order`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use epitome_types::{PartBody, Role};

use super::changes::Changes;
use super::slot::OutputSlot;
use crate::speaker::reminder;
use crate::{Format, RequestDocument};

/// New messages of the assistant stand between two of the user's side only: nowhere else does this
/// format take them, or else they would become one with what the model said, reasoning and all
/// (RULES 106 and 107). Any other is said by the user's side.
pub(super) fn seated<'e>(
    document: &RequestDocument<'_>,
    slots: Vec<OutputSlot<'e>>,
) -> Vec<OutputSlot<'e>> {
    let roles: Vec<_> = slots.iter().map(|slot| role(document, slot)).collect();
    let by_user = |at: Option<usize>| at.and_then(|at| *roles.get(at)?) == Some(Role::User);
    let mut out: Vec<OutputSlot<'e>> = Vec::with_capacity(slots.len());
    for (at, slot) in slots.into_iter().enumerate() {
        let between = by_user(at.checked_sub(1)) && by_user(Some(at + 1));
        match (slot, out.last_mut()) {
            (
                OutputSlot::New { role, texts },
                Some(OutputSlot::New { role: Role::User, texts: all }),
            ) if role == Role::User || role == Role::Assistant && !between => {
                all.extend(texts);
            }
            (OutputSlot::New { role: Role::Assistant, texts }, _) if !between => {
                out.push(OutputSlot::New { role: Role::User, texts });
            }
            (slot, _) => out.push(slot),
        }
    }
    out
}

fn role(document: &RequestDocument<'_>, slot: &OutputSlot<'_>) -> Option<Role> {
    match slot {
        OutputSlot::Keep(place) => document.sites().get(*place).map(|site| site.role),
        OutputSlot::New { role, .. } => Some(*role),
    }
}

/// Notes the messages that are said by the user's side, and gives their places.
pub(super) fn reseat(
    document: &RequestDocument<'_>,
    changes: &mut Changes<'_>,
    slots: &[OutputSlot<'_>],
) -> BTreeSet<usize> {
    if document.format() != Format::Anthropic {
        return BTreeSet::new();
    }
    let mut moved = BTreeSet::new();
    let mut at = 0;
    while at < slots.len() {
        let run = slots[at..].iter().take_while(|slot| is_system(document, slot)).count();
        if run > 0 && !is_seated(document, slots, at, run) {
            moved.extend(slots[at..at + run].iter().filter_map(place));
        }
        at += run.max(1);
    }
    moved.retain(|place| reword(document, changes, *place));
    moved
}

/// Whether system messages in a row may stand where they do.
fn is_seated(
    document: &RequestDocument<'_>,
    slots: &[OutputSlot<'_>],
    at: usize,
    run: usize,
) -> bool {
    let role = |slot| role(document, slot);
    let before = at.checked_sub(1).and_then(|before| slots.get(before));
    let after = slots.get(at + run);
    let takes = before.and_then(role) == Some(Role::User)
        && after.is_none_or(|after| role(after) == Some(Role::Assistant));
    takes || is_as_it_came(document, slots, at, run)
}

/// Whether they have the neighbours that their client gave them.
fn is_as_it_came(
    document: &RequestDocument<'_>,
    slots: &[OutputSlot<'_>],
    at: usize,
    run: usize,
) -> bool {
    let places: Vec<_> = slots[at..at + run].iter().filter_map(place).collect();
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return true };
    let before = at.checked_sub(1).map(|before| place(&slots[before]));
    let after = slots.get(at + run).map(place);
    let next = (last + 1 < document.sites().len()).then_some(Some(last + 1));
    last - first + 1 == run && before == first.checked_sub(1).map(Some) && after == next
}

fn place(slot: &OutputSlot<'_>) -> Option<usize> {
    match slot {
        OutputSlot::Keep(place) => Some(*place),
        OutputSlot::New { .. } => None,
    }
}

fn is_system(document: &RequestDocument<'_>, slot: &OutputSlot<'_>) -> bool {
    let site = place(slot).and_then(|place| document.sites().get(place));
    site.is_some_and(|site| site.role == Role::System)
}

/// Has a message said by the user's side, where it consists of texts; others stay as they are.
fn reword(document: &RequestDocument<'_>, changes: &mut Changes<'_>, place: usize) -> bool {
    let Some(entry) = document.entries().get(place + document.lead()) else { return false };
    let texts = entry.parts.iter().map(|part| match &part.body {
        PartBody::Text(text) => Some(text),
        _ => None,
    });
    let Some(texts) = texts.collect::<Option<Vec<_>>>().filter(|texts| !texts.is_empty()) else {
        return false;
    };
    let Some(change) = changes.messages.get_mut(place) else { return false };
    change.by_user = true;
    change.texts.extend((0..).zip(texts).map(|(part, text)| (part, Cow::Owned(reminder(text)))));
    true
}
