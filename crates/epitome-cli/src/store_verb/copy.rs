//! `epitome store copy`: all that one store holds, into another.
//!
//! Invariant: nothing of the target is taken away.

use std::path::PathBuf;

use epitome::TransferMode;

use super::keys::KeyFlags;
use super::outcome::{OutcomeFlags, Way};
use crate::fault::CliError;
use crate::store;

/// Copies all that a store holds into another, and compares both; run again, it copies what is missing
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome store copy epitome.db postgres://team@db/epitome\n\nWith a \
                  key, TO is encrypted; `--plain` leaves it readable.\n\nA session that went on in both stores stays as it is in TO, and is named. What is damaged in FROM is \
                  left out and named; exit code 6 then."
)]
pub(crate) struct Args {
    /// The store to read
    #[arg(value_name = "FROM", value_parser = crate::flags::store)]
    from: PathBuf,
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
    let way = Way::between(&args.from, &args.to, "copied")?;
    let from = store::open_source(&way.from, args.keys.of_source()?)?;
    let to = store::open_target(&way.to, args.keys.plain)?;
    args.outcome.transfer(&way, &*from, &*to, TransferMode::Add)
}
