//! Where Lua is not compiled in: a policy in it is named and found, and refused where it is to run.

use std::sync::Arc;

use epitome_kernel::Counter;
#[cfg(feature = "config")]
use epitome_lua::OptionShape;

#[cfg(feature = "config")]
use super::load::Loaded;
use super::load::{Policies, Ready};
use super::reference::PolicyRef;
use crate::problem::{ConfigError, Problem};

#[cfg(feature = "config")]
impl Loaded {
    /// Nothing is known of what a policy declares that cannot run.
    pub(crate) fn declared(&self, _policy: &str) -> Option<Vec<OptionShape>> {
        None
    }
}

impl Policies {
    /// Refuses the policy.
    pub(super) fn first_good(
        &self,
        policy: &PolicyRef,
        _counter: &Arc<dyn Counter>,
    ) -> Result<(Ready, Option<Problem>), ConfigError> {
        let what = format!(
            "the policy `{}` is in Lua, which is not compiled in; build with the feature `lua`",
            policy.name()
        );
        Err(Problem::new(policy.place(), what).into())
    }
}
