//! A plugin that stands in a folder, in its newest good generation.
//!
//! Invariant: what broke changes nothing: the generation from before goes on. Nothing is read again
//! before somebody watches. Used by the plugins of a profile.

use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_lua::TrustStore;

use super::generation::PluginGeneration;
use super::reference::PluginRef;

/// A plugin in a folder.
pub(super) struct FolderPlugin {
    /// The variables that its user lets it have.
    granted: Vec<String>,
    #[cfg_attr(
        not(all(feature = "find", feature = "lua")),
        expect(dead_code, reason = "asked anew")
    )]
    trust: Option<TrustStore>,
    state: Mutex<FolderState>,
}

struct FolderState {
    named: PluginRef,
    current: PluginGeneration,
    /// How many generations there were.
    number: u64,
    /// What its files were when they were last looked at.
    #[cfg(all(feature = "find", feature = "lua"))]
    files: Option<String>,
}

impl FolderPlugin {
    /// The plugin, which starts with its first call; `None` where nothing here runs its form.
    pub(super) fn new(
        named: PluginRef,
        granted: Vec<String>,
        trust: Option<TrustStore>,
    ) -> Option<Self> {
        let plugin = named.launch(&granted)?.host();
        let current = PluginGeneration::new(&named, plugin);
        let state = FolderState {
            named,
            current,
            number: 1,
            #[cfg(all(feature = "find", feature = "lua"))]
            files: None,
        };
        Some(Self { granted, trust, state: Mutex::new(state) })
    }

    /// The generation in force.
    pub(super) fn current(&self) -> PluginGeneration {
        self.state().current.clone()
    }

    fn state(&self) -> MutexGuard<'_, FolderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(feature = "find", feature = "lua"))]
mod reloading {
    use super::super::content::files;
    use super::{FolderPlugin, PluginGeneration, PluginRef};
    use crate::problem::ConfigError;

    impl FolderPlugin {
        /// Takes its files as they are for those of the generation in force.
        pub(in super::super) fn look(&self) {
            let mut state = self.state();
            state.files = files(&state.named);
        }

        /// Loads what its files say now: the number of the generation where it is another, or
        /// `None` where they say what they said.
        pub(in super::super) fn reload(&self) -> Option<Result<u64, String>> {
            let (named, before) = {
                let state = self.state();
                (state.named.clone(), state.files.clone())
            };
            let files = files(&named);
            if files == before {
                return None;
            }
            let loaded = self.loaded(&named);
            let mut state = self.state();
            state.files = files;
            Some(loaded.map(|(named, current)| {
                (state.named, state.current) = (named, current);
                state.number += 1;
                state.number
            }))
        }

        /// The plugin as its folder says now, once it has said hello.
        fn loaded(&self, named: &PluginRef) -> Result<(PluginRef, PluginGeneration), String> {
            let named = named.as_it_is_now().map_err(|error: ConfigError| error.to_string())?;
            if let Some(refusal) = named.refused_by(self.trust.as_ref()) {
                return Err(refusal.what);
            }
            let launch = named.launch(&self.granted).ok_or("nothing here runs its form")?;
            let plugin = launch.host();
            plugin.hello().map_err(|error| {
                // What it does now is none of its business: the one from before goes on.
                format!("{}: {}", error.call, error.cause)
            })?;
            let current = PluginGeneration::new(&named, plugin);
            Ok((named, current))
        }
    }
}
