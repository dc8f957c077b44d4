//! Conversations that were played under policies that are not the one that is tried.
//!
//! Invariant: what is known is what playing it again would give; a policy or a conversation that changed is
//! played anew.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome::{Profile, Summarizer, WindowSetting};
use epitome_lab::ReplaySetup;

use super::known_summaries::KnownSummaries;
use super::played::{FinishedPlay, PlayableConversation};
use crate::fault::CliError;

/// What conversations came to under policies that seldom change.
#[derive(Default)]
pub(super) struct KnownPlays {
    plays: Mutex<Vec<KnownPlay>>,
    summaries: Mutex<Vec<KnownExtracts>>,
}

/// The extracts of a conversation whose texts are sized as these names say.
struct KnownExtracts {
    request: Vec<u8>,
    sized_as: [Option<String>; 2],
    summaries: Arc<KnownSummaries>,
}

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
    /// Who writes summaries of a conversation under a profile without a model, and knows those that it wrote
    /// before.
    pub(super) fn extracts(
        &self,
        conversation: &PlayableConversation,
        profile: &Profile,
    ) -> Arc<dyn Summarizer> {
        let sized_as = [profile.counter(), profile.model()].map(|name| name.map(str::to_owned));
        let request = conversation.request();
        let mut all = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|it| it.sized_as == sized_as && it.request == request);
        if let Some(known) = known {
            return Arc::clone(&known.summaries) as Arc<dyn Summarizer>;
        }
        let summaries = Arc::new(KnownSummaries::default());
        let shared = Arc::clone(&summaries);
        all.push(KnownExtracts { request: request.to_vec(), sized_as, summaries });
        shared
    }

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
        self.plays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
