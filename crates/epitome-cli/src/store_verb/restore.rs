//! `epitome store restore`: a store as a backup has it.
//!
//! Invariant: a store that holds anything is left alone unless `--force` says otherwise.

use std::path::PathBuf;

use epitome::{StoreError, TransferMode, TransferStore};

use super::named::NamedStore;
use super::outcome::{OutcomeFlags, Way};
use crate::fault::CliError;
use crate::store;

/// Makes a store what a backup holds; one that holds anything already only with --force
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome store restore epitome-backup.db --store epitome.db")]
pub(crate) struct Args {
    /// The backup
    file: PathBuf,
    /// Replaces the sessions that the store holds: those that the backup does not have go for good
    #[arg(long)]
    force: bool,
    /// The key of the backup, where it is not the one that is configured
    #[arg(long, value_name = "FILE")]
    from_key_file: Option<PathBuf>,
    #[command(flatten)]
    store: NamedStore,
    #[command(flatten)]
    outcome: OutcomeFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let way = Way::between(&args.file, &args.store.path()?, "restored")?;
    let from = store::open_source(&way.from, args.from_key_file.as_deref())?;
    let to = store::open_target(&way.to, false)?;
    let holds = holds_anything(&*to).map_err(|error| CliError::of_store(&error))?;
    if holds && !args.force {
        return Err(CliError::usage(format!(
            "the store {} holds sessions; `--force` replaces them, and another `--store` leaves \
             them alone",
            store::shown(&way.to)
        )));
    }
    args.outcome.transfer(&way, &*from, &*to, TransferMode::Mirror)
}

fn holds_anything(store: &dyn TransferStore) -> Result<bool, StoreError> {
    for scope in store.scopes()? {
        let kept = store.kept_outside(&scope)?;
        if !store.beginnings(&scope)?.is_empty() || !kept.originals.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
