//! `epitome store salvage`: what can be read of a damaged store, into a new one.
//!
//! Invariant: the damaged store is only read, and what is missing of it is named.

use std::path::PathBuf;

use epitome::{SqliteStore, TransferMode};

use super::keys::KeyFlags;
use super::outcome::{OutcomeFlags, Way};
use crate::fault::CliError;
use crate::store;

/// Reads what can be read of a damaged store, writes it into another store, and names what is missing
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome store salvage epitome.db salvaged.db\n\nDamage costs the record \
                  that it is in: a message that is lost keeps its place and reads `[erased]`. Exit code \
                  6 where anything is missing."
)]
pub(crate) struct Args {
    /// The damaged file, or database
    #[arg(value_parser = crate::flags::store)]
    damaged: PathBuf,
    /// The store to write; a file that is not there is made
    #[arg(value_name = "TO", value_parser = crate::flags::store)]
    to: PathBuf,
    #[command(flatten)]
    keys: KeyFlags,
    #[command(flatten)]
    outcome: OutcomeFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let way = Way::between(&args.damaged, &args.to, "salvaged")?;
    if store::is_database(&way.from) {
        // What is damaged there is told record by record, and all else is read as ever.
        let from = store::open_source(&way.from, args.keys.of_source()?)?;
        let to = store::open_target(&way.to, args.keys.plain)?;
        let done = args.outcome.carry(&*from, &*to, TransferMode::Add)?;
        return args.outcome.print(&way, &done, Some(&[]));
    }
    if !way.from.exists() {
        return Err(CliError::unreadable(format!("no store at {}", way.from.display())));
    }
    let own_key = args.keys.of_source()?;
    let found = store::with_key(&way.from, own_key, |file| SqliteStore::salvage(file));
    let found = found.map_err(|error| CliError::of_store(&error))?;
    let to = store::open_target(&way.to, args.keys.plain)?;
    let done = args.outcome.carry(&found.store, &*to, TransferMode::Add)?;
    args.outcome.print(&way, &done, Some(&found.missing))
}
