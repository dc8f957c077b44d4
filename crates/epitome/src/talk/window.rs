//! How large a prompt the model takes that is talked with, where nobody stated it.
//!
//! Invariant: what the user or the profile states is never asked for; a server that says nothing
//! leaves the guess for its API, which is never enforced (SPEC 4.6). Ollama makes room for what it
//! is told, so what was guessed for it holds. Called by hosts.

use epitome_model::{Api, Failure, Probed};

use super::Talk;
use crate::target::Window;

impl Talk {
    /// Finds out how large a prompt the model takes: the server is asked, unless somebody stated it.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or does not know the model.
    pub async fn ask_for_window(&mut self) -> Result<(), Failure> {
        let stated = self.session.window() != Window::Guessed;
        let known = self.session.window().limit(self.session.profile(), self.format());
        if stated {
            self.client = self.client.clone().window(Some(known));
            return Ok(());
        }
        let Probed { window, trained } = self.client.probe().await?;
        let is_ollama = self.client.endpoint().spec.api == Api::Ollama;
        let found = match window {
            None if is_ollama => Some(trained.map_or(known, |most| most.min(known))),
            found => found,
        };
        self.session.told.window = found.map(Window::Limit);
        self.client = self.client.clone().window(found);
        Ok(())
    }

    /// What prompts are held to, in tokens, and whether that is more than a guess.
    pub fn limit(&self) -> (u64, bool) {
        let window = match self.session.window() {
            Window::Guessed => self.session.told.window.unwrap_or_default(),
            stated => stated,
        };
        (window.limit(self.session.profile(), self.format()), window != Window::Guessed)
    }
}
