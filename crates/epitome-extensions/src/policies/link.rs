//! A link of a profile's chain: a policy in Lua, or a plugin that answers hooks.
//!
//! Invariant: plain data; nothing has run. Made where a profile is resolved.

use std::borrow::Cow;

use super::reference::PolicyRef;
use crate::plugins::PREFIX;

/// A link of a profile's chain of policies.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainLink {
    /// A policy in Lua.
    Policy(PolicyRef),
    /// A plugin, by its name, and where it is named.
    Plugin {
        /// The plugin.
        name: String,
        /// The file and line, the variable or the flag.
        place: String,
    },
}

impl ChainLink {
    /// Its name in the chain.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Policy(policy) => policy.name().into(),
            Self::Plugin { name, .. } => format!("{PREFIX}{name}").into(),
        }
    }

    /// The policy, where it is one.
    pub fn policy(&self) -> Option<&PolicyRef> {
        match self {
            Self::Policy(policy) => Some(policy),
            Self::Plugin { .. } => None,
        }
    }

    /// The same to be changed.
    pub fn policy_mut(&mut self) -> Option<&mut PolicyRef> {
        match self {
            Self::Policy(policy) => Some(policy),
            Self::Plugin { .. } => None,
        }
    }
}
