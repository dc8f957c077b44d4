//! A policy whose files may change while it is asked.
//!
//! Invariant: the last good generation stays until a new one is complete: built, checked, tested,
//! swapped once. A call that is under way keeps the generation that it began with.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use epitome_kernel::{Answer, HookResult, Job, NextPolicies, Policy, TokenCounter};
use serde_json::{Map, Value as Json};

use crate::engine::PolicyEngine;
use crate::error::{LoadCause, LoadError};
use crate::generation::Generation;
use crate::source::FoundPolicy;
use crate::suite::Extent;

/// Says why the files of a policy may not run as they are now; `None` where they may.
pub type PolicyGate = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A policy in Lua, in its newest good generation.
pub struct LuaPolicy {
    engine: PolicyEngine,
    found: FoundPolicy,
    counter: Arc<dyn TokenCounter>,
    options: Map<String, Json>,
    current: RwLock<Current>,
    /// Why what the files say now may not run, where that is so.
    gate: Option<PolicyGate>,
    /// Held while a generation is built, so that an older one never takes the place of a newer.
    building: Mutex<()>,
}

#[derive(Clone)]
struct Current {
    generation: Arc<Generation>,
    number: u64,
}

impl fmt::Debug for LuaPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LuaPolicy").field(&self.current().0).finish()
    }
}

impl LuaPolicy {
    /// Loads a policy for the first time; `counter` counts for it, `options` are its own.
    ///
    /// # Errors
    ///
    /// When it cannot be read, run, or used with these options.
    pub fn open(
        engine: &PolicyEngine,
        found: &FoundPolicy,
        counter: &Arc<dyn TokenCounter>,
        options: &Map<String, Json>,
    ) -> Result<Self, LoadError> {
        let generation = Arc::new(engine.load(found, counter, options)?);
        Ok(Self {
            engine: engine.clone(),
            found: found.clone(),
            counter: Arc::clone(counter),
            options: options.clone(),
            current: RwLock::new(Current { generation, number: 1 }),
            gate: None,
            building: Mutex::new(()),
        })
    }

    /// The same, asked before what its files say later takes the place of what they say now.
    #[must_use]
    pub fn gated(self, gate: PolicyGate) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// The generation in force and its number, counted from 1. A pass that asks several hooks
    /// takes it once and puts it into its chain, so that no reload comes between them.
    pub fn current(&self) -> (Arc<Generation>, u64) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        (current.generation, current.number)
    }

    /// Where its files are.
    pub fn found(&self) -> &FoundPolicy {
        &self.found
    }

    /// Takes up what its files say now; whether that is something else than before.
    ///
    /// # Errors
    ///
    /// When they may not run or cannot be loaded, or a test of the policy fails; then nothing has
    /// changed.
    pub fn reload(&self) -> Result<bool, LoadError> {
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = self.gate.as_ref().and_then(|may_run| may_run());
        if let Some(why) = refused {
            let cause = LoadCause::Refused(why);
            return Err(LoadError { policy: self.found.name.clone(), cause });
        }
        let generation = self.engine.load(&self.found, &self.counter, &self.options)?;
        let (before, number) = self.current();
        if before.id() == generation.id() && !before.quarantined() {
            return Ok(false);
        }
        let failed =
            generation.tests(Extent::Quick, None).into_iter().find_map(|test| test.failure);
        if let Some(what) = failed {
            let cause = LoadCause::Test(what);
            return Err(LoadError { policy: self.found.name.clone(), cause });
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Current { generation: Arc::new(generation), number: number + 1 };
        Ok(true)
    }
}

impl Policy for LuaPolicy {
    fn name(&self) -> &str {
        &self.found.name
    }

    fn line(&self, hook: &str) -> Option<u32> {
        self.current().0.line(hook)
    }

    fn takes(&self, hook: &str) -> bool {
        self.current().0.takes(hook)
    }

    fn answer(&self, job: &Job<'_>, rest: &NextPolicies<'_>) -> HookResult<Answer> {
        self.current().0.answer(job, rest)
    }
}
