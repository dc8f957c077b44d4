//! `epitome trust`: which folders of policies and plugins may run.
//!
//! Invariant: what is recorded is what is in a folder now, in the user's own data and never in the
//! folder; nothing of it runs here.

use std::path::{Path, PathBuf};

use epitome::lock::PolicyLock;
use epitome::{Config, TrustStatus, TrustStore};
use serde::Serialize;

use crate::fault::{self, CliError};
use crate::files;
use crate::journal;
use crate::plugin::PLUGINS;
use crate::policy::{LIBRARY, POLICIES, added_policy};
use crate::settings::ConfigFlags;
use crate::shell::quoted;
use crate::table::{Column, TextTable, left};

const COLUMNS: [Column; 2] = [left("state"), left("folder")];

/// What makes a folder a policy or a plugin.
const FILES: [&str; 2] = ["policy.lua", "plugin.toml"];

/// Lets the policies and plugins of a project run as they are now; an edit asks again, unless you
/// are their author
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome trust --list")]
pub(crate) struct Args {
    /// The project, a folder of policies or plugins, or one of them [default: what came with this
    /// project]
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Records a folder as your own: whatever stands in it runs without being asked about again
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    author: Option<PathBuf>,
    /// Lists what is recorded
    #[arg(long, conflicts_with_all = ["path", "author"])]
    list: bool,
    #[command(flatten)]
    config: ConfigFlags,
    /// Prints JSON on standard output
    #[arg(long)]
    json: bool,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// A folder, as it is recorded.
#[derive(Clone, Serialize)]
struct TrustedFolder {
    folder: PathBuf,
    state: &'static str,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.config.load(|sources| sources)?;
    let Some(trust) = config.trust() else {
        return Err(CliError::usage("no home folder, in which what is trusted would be recorded"));
    };
    if args.list {
        return args.show(&listed(trust)?);
    }
    if let Some(folder) = &args.author {
        let folders = shelves(folder);
        folders.iter().filter(|folder| !is_shelf(folder)).try_for_each(|it| holds_some(it))?;
        let own = |folder: &PathBuf| -> Result<_, CliError> {
            trust.own(folder).map_err(|error| unreadable(folder, &error))?;
            recorded(trust, folder)
        };
        return args.show(&folders.iter().map(own).collect::<Result<Vec<_>, _>>()?);
    }
    let folders = args.folders(&config)?;
    for folder in &folders {
        let added = added_policy(&config, folder);
        if let Some(added) = added.as_ref().filter(|_| !args.json && !args.quiet) {
            files::to_stdout(|out| added.tell(out))?;
        }
        trust.trust(folder).map_err(|error| unreadable(folder, &error))?;
        added.iter().for_each(|added| added.keep(&config));
    }
    let recorded: Result<Vec<_>, _> = folders.iter().map(|it| recorded(trust, it)).collect();
    let linked: Vec<_> = folders.iter().flat_map(|folder| linked(trust, folder)).collect();
    args.show(&[recorded?, linked.iter().map(|link| link.leads_to.clone()).collect()].concat())?;
    for link in linked.iter().filter(|_| !args.quiet) {
        let (place, path) = (link.place.display(), quoted(&link.place.display().to_string()));
        fault::warn(&format!(
            "{place} is a link, and what it leads to is not trusted with the folder that it stands \
             in: it does not run; read it, then let it run with `epitome trust {path}`"
        ));
    }
    Ok(())
}

/// A policy or plugin that does not run although the folder that it stands in is trusted.
struct UntrustedLink {
    place: PathBuf,
    leads_to: TrustedFolder,
}

/// Those of a folder: what is behind a link is trusted for where it is.
fn linked(trust: &TrustStore, folder: &Path) -> Vec<UntrustedLink> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut links: Vec<_> = entries.map(|entry| entry.path()).collect();
    links.retain(|path| path.is_symlink() && FILES.iter().any(|file| path.join(file).is_file()));
    links.sort();
    let untrusted = |place: PathBuf| {
        let there = place.canonicalize().ok()?;
        let may_run = trust.standing(&there).is_ok_and(TrustStatus::may_run);
        (!may_run).then(|| UntrustedLink { place, leads_to: of(trust, &there) })
    };
    links.into_iter().filter_map(untrusted).collect()
}

impl Args {
    /// The folders that are meant.
    fn folders(&self, config: &Config) -> Result<Vec<PathBuf>, CliError> {
        let Some(path) = &self.path else {
            let folders: Vec<_> = config.untrusted_folders().collect();
            return match folders.is_empty() {
                true => Err(CliError::usage(
                    "neither policies nor plugins came with this project: there is no \
                     `.epitome/policies` and no `.epitome/plugins` here or upwards; name a folder \
                     to trust",
                )),
                false => Ok(folders),
            };
        };
        let folders = shelves(path);
        // What was added from elsewhere is trusted by itself.
        let added = folders.iter().flat_map(|shelf| {
            let lock = PolicyLock::read(shelf).unwrap_or_default();
            lock.policies.into_iter().map(|one| shelf.join(one.name))
        });
        let added: Vec<_> = added.filter(|folder| folder.is_dir()).collect();
        folders.iter().try_for_each(|folder| holds_some(folder))?;
        Ok(folders.into_iter().chain(added).collect())
    }

    fn show(&self, recorded: &[TrustedFolder]) -> Result<(), CliError> {
        if self.json {
            return journal::json(&recorded);
        }
        if self.quiet {
            return Ok(());
        }
        if recorded.is_empty() {
            fault::note("no folder is recorded; `epitome trust PATH` records one");
            return Ok(());
        }
        let row =
            |one: &TrustedFolder| vec![one.state.to_owned(), one.folder.display().to_string()];
        let rows: Vec<_> = recorded.iter().map(row).collect();
        files::to_stdout(|out| TextTable::new(&COLUMNS).print(out, &rows))
    }
}

/// The folders of policies and plugins that a project has; of anything else, that.
fn shelves(path: &Path) -> Vec<PathBuf> {
    let below = [POLICIES, PLUGINS].map(|below| path.join(below));
    let found: Vec<_> = below.into_iter().filter(|below| below.is_dir()).collect();
    if found.is_empty() { vec![path.to_owned()] } else { found }
}

/// Whether policies or plugins of a project stand in it, or will.
fn is_shelf(folder: &Path) -> bool {
    folder.is_dir() && [POLICIES, PLUGINS].iter().any(|shelf| folder.ends_with(shelf))
}

/// Whether something stands in a folder that trust in it lets run: a policy or plugin, or the modules that
/// those beside it share.
fn holds_some(folder: &Path) -> Result<(), CliError> {
    let is_one = |folder: &Path| FILES.iter().any(|file| folder.join(file).is_file());
    let holds = |folder: &Path| -> Result<bool, CliError> {
        let within = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
        Ok(within.filter_map(Result::ok).any(|entry| is_one(&entry.path())))
    };
    let is_shared = || match folder.canonicalize() {
        Ok(folder) if folder.ends_with(LIBRARY) => folder.parent().map_or(Ok(false), holds),
        _ => Ok(false),
    };
    if is_one(folder) || holds(folder)? || is_shared()? {
        return Ok(());
    }
    let shown = folder.display();
    Err(CliError::unreadable(format!(
        "{shown}: holds neither policies nor plugins; expected a project with `{POLICIES}` or \
         `{PLUGINS}`, a folder of such, or one of them"
    )))
}

fn listed(trust: &TrustStore) -> Result<Vec<TrustedFolder>, CliError> {
    let folders = trust.folders();
    let folders =
        folders.map_err(|error| CliError::unreadable(format!("what is trusted: {error}")))?;
    Ok(folders.iter().map(|folder| of(trust, folder)).collect())
}

fn recorded(trust: &TrustStore, folder: &Path) -> Result<TrustedFolder, CliError> {
    let folder = folder.canonicalize().map_err(|error| unreadable(folder, &error))?;
    Ok(of(trust, &folder))
}

/// How a folder stands.
fn of(trust: &TrustStore, folder: &Path) -> TrustedFolder {
    let state = match trust.standing(folder) {
        Ok(TrustStatus::Own) => "own",
        Ok(TrustStatus::Trusted) => "trusted",
        Ok(TrustStatus::Changed) => "changed",
        Ok(TrustStatus::Pulled) => "pulled",
        Ok(TrustStatus::Unknown) => "unknown",
        Err(_) => "gone",
    };
    TrustedFolder { folder: folder.to_owned(), state }
}

fn unreadable(folder: &Path, error: &std::io::Error) -> CliError {
    CliError::unreadable(format!("{}: {}", folder.display(), files::cause(error)))
}
