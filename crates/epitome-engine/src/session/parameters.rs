//! What a pushed conversation is asked for with: model, parameters, mode.
//!
//! Invariant: none of them is part of the history, so a change of one leaves that as it is, in the
//! journal and in the prompt (RULES 29, 30). Called by `ChatSession` and hosts.

use epitome_model::ModelClient;

use super::state::{ConversationState, IncomingHistory};
use super::{HistorySource, Session};
use crate::background::BackgroundWorker;
use crate::error::Error;
use crate::limits::WindowSetting;
use epitome_config::profile::Profile;
use epitome_types::{Actor, SessionAction};

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

    /// The mode that policies are told of: what the session was set to, or else what the builder says.
    pub fn mode(&self) -> Option<&str> {
        let set = self.next.mode.as_ref().or(self.record.mode.as_ref());
        set.or(self.settings.deciders.mode.as_ref()).map(String::as_str)
    }

    /// Tells policies of another mode from the next prompt on. It is recorded with that, so that whoever
    /// goes on with the session has it.
    pub fn set_mode(&mut self, mode: &str) {
        self.next.mode = Some(mode.to_owned());
    }

    /// Takes up what its acts say of its mode and of where it comes from, and has the mode recorded that
    /// it is set to.
    pub(super) fn meet_facts(&mut self, state: &mut ConversationState, incoming: &IncomingHistory) {
        let Some(acts) = &mut state.acts else { return };
        if let Some(mode) =
            self.next.mode.as_ref().filter(|mode| acts.facts.mode.as_ref() != Some(mode))
        {
            let mode = Some(self.redaction().text(mode).into_owned());
            acts.facts.mode.clone_from(&mode);
            let act = SessionAction::Mode { mode, said_in: incoming.keys.last().copied() };
            state.work.doing.push((act, Actor::User));
        }
        self.record.mode.clone_from(&acts.facts.mode);
        self.record.imported = acts.facts.imported;
    }
}
