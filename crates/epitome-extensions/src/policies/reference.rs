//! A policy in the chain of a profile: which one, from where, with which options.
//!
//! Invariant: it says all that is needed to load the policy, and nothing of it has run. Made where
//! a profile is resolved.

use std::path::Path;

use epitome_lua::{FoundPolicy, PolicySource};
use serde_json::{Map, Value as Json};

use super::content::content;
use super::placed::PlacedPolicy;
use super::{FILE, extends};
use crate::origin::ExtensionOrigin;
use crate::stated::StatedOptions;
use crate::trust::ProjectExtension;

/// A policy in the chain of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRef {
    placed: PlacedPolicy,
    stated: StatedOptions,
    /// Whether the profile names it, rather than a policy that extends it.
    required: bool,
}

impl PolicyRef {
    /// A policy that was found, with what is said of its options.
    pub fn new(placed: PlacedPolicy, stated: StatedOptions) -> Self {
        Self { placed, stated, required: false }
    }

    /// Says that the profile does not hold without it.
    pub fn require(&mut self) {
        self.required = true;
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.placed.found.name
    }

    /// Where it is from.
    pub fn origin(&self) -> ExtensionOrigin {
        self.placed.origin
    }

    /// Its folder, unless it is compiled in.
    pub fn folder(&self) -> Option<&Path> {
        self.placed.found.files.folder()
    }

    /// The names of its prompts; none where they cannot be read, which loading it says.
    pub fn prompts(&self) -> Vec<String> {
        self.placed.found.files.names("prompts", "md").unwrap_or_default()
    }

    /// The options that are said for it, by name; those that are not have the values that it
    /// declares.
    pub fn options(&self) -> &Map<String, Json> {
        &self.stated.values
    }

    /// The policy that it extends, as its text says; nothing is run.
    pub fn extends(&self) -> Option<String> {
        let text = self.found().files.read(FILE).ok().flatten()?;
        extends(&text).map(|(name, _)| name)
    }

    /// The hash of its files.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read.
    pub fn content(&self) -> std::io::Result<String> {
        content(&self.placed.found)
    }

    /// Whether it is compiled in, with all that it may share with others.
    pub(crate) fn is_embedded(&self) -> bool {
        let FoundPolicy { files, libraries, .. } = &self.placed.found;
        libraries.iter().chain([files]).all(|source| source.folder().is_none())
    }

    /// What is loaded.
    pub fn found(&self) -> &FoundPolicy {
        &self.placed.found
    }

    /// The folder of policies that it stands in, where somebody else may have written that, so
    /// that it needs to be trusted first.
    pub fn foreign(&self) -> Option<&Path> {
        self.placed.foreign.as_deref()
    }

    /// What needs to be trusted of it, where it needs to be.
    pub(crate) fn brought(&self) -> Option<ProjectExtension<'_>> {
        let (shelf, folder) = (self.foreign()?, self.folder()?);
        let found = self.found();
        let parts =
            [&found.files].into_iter().chain(&found.libraries).filter_map(PolicySource::folder);
        Some(ProjectExtension {
            what: "policy",
            name: self.name(),
            place: self.place(),
            shelf,
            folder,
            parts: parts.filter(|part| part.parent() == folder.parent()).collect(),
        })
    }

    /// The policies that it hides, which have its name, the next one first.
    pub fn hides(&self) -> impl Iterator<Item = Self> {
        let stated = |placed: &PlacedPolicy| Self::new(placed.clone(), self.stated.clone());
        self.placed.hides.iter().map(stated)
    }

    /// Whether the profile does not hold without it: it names the policy, while of what a policy
    /// extends it may be left out.
    pub fn is_required(&self) -> bool {
        self.required
    }

    /// Where an option is said.
    pub fn said_at(&self, option: &str) -> Option<&str> {
        self.stated.places.get(option).map(String::as_str)
    }

    /// Its file, as messages name it.
    pub fn place(&self) -> String {
        match (self.origin(), self.folder()) {
            (ExtensionOrigin::Shipped, _) | (_, None) => {
                format!("{}/{FILE} (shipped)", self.name())
            }
            (_, Some(folder)) => folder.join(FILE).display().to_string(),
        }
    }
}
