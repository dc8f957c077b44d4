//! A session that an experiment held out, as it would have been under another profile.
//!
//! Invariant: nothing is recorded but in memory, and no model is asked: what it would write is extracted,
//! so that a shadow costs nothing and is the same each time. Read by reports on experiments.

use std::sync::Arc;

use epitome::{
    HeldOutSession, LanguageModel, MemoryStore, ModelError, ModelLimitHit, ModelQuestion, Profile,
    SessionArchive, ShadowReplay, ShadowSession, WindowSetting,
};
use tokio::runtime::Runtime;

use crate::{Recording, Replay, ReplayError, ReplaySetup, ReplayWriters};

/// Replays sessions under a profile.
pub struct ProfileShadow {
    setup: ReplaySetup,
    runtime: Runtime,
}

impl ProfileShadow {
    /// One for a profile.
    ///
    /// # Errors
    ///
    /// [`ReplayError::Runtime`] when the machine has nothing left to run it on.
    pub fn new(profile: Profile) -> Result<Self, ReplayError> {
        let models: Vec<Arc<dyn LanguageModel>> = vec![Arc::new(UnaskedModel)];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let writers = ReplayWriters { models, extracts: None };
        Ok(Self { setup: ReplaySetup { profile, writers, ..ReplaySetup::default() }, runtime })
    }
}

impl ShadowReplay for ProfileShadow {
    fn mark(&self) -> String {
        format!("{} {}", env!("CARGO_PKG_VERSION"), self.setup.profile.config())
    }

    fn replay(&self, session: &HeldOutSession) -> Result<ShadowSession, String> {
        let HeldOutSession { format, request, limit } = session;
        let recording =
            Recording::read(request, Some(*format), None).map_err(|error| error.to_string())?;
        let window = limit.map_or(self.setup.window, WindowSetting::Limit);
        let setup = ReplaySetup { window, ..self.setup.clone() };
        let store: Arc<dyn SessionArchive> = Arc::new(MemoryStore::new());
        let name = self.runtime.block_on(played(&recording, &setup, &store));
        let name = name.map_err(|error| error.to_string())?;
        let name = name.ok_or("it has no request")?;
        Ok(ShadowSession { store, scope: setup.scope(), name })
    }
}

/// Plays a recording to its end; gives the name of its session.
async fn played(
    recording: &Recording,
    setup: &ReplaySetup,
    store: &Arc<dyn SessionArchive>,
) -> Result<Option<String>, ReplayError> {
    let mut replay = Replay::new(recording, setup, Arc::clone(store), None)?;
    replay.leave_out_search();
    while replay.step().await?.is_some() {}
    Ok(replay.session().map(str::to_owned))
}

/// Stands for all models and answers nothing.
struct UnaskedModel;

#[async_trait::async_trait]
impl LanguageModel for UnaskedModel {
    fn name(&self) -> &str {
        "nobody"
    }

    async fn complete(&self, _: &ModelQuestion) -> Result<String, ModelError> {
        Err(ModelError {
            model: self.name().to_owned(),
            cause: "no model is asked for what would have been".to_owned(),
            lack: ModelLimitHit::Other,
        })
    }
}
