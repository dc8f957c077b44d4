//! `epitome policy list`: every policy there is, from where, and whether it may run.
//!
//! Invariant: a policy that cannot be used is listed all the same, with the way to find out why.

use std::path::PathBuf;

use epitome::{Config, ExtensionOrigin, PolicyRef};
use serde::Serialize;

use super::{check, shown};
use crate::fault::{self, CliError};
use crate::files;
use crate::journal;
use crate::settings::ConfigFlags;
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
    config.passed_over().for_each(|passed| fault::warn(&passed.to_string()));
    let rows: Vec<_> = listed.iter().map(row).collect();
    files::to_stdout(|out| TextTable::new(&COLUMNS).print(out, &rows))
}
