//! `epitome store backup`: a store in one file, brought up to date each time.
//!
//! Invariant: whoever writes the store meanwhile is not kept waiting, and each session in the file is
//! as it was at one moment.

use std::path::PathBuf;

use epitome::{SqliteStore, TransferMode};

use super::named::NamedStore;
use super::outcome::{OutcomeFlags, Way};
use crate::fault::CliError;
use crate::files::PendingFile;
use crate::store;

/// Writes all that a store holds to a file, also while it is in use; an older backup there is brought up
/// to date
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome store backup epitome-backup.db")]
pub(crate) struct Args {
    /// The file; a backup that is there becomes what the store is now
    file: PathBuf,
    #[command(flatten)]
    store: NamedStore,
    #[command(flatten)]
    outcome: OutcomeFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if store::is_database(&args.file) {
        return Err(CliError::usage(
            "a backup is a file; `epitome store copy` copies into a database",
        ));
    }
    let way = Way::between(&args.store.path()?, &args.file, "backed up")?;
    let from = store::open_source(&way.from, None)?;
    // A store that is not encrypted has no backup that is.
    let is_file = !store::is_database(&way.from);
    let is_plain = is_file && !store::is_sealed(&way.from).map_err(|it| CliError::of_store(&it))?;
    let is_there = way.to.exists();
    if !is_there {
        // A disk that is not mounted is no folder to make.
        PendingFile::prepare(&way.to)?;
    }
    let is_new = !is_there && is_file;
    if is_new {
        // As the database itself copies it; then what was written meanwhile is brought along.
        let opened = store::with_key(&way.from, None, |file| SqliteStore::open_existing(file));
        let opened = opened.map_err(|error| CliError::of_store(&error))?;
        opened.back_up(&way.to).map_err(CliError::of_output)?;
    }
    let to = store::open_target(&way.to, is_plain)?;
    let mut done = args.outcome.carry(&*from, &*to, TransferMode::Mirror)?;
    if is_new {
        let report = &mut done.report;
        report.copied += std::mem::take(&mut report.same);
        report.messages = report.said;
        report.bytes = way.to.metadata().map_or(0, |file| file.len());
    }
    args.outcome.print(&way, &done, None)
}
