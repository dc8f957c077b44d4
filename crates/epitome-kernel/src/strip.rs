//! What is left of an exchange when its tool calls and results leave and its talk stays, and what
//! leaves of notes that newer ones state anew.
//!
//! Invariant: a call and its result leave together or not at all (RULES 4), no message is left
//! with reasoning alone or at its end (RULES 107), and reasoning that stands alone leaves with all
//! that it led to (RULES 105). Read by `check`, and by whoever makes plans.

use std::collections::BTreeSet;
use std::ops::Range;

use epitome_types::{Entry, EntryId, Op, Part, PartBody, PartId, Plan, Role};

use crate::links::Exchange;
use crate::thread::{FreezeReason, PinReason, Thread};

/// What an exchange loses when its talk stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrippedExchange {
    /// Parts of messages that stay, in order: calls and results, or notes that are stale.
    pub parts: Vec<PartId>,
    /// Messages that leave whole, in order: they say nothing else.
    pub entries: Vec<EntryId>,
    /// Texts of messages that stay, without copies of files that newer ones took the place of.
    pub texts: Vec<ShortenedText>,
}

/// A part with less in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortenedText {
    /// The part.
    pub part: PartId,
    /// What it says then.
    pub with: String,
}

impl Thread {
    /// What an exchange of this thread loses when its talk stays. `None` where there is nothing to
    /// lose or nothing may be touched: it is pinned or holds the latest reasoning, a message would
    /// end with reasoning, or the conversation would begin with another message.
    pub fn stripped(&self, exchange: &Exchange) -> Option<StrippedExchange> {
        let mut gone = Gone::default();
        for entry in &self.entries()[exchange.entries.clone()] {
            if self.pinned(entry.id).is_some() || self.thinks_last(entry.id) {
                return None;
            }
            let tools = tools(entry);
            if tools.is_empty() {
                continue;
            }
            match StripRemainder::of(entry, &tools) {
                StripRemainder::Talk => gone.parts.extend(tools),
                StripRemainder::Reasoning => return None,
                StripRemainder::Nothing => drop(gone.entries.insert(entry.id)),
            }
        }
        let opening = self.entries().iter().find(|entry| entry.role != Role::System)?;
        let nothing = gone.parts.is_empty() && gone.entries.is_empty();
        if nothing || gone.entries.contains(&opening.id) {
            return None;
        }
        let alone = |place: &usize| led(self.entries(), *place).is_some_and(|led| gone.all(led));
        let alone: Vec<_> = exchange.entries.clone().filter(alone).map(id).collect();
        gone.entries.extend(alone);
        Some(gone.into())
    }

    /// What the entries before a place lose when the notes and the copies of files leave that newer
    /// ones state anew (RULES 16). Nothing that is pinned by hand loses any, no message is left with nothing, and
    /// the conversation begins with the same one; two messages of the assistant do not meet.
    pub fn restated(&self, before: usize) -> StrippedExchange {
        let mut gone = Gone::default();
        let mut talk = Talk::of(self.entries());
        let opening = talk.next.first().copied().flatten();
        let stale: Vec<_> = self.stale().filter(|part| part.entry.index() < before).collect();
        for parts in stale.chunk_by(|one, next| one.entry == next.entry) {
            let Some(entry) = self.entry(parts[0].entry) else { continue };
            let (place, pin) = (entry.id.index(), self.pinned(entry.id));
            let held = self.holds(entry.id) || self.thinks_last(entry.id);
            let alone = self.exchange_of(entry.id).entries.len() == 1;
            match StripRemainder::of(entry, parts) {
                _ if held => {}
                StripRemainder::Talk => gone.parts.extend(parts),
                StripRemainder::Nothing if alone && pin.is_none() && Some(place) != opening => {
                    if entry.role != Role::User || !talk.meets(place, &gone) {
                        gone.entries.insert(entry.id);
                    }
                }
                StripRemainder::Nothing | StripRemainder::Reasoning => {}
            }
        }
        let texts = self.parts_with_stale_files().into_iter().filter(|part| {
            let free =
                matches!(self.frozen(*part), None | Some(FreezeReason::Pinned(PinReason::File)));
            free && part.entry.index() < before && !gone.touches(*part)
        });
        let shortened = |part| Some(ShortenedText { part, with: self.without_stale_files(part)? });
        let texts = texts.filter_map(shortened).collect();
        StrippedExchange { texts, ..gone.into() }
    }
}

/// The messages of a conversation that are no system's, walked through once from the beginning.
struct Talk<'e> {
    entries: &'e [Entry],
    /// The first of them at each place or behind it.
    next: Vec<Option<usize>>,
    walked: usize,
    /// The last of them that stays of those walked through.
    last: Option<usize>,
}

impl<'e> Talk<'e> {
    fn of(entries: &'e [Entry]) -> Self {
        let mut next = vec![None; entries.len() + 1];
        for (place, entry) in entries.iter().enumerate().rev() {
            next[place] = if entry.role == Role::System { next[place + 1] } else { Some(place) };
        }
        Self { entries, next, walked: 0, last: None }
    }

    /// Whether two messages of the assistant stand next to each other where the one between them
    /// leaves. Places come in their order; what left before them is known.
    fn meets(&mut self, place: usize, gone: &Gone) -> bool {
        for at in self.walked..place {
            if self.entries[at].role != Role::System && !gone.has(id(at)) {
                self.last = Some(at);
            }
        }
        self.walked = place;
        let next = self.next.get(place + 1).copied().flatten();
        let is_model = |place: usize| self.entries[place].role == Role::Assistant;
        self.last.is_some_and(is_model) && next.is_some_and(is_model)
    }
}

impl From<Gone> for StrippedExchange {
    fn from(gone: Gone) -> Self {
        let Gone { parts, entries } = gone;
        let (parts, entries) = (parts.into_iter().collect(), entries.into_iter().collect());
        Self { parts, entries, texts: Vec::new() }
    }
}

/// What a plan takes out and puts nothing in the place of.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    entries: BTreeSet<EntryId>,
    parts: BTreeSet<PartId>,
}

impl Gone {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut gone = Self::default();
        for op in &plan.ops {
            match op {
                Op::Drop { entries } => gone.entries.extend(entries),
                Op::Strip { parts } => gone.parts.extend(parts),
                _ => {}
            }
        }
        gone
    }

    /// Whether an exchange leaves whole.
    pub(crate) fn takes(&self, exchange: &Exchange) -> bool {
        self.all(exchange.entries.clone())
    }

    /// Whether an exchange is torn: a call leaves without its result, reasoning without what it led
    /// to, or a message with more than tools and reasoning in it.
    pub(crate) fn tears(&self, thread: &Thread, exchange: &Exchange) -> bool {
        let is_gone = |part: &PartId| self.has(part.entry) || self.parts.contains(part);
        let parted = thread.links(exchange).any(|(result, call)| is_gone(result) != is_gone(call));
        parted
            || exchange.entries.clone().any(|place| {
                let entry = &thread.entries()[place];
                let led = led(thread.entries(), place);
                match (self.has(entry.id), led) {
                    (gone, Some(led)) => gone != self.all(led),
                    (gone, None) => {
                        gone && StripRemainder::of(entry, &tools(entry)) != StripRemainder::Nothing
                    }
                }
            })
    }

    /// What is left of a message that stays.
    pub(crate) fn rest(&self, entry: &Entry) -> StripRemainder {
        let own = PartId { entry: entry.id, part: 0 }..=PartId { entry: entry.id, part: u32::MAX };
        StripRemainder::of(entry, &self.parts.range(own).copied().collect::<Vec<_>>())
    }

    /// Whether a part leaves, by itself or with its message.
    fn touches(&self, part: PartId) -> bool {
        self.has(part.entry) || self.parts.contains(&part)
    }

    fn has(&self, entry: EntryId) -> bool {
        self.entries.contains(&entry)
    }

    fn all(&self, mut places: Range<usize>) -> bool {
        places.all(|place| self.has(id(place)))
    }
}

/// What is left of a message when parts of it have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StripRemainder {
    /// Something that is said, asked for or answered.
    Talk,
    /// That too, and reasoning at its end, which providers refuse.
    Reasoning,
    /// Reasoning at most.
    Nothing,
}

impl StripRemainder {
    fn of(entry: &Entry, gone: &[PartId]) -> Self {
        let stays = |(part, at): &(&Part, u32)| {
            let own = part.within.is_none();
            own && !gone.contains(&PartId { entry: entry.id, part: *at })
        };
        let left: Vec<_> = entry.parts.iter().zip(0..).filter(stays).collect();
        let empty = |(part, _): &(&Part, u32)| match &part.body {
            PartBody::Thinking(_) => true,
            PartBody::Text(text) => text.trim().is_empty(),
            _ => false,
        };
        // A message in the role of a tool is its result.
        if left.iter().all(empty) || entry.role == Role::Tool && !gone.is_empty() {
            return Self::Nothing;
        }
        match left.last() {
            Some((Part { body: PartBody::Thinking(_), .. }, _)) => Self::Reasoning,
            _ => Self::Talk,
        }
    }
}

/// The calls and results of a message.
fn tools(entry: &Entry) -> Vec<PartId> {
    let parts = (0..).zip(&entry.parts);
    let tools = parts.filter(|(_, part)| part.within.is_none() && part.body.is_tool());
    tools.map(|(part, _)| PartId { entry: entry.id, part }).collect()
}

/// Where an entry is reasoning that stands alone: the entries of the reply that it led to.
fn led(entries: &[Entry], place: usize) -> Option<Range<usize>> {
    let alone = |entry: &Entry| {
        let mut bodies = entry.parts.iter().map(|part| &part.body);
        !entry.parts.is_empty() && bodies.all(|body| matches!(body, PartBody::Thinking(_)))
    };
    entries.get(place).filter(|entry| alone(entry))?;
    let start = place + entries[place..].iter().take_while(|entry| alone(entry)).count();
    let reply = |entry: &&Entry| entry.role == Role::Assistant && !alone(entry);
    let count = entries[start..].iter().take_while(reply).count();
    (count > 0).then_some(start..start + count)
}

fn id(place: usize) -> EntryId {
    EntryId(place as u32)
}
