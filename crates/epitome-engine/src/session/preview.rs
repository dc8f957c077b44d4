//! What a request would become as the records stand.
//!
//! Invariant: nothing is recorded, nobody is asked, and the session stays as it was. Called by the
//! hub.

use bytes::Bytes;
use epitome_kernel::SizeGauge;
use epitome_types::BudgetUnit;
use epitome_wire::{Format, RequestScan};

use super::Session;
use super::reading::TurnReading;
use super::turn_context::{PromptLead, TurnContext};
use crate::error::Error;
use crate::limits::PromptLimit;
use crate::prompt::Prompt;
use crate::source::RequestSource;

impl Session {
    /// The prompt that the records make of a request.
    pub(crate) fn look(
        &self,
        request: &Bytes,
        format: Format,
        scan: &RequestScan,
        window: Option<PromptLimit>,
    ) -> Result<Prompt, Error> {
        let source = &RequestSource::shared(request, format, scan);
        let mut state = self.state.clone();
        let counter = self.counter_for(source.model());
        let (reading, mut memory) = self.read(source, None, &mut state, &counter, false)?;
        let gauge = SizeGauge { counter: &*counter, unit: BudgetUnit::Tokens };
        let tail = &reading.tail(source, self.recorded(&state), gauge)?;
        let live = &self.live(source, window, tail)?;
        let (whole, tally, standing) =
            self.survey(source, tail, &state.lineage, &reading, &state)?;
        let TurnReading { incoming, schemas, .. } = &reading;
        let name = &*incoming.session;
        let (schemas, at, cold, typed) = (*schemas, "", false, None);
        let ground = TurnContext {
            source,
            incoming,
            live,
            name,
            at,
            cold,
            prices: self.prices(source),
            lead: PromptLead { schemas, ..PromptLead::default() },
            tail,
            tally,
            typed,
            standing,
        };
        let bytes = match (&whole, &mut memory) {
            (None, Some(memory)) => {
                memory.grow(source, tail, ground.tally.clone(), schemas, &state.history)?
            }
            (Some(whole), _) => self.written(&ground, whole, counter.id(), &state)?.0,
            (None, None) => source.unchanged(),
        };
        Ok(self.prompt_of(&ground, bytes))
    }
}
