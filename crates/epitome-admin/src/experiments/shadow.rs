//! What would have left the sessions that an experiment holds out, had they been compressed.
//!
//! Agents read again in any case, and their calls fail in any case. So the hold-out is measured at the same
//! places as the arms that it is compared with: where the first of them would have compressed. Invariant: a
//! shadow is made of what is recorded and changes nothing of it. Asked for reports alone.

use std::sync::Arc;

use epitome_config::ExperimentConfig;
use epitome_store::SessionArchive;
use epitome_wire::Format;

/// A session that was held out.
#[derive(Clone, Debug)]
pub struct HeldOutSession {
    /// The API that it talks.
    pub format: Format,
    /// Its messages as one request.
    pub request: Vec<u8>,
    /// The limit that its newest prompt was held to, in tokens, where it is known.
    pub limit: Option<u64>,
}

/// The same session as a profile would have had it.
pub struct ShadowSession {
    /// Where it is recorded, apart from all that happened.
    pub store: Arc<dyn SessionArchive>,
    /// The scope that it is recorded in.
    pub scope: String,
    /// Its name there.
    pub name: String,
}

/// Replays sessions that were held out.
pub trait ShadowReplay {
    /// Replays a session under the profile that the hold-out is compared with.
    ///
    /// # Errors
    ///
    /// Why it cannot be replayed; it has no shadow then.
    fn replay(&self, session: &HeldOutSession) -> Result<ShadowSession, String>;
}

/// The profile under which the hold-out of an experiment is replayed: its first other arm. None where it
/// holds nothing out.
#[must_use]
pub fn shadow_profile(experiment: &ExperimentConfig) -> Option<&str> {
    let is_held_out = |arm: &String| arm == ExperimentConfig::HOLD_OUT;
    let compared = experiment.arms.iter().find(|arm| !is_held_out(arm))?;
    experiment.arms.iter().any(is_held_out).then_some(compared)
}
