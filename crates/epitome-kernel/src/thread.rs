//! A conversation as one immutable snapshot, with the facts every decision needs.
//!
//! Invariant: the exchanges part the entries into runs that stay or go whole (RULES 4), and an
//! entry that is pinned pins the exchange it stands in. Built once by the caller, then only read:
//! by `check`, `apply`, the budget arithmetic and the planner.

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome_types::{Entry, EntryId, Part, PartBody, PartId, Role, Speaker, ToolCall};

use crate::compacted::is_compacted;
use crate::files::FileCopies;
use crate::links::{Exchange, Links};
use crate::notes::{Before, Notes, SystemBlock};

/// Why an entry cannot leave the prompt; where there are several reasons, the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinReason {
    /// It shares an exchange with a pinned entry.
    Partner,
    /// It is the newest message of a conversation in which nobody in the user role wrote a text.
    Newest,
    /// It holds the newest copy of a file, which no tool opens (RULES 16).
    File,
    /// It holds the newest note of a client on something (RULES 16).
    State,
    /// A call in it has no result yet.
    Pending,
    /// It is the last text in the user role, written by the harness after the person's last one.
    Note,
    /// It holds the last text that a person typed.
    Typed,
    /// It holds what its provider made of the conversation before it (RULES 125).
    Compacted,
    /// A rule of the profile names it.
    Rule,
    /// Somebody pinned it.
    ByHand,
    /// It stands before what its provider made of the conversation: no model is shown it, and it
    /// goes as it came (RULES 125).
    Unshown,
    /// It is a system prompt.
    System,
}

/// Why a part cannot be rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreezeReason {
    /// It belongs to a system prompt (RULES 3).
    System,
    /// It is pinned (RULES 3).
    Pinned(PinReason),
    /// It is reasoning, or stands beside reasoning in the latest assistant entry (RULES 107).
    Thinking,
    /// It has no text of its own: a call, an image, an opaque block, a result made of blocks.
    NotText,
}

/// The entries of one conversation and what follows from them.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Shared with whoever read them: they are as large as the conversation.
    entries: Arc<Vec<Entry>>,
    /// Those of them that were said in other words than they are sent in.
    originals: BTreeMap<EntryId, Entry>,
    exchanges: Vec<Exchange>,
    exchange_of: Vec<usize>,
    pub(crate) pins: Vec<Option<PinReason>>,
    /// The exchange with what its provider made of the conversation before it.
    pub(crate) compacted: Option<usize>,
    typed: Option<EntryId>,
    latest_thinking: Option<EntryId>,
    /// The call that each result answers.
    answers: BTreeMap<PartId, PartId>,
    /// What the notes of clients state, the newest of each subject and those older than it.
    notes: Notes,
    /// The copies of files.
    pub(crate) copies: FileCopies,
    /// How many entries stand before the first of these, where they are the end of a conversation.
    before: u32,
}

impl Thread {
    /// Reads a conversation. Entries are numbered by their place; `by_hand` names the entries
    /// that somebody pinned.
    pub fn new(entries: impl Into<Arc<Vec<Entry>>>, by_hand: &[EntryId]) -> Self {
        Self::behind(entries, by_hand, Before::default())
    }

    /// The same of the end of a conversation in which others stand before these. They go by their
    /// places there where people read of them; their ids count from the first of them.
    pub fn behind(
        entries: impl Into<Arc<Vec<Entry>>>,
        by_hand: &[EntryId],
        before: Before,
    ) -> Self {
        Self::read(numbered(entries.into()), by_hand, before)
    }

    fn read(entries: Arc<Vec<Entry>>, by_hand: &[EntryId], before: Before) -> Self {
        let links = Links::of(&entries);
        let exchanges = links.exchanges(&entries);
        let mut exchange_of = vec![0; entries.len()];
        for (number, exchange) in exchanges.iter().enumerate() {
            exchange_of[exchange.entries.clone()].fill(number);
        }
        let typed = entries.iter().rfind(|entry| is_typed(entry)).map(|entry| entry.id);
        let notes = Notes::of(&entries, before.block);
        let mut thread = Self {
            copies: FileCopies::of(&entries, &notes.stale),
            latest_thinking: latest_thinking(&entries),
            notes,
            pins: vec![None; entries.len()],
            compacted: entries.iter().rposition(is_compacted).map(|at| exchange_of[at]),
            entries,
            originals: BTreeMap::new(),
            exchanges,
            exchange_of,
            typed,
            answers: links.answers,
            before: before.entries as u32,
        };
        thread.pin_all(by_hand, &links.pending);
        thread
    }

    /// The same thread, of which these entries were said in other words: something of them was made
    /// smaller before it was first sent. Nothing is sized by that, and nothing of it is sent.
    #[must_use]
    pub fn with_originals(self, originals: BTreeMap<EntryId, Entry>) -> Self {
        Self { originals, ..self }
    }

    fn pin_all(&mut self, by_hand: &[EntryId], pending: &[usize]) {
        let is_prompt = |at: &usize| !self.notes.entries.contains(&EntryId(*at as u32));
        let systems = self.places(|entry| entry.role == Role::System).filter(is_prompt);
        let systems: Vec<_> = systems.collect();
        let states: Vec<_> = self.notes.kept.iter().map(|part| part.entry.index()).collect();
        let note = self.entries.iter().rposition(is_note);
        let newest = self.entries.iter().rposition(|entry| entry.role != Role::System);
        let typed = self.typed.map(EntryId::index);
        let compacted: Vec<_> = self.places(is_compacted).collect();
        (0..self.shown_from()).for_each(|at| self.pin(at, PinReason::Unshown));
        systems.into_iter().for_each(|at| self.pin(at, PinReason::System));
        compacted.into_iter().for_each(|at| self.pin(at, PinReason::Compacted));
        by_hand.iter().for_each(|id| self.pin(id.index(), PinReason::ByHand));
        states.into_iter().for_each(|at| self.pin(at, PinReason::State));
        let files: Vec<_> = self.copies.entries().map(EntryId::index).collect();
        files.into_iter().for_each(|at| self.pin(at, PinReason::File));
        pending.iter().for_each(|&at| self.pin(at, PinReason::Pending));
        typed.into_iter().for_each(|at| self.pin(at, PinReason::Typed));
        note.filter(|&at| typed.is_none_or(|typed| at > typed))
            .into_iter()
            .for_each(|at| self.pin(at, PinReason::Note));
        if typed.is_none() && note.is_none() {
            newest.into_iter().for_each(|at| self.pin(at, PinReason::Newest));
        }
        self.pin_partners();
    }

    /// The same thread, of which a rule of the profile pins these entries, too.
    #[must_use]
    pub fn with_rule(mut self, by_rule: &[EntryId]) -> Self {
        if !by_rule.is_empty() {
            by_rule.iter().for_each(|id| self.pin(id.index(), PinReason::Rule));
            self.pin_partners();
        }
        self
    }

    fn pin_partners(&mut self) {
        for exchange in self.exchanges.clone() {
            if exchange.entries.clone().any(|at| self.pins[at].is_some()) {
                exchange.entries.for_each(|at| self.pin(at, PinReason::Partner));
            }
        }
    }

    fn places(&self, is_one: impl Fn(&Entry) -> bool) -> impl Iterator<Item = usize> {
        let places = self.entries.iter().enumerate();
        places.filter(move |(_, entry)| is_one(entry)).map(|(place, _)| place)
    }

    fn pin(&mut self, place: usize, pin: PinReason) {
        if let Some(slot) = self.pins.get_mut(place) {
            *slot = (*slot).max(Some(pin));
        }
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The same, for another thread of them.
    pub fn shared(&self) -> Arc<Vec<Entry>> {
        self.entries.clone()
    }

    /// An entry by its id.
    pub fn entry(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(id.index())
    }

    /// An entry as it was said, where it is sent in other words.
    pub fn original(&self, id: EntryId) -> Option<&Entry> {
        self.originals.get(&id)
    }

    /// A part by its id.
    pub fn part(&self, id: PartId) -> Option<&Part> {
        self.entry(id.entry)?.parts.get(id.part as usize)
    }

    /// The entry of a part as if it held nothing else.
    pub fn alone(&self, id: PartId) -> Option<Entry> {
        let (entry, part) = (self.entry(id.entry)?, self.part(id)?);
        let parts = vec![Part { within: None, ..part.clone() }];
        let Entry { id, role, bytes, .. } = *entry;
        Some(Entry { id, role, parts, bytes, at: entry.at.clone() })
    }

    /// The exchanges, oldest first; together they are all entries.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The exchange an entry of this thread stands in.
    pub fn exchange_of(&self, id: EntryId) -> &Exchange {
        &self.exchanges[self.exchange_of[id.index()]]
    }

    /// Why an entry cannot leave, where it cannot.
    pub fn pinned(&self, id: EntryId) -> Option<PinReason> {
        self.pins.get(id.index()).copied().flatten()
    }

    /// The entry with the last text that a person typed.
    pub fn typed(&self) -> Option<EntryId> {
        self.typed
    }

    /// The entry with the last text in the user role, where that stands behind what a person typed
    /// last.
    pub fn note(&self) -> Option<EntryId> {
        let note = self.entries.iter().rfind(|entry| is_note(entry))?.id;
        (Some(note) > self.typed).then_some(note)
    }

    /// Whether a part states what a newer one states anew.
    pub fn is_stale(&self, id: PartId) -> bool {
        self.notes.stale.contains(&id)
    }

    /// The parts that state what a newer one states anew, in order.
    pub fn stale(&self) -> impl Iterator<Item = PartId> {
        self.notes.stale.iter().copied()
    }

    /// What the notes are about that take the place of older ones that stay.
    pub fn subjects(&self) -> impl Iterator<Item = &str> {
        self.notes.subjects.iter().map(|subject| &**subject)
    }

    /// How much of the first block of system messages there is, once these entries were said.
    pub fn block(&self) -> SystemBlock {
        self.notes.block
    }

    /// What the newest notes of an exchange are about that stay whole.
    pub fn stated(&self, exchange: &Exchange) -> impl Iterator<Item = &str> {
        let of = |place: usize| PartId { entry: EntryId(place as u32), part: 0 };
        let kept = self.notes.kept.range(of(exchange.entries.start)..of(exchange.entries.end));
        kept.filter_map(|id| Some(&*self.part(*id)?.note.as_ref()?.subject))
    }

    /// Why a part of this thread cannot be rewritten, where it cannot.
    pub fn frozen(&self, id: PartId) -> Option<FreezeReason> {
        let part = self.part(id)?;
        let whole = matches!(part.body, PartBody::Text(_)) && part.within.is_none();
        match (self.pinned(id.entry), &part.body) {
            (Some(PinReason::System), _) => Some(FreezeReason::System),
            (Some(pin @ (PinReason::Rule | PinReason::ByHand | PinReason::Unshown)), _) => {
                Some(FreezeReason::Pinned(pin))
            }
            (_, PartBody::Thinking(_)) => Some(FreezeReason::Thinking),
            _ if self.latest_thinking == Some(id.entry) => Some(FreezeReason::Thinking),
            (Some(pin @ (PinReason::Typed | PinReason::Note)), _) if whole => {
                Some(FreezeReason::Pinned(pin))
            }
            _ if self.notes.kept.contains(&id) => Some(FreezeReason::Pinned(PinReason::State)),
            _ if self.files(id.entry).any(|(part, _)| part == id) => {
                Some(FreezeReason::Pinned(PinReason::File))
            }
            (_, PartBody::Text(_)) => None,
            (_, PartBody::Result(result)) if !result.text.is_empty() => None,
            _ => Some(FreezeReason::NotText),
        }
    }

    /// Why the arguments of a call of this thread cannot be replaced, where they cannot: `NotText`
    /// for what is no call.
    pub fn frozen_input(&self, id: PartId) -> Option<FreezeReason> {
        let is_call = matches!(self.part(id).map(|part| &part.body), Some(PartBody::Call(_)));
        match self.pinned(id.entry) {
            Some(PinReason::System) => Some(FreezeReason::System),
            Some(pin) => Some(FreezeReason::Pinned(pin)),
            None if self.latest_thinking == Some(id.entry) => Some(FreezeReason::Thinking),
            None => (!is_call).then_some(FreezeReason::NotText),
        }
    }

    /// The tool whose result a part is or stands in.
    pub fn tool_of(&self, id: PartId) -> Option<&str> {
        Some(self.call_of(id)?.tool.as_str())
    }

    /// The call whose result a part is or stands in.
    pub fn call_of(&self, id: PartId) -> Option<&ToolCall> {
        let outer = self.part(id)?.within.unwrap_or(id.part);
        let call = self.answers.get(&PartId { entry: id.entry, part: outer })?;
        match &self.part(*call)?.body {
            PartBody::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Whether a call has its result, and that is no error.
    pub fn is_done(&self, call: PartId) -> bool {
        let result = self.answers.iter().find(|(_, answered)| **answered == call);
        let body = result.and_then(|(id, _)| self.part(*id)).map(|part| &part.body);
        matches!(body, Some(PartBody::Result(result)) if !result.error)
    }

    /// A part of this thread and those within it.
    pub fn with_inner(&self, id: PartId) -> impl Iterator<Item = PartId> {
        let parts = self.entry(id.entry).map_or(&[][..], |entry| &entry.parts);
        let is_it = move |(part, at): &(&Part, u32)| *at == id.part || part.within == Some(id.part);
        let found = parts.iter().zip(0..).filter(is_it);
        found.map(move |(_, part)| PartId { entry: id.entry, part })
    }

    /// The results within an exchange, each with the call that it answers.
    pub(crate) fn links(&self, exchange: &Exchange) -> impl Iterator<Item = (&PartId, &PartId)> {
        let of = |place: usize| PartId { entry: EntryId(place as u32), part: 0 };
        self.answers.range(of(exchange.entries.start)..of(exchange.entries.end))
    }

    /// Whether an entry is the latest of the assistant and holds reasoning (RULES 107).
    pub(crate) fn thinks_last(&self, id: EntryId) -> bool {
        self.latest_thinking == Some(id)
    }

    /// What a person is told an entry is: `e12 read_file result`, `e3 user`.
    pub fn name(&self, entry: &Entry) -> String {
        let id = EntryId(self.before + entry.id.0);
        let result = entry.parts.iter().position(|part| matches!(part.body, PartBody::Result(_)));
        let tool = result.and_then(|at| self.tool_of(PartId { entry: entry.id, part: at as u32 }));
        match (entry.role, entry.results().count(), tool) {
            (Role::System, ..) => format!("{id} system"),
            (Role::Assistant, ..) => format!("{id} assistant"),
            (_, 1, Some(tool)) => format!("{id} {tool} result"),
            (_, 0, _) => format!("{id} user"),
            _ => format!("{id} tool results"),
        }
    }
}

/// The entries with their places as ids. Those that have them are not touched, so that nothing is
/// copied of what others hold too.
fn numbered(mut entries: Arc<Vec<Entry>>) -> Arc<Vec<Entry>> {
    if entries.iter().zip(0..).any(|(entry, place)| entry.id != EntryId(place)) {
        for (entry, place) in Arc::make_mut(&mut entries).iter_mut().zip(0..) {
            entry.id = EntryId(place);
        }
    }
    entries
}

fn is_own_text(part: &Part) -> bool {
    matches!(&part.body, PartBody::Text(text) if !text.is_empty()) && part.within.is_none()
}

fn is_typed(entry: &Entry) -> bool {
    entry.parts.iter().any(|part| part.speaker == Speaker::Human && is_own_text(part))
}

fn is_note(entry: &Entry) -> bool {
    entry.role == Role::User
        && entry.parts.iter().any(is_own_text)
        && entry.results().next().is_none()
}

fn latest_thinking(entries: &[Entry]) -> Option<EntryId> {
    let latest = entries.iter().rfind(|entry| entry.role == Role::Assistant)?;
    let thinks = latest.parts.iter().any(|part| matches!(part.body, PartBody::Thinking(_)));
    thinks.then_some(latest.id)
}
