//! `epitome experiment`: experiments on live sessions.
//!
//! Invariant: it computes nothing; what is shown is what the library's report says. Only `stop` writes.

mod export;
mod flags;
mod list;
mod shadow;
mod show;
mod stop;
mod words;

use crate::fault::CliError;

/// Shows what experiments on live sessions prove, stops and exports them
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome experiment show short")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: ExperimentCommand,
}

#[derive(clap::Subcommand)]
enum ExperimentCommand {
    List(list::Args),
    Show(show::Args),
    Stop(stop::Args),
    Export(export::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        ExperimentCommand::List(args) => list::run(args),
        ExperimentCommand::Show(args) => show::run(args),
        ExperimentCommand::Stop(args) => stop::run(args),
        ExperimentCommand::Export(args) => export::run(args),
    }
}
