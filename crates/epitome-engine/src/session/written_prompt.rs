//! The prompt of a request that was read as a whole.
//!
//! Invariant: its bytes are the request's own but for what the records say, and keep every rule of
//! their provider that the request kept. A compression that would break one is not applied, and one
//! that is applied already is taken back. Called by the turn and by a look.

use bytes::Bytes;
use epitome_kernel::{CompactionLineage, LiveRequest};
use epitome_types::{Edit, EventKind, JournalMark, PartId, RecordedCompaction, Stage};
use epitome_wire::RuleViolation;

use super::Session;
use super::events::TurnEvents;
use super::prefix_cache::{PrefixCache, PromptFigures};
use super::proposal::Proposal;
use super::state::ConversationState;
use super::turn_context::{FullHistory, TurnContext};
use crate::error::Error;
use crate::output_check::checked;

impl Session {
    /// The prompt as its provider has it, with what is new, where a model may be asked behind it.
    pub(super) fn underway(
        &self,
        ground: &TurnContext<'_, '_>,
        whole: &FullHistory<'_, '_>,
        state: &ConversationState,
    ) -> Result<Option<LiveRequest>, Error> {
        // A model that reads the prompt as it is sent would sum up what was erased.
        if self.settings.writers.models.all.is_empty() || state.history.erased(0).next().is_some() {
            return Ok(None);
        }
        // One that broke a rule is not sent, nor asked about.
        let bytes = match self.written(ground, whole, "", state) {
            Err(Error::Invalid(_)) => return Ok(None),
            written => written?.0,
        };
        let bytes = match &ground.lead.mandate {
            Some(mandate) => mandate.put(bytes, ground.source.format)?,
            None => bytes,
        };
        let format = ground.source.format.name().to_owned();
        Ok(Some(LiveRequest { request: bytes.as_ref().into(), format }))
    }

    /// A proposal, where its prompt keeps the rules of the provider. One that breaks them changes
    /// nothing but that it is told of.
    pub(super) fn sendable(
        &self,
        ground: &TurnContext<'_, '_>,
        proposal: Proposal,
        state: &ConversationState,
        events: &mut TurnEvents,
    ) -> Result<Option<Proposal>, Error> {
        let mut lineage = CompactionLineage::clone(&state.lineage);
        lineage.extend([RecordedCompaction::from(proposal.epoch.clone())]);
        let after = self.read_whole(ground.source, &lineage, ground.tail, &ground.incoming.keys)?;
        match self.written(ground, &after, "", state) {
            Err(Error::Invalid(found)) => {
                let remedy = "the conversation goes on as it was";
                events.add(proposal.epoch.outcome.tokens, broken(&found, remedy));
                Ok(None)
            }
            Err(error) => Err(error),
            Ok(_) => Ok(Some(proposal)),
        }
    }

    /// Takes the epoch in force back, whose prompt broke these rules: of a provider that was not
    /// asked before, or that an older version did not know. Says whether there is one.
    pub(super) fn take_back(
        &mut self,
        ground: &TurnContext<'_, '_>,
        found: &[RuleViolation],
    ) -> Result<bool, Error> {
        let Some(epoch) = ground.standing.epoch else { return Ok(false) };
        self.record.journal.record_mark(
            &self.record.scope,
            ground.name,
            &JournalMark::Undo(epoch),
            ground.at,
        )?;
        let remedy = format!("compression {} was taken back", epoch.short());
        self.next.taken_back.push(broken(found, &remedy));
        Ok(true)
    }

    /// The prompt that the records say, and what is remembered of it. `counter` is the counter's id.
    pub(super) fn written(
        &self,
        ground: &TurnContext<'_, '_>,
        whole: &FullHistory<'_, '_>,
        counter: &str,
        state: &ConversationState,
    ) -> Result<(Bytes, PrefixCache), Error> {
        let (source, view) = (ground.source, whole.view());
        let here = |part: PartId| view.keeps(part.entry) && !view.changes_part(part);
        let arrived = state.history.arrived(0).filter(|(part, _)| here(*part));
        let mut edits: Vec<_> =
            arrived.map(|(part, one)| Edit::SetText { part, text: one.with.clone() }).collect();
        edits.extend(view.edits());
        let document = source.document()?;
        let layout = document.layout(&edits).map_err(Error::Edit)?;
        let bytes = match edits.is_empty() {
            true => source.unchanged(),
            false => checked(document, document.laid_out(&layout))?.into(),
        };
        let (schemas, tally) = (ground.lead.schemas, ground.tally.clone());
        let figures = PromptFigures { schemas, tally, standing: ground.standing };
        let last = document.entries().last();
        let memory = PrefixCache::of(source, counter, figures, layout, last);
        let waits = whole.waits(&ground.incoming.keys);
        Ok((bytes, if waits { memory.read_whole_next() } else { memory }))
    }
}

/// A compression whose prompt the provider would refuse.
fn broken(found: &[RuleViolation], remedy: &str) -> EventKind {
    let cause = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let cause = format!("the provider would refuse the compressed prompt: {cause}");
    EventKind::CompressionError { stage: Stage::Validation, cause, remedy: remedy.to_owned() }
}
