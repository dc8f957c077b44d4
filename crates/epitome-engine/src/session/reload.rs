//! Policies and plugins whose files change while a session goes on.
//!
//! Invariant: a request keeps the generation that it began with; what became of a change is told
//! with the next prompt. Used by a session that is watched.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_lua::{PolicyReload, PolicyWatch};
use epitome_types::EventKind;

use crate::error::Error;
use epitome_extensions::plugins::{PREFIX, PluginReload, ProfilePlugins};
use epitome_extensions::policies::LoadedPolicies;

/// What became of changes since the watch began. Each session that shares it hears of all.
pub(crate) struct Reloads {
    told: Arc<Mutex<Vec<EventKind>>>,
    /// Those over policies and over plugins end when they fall.
    _watches: Vec<PolicyWatch>,
}

impl Reloads {
    /// Watches the policies and plugins of a profile.
    pub(crate) fn watch(
        policies: &LoadedPolicies,
        plugins: &ProfilePlugins,
    ) -> Result<Self, Error> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = {
            let told = Arc::clone(&told);
            move |event| told.lock().unwrap_or_else(PoisonError::into_inner).push(event)
        };
        let watch = policies.watch({
            let tell = tell.clone();
            move |reloaded| tell(of_policy(reloaded))
        });
        let watches = [Some(watch.map_err(Error::Watch)?), of_plugins(plugins, tell)?];
        Ok(Self { told, _watches: watches.into_iter().flatten().collect() })
    }

    /// How many changes there were.
    pub(crate) fn so_far(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The changes from the `heard`th on.
    pub(crate) fn since(&self, heard: usize) -> Vec<EventKind> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.get(heard..).unwrap_or_default().to_vec()
    }
}

/// What became of a change to a policy.
fn of_policy(reloaded: PolicyReload) -> EventKind {
    let PolicyReload { policy, generation, error } = reloaded;
    match error {
        Some(cause) => EventKind::PolicyError { cause },
        None => EventKind::PolicyReloaded { policy, generation },
    }
}

/// The watch over the plugins of a profile that stand in folders.
fn of_plugins(
    plugins: &ProfilePlugins,
    tell: impl Fn(EventKind) + Send + 'static,
) -> Result<Option<PolicyWatch>, Error> {
    let watch = plugins.watch(move |PluginReload { plugin, generation }| {
        tell(match generation {
            Ok(generation) => {
                EventKind::PolicyReloaded { policy: format!("{PREFIX}{plugin}"), generation }
            }
            Err(cause) => {
                let remedy = format!(
                    "the one from before goes on; `epitome plugin check {plugin}` tells more"
                );
                EventKind::PluginError { plugin, cause, remedy }
            }
        });
    });
    watch.map_err(Error::Watch)
}
