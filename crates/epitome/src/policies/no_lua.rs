//! Where Lua is not compiled in: a policy in it is named and found, and refused where it is to run.

use std::sync::Arc;

use epitome_kernel::TokenCounter;
#[cfg(feature = "config")]
use epitome_lua::OptionShape;

#[cfg(feature = "config")]
use super::load::LoadedPolicies;
use super::load::{Policies, Ready};
use super::reference::PolicyRef;
use crate::problem::{ConfigError, ConfigProblem};

#[cfg(feature = "config")]
impl LoadedPolicies {
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
        _counter: &Arc<dyn TokenCounter>,
    ) -> Result<(Ready, Option<ConfigProblem>), ConfigError> {
        let what = format!(
            "the policy `{}` is in Lua, which is not compiled in; build with the feature `lua`",
            policy.name()
        );
        Err(ConfigProblem::new(policy.place(), what).into())
    }
}
