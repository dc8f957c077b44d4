//! Where policies are looked for: the project's folder, the user's, one that the configuration
//! names, what is shipped.
//!
//! Invariant: the first folder that holds a name decides; what is found depends on the value alone,
//! there is no global state, and nothing is run. Made by the configuration.

use std::fmt;
use std::path::{Path, PathBuf};

use epitome_lua::{Found, Source};
use serde::Serialize;

use super::shipped;

/// The folder of shared modules, which is no policy.
pub(crate) const LIBRARY: &str = "lib";

/// The name of what is built in, and of the shipped policy that says the same in Lua.
pub(crate) const DEFAULT: &str = "default";

/// The file that makes a folder a policy.
pub(crate) const FILE: &str = "policy.lua";

/// Where a policy is from, in the order in which one is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A folder that the host named for this policy alone.
    Given,
    /// `.epitome/policies` of a project.
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

/// A folder of policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shelf {
    pub(crate) folder: PathBuf,
    pub(crate) origin: Origin,
    /// Whether somebody else may have put policies here, so that they need to be trusted first.
    pub(crate) foreign: bool,
    /// The only policy in it that is looked at; all are where none is named.
    pub(crate) only: Option<String>,
}

/// A policy, where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) found: Found,
    pub(crate) origin: Origin,
    /// The folder of policies that it stands in, where that needs to be trusted first.
    pub(crate) foreign: Option<PathBuf>,
}

/// All folders of policies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelves {
    shelves: Vec<Shelf>,
    /// Whether only what is shipped may run.
    shipped_only: bool,
}

impl Shelves {
    pub(crate) fn new(mut shelves: Vec<Shelf>, shipped_only: bool) -> Self {
        shelves.sort_by_key(|shelf| shelf.origin);
        Self { shelves, shipped_only }
    }

    /// The policy of a name that may be asked for.
    pub(crate) fn find(&self, name: &str) -> Option<Placed> {
        let shelves = if self.shipped_only { &[] } else { &*self.shelves };
        on(shelves, name).or_else(|| {
            let files = shipped::folder(name)?;
            let is_policy = files.read(FILE).is_ok_and(|text| text.is_some());
            let libraries = library(None);
            let found = Found { name: name.to_owned(), files, libraries };
            is_policy.then_some(Placed { found, origin: Origin::Shipped, foreign: None })
        })
    }

    /// A policy of this name that may not be asked for, since only what is shipped may.
    pub(crate) fn barred(&self, name: &str) -> Option<Placed> {
        if self.shipped_only { on(&self.shelves, name) } else { None }
    }

    /// Whether there is a policy of this name, whether or not it may be asked for.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.find(name).or_else(|| self.barred(name)).is_some()
    }

    /// The folders of policies that need to be trusted.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Path> {
        let foreign = self.shelves.iter().filter(|shelf| shelf.foreign && shelf.only.is_none());
        foreign.map(|shelf| &*shelf.folder)
    }

    /// The names of all policies, each once.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = shipped::folders().map(str::to_owned).collect();
        for shelf in &self.shelves {
            let mut here: Vec<_> = std::fs::read_dir(&shelf.folder)
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .collect();
            here.sort();
            names.extend(here);
        }
        let mut known = std::collections::BTreeSet::new();
        names.retain(|name| known.insert(name.clone()) && self.knows(name));
        names
    }
}

/// The first policy of a name on some shelves.
fn on(shelves: &[Shelf], name: &str) -> Option<Placed> {
    let shelf = shelves.iter().find(|shelf| shelf.holds(name))?;
    let files = Source::Folder(shelf.folder.join(name));
    let libraries = library(Some(&shelf.folder));
    let found = Found { name: name.to_owned(), files, libraries };
    // Of a policy that is given by itself, what stands beside it is not asked about.
    let whole =
        shelf.only.as_ref().map_or_else(|| shelf.folder.clone(), |only| shelf.folder.join(only));
    let foreign = shelf.foreign.then_some(whole);
    Some(Placed { found, origin: shelf.origin, foreign })
}

/// Where shared modules are looked for: beside the policy, then among what is shipped.
fn library(shelf: Option<&Path>) -> Vec<Source> {
    let beside = shelf.map(|folder| folder.join(LIBRARY)).filter(|folder| folder.is_dir());
    beside.map(Source::Folder).into_iter().chain(shipped::folder(LIBRARY)).collect()
}

impl Shelf {
    fn holds(&self, name: &str) -> bool {
        let is_looked_at = self.only.as_deref().is_none_or(|only| only == name);
        is_looked_at && is_name(name) && self.folder.join(name).join(FILE).is_file()
    }
}

/// Whether a policy may be called so: letters, digits, `-` and `_`, as one can write them in Lua,
/// TOML and a path alike.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    !name.is_empty() && name != LIBRARY && name.chars().all(plain)
}
