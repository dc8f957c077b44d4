//! Conversations that were played under policies that are not the one that is tried.
//!
//! Invariant: what is known is what playing it again would give; a policy or a conversation that changed is
//! played anew.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome::{Profile, WindowSetting};
use epitome_lab::ReplaySetup;

use super::played::{FinishedPlay, PlayableConversation};
use crate::fault::CliError;

/// What conversations came to under policies that seldom change.
#[derive(Default)]
pub(super) struct KnownPlays(Mutex<Vec<KnownPlay>>);

struct KnownPlay {
    /// The conversation.
    request: Vec<u8>,
    profile: Profile,
    window: WindowSetting,
    /// The hashes of its policies.
    contents: Vec<String>,
    play: Arc<FinishedPlay>,
}

impl KnownPlays {
    /// A conversation under a profile, played unless that is known.
    pub(super) fn play(
        &self,
        conversation: &PlayableConversation,
        profile: Profile,
        window: WindowSetting,
    ) -> Result<Arc<FinishedPlay>, CliError> {
        let contents =
            profile.policies().into_iter().map(|policy| policy.content().unwrap_or_default());
        let contents: Vec<String> = contents.collect();
        let is_it = |one: &&KnownPlay| {
            one.profile == profile
                && one.window == window
                && one.contents == contents
                && one.request == conversation.request()
        };
        if let Some(known) = self.known().iter().find(is_it) {
            return Ok(Arc::clone(&known.play));
        }
        let setup = ReplaySetup { profile, window, ..ReplaySetup::default() };
        let play = Arc::new(conversation.play(&setup, |_, _| Ok(true))?);
        let ReplaySetup { profile, .. } = setup;
        let (request, known) = (conversation.request().to_vec(), Arc::clone(&play));
        self.known().push(KnownPlay { request, profile, window, contents, play: known });
        Ok(play)
    }

    fn known(&self) -> MutexGuard<'_, Vec<KnownPlay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
