//! A request read as far as it is new, or as a whole.
//!
//! Invariant: what goes on from the last request is read from its end; what does not, or cannot be
//! looked at by itself, is read whole, with the same figures. Called by the turn, and where a
//! request is only looked at.

use std::sync::Arc;

use epitome_count::tools;
use epitome_kernel::{Before, Counter, Gauge, Lineage, Reconciled};
use epitome_types::EntryKey;

use super::Session;
use super::ground::Whole;
use super::memory::{Memory, Standing, Suffix};
use super::source::Source;
use super::state::{Incoming, Known, Read, State};
use super::tail::Tail;
use super::tally::Tally;
use crate::Error;
use crate::compressor::tool_format;
use crate::target::Target;

impl Session {
    /// Reads a request as far as it is new, and what the journal says of it; gives the remembered
    /// request that it goes on from, where only what is new was read. A new session is begun where
    /// `begin`.
    pub(super) fn read(
        &self,
        source: &Source<'_>,
        pushed: Option<Known>,
        state: &mut State,
        counter: &Arc<dyn Counter>,
        begin: bool,
    ) -> Result<(Reading, Option<Memory>), Error> {
        let mut memory = state.memory.take();
        let keys = Arc::clone(&state.keys);
        // What a ratio comes to depends on the whole of it.
        let is_readable =
            !source.is_recorded() && !matches!(self.settings.target, Target::Ratio(_));
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
            (Some(suffix), _) => Read::Further(suffix.keys.clone()),
            (None, Some(known)) => Read::Whole(known.keys),
            (None, None) => {
                let document = source.document()?;
                let alike = |place| memory.as_ref().is_some_and(|it| it.has(source, place));
                let entries = document.entries().iter().enumerate();
                let keys = entries.map(|(place, entry)| match keys.get(place) {
                    Some(key) if alike(place) => *key,
                    _ => EntryKey::of(entry),
                });
                Read::Whole(keys.collect())
            }
        };
        drop(keys);
        let reconciled = state.take_up(read);
        let extends = matches!(reconciled, Reconciled::Extend { .. });
        let belonging = self.belonging(source, state, extends, begin)?;
        let (journal, scope) = (&*self.journal, &*self.scope);
        let incoming = state.meet(reconciled, belonging, sent, journal, scope)?;
        let suffix = suffix.filter(|_| incoming.steady);
        let memory = memory.filter(|_| suffix.is_some());
        let known = memory.as_ref().map(|memory| (memory.tally.clone(), memory.standing));
        Ok((Reading { incoming, known, suffix, schemas }, memory))
    }

    /// The figures of a request. Where all of it was read, as the records have it sent; else from
    /// those of what went before.
    pub(super) fn survey<'l, 't>(
        &self,
        source: &Source<'_>,
        tail: &'t Tail<'_>,
        lineage: &'l Lineage,
        reading: &Reading,
        state: &State,
    ) -> Result<(Option<Whole<'l, 't>>, Tally, Standing), Error> {
        Ok(match reading.known.clone() {
            Some((tally, standing)) => {
                let end = Tally::of(tail, None, state, &self.redaction);
                (None, tally.then(end), standing)
            }
            None => {
                let whole = self.read_whole(source, lineage, tail, &state.keys)?;
                let tally = Tally::of(tail, Some(whole.view()), state, &self.redaction);
                let standing = whole.standing();
                (Some(whole), tally, standing)
            }
        })
    }

    /// All of a request, as the records have it sent.
    pub(super) fn read_whole<'l, 't>(
        &self,
        source: &Source<'_>,
        lineage: &'l Lineage,
        tail: &'t Tail<'_>,
        keys: &[EntryKey],
    ) -> Result<Whole<'l, 't>, Error> {
        let unbinds = self.settings.profile.unbinds(source.document()?);
        Ok(Whole::of(lineage, tail, keys, unbinds))
    }
}

/// A request, as far as it was read.
pub(super) struct Reading {
    pub(super) incoming: Incoming,
    /// What was known of the request that it goes on from, where only what is new was read.
    known: Option<(Tally, Standing)>,
    suffix: Option<Suffix>,
    /// Tokens of its tools.
    pub(super) schemas: u64,
}

impl Reading {
    /// The last entry before what is new in which a person typed something.
    pub(super) fn typed(&self) -> Option<usize> {
        self.known.as_ref().and_then(|(tally, _)| tally.typed)
    }

    /// What is new, or all of it, as the records have it sent.
    pub(super) fn tail<'a>(
        &'a self,
        source: &'a Source<'_>,
        state: &State,
        gauge: Gauge<'a>,
    ) -> Result<Tail<'a>, Error> {
        let (came, before) = match (&self.suffix, &self.known) {
            (Some(suffix), Some((tally, _))) => {
                let entries = self.incoming.reconciled.shared();
                (&suffix.entries[..], Before { entries, block: tally.block })
            }
            _ => (source.document()?.entries(), Before::default()),
        };
        Ok(Tail::of(came, before, state, gauge, self.schemas))
    }
}
