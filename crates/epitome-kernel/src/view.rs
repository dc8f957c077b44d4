//! What the model is sent: kept entries, rewritten parts and inserted messages, in order.
//!
//! Invariant: a view is only made by `apply` from a checked plan, keeps the original order, and
//! puts a checkpoint where its last covered entry stood (SPEC 2.11). Hosts turn it into edits.

use std::collections::BTreeMap;

use epitome_types::{Body, Breakdown, Edit, Entry, EntryId, Part, PartId, Role, Speaker};

use crate::size::{Sizes, category};
use crate::thread::Thread;

/// The prompt after a plan.
#[derive(Clone, Debug)]
pub struct View<'t> {
    pub(crate) thread: &'t Thread,
    pub(crate) kept: Vec<bool>,
    pub(crate) rewrites: BTreeMap<PartId, String>,
    /// Ordered by place.
    pub(crate) inserts: Vec<Inserted>,
}

/// A message that was not in the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Inserted {
    /// It stands before the entry of this index.
    pub(crate) place: usize,
    /// Its role.
    pub role: Role,
    /// Its text.
    pub text: String,
    /// Whether it is a checkpoint.
    pub checkpoint: bool,
}

/// One message of a view.
#[derive(Clone, Copy, Debug)]
pub enum Item<'v> {
    /// An entry of the conversation; its parts may be rewritten.
    Kept(&'v Entry),
    /// A new message.
    Inserted(&'v Inserted),
}

impl View<'_> {
    /// The messages in order.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let mut inserts = self.inserts.iter().peekable();
        let mut items = Vec::with_capacity(self.kept.len() + self.inserts.len());
        for (place, entry) in self.thread.entries().iter().enumerate() {
            while let Some(inserted) = inserts.next_if(|inserted| inserted.place <= place) {
                items.push(Item::Inserted(inserted));
            }
            if self.kept[place] {
                items.push(Item::Kept(entry));
            }
        }
        items.extend(inserts.map(Item::Inserted));
        items.into_iter()
    }

    /// Whether an entry of the thread is still there.
    pub fn keeps(&self, id: EntryId) -> bool {
        self.kept.get(id.index()).copied().unwrap_or(false)
    }

    /// Whether a part has a new text.
    pub fn rewrites_part(&self, part: PartId) -> bool {
        self.rewrites.contains_key(&part)
    }

    /// How many checkpoints there are.
    pub fn checkpoints(&self) -> usize {
        self.inserts.iter().filter(|inserted| inserted.checkpoint).count()
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

    fn entry_of(&self, item: Item<'_>) -> Entry {
        match item {
            Item::Inserted(inserted) => Entry {
                id: EntryId(0),
                role: inserted.role,
                parts: vec![Part {
                    body: Body::Text(inserted.text.clone()),
                    speaker: Speaker::Harness,
                    within: None,
                    known_as: None,
                }],
                bytes: u32::try_from(inserted.text.len()).unwrap_or(u32::MAX),
                at: None,
            },
            Item::Kept(entry) => {
                let mut entry = entry.clone();
                for (id, text) in self.rewrites_of(entry.id) {
                    rewrite(&mut entry, *id, text);
                }
                entry
            }
        }
    }

    /// The size of the request, in the unit of `sizes`.
    pub fn size(&self, sizes: &Sizes<'_>) -> u64 {
        let messages = self.items().map(|item| match item {
            Item::Kept(entry) => self.entry_size(sizes, entry.id),
            Item::Inserted(inserted) => sizes.gauge().message(&inserted.text),
        });
        sizes.request(messages.sum())
    }

    /// The size of an entry as it is sent; 0 where it left.
    pub fn sent(&self, sizes: &Sizes<'_>, id: EntryId) -> u64 {
        if self.keeps(id) { self.entry_size(sizes, id) } else { 0 }
    }

    fn entry_size(&self, sizes: &Sizes<'_>, id: EntryId) -> u64 {
        let rewrites = self.rewrites_of(id);
        rewrites.fold(sizes.entry(id), |size, (&part, text)| {
            size.saturating_sub(sizes.part(part)) + crate::Measure::size(sizes.gauge(), text)
        })
    }

    /// Tokens by category; `tokens` are the thread's sizes in tokens, tool schemas their envelope.
    pub fn breakdown(&self, tokens: &Sizes<'_>) -> Breakdown {
        let mut by = Breakdown { tools: tokens.envelope(), ..Breakdown::default() };
        for item in self.items() {
            match item {
                Item::Kept(entry) => {
                    tokens.add_to(&mut by, entry);
                    for (&id, text) in self.rewrites_of(entry.id) {
                        let slot = category(&mut by, entry, self.thread.part(id));
                        let new = crate::Measure::size(tokens.gauge(), text);
                        *slot = slot.saturating_sub(tokens.part(id)) + new;
                    }
                }
                Item::Inserted(inserted) => {
                    let slot = match inserted.role {
                        _ if inserted.checkpoint => &mut by.checkpoints,
                        Role::System => &mut by.system,
                        Role::Assistant => &mut by.assistant,
                        Role::User | Role::Tool => &mut by.user,
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
}

impl Inserted {
    fn edit(&self, after: Option<EntryId>) -> Edit {
        Edit::Insert { after, role: self.role, text: self.text.clone() }
    }
}

/// Puts a new text in the place of a part's.
pub fn rewrite(entry: &mut Entry, id: PartId, text: &str) {
    let Some(part) = entry.parts.get_mut(id.part as usize) else { return };
    part.known_as = None;
    match &mut part.body {
        Body::Text(old) => text.clone_into(old),
        Body::Result(result) => text.clone_into(&mut result.text),
        _ => {}
    }
}
