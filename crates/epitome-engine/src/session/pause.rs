//! The pause behind an answer: what is due is compressed there, before the next message comes.
//!
//! Invariant: nothing counts as sent in a pause, so neither requests nor what they cost change; what
//! is not finished is made by the next prompt. Called by hosts.

use epitome_kernel::AppendBatch;
use epitome_plan::{ArrivalOutcome, CacheMeter};
use epitome_types::EventKind;

use super::phases::Decided;
use super::proposal::Proposal;
use super::state::{ConversationState, PushedHistory};
use super::turn_context::TurnContext;
use super::{NextPrompt, Session};
use crate::error::Error;
use crate::prompt::Prompt;
use crate::source::RequestSource;

impl Session {
    /// Compresses now if that is due, so that the next prompt need not wait for it: for the pause
    /// behind an answer, once that was pushed. The trigger is asked as for a prompt, about the
    /// conversation with the answer in it. Gives the prompt as it stands, whose tokens count the
    /// answer; it is not to be sent, and nobody counts it as sent. `None` if nothing was said yet, or
    /// a call waits for its result.
    ///
    /// Dropping the future gives up what is not finished: the next prompt does it.
    ///
    /// # Errors
    ///
    /// As [`Session::prompt`]; the next prompt meets the same.
    pub async fn compress_if_due(&mut self) -> Result<Option<Prompt>, Error> {
        let pushed = self.opened()?;
        if pushed.is_empty() || pushed.awaits() {
            return Ok(None);
        }
        let (request, format) = (pushed.request()?, pushed.format);
        let known = PushedHistory { in_pause: true, ..pushed.known() };
        let was_unsent = self.next.unsent;
        let prompt = self.ask(&RequestSource::of(&request, format, &[])?, Some(known)).await?;
        self.opened()?.was_sent();
        let is_compressed = |it: &EventKind| matches!(it, EventKind::Compressed { .. });
        self.next = NextPrompt {
            waits: self.background.as_ref().is_some_and(|background| background.next.is_waiting()),
            unsent: was_unsent || prompt.events.iter().any(|event| is_compressed(&event.what)),
            ..NextPrompt::default()
        };
        Ok(Some(prompt))
    }

    /// Records what a pause came to: a compression, or that one brought too little. Where it came to
    /// nothing, what the trigger goes by is as it was.
    pub(super) fn append_paused(
        &self,
        ground: &TurnContext<'_, '_>,
        decided: &Decided,
        proposed: Option<&Proposal>,
        arrival: ArrivalOutcome,
        state: &mut ConversationState,
    ) -> Result<(), Error> {
        let incoming = ground.incoming;
        let stalled = |meter: CacheMeter| meter.stalled_at();
        let mut meter = state.meter;
        if proposed.is_some_and(|it| !it.rewords) {
            meter.compressed();
        }
        let came_to = proposed.is_some() || stalled(meter) != stalled(decided.meter);
        let (journal, scope) = (&*self.record.journal, &*self.record.scope);
        if incoming.recorded < incoming.keys.len() || !arrival.rewrites.is_empty() {
            let batch = self.batch(ground, arrival, ground.size()[1], meter.reading());
            let batch = AppendBatch { turn: None, acts: state.said(ground.at), ..batch };
            journal.append(scope, ground.name, &batch)?;
            state.acted(batch.acts.len());
        }
        if let (true, Some(head)) = (came_to, incoming.chains.last()) {
            journal.set_head(scope, ground.name, *head, Some(&meter.reading()))?;
        }
        state.meter = if came_to { meter } else { decided.meter };
        Ok(())
    }
}
