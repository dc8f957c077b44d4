//! Folders in which things are looked for by name: policies, plugins.
//!
//! Invariant: the first folder that holds a name decides, and the nearer one is asked first; what
//! may not run hides nothing. What is found depends on the value alone, there is no global state,
//! and nothing is run. Made by the configuration.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::lock::PolicyLock;
pub(crate) use crate::name::is_name;
use crate::origin::ExtensionOrigin;

/// A folder of such things, each in a folder of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionFolder {
    /// The folder.
    pub folder: PathBuf,
    /// Where what stands in it is from.
    pub origin: ExtensionOrigin,
    /// Whether somebody else may have put something here, so that it needs to be trusted first.
    pub foreign: bool,
    /// The only one in it that is looked at; all are where none is named.
    pub only: Option<String>,
    /// How deep the folder lies that it belongs to: that of the project, or of the file that names
    /// it. None for what belongs to the user, wherever the user works.
    pub near: Option<usize>,
}

impl ExtensionFolder {
    /// The order in which shelves are looked through: what is given, what is nearest, what is the
    /// user's own.
    fn order(&self) -> (bool, Reverse<Option<usize>>, ExtensionOrigin) {
        (self.origin != ExtensionOrigin::Given, Reverse(self.near), self.origin)
    }

    /// The folder, and before it each policy in it that was added from elsewhere: those need to be
    /// trusted, whosever the folder is. Where nobody can tell which they are, all of it does.
    #[must_use]
    pub fn with_locked(self) -> Vec<Self> {
        if self.only.is_some() {
            return vec![self];
        }
        let Ok(lock) = PolicyLock::read(&self.folder) else {
            return vec![Self { foreign: true, ..self }];
        };
        let added = lock.policies.into_iter().map(|one| one.name);
        let added = added.map(|name| Self { only: Some(name), foreign: true, ..self.clone() });
        let mut all: Vec<_> = added.collect();
        all.push(self);
        all
    }

    /// The folder in which one of its names stands.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What needs to be trusted before a thing on it runs. Of one that is given by itself, what
    /// stands beside it is not asked about.
    pub(crate) fn trusted_whole(&self) -> Option<PathBuf> {
        let whole = || self.only.as_ref().map_or_else(|| self.folder.clone(), |it| self.place(it));
        self.foreign.then(whole)
    }
}

/// All folders of one sort.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtensionFolders {
    shelves: Vec<ExtensionFolder>,
    /// What may not run and would hide something that may: shelf and name.
    passed: BTreeSet<(PathBuf, String)>,
    /// The file that makes a folder one of these.
    file: &'static str,
    /// Whether only what is shipped may run.
    shipped_only: bool,
}

impl ExtensionFolders {
    pub(crate) fn new(
        mut shelves: Vec<ExtensionFolder>,
        file: &'static str,
        shipped_only: bool,
    ) -> Self {
        shelves.sort_by_key(ExtensionFolder::order);
        Self { shelves, passed: BTreeSet::new(), file, shipped_only }
    }

    /// Passes over a name on a shelf from now on.
    pub(crate) fn pass_over(&mut self, shelf: &ExtensionFolder, name: &str) {
        self.passed.insert((shelf.folder.clone(), name.to_owned()));
    }

    /// The shelves that hold a name and come behind the one that decides.
    pub(crate) fn behind(&self, name: &str) -> impl Iterator<Item = &ExtensionFolder> {
        let first = self.first(name).map(|shelf| shelf.place(name));
        let holds = move |shelf: &&ExtensionFolder| self.holds(shelf, name);
        let others = move |shelf: &&ExtensionFolder| Some(shelf.place(name)) != first;
        self.shelves.iter().filter(holds).filter(others)
    }

    /// The names on shelves that somebody else may have written.
    pub(crate) fn foreign_names(&self) -> BTreeSet<String> {
        let foreign = self.shelves.iter().filter(|shelf| shelf.foreign && shelf.only.is_none());
        foreign.flat_map(|shelf| self.names_on(shelf)).collect()
    }

    /// The shelf of a name that may be asked for.
    pub(crate) fn find(&self, name: &str) -> Option<&ExtensionFolder> {
        if self.shipped_only { None } else { self.first(name) }
    }

    /// The shelf of a name that may not be asked for, since only what is shipped may.
    pub(crate) fn barred(&self, name: &str) -> Option<&ExtensionFolder> {
        if self.shipped_only { self.first(name) } else { None }
    }

    /// The folders whose content needs to be trusted.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = PathBuf> {
        let given = |shelf: &ExtensionFolder| shelf.origin == ExtensionOrigin::Given;
        let alone = move |shelf: &&ExtensionFolder| shelf.only.is_none() || !given(shelf);
        self.shelves.iter().filter(alone).filter_map(ExtensionFolder::trusted_whole)
    }

    /// These names and all that stand here, each once.
    pub(crate) fn names<'n>(&self, shipped: impl IntoIterator<Item = &'n str>) -> Vec<String> {
        let mut names: Vec<String> = shipped.into_iter().map(str::to_owned).collect();
        for shelf in &self.shelves {
            names.extend(self.names_on(shelf));
        }
        let mut known = BTreeSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }

    /// The names on one shelf, in order.
    fn names_on(&self, shelf: &ExtensionFolder) -> Vec<String> {
        let mut here: Vec<_> = std::fs::read_dir(&shelf.folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| self.holds(shelf, name))
            .collect();
        here.sort();
        here
    }

    fn first(&self, name: &str) -> Option<&ExtensionFolder> {
        self.shelves.iter().find(|shelf| self.holds(shelf, name))
    }

    fn holds(&self, shelf: &ExtensionFolder, name: &str) -> bool {
        let is_looked_at = shelf.only.as_deref().is_none_or(|only| only == name);
        let is_passed = || self.passed.contains(&(shelf.folder.clone(), name.to_owned()));
        is_looked_at
            && is_name(name)
            && shelf.place(name).join(self.file).is_file()
            && (self.passed.is_empty() || !is_passed())
    }
}
