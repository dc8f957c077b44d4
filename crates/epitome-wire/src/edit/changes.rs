//! What the edits ask of each message, checked against the document and each other.
//!
//! Invariant: after `settle`, every message either goes whole or keeps something besides
//! reasoning, and of its reasoning all goes or none (RULES 107). An item of the Responses API whose
//! reasoning went has no id: by that the provider would ask for it (RULES 105). One that needs its
//! id goes as well.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{Edit, EntryId, Part, PartBody, PartId, Role};

use super::members;
use crate::json::{self, JsonValueKind};
use crate::site::{Home, PartSite, TextSite};
use crate::{Format, RequestDocument, WireError};

/// What happens to one message.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageChange<'e> {
    /// It goes.
    pub(super) removed: bool,
    /// The parts that go.
    pub(super) dropped: BTreeSet<u32>,
    /// New texts by part.
    pub(super) texts: BTreeMap<u32, Cow<'e, str>>,
    /// Texts folded in at its front.
    pub(super) before: Vec<Cow<'e, str>>,
    /// Texts folded in at its end.
    pub(super) after: Vec<Cow<'e, str>>,
    /// It is a system message that the user's side says.
    pub(super) by_user: bool,
    /// It goes without the id that it was given.
    pub(super) anonymous: bool,
    /// The blocks that are tool results and must stay first.
    results: BTreeSet<usize>,
}

/// A message to add.
#[derive(Debug)]
pub(super) struct Insert<'e> {
    /// The place of the message it stands before.
    pub(super) before: usize,
    pub(super) role: Role,
    pub(super) text: &'e str,
}

/// All edits, sorted by what they touch.
#[derive(Debug)]
pub(super) struct Changes<'e> {
    /// One for each message of the document.
    pub(super) messages: Vec<MessageChange<'e>>,
    /// In the order of the edits.
    pub(super) inserts: Vec<Insert<'e>>,
}

impl MessageChange<'_> {
    /// The same of the message at this place, with texts of its own.
    pub(super) fn into_owned(
        self,
        document: &RequestDocument<'_>,
        place: usize,
    ) -> MessageChange<'static> {
        let owned = |texts: Vec<Cow<'_, str>>| -> Vec<Cow<'static, str>> {
            texts.into_iter().map(|text| Cow::Owned(text.into_owned())).collect()
        };
        let texts = self.texts.into_iter();
        MessageChange {
            texts: texts.map(|(part, text)| (part, Cow::Owned(text.into_owned()))).collect(),
            before: owned(self.before),
            after: owned(self.after),
            removed: self.removed,
            dropped: self.dropped,
            by_user: self.by_user,
            anonymous: self.anonymous,
            results: results(document, place),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.dropped.is_empty()
            && self.texts.is_empty()
            && self.before.is_empty()
            && self.after.is_empty()
            && !self.anonymous
    }

    /// Whether the block at this place is a tool result.
    pub(super) fn leads(&self, block: usize) -> bool {
        self.results.contains(&block)
    }
}

impl<'e> Changes<'e> {
    /// Sorts the edits.
    pub(super) fn collect(
        document: &RequestDocument<'_>,
        edits: &'e [Edit],
    ) -> Result<Self, WireError> {
        let messages = document.sites().iter().map(|_| MessageChange::default()).collect();
        let mut changes = Changes { messages, inserts: Vec::new() };
        edits.iter().try_for_each(|edit| changes.add(document, edit))?;
        changes.check(document)?;
        Ok(changes)
    }

    fn add(&mut self, document: &RequestDocument<'_>, edit: &'e Edit) -> Result<(), WireError> {
        match edit {
            Edit::SetText { part, text } => {
                let site = site(document, *part)?;
                let reasoning = matches!(body(document, *part), Some(PartBody::Thinking(_)));
                match site {
                    TextSite::Fixed if reasoning => {
                        return Err(refuse(*part, "reasoning is never changed"));
                    }
                    TextSite::Fixed => {
                        return Err(refuse(*part, "it has no text of its own to replace"));
                    }
                    TextSite::Arguments { literal, .. } if !is_object(text) => {
                        // The text that a freely written call consists of is no object either.
                        let free = match body(document, *part) {
                            Some(PartBody::Call(call)) => literal && !is_object(&call.arguments),
                            _ => false,
                        };
                        if !free {
                            let why = "arguments are replaced by a JSON object only";
                            return Err(refuse(*part, why));
                        }
                    }
                    TextSite::Literal(_) | TextSite::Arguments { .. } => {}
                }
                let change = self.of(document, part.entry)?;
                if change.texts.insert(part.part, Cow::Borrowed(text)).is_some() {
                    return Err(refuse(*part, "two edits set its text"));
                }
            }
            Edit::RemovePart(part) => {
                site(document, *part)?;
                if !self.of(document, part.entry)?.dropped.insert(part.part) {
                    return Err(refuse(*part, "two edits remove it"));
                }
            }
            Edit::RemoveEntry(entry) => {
                let change = self.of(document, *entry)?;
                if std::mem::replace(&mut change.removed, true) {
                    return Err(WireError::Edit {
                        entry: *entry,
                        part: None,
                        why: "two edits remove it",
                    });
                }
            }
            Edit::Insert { after, role, text } => {
                let before = place_behind(document, *after)?;
                let entry = after.unwrap_or(EntryId(0));
                let refused = match role {
                    Role::Tool => {
                        Some("a tool's answer cannot be inserted; insert a text for the user")
                    }
                    Role::System if document.format() == Format::Anthropic => Some(
                        "this format takes no inserted system message; insert a text for the user",
                    ),
                    _ => None,
                };
                if let Some(why) = refused {
                    return Err(WireError::Edit { entry, part: None, why });
                }
                self.inserts.push(Insert { before, role: *role, text });
            }
        }
        Ok(())
    }

    fn of(
        &mut self,
        document: &RequestDocument<'_>,
        entry: EntryId,
    ) -> Result<&mut MessageChange<'e>, WireError> {
        let place = place(document, entry)?;
        let gone = WireError::Edit { entry, part: None, why: "there is no such entry" };
        self.messages.get_mut(place).ok_or(gone)
    }

    /// Makes sure that no edit aims inside what another one removes.
    fn check(&self, document: &RequestDocument<'_>) -> Result<(), WireError> {
        for (place, change) in self.messages.iter().enumerate() {
            let entry = &document.entries()[place + document.lead()];
            let touched = change.dropped.iter().chain(change.texts.keys());
            for part in touched {
                let at = PartId { entry: entry.id, part: *part };
                if change.removed {
                    return Err(refuse(at, "another edit removes its entry"));
                }
                let within = entry.parts.get(*part as usize).and_then(|part| part.within);
                if within.is_some_and(|outer| change.dropped.contains(&outer)) {
                    return Err(refuse(at, "another edit removes the part it stands in"));
                }
                if change.dropped.contains(part) && change.texts.contains_key(part) {
                    return Err(refuse(at, "one edit removes it, another sets its text"));
                }
            }
        }
        Ok(())
    }

    /// Lets messages go that the edits leave without content.
    pub(super) fn settle(&mut self, document: &RequestDocument<'_>) -> Result<(), WireError> {
        let entries = document.entries().iter().skip(document.lead());
        for ((change, site), entry) in self.messages.iter_mut().zip(document.sites()).zip(entries) {
            if change.dropped.is_empty() {
                continue;
            }
            let parts = || (0..).zip(entry.parts.iter().zip(&site.parts));
            let goes = |part: &u32| change.dropped.contains(part);
            let mut dropped = parts().filter(|(part, _)| goes(part));
            let whole = dropped.any(|(_, (_, site))| site.home == Home::Message);
            let mut left = parts().filter(|(part, (body, _))| !goes(part) && body.within.is_none());
            if whole || left.all(|(_, (part, _))| matches!(part.body, PartBody::Thinking(_))) {
                change.removed = true;
                continue;
            }
            let mut thoughts = entry.thoughts();
            let first = thoughts.next().map(|first| (goes(&first.part), first));
            if let Some((goes_first, first)) = first
                && thoughts.any(|other| goes(&other.part) != goes_first)
            {
                return Err(refuse(first, "of a reply all reasoning goes, or none"));
            }
        }
        if document.format() == Format::Responses {
            self.settle_ids(document);
        }
        Ok(())
    }

    /// Takes their ids from the items of a reply whose reasoning goes while they stay. Those that
    /// the provider does not take without one go too, with what answers them.
    fn settle_ids(&mut self, document: &RequestDocument<'_>) {
        let entries = || document.entries().iter().skip(document.lead());
        let (mut lost, mut gone) = (false, BTreeSet::new());
        for ((change, entry), site) in self.messages.iter_mut().zip(entries()).zip(document.sites())
        {
            let thinks = entry.thoughts().next().is_some();
            lost = entry.role == Role::Assistant && (lost || thinks && change.removed);
            if !lost || thinks || change.removed {
                continue;
            }
            change.removed = members::needs_its_id(document.text(), site);
            change.anonymous = !change.removed;
            if change.removed {
                gone.extend(entry.parts.iter().filter_map(|part| match &part.body {
                    PartBody::Call(call) => Some(&*call.id),
                    PartBody::Opaque(opaque) => opaque.calls.as_deref(),
                    _ => None,
                }));
            }
        }
        for (change, entry) in self.messages.iter_mut().zip(entries()) {
            change.removed |= entry.parts.iter().any(|part| match &part.body {
                PartBody::Result(result) => gone.contains(&*result.call),
                PartBody::Opaque(opaque) => {
                    opaque.answers.as_deref().is_some_and(|id| gone.contains(id))
                }
                _ => false,
            });
        }
    }
}

/// The blocks of a message that are tool results.
fn results(document: &RequestDocument<'_>, place: usize) -> BTreeSet<usize> {
    let entry = document.entries().get(place + document.lead());
    let sites = document.sites().get(place).map(|site| &site.parts);
    let parts =
        entry.map(|entry| &entry.parts).into_iter().flatten().zip(sites.into_iter().flatten());
    let block = |(part, site): (&Part, &PartSite)| match (&part.body, site.home) {
        (PartBody::Result(_), Home::Block(block)) => Some(block),
        _ => None,
    };
    parts.filter_map(block).collect()
}

fn refuse(part: PartId, why: &'static str) -> WireError {
    WireError::Edit { entry: part.entry, part: Some(part.part), why }
}

/// The place of an entry's message among the messages.
fn place(document: &RequestDocument<'_>, entry: EntryId) -> Result<usize, WireError> {
    let refuse = |why| Err(WireError::Edit { entry, part: None, why });
    match entry.index().checked_sub(document.lead()) {
        None => refuse("the top-level system prompt is never edited"),
        Some(place) if place >= document.sites().len() => refuse("there is no such entry"),
        Some(place) => Ok(place),
    }
}

/// The place that a message behind an entry gets.
fn place_behind(
    document: &RequestDocument<'_>,
    after: Option<EntryId>,
) -> Result<usize, WireError> {
    match after {
        Some(entry) if entry.index() >= document.lead() => Ok(place(document, entry)? + 1),
        _ => Ok(0),
    }
}

fn site(document: &RequestDocument<'_>, part: PartId) -> Result<TextSite, WireError> {
    let site = document.sites().get(place(document, part.entry)?);
    let part_site = site.and_then(|site| site.parts.get(part.part as usize));
    part_site.map(|site| site.text).ok_or_else(|| refuse(part, "there is no such part"))
}

fn body<'d>(document: &'d RequestDocument<'_>, part: PartId) -> Option<&'d PartBody> {
    let entry = document.entries().get(part.entry.index())?;
    entry.parts.get(part.part as usize).map(|part| &part.body)
}

fn is_object(text: &str) -> bool {
    json::parse(text).is_ok_and(|value| value.kind() == JsonValueKind::Object)
}
