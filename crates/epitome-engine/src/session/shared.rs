//! What the sessions of one host have in common: the counters with their caches, what was learned
//! of models, and the watch over the files of the policies and plugins.
//!
//! Invariant: nothing in here is known of a conversation. A session by itself has one of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use epitome_count::{CachedCounter, for_model};
use epitome_kernel::TokenCounter;

use super::reload::Reloads;
use crate::error::Error;
use crate::learned_limits::LearnedLimits;
use crate::locks::locked;
use epitome_config::profile::Profile;

/// Counts that one counter remembers; a host has many conversations.
const COUNTS: usize = 1 << 18;

/// What sessions share.
#[derive(Default)]
pub(crate) struct SharedSessions {
    counters: Mutex<BTreeMap<String, Arc<dyn TokenCounter>>>,
    reloads: Mutex<Option<Arc<Reloads>>>,
    pub(crate) lessons: LearnedLimits,
}

impl SharedSessions {
    /// The counter of a model, by the name that requests give it.
    pub(crate) fn counter(&self, model: &str) -> Arc<dyn TokenCounter> {
        let mut counters = locked(&self.counters);
        if let Some(known) = counters.get(model) {
            return Arc::clone(known);
        }
        // Models that are counted alike share what was counted.
        let counter = for_model(model);
        let alike = counters.values().find(|known| known.id() == counter.id()).cloned();
        let counter =
            alike.unwrap_or_else(|| Arc::new(CachedCounter::with_capacity(counter, COUNTS)));
        counters.insert(model.to_owned(), Arc::clone(&counter));
        counter
    }

    /// The watch over the policies and plugins of a profile, begun when it is first asked for.
    pub(crate) fn watch(
        &self,
        profile: &Profile,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<Arc<Reloads>, Error> {
        let mut reloads = locked(&self.reloads);
        if let Some(watch) = &*reloads {
            return Ok(Arc::clone(watch));
        }
        let watch = Arc::new(Reloads::watch(&profile.load(counter)?, profile.plugin_runner())?);
        *reloads = Some(Arc::clone(&watch));
        Ok(watch)
    }
}
