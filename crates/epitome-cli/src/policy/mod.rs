//! `epitome policy`: policies made, listed, checked, tested, watched and measured.
//!
//! Invariant: nothing that somebody else may have written runs before it is trusted; only `new` and
//! `stubs` write files, and neither replaces one that a person may have changed.

mod bench;
mod check;
mod choice;
mod list;
mod new;
mod place;
mod played;
mod sample_conversation;
mod short_form;
mod stubs;
mod test;
mod trace;
mod watcher;
mod what_if;

pub(crate) use self::check::checked;
pub(crate) use self::place::{POLICIES, project, shown};

use crate::fault::CliError;

/// Makes, lists, checks, tests, watches and measures policies
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy new team --from ollm")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: PolicyCommand,
}

#[derive(clap::Subcommand)]
enum PolicyCommand {
    New(new::Args),
    List(list::Args),
    Check(check::Args),
    Test(test::Args),
    Trace(Box<trace::Args>),
    Bench(bench::Args),
    WhatIf(Box<what_if::Args>),
    Stubs(stubs::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        PolicyCommand::New(args) => new::run(args),
        PolicyCommand::List(args) => list::run(args),
        PolicyCommand::Check(args) => check::run(args),
        PolicyCommand::Test(args) => test::run(args),
        PolicyCommand::Trace(args) => trace::run(args),
        PolicyCommand::Bench(args) => bench::run(args),
        PolicyCommand::WhatIf(args) => what_if::run(args),
        PolicyCommand::Stubs(args) => stubs::run(args),
    }
}
