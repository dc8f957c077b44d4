//! What the model is sent: kept entries, rewritten parts and inserted messages, in order.
//!
//! Invariant: a view is only made by `apply` from a checked plan, keeps the original order, and
//! puts a checkpoint where its last covered entry stood (RULES 11). Hosts turn it into edits.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{
    Checkpoint, Edit, Entry, EntryId, Part, PartBody, PartId, Role, Speaker, TokenBreakdown,
};

use crate::size::{ThreadSizes, category};
use crate::thread::Thread;

/// The prompt after a plan.
#[derive(Clone, Debug)]
pub struct View<'t> {
    pub(crate) thread: &'t Thread,
    pub(crate) kept: Vec<bool>,
    pub(crate) rewrites: BTreeMap<PartId, String>,
    /// Parts that left entries which stay: calls and results, stale notes, reasoning.
    pub(crate) stripped: BTreeSet<PartId>,
    /// Ordered by place.
    pub(crate) inserts: Vec<InsertedMessage>,
}

/// A message that was not in the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertedMessage {
    /// It stands before the entry of this index.
    pub(crate) place: usize,
    /// Where it stands among those of its place: at the front, checkpoints go by what they cover.
    rank: usize,
    /// Its role.
    pub role: Role,
    /// Its text.
    pub text: String,
    /// What it is.
    pub kind: InsertedKind,
}

/// What a message is that was not in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertedKind {
    /// A note that a plan puts in.
    Note,
    /// A summary.
    Checkpoint,
    /// The state of the work.
    State,
}

/// One message of a view.
#[derive(Clone, Copy, Debug)]
pub enum ViewItem<'v> {
    /// An entry of the conversation; its parts may be rewritten.
    Kept(&'v Entry),
    /// A new message.
    Inserted(&'v InsertedMessage),
}

impl View<'_> {
    /// The messages in order.
    pub fn items(&self) -> impl Iterator<Item = ViewItem<'_>> {
        let mut inserts = self.inserts.iter().peekable();
        let mut items = Vec::with_capacity(self.kept.len() + self.inserts.len());
        for (place, entry) in self.thread.entries().iter().enumerate() {
            while let Some(inserted) = inserts.next_if(|inserted| inserted.place <= place) {
                items.push(ViewItem::Inserted(inserted));
            }
            if self.kept[place] {
                items.push(ViewItem::Kept(entry));
            }
        }
        items.extend(inserts.map(ViewItem::Inserted));
        items.into_iter()
    }

    /// Takes the reasoning out of an entry that stays. One that is nothing else leaves whole.
    pub(crate) fn unthink(&mut self, id: EntryId) {
        let Some(entry) = self.thread.entry(id) else { return };
        let thoughts: Vec<_> = entry.thoughts().collect();
        if !thoughts.is_empty() && thoughts.len() == entry.parts.len() {
            self.kept[id.index()] = false;
        } else if self.kept[id.index()] {
            self.stripped.extend(thoughts);
        }
    }

    /// Takes the reasoning out of all that stands in these places: it is void there
    /// ([`crate::CompactionLineage::void`]).
    pub fn unthink_in(&mut self, places: std::ops::Range<usize>) {
        places.for_each(|place| self.unthink(EntryId(place as u32)));
    }

    /// Whether an entry of the thread is still there.
    pub fn keeps(&self, id: EntryId) -> bool {
        self.kept.get(id.index()).copied().unwrap_or(false)
    }

    /// Whether a part of an entry that stays has a new text or left.
    pub fn changes_part(&self, part: PartId) -> bool {
        let within = self.thread.part(part).and_then(|it| it.within);
        let outer = PartId { part: within.unwrap_or(part.part), ..part };
        self.rewrites.contains_key(&part) || self.stripped.contains(&outer)
    }

    /// How many checkpoints there are.
    pub fn checkpoints(&self) -> usize {
        self.inserts.iter().filter(|inserted| inserted.kind == InsertedKind::Checkpoint).count()
    }

    /// The changes to the bytes, in the order of the messages. An insert names the nearest entry
    /// before it that stays; inserts behind the same entry come in their order.
    pub fn edits(&self) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut inserts = self.inserts.iter().peekable();
        let mut after = None;
        for (place, entry) in self.thread.entries().iter().enumerate() {
            while let Some(inserted) = inserts.next_if(|inserted| inserted.place <= place) {
                edits.push(inserted.edit(after));
            }
            if self.kept[place] {
                after = Some(entry.id);
                edits.extend(
                    self.rewrites_of(entry.id)
                        .map(|(&part, text)| Edit::SetText { part, text: text.clone() }),
                );
                edits.extend(self.stripped_of(entry.id).copied().map(Edit::RemovePart));
            } else {
                edits.push(Edit::RemoveEntry(entry.id));
            }
        }
        edits.extend(inserts.map(|inserted| inserted.edit(after)));
        edits
    }

    /// The messages as entries, numbered anew: what a reader of the view sees.
    pub fn entries(&self) -> Vec<Entry> {
        let items = self.items().zip(0..);
        items.map(|(item, place)| Entry { id: EntryId(place), ..self.entry_of(item) }).collect()
    }

    fn entry_of(&self, item: ViewItem<'_>) -> Entry {
        match item {
            ViewItem::Inserted(inserted) => Entry {
                id: EntryId(0),
                role: inserted.role,
                parts: vec![Part {
                    body: PartBody::Text(inserted.text.clone()),
                    speaker: Speaker::Harness,
                    within: None,
                    known_as: None,
                    note: None,
                    files: Box::default(),
                }],
                bytes: u32::try_from(inserted.text.len()).unwrap_or(u32::MAX),
                at: None,
            },
            ViewItem::Kept(entry) => {
                let mut entry = entry.clone();
                for (id, text) in self.rewrites_of(entry.id) {
                    rewrite(&mut entry, *id, text);
                }
                let gone: Vec<_> = self.stripped_of(entry.id).map(|id| id.part).collect();
                strip(&mut entry, &gone);
                entry
            }
        }
    }

    /// The size of the request, in the unit of `sizes`.
    pub fn size(&self, sizes: &ThreadSizes<'_>) -> u64 {
        let messages = self.items().map(|item| match item {
            ViewItem::Kept(entry) => self.entry_size(sizes, entry.id),
            ViewItem::Inserted(inserted) => sizes.gauge().message(&inserted.text),
        });
        sizes.request(messages.sum())
    }

    /// The size of an entry as it is sent; 0 where it left.
    pub fn sent(&self, sizes: &ThreadSizes<'_>, id: EntryId) -> u64 {
        if self.keeps(id) { self.entry_size(sizes, id) } else { 0 }
    }

    /// The size of a part as it is sent; 0 where it left.
    pub fn sent_part(&self, sizes: &ThreadSizes<'_>, id: PartId) -> u64 {
        match self.rewrites.get(&id) {
            _ if !self.keeps(id.entry) || self.stripped.contains(&id) => 0,
            Some(text) => sizes.rewritten(self.thread, id, text),
            None => sizes.part(id),
        }
    }

    fn entry_size(&self, sizes: &ThreadSizes<'_>, id: EntryId) -> u64 {
        let rewrites = self.rewrites_of(id);
        let size = rewrites.fold(sizes.entry(id), |size, (&part, text)| {
            size.saturating_sub(sizes.part(part)) + sizes.rewritten(self.thread, part, text)
        });
        let stripped = self.stripped_of(id).flat_map(|&part| self.thread.with_inner(part));
        size.saturating_sub(stripped.map(|part| sizes.share(part)).sum())
    }

    /// Tokens by category; `tokens` are the thread's sizes in tokens, tool schemas their envelope.
    pub fn breakdown(&self, tokens: &ThreadSizes<'_>) -> TokenBreakdown {
        let mut by = TokenBreakdown { tools: tokens.envelope(), ..TokenBreakdown::default() };
        for item in self.items() {
            match item {
                ViewItem::Kept(entry) => {
                    tokens.add_to(&mut by, entry);
                    for (&id, text) in self.rewrites_of(entry.id) {
                        let slot = category(&mut by, entry, self.thread.part(id));
                        let new = tokens.rewritten(self.thread, id, text);
                        *slot = slot.saturating_sub(tokens.part(id)) + new;
                    }
                    let stripped = self.stripped_of(entry.id);
                    for id in stripped.flat_map(|&part| self.thread.with_inner(part)) {
                        let slot = category(&mut by, entry, self.thread.part(id));
                        *slot = slot.saturating_sub(tokens.share(id));
                    }
                }
                ViewItem::Inserted(inserted) => {
                    let slot = match (inserted.kind, inserted.role) {
                        (InsertedKind::Checkpoint | InsertedKind::State, _) => &mut by.checkpoints,
                        (InsertedKind::Note, Role::System) => &mut by.system,
                        (InsertedKind::Note, Role::Assistant) => &mut by.assistant,
                        (InsertedKind::Note, Role::User | Role::Tool) => &mut by.user,
                    };
                    *slot += tokens.gauge().message(&inserted.text);
                }
            }
        }
        by
    }

    fn rewrites_of(&self, entry: EntryId) -> impl Iterator<Item = (&PartId, &String)> {
        self.rewrites.range(PartId { entry, part: 0 }..=PartId { entry, part: u32::MAX })
    }

    fn stripped_of(&self, entry: EntryId) -> impl Iterator<Item = &PartId> {
        self.stripped.range(PartId { entry, part: 0 }..=PartId { entry, part: u32::MAX })
    }
}

impl InsertedMessage {
    pub(crate) fn new(after: Option<EntryId>, role: Role, text: &str, kind: InsertedKind) -> Self {
        let place = after.map_or(0, |id| id.index() + 1);
        Self { place, rank: 0, role, text: text.to_owned(), kind }
    }

    /// A checkpoint; `front` is the place behind the system prompt.
    pub(crate) fn checkpoint(checkpoint: &Checkpoint, front: usize) -> Self {
        let Checkpoint { covers, text, stand, .. } = checkpoint;
        let made = Self::new(covers.last().copied(), stand.role(), text, InsertedKind::Checkpoint);
        match stand.front {
            true => Self { place: front, rank: made.place, ..made },
            false => made,
        }
    }

    /// By place; the state of the work stands behind all else that is put there.
    pub(crate) fn order(&self) -> (usize, bool, usize) {
        (self.place, self.kind == InsertedKind::State, self.rank)
    }

    fn edit(&self, after: Option<EntryId>) -> Edit {
        Edit::Insert { after, role: self.role, text: self.text.clone() }
    }
}

/// Takes parts out of an entry, with the parts within them.
pub fn strip(entry: &mut Entry, gone: &[u32]) {
    if gone.is_empty() {
        return;
    }
    let parts = (0..).zip(std::mem::take(&mut entry.parts));
    let stays = |(at, part): &(u32, Part)| !gone.contains(&part.within.unwrap_or(*at));
    let kept: Vec<_> = parts.filter(stays).collect();
    let moved = |outer: u32| kept.iter().position(|(at, _)| *at == outer).map(|at| at as u32);
    let within: Vec<_> = kept.iter().map(|(_, part)| part.within.and_then(moved)).collect();
    let parts = kept.into_iter().zip(within);
    entry.parts = parts.map(|((_, part), within)| Part { within, ..part }).collect();
}

/// Puts a new text in the place of a part's.
pub fn rewrite(entry: &mut Entry, id: PartId, text: &str) {
    let Some(part) = entry.parts.get_mut(id.part as usize) else { return };
    part.known_as = None;
    part.files = Box::default();
    match &mut part.body {
        PartBody::Text(old) => text.clone_into(old),
        PartBody::Result(result) => text.clone_into(&mut result.text),
        PartBody::Call(call) => text.clone_into(&mut call.arguments),
        _ => {}
    }
}
