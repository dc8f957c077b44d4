//! `epitome session verify`: whether the store holds what was written.
//!
//! Invariant: one line a finding; exit code 6 where one is left.

use epitome::Sqlite;
use serde::Serialize;

use crate::fault::Fault;
use crate::files;
use crate::journal::{self, JournalFlags};
use crate::text::counted;

/// Checks all that the store holds, in every profile, and mends what can be derived anew
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session verify --repair")]
pub(crate) struct Args {
    /// Mends what can be derived anew
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    journal: JournalFlags,
}

#[derive(Serialize)]
struct Found<'a> {
    what: &'a str,
    repaired: bool,
    remedy: &'a str,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let config = args.journal.config()?;
    config.chosen()?;
    let path = args.journal.path(&config)?;
    if !path.exists() {
        // It says how one is made.
        return args.journal.open().map(drop);
    }
    let findings = Sqlite::check(&path, args.repair).map_err(|error| Fault::of_store(&error))?;
    let found = findings.iter().map(|finding| Found {
        what: &finding.what,
        repaired: finding.repaired,
        remedy: &finding.remedy,
    });
    if args.journal.json {
        journal::json(&found.collect::<Vec<_>>())?;
    } else {
        files::to_stdout(|out| {
            for Found { what, repaired, remedy } in found {
                match repaired {
                    true => writeln!(out, "repaired: {what}")?,
                    false => writeln!(out, "{what}; {remedy}")?,
                }
            }
            if findings.is_empty() && !args.journal.quiet {
                writeln!(out, "everything is as it was written")?;
            }
            Ok(())
        })?;
    }
    match findings.iter().filter(|finding| !finding.repaired).count() as u64 {
        0 => Ok(()),
        left => Err(Fault::found(format!("{} left", counted(left, "finding")))),
    }
}
