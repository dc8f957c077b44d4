//! The names that one policy in Lua may use, and the warnings about its old ones.
//!
//! Invariant: a policy whose first line says `@api 1` may use either name of each rename; one of
//! api 2 uses the new names only. Called wherever a name that a policy gave is looked up.

use std::sync::Arc;

use epitome_kernel::ApiNames;
use epitome_types::hook::{NameKind, RenamedName};

/// The names that a policy reads and answers by.
#[derive(Debug)]
pub(crate) struct Dialect {
    policy: String,
    /// The renames that apply to the policy.
    pub(crate) names: ApiNames,
}

impl Dialect {
    /// Returns the names of a policy that was written for this api.
    pub(crate) fn new(policy: &str, api: u32) -> Arc<Self> {
        Arc::new(Self { policy: policy.to_owned(), names: ApiNames::new(api) })
    }

    /// Returns the new name of an old one, if `known` has the new name and lacks the old one. `at`
    /// is the place in the policy, for the warning.
    pub(crate) fn now(
        &self,
        at: &str,
        kind: NameKind,
        old: &str,
        known: impl Fn(&str) -> bool,
    ) -> Option<&'static str> {
        let name = self.names.renamed(kind, old, known)?;
        self.warn(at, name);
        Some(name.new)
    }

    /// Warns the author about an old name, once.
    pub(crate) fn warn(&self, at: &str, name: &RenamedName) {
        if self.names.is_first_use(name) {
            tracing::warn!(target: "policy", policy = &*self.policy, at, "{name}");
        }
    }
}
