//! `epitome policy`: policies made, listed, checked, tested, watched and measured.
//!
//! Invariant: nothing that somebody else may have written runs before it is trusted; only `new`, `stubs`
//! and what adds policies write files, and none replaces one unasked that a person may have changed.

mod bench;
mod changes;
mod check;
mod choice;
mod decided;
mod dev;
mod dev_page;
mod fetch;
mod known_plays;
mod known_summaries;
mod list;
mod new;
mod place;
mod played;
mod player;
mod sample_conversation;
mod saves;
mod shared;
mod short_form;
mod stubs;
mod test;
mod trace;
mod trial;
mod trial_text;
mod verdict;
mod watcher;
mod what_if;

pub(crate) use self::changes::added_policy;
pub(crate) use self::check::checked;
pub(crate) use self::place::{LIBRARY, POLICIES, project, shown};

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
    Add(shared::AddArgs),
    Update(shared::UpdateArgs),
    Remove(shared::RemoveArgs),
    List(list::Args),
    Check(check::Args),
    Test(test::Args),
    Dev(Box<dev::Args>),
    Trace(Box<trace::Args>),
    Bench(bench::Args),
    WhatIf(Box<what_if::Args>),
    Stubs(stubs::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        PolicyCommand::New(args) => new::run(args),
        PolicyCommand::Add(args) => shared::add(args),
        PolicyCommand::Update(args) => shared::update(args),
        PolicyCommand::Remove(args) => shared::remove(args),
        PolicyCommand::List(args) => list::run(args),
        PolicyCommand::Check(args) => check::run(args),
        PolicyCommand::Test(args) => test::run(args),
        PolicyCommand::Dev(args) => dev::run(args),
        PolicyCommand::Trace(args) => trace::run(args),
        PolicyCommand::Bench(args) => bench::run(args),
        PolicyCommand::WhatIf(args) => what_if::run(args),
        PolicyCommand::Stubs(args) => stubs::run(args),
    }
}
