//! The prompt of a request that was read as a whole.
//!
//! Invariant: its bytes are the request's own but for what the records say, and keep every rule of
//! their provider that the request kept. A compression that would break one is not applied, and one
//! that is applied already is taken back. Called by the turn and by a look.

use bytes::Bytes;
use epitome_kernel::{Lineage, Underway};
use epitome_types::{Edit, Happened, Mark, PartId, Recorded, Stage};
use epitome_wire::Violation;

use super::Session;
use super::compress::Proposal;
use super::events::Events;
use super::ground::{Ground, Whole};
use super::memory::{Memory, PromptFigures};
use super::state::State;
use crate::Error;
use crate::outgoing::checked;

impl Session {
    /// The prompt as its provider has it, with what is new, where a model may be asked behind it.
    pub(super) fn underway(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        state: &State,
    ) -> Result<Option<Underway>, Error> {
        // A model that reads the prompt as it is sent would sum up what was erased.
        if self.settings.models.all.is_empty() || state.erased(0).next().is_some() {
            return Ok(None);
        }
        // One that broke a rule is not sent, nor asked about.
        let bytes = match self.written(ground, whole, "", state) {
            Err(Error::Invalid(_)) => return Ok(None),
            written => written?.0,
        };
        let bytes = match &ground.mandate {
            Some(mandate) => mandate.put(bytes, ground.source.format)?,
            None => bytes,
        };
        let format = ground.source.format.name().to_owned();
        Ok(Some(Underway { request: bytes.as_ref().into(), format }))
    }

    /// A proposal, where its prompt keeps the rules of the provider. One that breaks them changes
    /// nothing but that it is told of.
    pub(super) fn sendable(
        &self,
        ground: &Ground<'_, '_>,
        proposal: Proposal,
        state: &State,
        events: &mut Events,
    ) -> Result<Option<Proposal>, Error> {
        let mut lineage = Lineage::clone(&state.lineage);
        lineage.extend([Recorded::from(proposal.epoch.clone())]);
        let after = self.read_whole(ground.source, &lineage, ground.tail, &ground.incoming.keys)?;
        match self.written(ground, &after, "", state) {
            Err(Error::Invalid(found)) => {
                let remedy = "the conversation goes on as it was";
                events.add(proposal.epoch.tokens, broken(&found, remedy));
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
        ground: &Ground<'_, '_>,
        found: &[Violation],
    ) -> Result<bool, Error> {
        let Some(epoch) = ground.standing.epoch else { return Ok(false) };
        self.journal.mark(&self.scope, ground.name, &Mark::Undo(epoch), ground.at)?;
        let remedy = format!("compression {} was taken back", epoch.short());
        self.taken_back.push(broken(found, &remedy));
        Ok(true)
    }

    /// The prompt that the records say, and what is remembered of it. `counter` is the counter's id.
    pub(super) fn written(
        &self,
        ground: &Ground<'_, '_>,
        whole: &Whole<'_, '_>,
        counter: &str,
        state: &State,
    ) -> Result<(Bytes, Memory), Error> {
        let (source, view) = (ground.source, whole.view());
        let here = |part: PartId| view.keeps(part.entry) && !view.changes_part(part);
        let arrived = state.arrived(0).filter(|(part, _)| here(*part));
        let mut edits: Vec<_> =
            arrived.map(|(part, one)| Edit::SetText { part, text: one.with.clone() }).collect();
        edits.extend(view.edits());
        let document = source.document()?;
        let layout = document.layout(&edits).map_err(Error::Edit)?;
        let bytes = match edits.is_empty() {
            true => source.unchanged(),
            false => checked(document, document.laid_out(&layout))?.into(),
        };
        let (schemas, tally) = (ground.schemas, ground.tally.clone());
        let figures = PromptFigures { schemas, tally, standing: ground.standing };
        let last = document.entries().last();
        let memory = Memory::of(source, counter, figures, layout, last);
        let waits = whole.waits(&ground.incoming.keys);
        Ok((bytes, if waits { memory.read_whole_next() } else { memory }))
    }
}

/// A compression whose prompt the provider would refuse.
fn broken(found: &[Violation], remedy: &str) -> Happened {
    let cause = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let cause = format!("the provider would refuse the compressed prompt: {cause}");
    Happened::CompressionError { stage: Stage::Validation, cause, remedy: remedy.to_owned() }
}
