//! Folders in which things are looked for by name: policies, plugins.
//!
//! Invariant: the first folder that holds a name decides; what is found depends on the value alone,
//! there is no global state, and nothing is run. Made by the configuration.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Where a policy or a plugin is from, in the order in which one is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A folder that the host named for this one alone.
    Given,
    /// `.epitome` of a project.
    Project,
    /// The user's own folder, or one that the host added.
    User,
    /// The folder that the configuration names.
    Config,
    /// The program.
    Shipped,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "given",
            Self::Project => "project",
            Self::User => "user",
            Self::Config => "config",
            Self::Shipped => "shipped",
        })
    }
}

/// A folder of such things, each in a folder of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shelf {
    pub(crate) folder: PathBuf,
    pub(crate) origin: Origin,
    /// Whether somebody else may have put something here, so that it needs to be trusted first.
    pub(crate) foreign: bool,
    /// The only one in it that is looked at; all are where none is named.
    pub(crate) only: Option<String>,
}

impl Shelf {
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
pub(crate) struct Rack {
    shelves: Vec<Shelf>,
    /// The file that makes a folder one of these.
    file: &'static str,
    /// Whether only what is shipped may run.
    shipped_only: bool,
}

impl Rack {
    pub(crate) fn new(mut shelves: Vec<Shelf>, file: &'static str, shipped_only: bool) -> Self {
        shelves.sort_by_key(|shelf| shelf.origin);
        Self { shelves, file, shipped_only }
    }

    /// The shelf of a name that may be asked for.
    pub(crate) fn find(&self, name: &str) -> Option<&Shelf> {
        if self.shipped_only { None } else { self.first(name) }
    }

    /// The shelf of a name that may not be asked for, since only what is shipped may.
    pub(crate) fn barred(&self, name: &str) -> Option<&Shelf> {
        if self.shipped_only { self.first(name) } else { None }
    }

    /// The folders whose content needs to be trusted.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Path> {
        let foreign = self.shelves.iter().filter(|shelf| shelf.foreign && shelf.only.is_none());
        foreign.map(|shelf| &*shelf.folder)
    }

    /// These names and all that stand here, each once.
    pub(crate) fn names<'n>(&self, shipped: impl IntoIterator<Item = &'n str>) -> Vec<String> {
        let mut names: Vec<String> = shipped.into_iter().map(str::to_owned).collect();
        for shelf in &self.shelves {
            let mut here: Vec<_> = std::fs::read_dir(&shelf.folder)
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .filter(|name| self.holds(shelf, name))
                .collect();
            here.sort();
            names.extend(here);
        }
        let mut known = BTreeSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }

    fn first(&self, name: &str) -> Option<&Shelf> {
        self.shelves.iter().find(|shelf| self.holds(shelf, name))
    }

    fn holds(&self, shelf: &Shelf, name: &str) -> bool {
        let is_looked_at = shelf.only.as_deref().is_none_or(|only| only == name);
        is_looked_at && is_name(name) && shelf.place(name).join(self.file).is_file()
    }
}

/// Whether something may be called so: letters, digits, `-` and `_`, as one can write them in Lua,
/// TOML and a path alike.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    !name.is_empty() && name.chars().all(plain)
}
