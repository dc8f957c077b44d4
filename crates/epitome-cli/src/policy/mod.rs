//! `epitome policy`: policies made, listed, checked, tested, watched and measured.
//!
//! Invariant: nothing that somebody else may have written runs before it is trusted; only `new` and
//! `stubs` write files, and neither replaces one that a person may have changed.

mod bench;
mod brief;
mod check;
mod choice;
mod list;
mod new;
mod place;
mod played;
mod stubs;
mod talk;
mod test;
mod trace;
mod watcher;

pub(crate) use self::check::checked;
pub(crate) use self::place::{POLICIES, project, shown};

use crate::fault::Fault;

/// Makes, lists, checks, tests, watches and measures policies
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy new team --from ollm")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: Errand,
}

#[derive(clap::Subcommand)]
enum Errand {
    New(new::Args),
    List(list::Args),
    Check(check::Args),
    Test(test::Args),
    Trace(Box<trace::Args>),
    Bench(bench::Args),
    Stubs(stubs::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    match &args.errand {
        Errand::New(args) => new::run(args),
        Errand::List(args) => list::run(args),
        Errand::Check(args) => check::run(args),
        Errand::Test(args) => test::run(args),
        Errand::Trace(args) => trace::run(args),
        Errand::Bench(args) => bench::run(args),
        Errand::Stubs(args) => stubs::run(args),
    }
}
