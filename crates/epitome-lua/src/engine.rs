//! The engine: loads policies, and owns the thread that ends what runs too long.
//!
//! Invariant: no state is shared between engines. Made by the host, usually once.

use std::fmt;
use std::sync::Arc;

use epitome_kernel::TokenCounter;
use serde_json::{Map, Value as Json};

use crate::error::LoadError;
use crate::generation::Generation;
use crate::limits::LuaLimits;
use crate::source::FoundPolicy;
use crate::vm::CallBounds;
use crate::watchdog::Watchdog;

/// Loads policies.
#[derive(Clone)]
pub struct PolicyEngine(Arc<CallBounds>);

impl fmt::Debug for PolicyEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicyEngine").field(&self.0.limits).finish()
    }
}

impl PolicyEngine {
    /// An engine whose policies have these limits.
    ///
    /// # Errors
    ///
    /// When the system has no thread to give.
    pub fn new(limits: LuaLimits) -> std::io::Result<Self> {
        Ok(Self(Arc::new(CallBounds { limits, dog: Watchdog::start()? })))
    }

    /// Loads a policy; `counter` counts for it, `options` are its own, by name.
    ///
    /// # Errors
    ///
    /// When it cannot be read, run, or used with these options.
    pub fn load(
        &self,
        found: &FoundPolicy,
        counter: &Arc<dyn TokenCounter>,
        options: &Map<String, Json>,
    ) -> Result<Generation, LoadError> {
        Generation::load(Arc::clone(&self.0), found, counter, options)
    }
}
