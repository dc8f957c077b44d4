//! What is known of a request before anything is done to it.
//!
//! Invariant: figures and the new entries are known of every request, whether all of it was read or
//! only what is new; what else a compression needs is known of one that was read as a whole. Made
//! by the turn, read by each of its steps.

use epitome_kernel::{ActiveCompaction, CompactionLineage, View, identity};
use epitome_plan::CachePrices;
use epitome_types::hook::{Common, TalkFacts};
use epitome_types::{EntryKey, TokenBreakdown};

use super::assembled::{Assembled, OwnSystemPrompt};
use super::history_stats::HistoryStats;
use super::history_tail::HistoryTail;
use super::prefix_cache::CachedCompaction;
use super::state::IncomingHistory;
use crate::builder::CompressorBuilder;
use crate::checkpoints::KnownCheckpoint;
use crate::error::Error;
use crate::facts;
use crate::facts::intent;
use crate::limits::SessionBounds;
use crate::source::RequestSource;

/// A request, as far as it is known before anything is done to it.
#[derive(Clone)]
pub(crate) struct TurnContext<'a, 's> {
    pub(crate) source: &'a RequestSource<'s>,
    pub(crate) incoming: &'a IncomingHistory,
    pub(crate) live: &'a SessionBounds,
    pub(crate) name: &'a str,
    /// When it came, ISO 8601.
    pub(crate) at: &'a str,
    /// Whether the provider has no prefix of the prompt to read.
    pub(crate) cold: bool,
    /// What its provider's cache takes.
    pub(crate) prices: CachePrices,
    pub(crate) lead: PromptLead,
    /// What is new, or all of it.
    pub(crate) tail: &'a HistoryTail<'a>,
    pub(crate) tally: HistoryStats,
    /// The last entry before the tail in which a person typed something.
    pub(crate) typed: Option<usize>,
    pub(crate) standing: CachedCompaction,
}

/// What stands before the messages of a prompt, as far as it is not theirs.
#[derive(Clone, Default)]
pub(crate) struct PromptLead {
    /// Tokens of the tools.
    pub(crate) schemas: u64,
    /// The system prompt, where it is Epitome's to make.
    pub(crate) mandate: Option<OwnSystemPrompt>,
    /// Tokens that it takes beyond those of the host's own.
    pub(crate) assembled: u64,
}

impl PromptLead {
    /// Its tokens.
    pub(crate) fn tokens(&self) -> u64 {
        self.schemas + self.assembled
    }
}

/// A request that was read as a whole, as the records have it sent.
pub(crate) struct FullHistory<'l, 't> {
    pub(crate) lineage: &'l CompactionLineage,
    pub(crate) in_force: Option<ActiveCompaction<'l, 't>>,
    plain: View<'t>,
    /// Whether reasoning that is still to come is void as well.
    voids: bool,
}

impl<'l, 't> FullHistory<'l, 't> {
    /// `unbinds` says whether the model of the request binds what it thought.
    pub(crate) fn of(
        lineage: &'l CompactionLineage,
        tail: &'t HistoryTail<'_>,
        keys: &[EntryKey],
        unbinds: bool,
    ) -> Self {
        let mut in_force = lineage.in_force(&tail.thread, keys);
        let mut plain = identity(&tail.thread);
        let void = match unbinds {
            true => lineage.void(&tail.thread, keys, in_force.as_ref()),
            false => Vec::new(),
        };
        let voids = void.iter().any(|void| void.end == keys.len());
        for places in void {
            in_force.as_mut().map_or(&mut plain, |it| &mut it.view).unthink_in(places);
        }
        Self { lineage, in_force, plain, voids }
    }

    /// The history as it is sent.
    pub(crate) fn view(&self) -> &View<'t> {
        self.in_force.as_ref().map_or(&self.plain, |in_force| &in_force.view)
    }

    /// The epoch that says so.
    pub(crate) fn standing(&self) -> CachedCompaction {
        let epoch = self.in_force.as_ref().map(|it| it.epoch);
        CachedCompaction {
            epoch: epoch.map(|epoch| epoch.id),
            end: self.in_force.as_ref().map_or(0, |it| it.start + it.epoch.covered.len as usize),
            compressions: self.lineage.compressions(epoch.map(|epoch| epoch.id)),
            confidence: epoch.map_or(1.0, |epoch| epoch.outcome.confidence),
        }
    }

    /// Whether an epoch would reach further that takes what is pinned as yet: with what comes next it
    /// may be in force.
    pub(crate) fn waits(&self, keys: &[EntryKey]) -> bool {
        let furthest = self.lineage.furthest(keys, &[]).map(|epoch| epoch.id);
        self.voids || furthest != self.in_force.as_ref().map(|in_force| in_force.epoch.id)
    }

    /// The checkpoints in the prompt, oldest first, each with the entries that it stands for.
    pub(crate) fn checkpoints(&self, tail: &HistoryTail<'_>) -> Vec<KnownCheckpoint> {
        let Some(in_force) = &self.in_force else { return Vec::new() };
        let all = self.lineage.checkpoints(in_force, &tail.tokens);
        let mut all: Vec<_> = all.into_iter().map(|(one, facts)| (one.covers, facts)).collect();
        all.sort_by_key(|(covers, _)| covers.last().copied());
        all
    }
}

impl TurnContext<'_, '_> {
    /// Tokens of the request: as it came, and as the records have it sent.
    pub(crate) fn size(&self) -> [u64; 2] {
        self.tally.size(self.lead.tokens())
    }

    /// What cannot shrink, in tokens.
    pub(crate) fn floor(&self) -> u64 {
        self.tally.floor(self.lead.tokens())
    }

    /// Tokens that another system prompt takes beyond those of the host's own.
    pub(crate) fn growth(&self, with: Option<&Assembled>) -> Option<u64> {
        Some(self.lead.mandate.as_ref()?.growth(with?, self.tail.tokens.gauge().counter))
    }

    /// Tokens of the request by category: as it came, and as the records have it sent.
    pub(crate) fn by(&self) -> [TokenBreakdown; 2] {
        let by = self.tally.by(self.lead.schemas);
        by.map(|by| TokenBreakdown { system: by.system + self.lead.assembled, ..by })
    }

    /// What a person typed last before a place of the history; it is read again where it is not new.
    pub(crate) fn typed_before(&self, place: usize) -> Result<Option<String>, Error> {
        let tail = self.tail;
        let own = place.saturating_sub(tail.first);
        let before = &tail.thread.entries()[..own.min(tail.thread.entries().len())];
        if let Some(typed) = before.iter().rev().find_map(intent) {
            return Ok(Some(typed.to_owned()));
        }
        let is_kept = |place: &usize| !self.incoming.erased.contains(&self.incoming.keys[*place]);
        let typed = self.typed.filter(|_| tail.first > 0);
        let Some(place) = typed.filter(is_kept) else { return Ok(None) };
        let entry = self.source.entry(place)?;
        Ok(intent(&entry).map(str::to_owned))
    }

    /// Messages behind the run that the epoch in force rewrites.
    pub(crate) fn since_epoch(&self) -> u32 {
        (self.incoming.keys.len() - self.standing.end) as u32
    }

    /// What every job says, but for what the acts of the session do.
    pub(crate) fn common(&self, settings: &CompressorBuilder, workspace: bool) -> Common {
        let head = self.incoming.chains.last().copied().unwrap_or_default();
        let mut seed = [0; 8];
        seed.copy_from_slice(&head.0[..8]);
        let [_, sent] = self.by();
        Common {
            session: self.name.to_owned(),
            mode: None,
            class: None,
            model: settings.profile.facts(self.source.model(), settings.sizes.window, self.live),
            tokens: facts::sizes(&sent),
            compressions: self.standing.compressions,
            confidence: self.standing.confidence,
            now: self.at.to_owned(),
            messages: self.incoming.keys.len() as u32,
            talk: TalkFacts {
                turns: self.tally.turns,
                api: Some(self.source.format.name().to_owned()),
                client: None,
                models: settings.writers.models.names(),
                workspace,
            },
            // Scripts read numbers as floats, which hold 53 bits.
            seed: u64::from_le_bytes(seed) >> 11,
            replies: Default::default(),
        }
    }
}
