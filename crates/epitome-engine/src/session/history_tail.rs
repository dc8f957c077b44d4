//! The entries that a turn is about: all of a request, or what is new in it.
//!
//! Invariant: the ids of its entries count from its own first entry; wherever somebody is told of
//! one it goes by its place in the history. What they say is what is recorded of them: past this door
//! nobody reads what was erased, or what is never to be recorded. Made by the turn.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_config::RedactionPatterns;
use epitome_config::profile::ProfileRules;
use epitome_kernel::{Before, SizeGauge, Thread, ThreadSizes};
use epitome_types::{ContentId, Entry, EntryId, Part, PartBody, PartId, ReplaceMethod};

use super::erased::forget;
use super::known_history::KnownHistory;

/// The end of a history from a place on, or all of it.
pub(crate) struct HistoryTail<'a> {
    /// The entries as they came, but for what was erased or is not recorded.
    pub(crate) came: Cow<'a, [Entry]>,
    /// The entries with what was made smaller on arrival.
    pub(crate) thread: Thread,
    pub(crate) tokens: ThreadSizes<'a>,
    /// Tokens of the prompt that its entries do not show, since they are not recorded.
    pub(crate) hidden: u64,
    /// The place of its first entry in the history.
    pub(crate) first: usize,
    /// Those of its entries that a rule of the profile pins.
    ruled: Vec<EntryId>,
    /// What was hashed of its texts as they are sent: the part, and the address of what is readable of
    /// it.
    hashed: Mutex<Vec<(PartId, ContentId)>>,
}

/// What the records say of a history, and what they never say.
#[derive(Clone, Copy)]
pub(crate) struct RecordedHistory<'a> {
    pub(crate) known: &'a KnownHistory,
    pub(crate) redaction: &'a RedactionPatterns,
    pub(crate) rules: &'a ProfileRules,
}

impl<'a> HistoryTail<'a> {
    /// The entries behind others, as the records have them sent. `schemas` are the tokens of the
    /// tools.
    pub(crate) fn of(
        came: &'a [Entry],
        before: Before,
        recorded: RecordedHistory<'_>,
        gauge: SizeGauge<'a>,
        schemas: u64,
    ) -> Self {
        let RecordedHistory { known, redaction, rules } = recorded;
        let first = before.entries;
        let mut entries = came.to_vec();
        for (part, rewrite) in known.arrived(first) {
            let entry = entries.get_mut(part.entry.index() - first);
            let at = entry.and_then(|entry| entry.parts.get_mut(part.part as usize));
            let body = at.map(|at| {
                at.files = Box::default();
                &mut at.body
            });
            match body {
                Some(PartBody::Text(text)) => text.clone_from(&rewrite.with),
                Some(PartBody::Result(result)) => result.text.clone_from(&rewrite.with),
                _ => {}
            }
        }
        // What was erased, or is not recorded, is sent as it came: that is what it takes of the prompt.
        let tokens = ThreadSizes::measure(&entries, gauge, schemas);
        let mut came = Cow::Borrowed(came);
        let erased: Vec<_> = known.erased(first).filter(|place| *place < entries.len()).collect();
        for place in erased {
            forget(&mut entries[place]);
            forget(&mut came.to_mut()[place]);
        }
        let mut is_masked = false;
        for place in 0..entries.len() {
            // What was made smaller on arrival was made of what was recorded.
            let Some(masked) = redaction.entry(&came[place]) else { continue };
            if let Some(sent) = redaction.entry(&entries[place]) {
                entries[place] = sent;
                is_masked = true;
            }
            came.to_mut()[place] = masked;
        }
        let shown = || ThreadSizes::measure(&entries, gauge, schemas).total();
        let hidden = if is_masked { tokens.total().saturating_sub(shown()) } else { 0 };
        let thread = Thread::behind(entries, &known.pinned(first), before);
        let ruled = rules.held(thread.entries());
        let thread = thread.with_rule(&ruled);
        Self { came, thread, tokens, hidden, first, ruled, hashed: Mutex::default() }
    }

    /// The thread to sum up with these entries pinned. It knows how its entries were said, but for
    /// what a policy masked: that is not to be said again.
    pub(crate) fn to_sum_up(&self, pins: &[EntryId], known: &KnownHistory) -> Thread {
        let mut originals: BTreeMap<EntryId, Entry> = BTreeMap::new();
        let shortened =
            known.arrived(self.first).filter(|(_, rewrite)| rewrite.how != ReplaceMethod::Mask);
        for part in shortened.map(|(part, _)| self.own(part)) {
            let (Some(sent), Some(came)) =
                (self.thread.entry(part.entry), self.came.get(part.entry.index()))
            else {
                continue;
            };
            let original = originals.entry(part.entry).or_insert_with(|| sent.clone());
            let at = part.part as usize;
            if let (Some(slot), Some(said)) = (original.parts.get_mut(at), came.parts.get(at)) {
                slot.clone_from(said);
            }
        }
        let thread = Thread::new(self.thread.shared(), pins).with_rule(&self.ruled);
        thread.with_originals(originals)
    }

    /// The address of the text of one of its own parts, as it is sent.
    pub(crate) fn address(&self, part: PartId) -> ContentId {
        let text = self.thread.part(part).and_then(Part::text).unwrap_or_default();
        let [whole, readable] = ContentId::with_readable(text);
        self.hashed().push((part, readable));
        whole
    }

    /// The address of what is readable of an entry as it came, where a text of it was hashed that says
    /// the same.
    pub(crate) fn readable_address(&self, entry: &Entry) -> Option<ContentId> {
        let hashed = self.hashed();
        let (part, readable) = hashed.iter().find(|(part, _)| part.entry == entry.id)?;
        let text = self.thread.part(*part)?.text()?;
        (text.trim_end_matches('\n') == entry.readable()).then_some(*readable)
    }

    /// An address is added whole or not at all, so a panic elsewhere leaves it sound.
    fn hashed(&self) -> MutexGuard<'_, Vec<(PartId, ContentId)>> {
        self.hashed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entries from a place of the history on, as they are sent.
    pub(crate) fn from(&self, place: usize) -> &[Entry] {
        self.thread.entries().get(place.saturating_sub(self.first)..).unwrap_or_default()
    }

    /// The place of one of its entries in the history.
    pub(crate) fn place(&self, id: EntryId) -> EntryId {
        EntryId((self.first + id.index()) as u32)
    }

    /// The place of one of its own parts in the history.
    pub(crate) fn place_of(&self, part: PartId) -> PartId {
        PartId { entry: self.place(part.entry), ..part }
    }

    /// One of its own parts, by its place in the history.
    pub(crate) fn own(&self, part: PartId) -> PartId {
        PartId { entry: EntryId((part.entry.index() - self.first) as u32), ..part }
    }

    /// Tokens of what is sent otherwise than it came: as it came, and as it is sent.
    pub(crate) fn arrived(&self, known: &KnownHistory) -> [u64; 2] {
        let all = known.arrived(self.first).map(|(_, rewrite)| rewrite.tokens);
        all.fold([0, 0], |[came, sent], [before, after]| [came + before, sent + after])
    }
}
