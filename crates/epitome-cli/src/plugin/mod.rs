//! `epitome plugin`: native plugins made, listed and checked.
//!
//! Invariant: nothing that somebody else may have written runs before it is trusted; only `new`
//! writes files, and it replaces none.

mod check;
mod choice;
mod list;
mod new;

pub(crate) use self::check::{CheckedPlugin, checked};

use crate::fault::CliError;

/// The folder of a project's plugins, in the project's own.
pub(crate) const PLUGINS: &str = ".epitome/plugins";

/// Makes, lists and checks plugins: programs and modules that digest tool results or answer hooks
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome plugin new tickets")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: PluginCommand,
}

#[derive(clap::Subcommand)]
enum PluginCommand {
    New(new::Args),
    List(list::Args),
    Check(check::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        PluginCommand::New(args) => new::run(args),
        PluginCommand::List(args) => list::run(args),
        PluginCommand::Check(args) => check::run(args),
    }
}
