//! How large a prompt the model takes that is talked with, where nobody stated it.
//!
//! Invariant: what the user or the profile states is never asked for; a server that says nothing
//! leaves the guess for its API, which is never enforced (RULES 31). Ollama makes room for what it
//! is told, so what was guessed for it holds. Called by hosts.

use epitome_model::{ModelApi, ModelFailure, ProbedWindow};

use super::ChatSession;
use crate::limits::{LimitSource, PromptLimit, WindowSetting};

impl ChatSession {
    /// Finds out how large a prompt the model takes: the server is asked, unless somebody stated it.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or does not know the model.
    pub async fn probe_window(&mut self) -> Result<(), ModelFailure> {
        let stated = self.session.window() != WindowSetting::Guessed;
        let known = self.stated().limit;
        if stated {
            self.take(self.client.clone().window(Some(known)));
            return Ok(());
        }
        let ProbedWindow { window, trained } = self.client.probe().await?;
        let is_ollama = self.client.endpoint().spec.api == ModelApi::Ollama;
        let found = match window {
            None if is_ollama => Some(trained.map_or(known, |most| most.min(known))),
            found => found,
        };
        let told = |limit| PromptLimit { limit, source: LimitSource::Probe };
        self.session.told.window = found.map(told);
        self.take(self.client.clone().window(found));
        Ok(())
    }

    /// What prompts are held to, in tokens, and whether that is more than a guess.
    pub fn limit(&self) -> (u64, bool) {
        let known = self.known();
        (known.limit, known.source.is_stated())
    }

    /// What prompts are held to, in our tokens, and who says so; what answers taught of the model's
    /// way to count is in it.
    pub fn known(&self) -> PromptLimit {
        let (format, model) = (self.format(), &self.client.endpoint().spec.name);
        let known = self.session.known_of(format, model);
        known.unwrap_or_else(|_| self.stated())
    }

    /// How large a prompt the model takes by its user or its server, in the provider's tokens; where
    /// neither says, what prompts are held to.
    pub fn window(&self) -> PromptLimit {
        let stated = self.stated();
        match self.session.told.window {
            _ if stated.source == LimitSource::User => stated,
            Some(told) => told,
            None => self.known(),
        }
    }

    /// What the user states, or is guessed, in the provider's tokens.
    fn stated(&self) -> PromptLimit {
        let (format, model) = (self.format(), &self.client.endpoint().spec.name);
        self.session.window().known(self.session.profile(), format, Some(model))
    }
}
