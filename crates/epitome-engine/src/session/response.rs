//! What comes back for a prompt of a conversation that is pushed.
//!
//! Invariant: an answer is a message of the conversation before this returns, with what the provider
//! counted beside it; a refusal changes no record, only what the next prompt is held to. Called by
//! hosts.

use epitome_kernel::ResponseRecord;
use epitome_types::{ContextOverflow, Event, EventKind};
use epitome_wire::ResponseInfo;

use super::Session;
use crate::answer_messages::AnswerMessages;
use crate::error::Error;
use crate::prompt::Prompt;

impl Session {
    /// Adds the answer to a prompt to the conversation, and records what was counted for it. What
    /// came of one that broke off is added as well.
    ///
    /// # Errors
    ///
    /// As [`Session::push`].
    pub fn record_response(&mut self, prompt: &Prompt, answer: &ResponseInfo) -> Result<(), Error> {
        let format = self.opened()?.format;
        for bytes in &answer.messages {
            self.push(bytes)?;
        }
        if let Some(usage) = answer.usage {
            let sent = prompt.counted(format, usage);
            self.shared.lessons.answered(&*self.record.journal, prompt, sent);
        }
        let said = AnswerMessages::of(&answer.messages, format)?;
        if said.last().is_none() {
            return Ok(());
        }
        let record = ResponseRecord {
            usage: answer.usage.unwrap_or_default(),
            stop: answer.stop.clone(),
            at: self.now(),
            ..said.record(prompt.head, self.redaction())
        };
        Ok(self.record.journal.record_response(&self.record.scope, &prompt.session, &record)?)
    }

    /// The provider refused a prompt as too long. The next one is made smaller, and where it said
    /// its limit all that follow are held to that, unless the user stated one.
    pub fn record_overflow(&mut self, prompt: &Prompt, told: ContextOverflow) {
        let share = self.settings.profile.options.limit.refused_share;
        let next = self.shared.lessons.refused(&*self.record.journal, prompt, told, share);
        self.told.refused = Some(next);
    }

    /// Tells of an answer that, with its prompt, exceeds the window while it comes (RULES 5).
    /// Nothing is applied: the next prompt is made smaller, and the answer is kept whole.
    pub(crate) fn exceeded(&self, prompt: &Prompt, in_flight: u64) -> Event {
        let total = prompt.tokens[1].saturating_add(in_flight);
        let what = EventKind::StreamOverflowEmergency { in_flight, total, limit: prompt.limit };
        let (session, at) = (prompt.session.clone(), self.now());
        let event = Event { session, at, tokens: [prompt.tokens[1], total], what };
        self.tell(std::slice::from_ref(&event));
        event
    }
}
