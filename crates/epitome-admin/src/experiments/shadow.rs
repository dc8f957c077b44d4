//! What would have left the sessions that an experiment holds out, had they been compressed.
//!
//! Agents read again in any case, and their calls fail in any case. So the hold-out is measured at the same
//! places as the arms that it is compared with: where the first of them would have compressed. Invariant: a
//! shadow is made of what is recorded and changes nothing of it. What it came to is kept for as long as the
//! session, the profile and the program are the same. Asked for reports alone.

use std::sync::Arc;

use epitome_config::ExperimentConfig;
use epitome_config::scope::shadow_scope;
use epitome_kernel::StoreError;
use epitome_store::SessionArchive;
use epitome_types::SessionInfo;
use epitome_wire::Format;
use serde::{Deserialize, Serialize};

use super::around::CallsAround;
use crate::regret::RegretCounts;

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
    /// What the result follows from besides the session: another one may come to something else.
    fn mark(&self) -> String;

    /// Replays a session under the profile that the hold-out is compared with.
    ///
    /// # Errors
    ///
    /// Why it cannot be replayed; it has no shadow then.
    fn replay(&self, session: &HeldOutSession) -> Result<ShadowSession, String>;
}

/// What a shadow came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShadowCounts {
    /// The history of the session, the limit of its newest prompt, and the mark of who replayed it.
    made_of: String,
    #[serde(flatten)]
    pub(crate) regret: RegretCounts,
    #[serde(flatten)]
    pub(crate) around: CallsAround,
}

impl ShadowCounts {
    /// What a session's shadow came to, where that is known of the session as it is now; else as
    /// `replayed` tells, which is kept. None where it has no shadow.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(crate) fn of_session(
        store: &dyn SessionArchive,
        [tenant, hash]: [&str; 2],
        info: &SessionInfo,
        mark: &str,
        replayed: impl FnOnce() -> Result<Option<(RegretCounts, CallsAround)>, StoreError>,
    ) -> Result<Option<Self>, StoreError> {
        let made_of = format!("{} {} {mark}", info.head, info.figures.limit);
        let scope = shadow_scope(tenant);
        let kept = store.lessons_about(&scope, hash)?.remove(hash);
        let kept: Option<Self> = kept.and_then(|text| serde_json::from_str(&text).ok());
        if let Some(kept) = kept.filter(|it| it.made_of == made_of) {
            return Ok(Some(kept));
        }
        let Some((regret, around)) = replayed()? else { return Ok(None) };
        let counts = Self { made_of, regret, around };
        // Nothing in it can fail to be written.
        let text = serde_json::to_string(&counts).unwrap_or_default();
        if let Err(error) = store.learn(&scope, hash, &text) {
            tracing::debug!(%error, "what a shadow came to is not kept");
        }
        Ok(Some(counts))
    }
}

/// The profile under which the hold-out of an experiment is replayed: its first other arm. None where it
/// holds nothing out.
#[must_use]
pub fn shadow_profile(experiment: &ExperimentConfig) -> Option<&str> {
    let is_held_out = |arm: &String| arm == ExperimentConfig::HOLD_OUT;
    let compared = experiment.arms.iter().find(|arm| !is_held_out(arm))?;
    experiment.arms.iter().any(is_held_out).then_some(compared)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use epitome_store::MemoryStore;
    use epitome_types::HistoryHash;

    use super::*;

    #[test]
    fn a_shadow_is_made_once_of_each_session_and_profile() {
        let (store, made) = (MemoryStore::new(), Cell::new(0));
        let check = |hash: &str, info: &SessionInfo, mark: &str, expected: u64| {
            let replayed = || {
                made.set(made.get() + 1);
                let regret = RegretCounts { left: made.get(), ..RegretCounts::default() };
                Ok(Some((regret, CallsAround::default())))
            };
            let found = ShadowCounts::of_session(&store, ["local", hash], info, mark, replayed);
            assert_eq!(found.unwrap().unwrap().regret.left, expected, "{hash} {mark}");
        };
        let info = SessionInfo::default();
        check("a", &info, "default", 1);
        check("a", &info, "default", 1);
        check("b", &info, "default", 2);
        check("a", &info, "edited", 3);
        let gone_on = SessionInfo { head: HistoryHash([1; 16]), ..info.clone() };
        check("a", &gone_on, "edited", 4);
        check("a", &gone_on, "edited", 4);
        let mut other_limit = gone_on;
        other_limit.figures.limit = 8_000;
        check("a", &other_limit, "edited", 5);
    }
}
