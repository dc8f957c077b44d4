//! Where policies are looked for: the project's folder, the user's, one that the configuration
//! names, what is shipped.
//!
//! Invariant: the first folder that holds a name decides, and nothing is run. Made by the
//! configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use epitome_lua::{FoundPolicy, PolicySource, TrustStore};

use super::placed::PlacedPolicy;
use super::reference::PolicyRef;
use super::{FILE, LIBRARY, shipped};
use crate::folders::{ExtensionFolder, ExtensionFolders};
use crate::origin::ExtensionOrigin;
use crate::problem::ConfigProblem;
use crate::stated::StatedOptions;

/// All folders of policies.
#[derive(Clone, Debug)]
pub struct PolicyFolders(ExtensionFolders);

impl PolicyFolders {
    /// The policies in these folders; with `shipped_only` no other may be asked for.
    pub fn new(shelves: Vec<ExtensionFolder>, shipped_only: bool) -> Self {
        Self(ExtensionFolders::new(shelves, FILE, shipped_only))
    }

    /// The policy of a name that may be asked for.
    pub fn find(&self, name: &str) -> Option<PlacedPolicy> {
        let own = self.0.find(name).filter(|_| name != LIBRARY);
        let Some(shelf) = own else { return shipped_policy(name) };
        let behind = self.0.behind(name).map(|shelf| placed(shelf, name));
        let hides = behind.chain(shipped_policy(name)).collect();
        Some(PlacedPolicy { hides, ..placed(shelf, name) })
    }

    /// Passes over what may not run and would hide something that may; gives the reason by name.
    pub fn pass_over(&mut self, trust: Option<&TrustStore>) -> BTreeMap<String, ConfigProblem> {
        let mut problems = BTreeMap::new();
        for name in self.0.foreign_names() {
            while let Some(placed) = self.find(&name)
                && let Some(next) = placed.hides.first().map(|next| next.origin)
                && let Some(shelf) =
                    self.0.find(&name).filter(|shelf| shelf.only.is_none()).cloned()
            {
                let policy = PolicyRef::new(placed, StatedOptions::default());
                let refusal = policy.brought().and_then(|brought| brought.refusal(trust));
                let Some(refusal) = refusal else { break };
                let problem = refusal.passed_over(next);
                problems.entry(name.clone()).or_insert(problem);
                self.0.pass_over(&shelf, &name);
            }
        }
        problems
    }

    /// A policy of this name that may not be asked for, since only what is shipped may.
    pub fn barred(&self, name: &str) -> Option<PlacedPolicy> {
        self.0.barred(name).map(|shelf| placed(shelf, name))
    }

    /// Whether there is a policy of this name, whether or not it may be asked for.
    pub fn knows(&self, name: &str) -> bool {
        self.find(name).or_else(|| self.barred(name)).is_some()
    }

    /// The folders of policies that need to be trusted.
    pub fn foreign(&self) -> impl Iterator<Item = PathBuf> {
        self.0.foreign()
    }

    /// The names of all policies, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.0.names(shipped::folders());
        names.retain(|name| self.knows(name));
        names
    }
}

/// Whether a policy of this name is shipped, whatever hides it.
pub fn is_shipped(name: &str) -> bool {
    shipped_policy(name).is_some()
}

/// A policy that is shipped.
fn shipped_policy(name: &str) -> Option<PlacedPolicy> {
    let files = shipped::folder(name)?;
    let is_policy = files.read(FILE).is_ok_and(|text| text.is_some());
    let found = FoundPolicy { name: name.to_owned(), files, libraries: library(None) };
    let placed =
        PlacedPolicy { found, origin: ExtensionOrigin::Shipped, foreign: None, hides: Vec::new() };
    is_policy.then_some(placed)
}

/// A policy that stands on a shelf.
fn placed(shelf: &ExtensionFolder, name: &str) -> PlacedPolicy {
    let files = PolicySource::Folder(shelf.place(name));
    // What stands beside one that was added is not what it was added with.
    let is_alone = shelf.only.is_some() && shelf.origin != ExtensionOrigin::Given;
    let libraries = library((!is_alone).then_some(&*shelf.folder));
    let found = FoundPolicy { name: name.to_owned(), files, libraries };
    PlacedPolicy { found, origin: shelf.origin, foreign: shelf.trusted_whole(), hides: Vec::new() }
}

/// Where shared modules are looked for: beside the policy, then among what is shipped.
fn library(shelf: Option<&Path>) -> Vec<PolicySource> {
    let beside = shelf.map(|folder| folder.join(LIBRARY)).filter(|folder| folder.is_dir());
    beside.map(PolicySource::Folder).into_iter().chain(shipped::folder(LIBRARY)).collect()
}
