//! What is remembered of the last request, so that what goes on from it is not read again.
//!
//! Invariant: hashes, figures and the bytes that stand in the place of changed messages, never a
//! text that was said. What was remembered gives the same prompt as the whole request does.

use std::collections::BTreeMap;

use bytes::Bytes;
use epitome_kernel::{Thread, is_compacted};
use epitome_types::{CompactionId, Entry, EntryId, EntryKey, Part, PartBody, Role, Stays};
use epitome_wire::{Format, MessageLayout, holds_files};
use xxhash_rust::xxh3::xxh3_128;

use super::history_stats::HistoryStats;
use super::history_tail::HistoryTail;
use super::known_history::KnownHistory;
use crate::error::Error;
use crate::source::RequestSource;

/// A request that can be gone on from.
#[derive(Clone, Debug)]
pub(crate) struct PrefixCache {
    format: Format,
    /// The counter that its figures are of.
    counter: String,
    system: Option<u128>,
    /// Its messages, by what they are known by within this process.
    messages: Vec<u128>,
    tools: Option<u128>,
    schemas: u64,
    pub(crate) tally: HistoryStats,
    pub(crate) standing: CachedCompaction,
    layout: MessageLayout,
    /// The messages that are sent in other bytes than they came in, with the hash of those.
    made: BTreeMap<usize, (u128, Bytes)>,
    /// Whether what follows can be looked at by itself.
    grows: bool,
}

/// The epoch that is in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CachedCompaction {
    pub(crate) epoch: Option<CompactionId>,
    /// Where the run that it rewrites ends in the history.
    pub(crate) end: usize,
    /// How many compressions led to it.
    pub(crate) compressions: u32,
    pub(crate) confidence: f64,
}

/// What adds up over requests that go on from each other.
pub(crate) struct PromptFigures {
    /// Tokens of the tools.
    pub(crate) schemas: u64,
    pub(crate) tally: HistoryStats,
    pub(crate) standing: CachedCompaction,
}

/// What a request adds to one that is remembered.
pub(crate) struct Suffix {
    /// The new entries; their ids count from the first of them.
    pub(crate) entries: Vec<Entry>,
    pub(crate) keys: Vec<EntryKey>,
}

impl PrefixCache {
    /// What is remembered of a request that was read as a whole.
    pub(crate) fn of(
        source: &RequestSource<'_>,
        counter: &str,
        figures: PromptFigures,
        layout: MessageLayout,
        last: Option<&Entry>,
    ) -> Self {
        let PromptFigures { schemas, tally, standing } = figures;
        let grows = layout.can_grow() && !tally.is_open() && !last.is_some_and(is_reasoning);
        Self {
            format: source.format,
            counter: counter.to_owned(),
            system: source.scan.system.as_ref().map(|system| system.hash),
            messages: source.scan.messages.iter().map(|message| message.hash).collect(),
            tools: source.scan.tools.as_ref().map(|tools| tools.hash),
            schemas,
            tally,
            standing,
            layout,
            made: BTreeMap::new(),
            grows,
        }
    }

    /// The same where nothing that follows can be looked at by itself.
    pub(crate) fn read_whole_next(self) -> Self {
        Self { grows: false, ..self }
    }

    /// What a request adds, where it goes on from the remembered one and what it adds can be read.
    /// A message that its client wrote anew is the same where it says the same, unless that may have
    /// changed its figures.
    pub(crate) fn suffix(
        &mut self,
        source: &RequestSource<'_>,
        keys: &[EntryKey],
    ) -> Option<Suffix> {
        let system = source.scan.system.as_ref().map(|system| system.hash);
        let (messages, lead) = (&source.scan.messages, source.lead());
        let known = self.messages.len();
        let is_same = self.format == source.format && self.system == system;
        if !is_same || messages.len() < known || messages.len() > known && !self.grows {
            return None;
        }
        for (place, (known, now)) in self.messages.iter_mut().zip(messages).enumerate() {
            if *known != now.hash {
                let entry = source.entry(lead + place).ok()?;
                let is_known = keys.get(lead + place) == Some(&EntryKey::for_entry(&entry));
                let may_hide = hides_reasoning(self.format) && entry.role == Role::Assistant;
                if !is_known || may_hide || depends_on_spelling(&entry) {
                    return None;
                }
                *known = now.hash;
            }
        }
        let new = (known..messages.len()).map(|place| source.entry(lead + place));
        let mut entries = new.collect::<Result<Vec<_>, _>>().ok()?;
        for (entry, place) in entries.iter_mut().zip(0..) {
            entry.id = EntryId(place);
        }
        let thread = Thread::new(entries.clone(), &[]);
        if thread.exchanges().iter().any(|exchange| exchange.broken) {
            return None;
        }
        // What stays because it is recent depends on all that was said of its kind.
        let parts = entries.iter().flat_map(|entry| &entry.parts);
        if parts.flat_map(|part| &part.note).any(|note| note.stays == Stays::Recent) {
            return None;
        }
        // Nothing that was said before it counts from now on.
        if entries.iter().any(is_compacted) {
            return None;
        }
        // Whether older copies of a file count depends on this one.
        if holds_files(&entries, source.scan.tool_list(source.body)) {
            return None;
        }
        let keys = entries.iter().map(EntryKey::for_entry).collect();
        Some(Suffix { entries, keys })
    }

    /// Whether a message of a request is the remembered one in its place.
    pub(crate) fn has(&self, source: &RequestSource<'_>, place: usize) -> bool {
        let place = place.checked_sub(source.lead());
        let here = place.and_then(|place| source.scan.messages.get(place));
        here.is_some_and(|it| place.and_then(|at| self.messages.get(at)) == Some(&it.hash))
    }

    /// The tokens of a request's tools, where they are those of the remembered one.
    pub(crate) fn schemas(&self, source: &RequestSource<'_>, counter: &str) -> Option<u64> {
        let tools = source.scan.tools.as_ref().map(|tools| tools.hash);
        (self.counter == counter && self.tools == tools).then_some(self.schemas)
    }

    /// Whether its figures are of this counter.
    pub(crate) fn is_counted_by(&self, counter: &str) -> bool {
        self.counter == counter
    }

    /// The prompt of a request that adds these entries; from now on that is what is remembered.
    pub(crate) fn grow(
        &mut self,
        source: &RequestSource<'_>,
        tail: &HistoryTail<'_>,
        tally: HistoryStats,
        schemas: u64,
        known: &KnownHistory,
    ) -> Result<Bytes, Error> {
        let (lead, new) = (source.lead(), tail.came.len());
        self.layout.grow(new);
        for (part, rewrite) in known.arrived(tail.first) {
            self.layout.set_text(part.entry.index() - lead, part.part, &rewrite.with);
        }
        self.messages.extend(source.scan.messages[self.messages.len()..].iter().map(|it| it.hash));
        self.tools = source.scan.tools.as_ref().map(|tools| tools.hash);
        if let Some(last) = tail.came.last() {
            self.grows = !tally.is_open() && !is_reasoning(last);
        }
        (self.tally, self.schemas) = (tally, schemas);
        if self.layout.is_plain() {
            return Ok(source.unchanged());
        }
        let Self { layout, made, .. } = self;
        for place in layout.changed() {
            let bytes = source.message(lead + place);
            let hash = xxh3_128(bytes);
            if made.get(&place).is_none_or(|(known, _)| *known != hash) {
                let message = layout.message(place, bytes).map_err(Error::Edit)?;
                made.insert(place, (hash, message.into()));
            }
        }
        let with = |place: usize| made.get(&place).map(|(_, bytes)| &**bytes);
        Ok(layout.body(source.body, &source.scan, with).map_err(Error::Edit)?.into())
    }
}

/// Whether replies of a format may have lost reasoning, or gained it, and be known as the same.
fn hides_reasoning(format: Format) -> bool {
    matches!(format, Format::OpenAi | Format::Ollama)
}

/// Whether an entry may say the same in more or fewer tokens.
fn depends_on_spelling(entry: &Entry) -> bool {
    let json = |body: &PartBody| matches!(body, PartBody::Call(_) | PartBody::Opaque(_));
    entry.parts.iter().any(|part| part.known_as.is_some() || json(&part.body))
}

/// Whether an entry is reasoning that belongs to whatever comes next (RULES 105).
fn is_reasoning(entry: &Entry) -> bool {
    let thinks = |part: &Part| matches!(part.body, PartBody::Thinking(_));
    !entry.parts.is_empty() && entry.parts.iter().all(thinks)
}
