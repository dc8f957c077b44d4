//! `epitome session verify`: whether the store holds what was written.
//!
//! Invariant: one line a finding; exit code 6 where one is left.

use epitome::{SessionArchive, SqliteStore, StoreError, StoreFile, StoreFinding};
use serde::Serialize;

use crate::fault::CliError;
use crate::files;
use crate::journal::{self, JournalFlags};
use crate::text::counted;
use crate::{store, store_key};

/// Checks all that the store holds, in every profile, and mends what can be derived anew
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session verify --repair")]
pub(crate) struct Args {
    /// Mends what can be derived anew
    #[arg(long)]
    repair: bool,
    /// Makes all that is derived from the records anew, from them alone, before it checks
    #[arg(long)]
    rebuild: bool,
    #[command(flatten)]
    journal: JournalFlags,
}

#[derive(Serialize)]
struct VerifyFinding<'a> {
    what: &'a str,
    repaired: bool,
    remedy: &'a str,
}

/// What is wrong in a database.
fn in_database(store: &dyn SessionArchive, args: &Args) -> Result<Vec<StoreFinding>, StoreError> {
    let mut findings = if args.rebuild { store.rebuild()? } else { Vec::new() };
    findings.extend(store.verify(args.repair)?);
    Ok(findings)
}

/// What is wrong in a file, be it that it does not open any more.
fn in_file(file: StoreFile<'_>, args: &Args) -> Result<Vec<StoreFinding>, StoreError> {
    let made = if args.rebuild { SqliteStore::rebuild_file(file) } else { Ok(Vec::new()) };
    let mut findings = match made {
        // The check tells what is wrong with it.
        Err(StoreError::Damaged { .. }) => Vec::new(),
        made => made?,
    };
    findings.extend(SqliteStore::check(file, args.repair)?);
    Ok(findings)
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let config = args.journal.config()?;
    config.profile_in_use()?;
    let path = args.journal.path(&config)?;
    if !store::is_there(&path) {
        // It says how one is made.
        return args.journal.open().map(drop);
    }
    let findings = match store::is_database(&path) {
        true => in_database(&*args.journal.open()?.store, args),
        false => store_key::file(&path).and_then(|file| in_file(file, args)),
    };
    let findings = findings.map_err(|error| CliError::of_store(&error))?;
    let found = findings.iter().map(|finding| VerifyFinding {
        what: &finding.what,
        repaired: finding.repaired,
        remedy: &finding.remedy,
    });
    if args.journal.json {
        journal::json(&found.collect::<Vec<_>>())?;
    } else {
        files::to_stdout(|out| {
            for VerifyFinding { what, repaired, remedy } in found {
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
        left => Err(CliError::found(format!("{} left", counted(left, "finding")))),
    }
}
