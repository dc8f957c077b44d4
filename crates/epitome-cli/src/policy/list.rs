//! `epitome policy list`: every policy there is, from where, and whether it may run.
//!
//! Invariant: a policy that cannot be used is listed all the same, with the way to find out why.

use std::path::PathBuf;

use epitome::lock::{LockState, LockedPolicy, PolicyLock};
use epitome::{Config, ExtensionOrigin, PolicyRef};
use serde::Serialize;

use super::place::{self, POLICIES};
use super::{check, shown};
use crate::fault::{self, CliError};
use crate::files;
use crate::journal;
use crate::settings::{self, ConfigFlags};
use crate::table::{Column, TextTable, left};
use crate::text::plain;

const COLUMNS: [Column; 6] = [
    left("policy"),
    left("from"),
    left("extends"),
    left("trusted"),
    left("path").spare(1),
    left("doc").least(12),
];

/// The columns of those that were added from elsewhere.
const ADDED: [Column; 4] =
    [left("added"), left("state"), left("revision"), left("source").spare(1)];

/// Lists the policies that profiles may ask, each of which is a profile of its name
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy list")]
pub(crate) struct Args {
    #[command(flatten)]
    config: ConfigFlags,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
}

/// A policy, as it is listed.
#[derive(Serialize)]
struct ListedPolicy {
    name: String,
    from: ExtensionOrigin,
    folder: Option<PathBuf>,
    /// The policies of its name that it hides, by their folders; `shipped` for that one.
    hides: Vec<String>,
    extends: Option<String>,
    trusted: bool,
    /// What it says it does, where it could be loaded.
    doc: Option<String>,
    /// Its hooks, in the order in which a turn asks them.
    hooks: Vec<&'static str>,
    /// Why it cannot be used.
    problems: Vec<String>,
    /// Where it was added from, if it was.
    #[serde(flatten)]
    added: Option<AddedFrom>,
}

/// Where a policy was added from, and whether it is what was added.
#[derive(Serialize)]
struct AddedFrom {
    source: String,
    revision: Option<String>,
    state: LockState,
}

impl AddedFrom {
    fn of_policy(policy: &PolicyRef) -> Option<Self> {
        let shelf = policy.folder()?.parent()?;
        let lock = PolicyLock::read(shelf).ok()?;
        let locked = lock.find(policy.name())?;
        let state = locked.state(shelf);
        let LockedPolicy { source, revision, .. } = locked.clone();
        Some(Self { source, revision, state })
    }

    fn row(&self, name: &str) -> Vec<String> {
        let revision = self.revision.as_deref().unwrap_or_default();
        let state = match self.state {
            LockState::Locked => "as locked",
            LockState::Edited => "edited",
            LockState::Missing => "missing",
        };
        vec![name.to_owned(), state.to_owned(), short(revision).to_owned(), plain(&self.source)]
    }
}

/// The policies that a lock names and that are not there.
fn missing(config: &Config) -> Vec<String> {
    let shelves = place::project(POLICIES).ok().into_iter().chain(config.own_policies());
    let missing = shelves.flat_map(|shelf| {
        let lock = PolicyLock::read(&shelf).unwrap_or_else(|error| {
            fault::warn(&error.to_string());
            PolicyLock::default()
        });
        let gone =
            lock.policies.into_iter().filter(move |one| one.state(&shelf) == LockState::Missing);
        gone.map(|one| one.name)
    });
    missing.collect()
}

/// The beginning of a commit's hash.
fn short(revision: &str) -> &str {
    revision.get(..12).unwrap_or(revision)
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.config.load(|sources| sources)?;
    let mut listed: Vec<_> = config.policies().iter().map(|one| of(&config, one)).collect();
    listed.sort_by(|one, other| (one.from, &one.name).cmp(&(other.from, &other.name)));
    if args.json { journal::json(&listed) } else { words(&config, &listed) }
}

/// Where a policy stands, as people read it.
fn place_of(policy: &PolicyRef) -> String {
    match policy.folder().filter(|_| policy.origin() != ExtensionOrigin::Shipped) {
        Some(folder) => shown(folder),
        None => ExtensionOrigin::Shipped.to_string(),
    }
}

fn of(config: &Config, policy: &PolicyRef) -> ListedPolicy {
    let checked = check::checked(config, policy);
    let declared = checked.declared.unwrap_or_default();
    ListedPolicy {
        name: policy.name().to_owned(),
        from: policy.origin(),
        folder: policy
            .folder()
            .filter(|_| policy.origin() != ExtensionOrigin::Shipped)
            .map(Into::into),
        hides: policy.hides().map(|hidden| place_of(&hidden)).collect(),
        extends: policy.extends(),
        trusted: checked.trusted,
        doc: declared.doc,
        hooks: declared.hooks,
        problems: checked.problems,
        added: AddedFrom::of_policy(policy),
    }
}

fn words(config: &Config, listed: &[ListedPolicy]) -> Result<(), CliError> {
    let row = |one: &ListedPolicy| {
        let doc = match (one.problems.is_empty(), one.trusted) {
            (true, _) => one.doc.clone().unwrap_or_default(),
            (false, true) => format!("(cannot be used: `epitome policy check {}`)", one.name),
            (false, false) => "(does not run before `epitome trust`)".to_owned(),
        };
        let trusted = if one.trusted { "yes" } else { "no" };
        let extends = one.extends.clone().unwrap_or_default();
        let folder = one.folder.as_deref().map(shown).unwrap_or_default();
        let folder = match one.hides.is_empty() {
            true => folder,
            false => format!("{folder} (hides {})", one.hides.join(", ")),
        };
        let from = one.from.to_string();
        let (extends, doc) = (plain(&extends), plain(&doc));
        vec![one.name.clone(), from, extends, trusted.into(), plain(&folder), doc]
    };
    settings::tell_untrusted(config);
    let rows: Vec<_> = listed.iter().map(row).collect();
    missing(config).iter().for_each(|name| {
        fault::note(&format!(
            "`{name}` is locked and not here; `epitome policy update --locked` fetches it"
        ));
    });
    let added = listed.iter().filter_map(|one| Some(one.added.as_ref()?.row(&one.name)));
    let added: Vec<_> = added.collect();
    files::to_stdout(|out| {
        TextTable::new(&COLUMNS).print(out, &rows)?;
        if added.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        TextTable::new(&ADDED).print(out, &added)
    })
}
