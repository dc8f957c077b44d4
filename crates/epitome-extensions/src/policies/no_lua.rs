//! Where Lua is not compiled in: a policy in it is named and found, and refused where it is to run.

use std::sync::Arc;

use epitome_kernel::TokenCounter;
use epitome_lua::OptionShape;

use super::load::{LoadedPolicies, ProfilePolicies, Ready};
use super::reference::PolicyRef;
use crate::problem::{ConfigError, ConfigProblem};

impl LoadedPolicies {
    /// Nothing is known of what a policy declares that cannot run.
    pub fn declared(&self, _policy: &str) -> Option<Vec<OptionShape>> {
        None
    }
}

impl ProfilePolicies {
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
