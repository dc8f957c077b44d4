//! `epitome policy list`: every policy there is, from where, and whether it may run.
//!
//! Invariant: a policy that cannot be used is listed all the same, with the way to find out why.

use std::path::PathBuf;

use epitome::{Config, Origin, PolicyRef};
use serde::Serialize;

use super::check;
use crate::fault::Fault;
use crate::files;
use crate::journal;
use crate::settings::ConfigFlags;
use crate::table::{Column, Table, left};
use crate::text::plain;

const COLUMNS: [Column; 5] =
    [left("policy"), left("from"), left("extends"), left("trusted"), left("doc").least(12)];

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
struct Listed {
    name: String,
    from: Origin,
    folder: Option<PathBuf>,
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
pub(super) fn run(args: &Args) -> Result<(), Fault> {
    let config = args.config.load(|sources| sources)?;
    let mut listed: Vec<_> = config.policies().iter().map(|one| of(&config, one)).collect();
    listed.sort_by(|one, other| (one.from, &one.name).cmp(&(other.from, &other.name)));
    if args.json { journal::json(&listed) } else { words(&listed) }
}

fn of(config: &Config, policy: &PolicyRef) -> Listed {
    let checked = check::checked(config, policy);
    let declared = checked.declared.unwrap_or_default();
    Listed {
        name: policy.name().to_owned(),
        from: policy.origin(),
        folder: policy.folder().filter(|_| policy.origin() != Origin::Shipped).map(Into::into),
        extends: policy.extends(),
        trusted: checked.trusted,
        doc: declared.doc,
        hooks: declared.hooks,
        problems: checked.problems,
    }
}

fn words(listed: &[Listed]) -> Result<(), Fault> {
    let row = |one: &Listed| {
        let doc = match (one.problems.is_empty(), one.trusted) {
            (true, _) => one.doc.clone().unwrap_or_default(),
            (false, true) => format!("(cannot be used: `epitome policy check {}`)", one.name),
            (false, false) => "(does not run before `epitome trust`)".to_owned(),
        };
        let trusted = if one.trusted { "yes" } else { "no" };
        let extends = one.extends.clone().unwrap_or_default();
        vec![one.name.clone(), one.from.to_string(), plain(&extends), trusted.into(), plain(&doc)]
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    files::to_stdout(|out| Table::new(&COLUMNS).print(out, &rows))
}
