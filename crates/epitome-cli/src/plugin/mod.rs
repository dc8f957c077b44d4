//! `epitome plugin`: native plugins made, listed and checked.
//!
//! Invariant: nothing that somebody else may have written runs before it is trusted; only `new`
//! writes files, and it replaces none.

mod check;
mod choice;
mod list;
mod new;

pub(crate) use self::check::{Checked, checked};

use crate::fault::Fault;

/// The folder of a project's plugins, in the project's own.
pub(crate) const PLUGINS: &str = ".epitome/plugins";

/// Makes, lists and checks native plugins: programs that digest tool results or answer hooks
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome plugin new tickets")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: Errand,
}

#[derive(clap::Subcommand)]
enum Errand {
    New(new::Args),
    List(list::Args),
    Check(check::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    match &args.errand {
        Errand::New(args) => new::run(args),
        Errand::List(args) => list::run(args),
        Errand::Check(args) => check::run(args),
    }
}
