//! `epitome store`: whole stores, copied, backed up, restored and salvaged, and the key that they are
//! encrypted with.
//!
//! Invariant: at the end of each errand both stores are compared, and what differs is named.

mod backup;
mod copy;
mod key;
mod keys;
mod named;
mod outcome;
mod progress;
mod restore;
mod salvage;

use crate::fault::CliError;

/// Copies, backs up, restores and salvages whole stores, and makes the key that encrypts them
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome store copy epitome.db postgres://team@db/epitome")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: StoreCommand,
}

#[derive(clap::Subcommand)]
enum StoreCommand {
    Key(key::Args),
    Copy(copy::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Salvage(salvage::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        StoreCommand::Key(args) => key::run(args),
        StoreCommand::Copy(args) => copy::run(args),
        StoreCommand::Backup(args) => backup::run(args),
        StoreCommand::Restore(args) => restore::run(args),
        StoreCommand::Salvage(args) => salvage::run(args),
    }
}
