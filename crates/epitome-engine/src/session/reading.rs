//! A request read as far as it is new, or as a whole.
//!
//! Invariant: what goes on from the last request is read from its end; what does not, or cannot be
//! looked at by itself, is read whole, with the same figures. Called by the turn, and where a
//! request is only looked at.

use std::sync::Arc;

use epitome_count::tools;
use epitome_kernel::{Before, CompactionLineage, HistoryMatch, SizeGauge, TokenCounter};
use epitome_types::EntryKey;

use super::Session;
use super::belonging::Belonging;
use super::history_stats::HistoryStats;
use super::history_tail::{HistoryTail, RecordedHistory};
use super::known_history::ReadEntries;
use super::prefix_cache::{CachedCompaction, PrefixCache, Suffix};
use super::state::{ConversationState, IncomingHistory, PushedHistory};
use super::turn_context::FullHistory;
use crate::compressor::tool_format;
use crate::error::Error;
use crate::limits::CompressionTarget;
use crate::source::RequestSource;

impl Session {
    /// Reads a request as far as it is new, and what the journal says of it; gives the remembered
    /// request that it goes on from, where only what is new was read. A new session is begun where
    /// `begin`.
    pub(super) fn read(
        &self,
        source: &RequestSource<'_>,
        pushed: Option<PushedHistory>,
        state: &mut ConversationState,
        counter: &Arc<dyn TokenCounter>,
        begin: bool,
    ) -> Result<(TurnReading, Option<PrefixCache>), Error> {
        let mut memory = state.memory.take();
        let keys = Arc::clone(&state.history.keys);
        // What a ratio comes to depends on the whole of it.
        let is_readable = !source.is_recorded()
            && !matches!(self.settings.sizes.target, CompressionTarget::Ratio(_));
        let remembered =
            memory.as_mut().filter(|memory| is_readable && memory.is_counted_by(counter.id()));
        let suffix = remembered.and_then(|memory| memory.suffix(source, &keys));
        let known = memory.as_ref().and_then(|memory| memory.schemas(source, counter.id()));
        let schemas = known.unwrap_or_else(|| {
            let schemas = source.scan.tool_schemas(source.body);
            tools(&**counter, tool_format(source.format), &schemas)
        });
        let sent = pushed.as_ref().map(|known| known.sent);
        let read = match (&suffix, pushed) {
            (Some(suffix), _) => ReadEntries::Further(suffix.keys.clone()),
            (None, Some(known)) => ReadEntries::Whole(known.keys),
            (None, None) => {
                let document = source.document()?;
                let alike = |place| memory.as_ref().is_some_and(|it| it.has(source, place));
                let entries = document.entries().iter().enumerate();
                let keys = entries.map(|(place, entry)| match keys.get(place) {
                    Some(key) if alike(place) => *key,
                    _ => EntryKey::for_entry(entry),
                });
                ReadEntries::Whole(keys.collect())
            }
        };
        drop(keys);
        let reconciled = state.history.take_up(read);
        let extends = matches!(reconciled, HistoryMatch::Extend { .. });
        let belonging = self.belonging(source, state, extends, begin)?;
        let belonging = Belonging { is_recorded: begin, ..belonging };
        let (journal, scope) = (&*self.record.journal, &*self.record.scope);
        let incoming = state.meet(reconciled, belonging, sent, journal, scope)?;
        let suffix = suffix.filter(|_| incoming.steady);
        let memory = memory.filter(|_| suffix.is_some());
        let known = memory.as_ref().map(|memory| (memory.tally.clone(), memory.standing));
        Ok((TurnReading { incoming, known, suffix, schemas }, memory))
    }

    /// The figures of a request. Where all of it was read, as the records have it sent; else from
    /// those of what went before.
    pub(super) fn survey<'l, 't>(
        &self,
        source: &RequestSource<'_>,
        tail: &'t HistoryTail<'_>,
        lineage: &'l CompactionLineage,
        reading: &TurnReading,
        state: &ConversationState,
    ) -> Result<(Option<FullHistory<'l, 't>>, HistoryStats, CachedCompaction), Error> {
        Ok(match reading.known.clone() {
            Some((tally, standing)) => {
                let end = HistoryStats::of(tail, None, &state.history, self.redaction());
                (None, tally.then(end), standing)
            }
            None => {
                let whole = self.read_whole(source, lineage, tail, &state.history.keys)?;
                let tally =
                    HistoryStats::of(tail, Some(whole.view()), &state.history, self.redaction());
                let standing = whole.standing();
                (Some(whole), tally, standing)
            }
        })
    }

    /// All of a request, as the records have it sent.
    pub(super) fn read_whole<'l, 't>(
        &self,
        source: &RequestSource<'_>,
        lineage: &'l CompactionLineage,
        tail: &'t HistoryTail<'_>,
        keys: &[EntryKey],
    ) -> Result<FullHistory<'l, 't>, Error> {
        let unbinds = self.settings.profile.unbinds(source.document()?);
        Ok(FullHistory::of(lineage, tail, keys, unbinds))
    }
}

/// A request, as far as it was read.
pub(super) struct TurnReading {
    pub(super) incoming: IncomingHistory,
    /// What was known of the request that it goes on from, where only what is new was read.
    known: Option<(HistoryStats, CachedCompaction)>,
    suffix: Option<Suffix>,
    /// Tokens of its tools.
    pub(super) schemas: u64,
}

impl TurnReading {
    /// The last entry before what is new in which a person typed something.
    pub(super) fn typed(&self) -> Option<usize> {
        self.known.as_ref().and_then(|(tally, _)| tally.typed)
    }

    /// What is new, or all of it, as the records have it sent.
    pub(super) fn tail<'a>(
        &'a self,
        source: &'a RequestSource<'_>,
        recorded: RecordedHistory<'_>,
        gauge: SizeGauge<'a>,
    ) -> Result<HistoryTail<'a>, Error> {
        let (came, before) = match (&self.suffix, &self.known) {
            (Some(suffix), Some((tally, _))) => {
                let entries = self.incoming.reconciled.shared();
                (&suffix.entries[..], Before { entries, block: tally.block })
            }
            _ => (source.document()?.entries(), Before::default()),
        };
        Ok(HistoryTail::of(came, before, recorded, gauge, self.schemas))
    }
}
