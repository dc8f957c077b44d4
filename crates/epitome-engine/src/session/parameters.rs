//! What a pushed conversation is asked for with: model, parameters, mode.
//!
//! Invariant: none of them is part of the history, so a change of one leaves that as it is, in the
//! journal and in the prompt (RULES 29, 30). Called by `ChatSession` and hosts.

use epitome_model::ModelClient;

use super::{HistorySource, Session};
use crate::background::BackgroundWorker;
use crate::error::Error;
use crate::limits::WindowSetting;
use epitome_config::profile::Profile;

impl Session {
    /// Whether something is known of its history, be it a system prompt.
    pub(crate) fn has_history(&mut self) -> Result<bool, Error> {
        Ok(!self.opened()?.is_empty())
    }

    /// Goes on under the model and the parameters of a request without messages.
    pub(crate) fn go_on_under(&mut self, request: &[u8]) -> Result<(), Error> {
        let known = self.opened()?.clone();
        self.given = HistorySource::Pushed(Box::new(known.under(request)?));
        Ok(())
    }

    /// The model that the conversation is with from now on: it writes the summaries where the profile
    /// says that this one does, and what the one before was asked for it is asked for anew.
    pub(crate) fn talk_with(&mut self, client: &ModelClient) {
        if self.settings.writers.models.talk_with(client) {
            self.background.iter_mut().for_each(BackgroundWorker::begin_anew);
        }
    }

    /// The profile.
    pub(crate) fn profile(&self) -> &Profile {
        &self.settings.profile
    }

    /// The window that its user or its profile states.
    pub(crate) fn window(&self) -> WindowSetting {
        self.settings.sizes.window
    }

    /// The mode that policies are told of.
    pub fn mode(&self) -> Option<&str> {
        self.settings.deciders.mode.as_deref()
    }

    /// Tells policies of another mode from the next prompt on.
    pub fn set_mode(&mut self, mode: &str) {
        self.settings.deciders.mode = Some(mode.to_owned());
    }
}
