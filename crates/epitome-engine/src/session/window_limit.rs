//! How large a prompt may be: whoever is asked first that knows (RULES 31).
//!
//! Invariant: the user, the request or the server, what refusals taught, the model table, a guess, in
//! this order; what a provider means in its own tokens is held to in ours. Called by the turn, by
//! `look` and by `ChatSession`.

use epitome_kernel::StoreError;
use epitome_wire::Format;

use super::Session;
use crate::limit_subject::LimitSubject;
use crate::limits::{LimitSource, PromptLimit};

impl Session {
    /// The limit of prompts to a model, in our tokens, and who says so. `told` is what the request
    /// states or the server told.
    pub(super) fn known(
        &self,
        format: Format,
        model: Option<&str>,
        about: &LimitSubject,
        told: Option<PromptLimit>,
    ) -> Result<PromptLimit, StoreError> {
        let learned = self.shared.lessons.of(&*self.record.journal, about)?;
        let stated = match (self.settings.limit(format, model), told) {
            (known, _) if known.source == LimitSource::User => known,
            (_, Some(told)) => told,
            (guess, None) => match learned.limit {
                Some(limit) => return Ok(PromptLimit { limit, source: LimitSource::Learned }),
                None => guess,
            },
        };
        Ok(PromptLimit { limit: learned.in_ours(stated.limit), ..stated })
    }

    /// The same of prompts to this model, counted as the session counts them.
    pub(crate) fn known_of(&self, format: Format, model: &str) -> Result<PromptLimit, StoreError> {
        let counter = self.counter_for(Some(model));
        let about = LimitSubject::new(&self.record.scope, format.name(), Some(model), counter.id());
        self.known(format, Some(model), &about, self.told.window)
    }
}
