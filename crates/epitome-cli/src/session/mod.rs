//! `epitome session`: the sessions that the journal holds.
//!
//! Invariant: one file for each errand; all of them share the flags and the wording of
//! [`crate::journal`].

mod branches;
mod erase;
mod export;
mod import;
mod list;
mod mode;
mod offloaded;
mod search;
mod show;
mod switch;
mod trash;
mod undo;
mod verify;

use crate::fault::CliError;

/// Lists, shows, searches, exports and mends the sessions in the journal
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session list")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: SessionCommand,
}

#[derive(clap::Subcommand)]
enum SessionCommand {
    List(list::Args),
    Show(show::Args),
    Branches(branches::Args),
    Switch(switch::Args),
    Mode(mode::Args),
    Export(export::Args),
    Import(import::Args),
    Search(search::Args),
    Undo(undo::UndoArgs),
    Redo(undo::RedoArgs),
    Verify(verify::Args),
    Delete(trash::DeleteArgs),
    Restore(trash::UntrashArgs),
    Erase(erase::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        SessionCommand::List(args) => list::run(args),
        SessionCommand::Show(args) => show::run(args),
        SessionCommand::Branches(args) => branches::run(args),
        SessionCommand::Switch(args) => switch::run(args),
        SessionCommand::Mode(args) => mode::run(args),
        SessionCommand::Export(args) => export::run(args),
        SessionCommand::Import(args) => import::run(args),
        SessionCommand::Search(args) => search::run(args),
        SessionCommand::Undo(args) => undo::undo(args),
        SessionCommand::Redo(args) => undo::redo(args),
        SessionCommand::Verify(args) => verify::run(args),
        SessionCommand::Delete(args) => trash::delete(args),
        SessionCommand::Restore(args) => trash::restore(args),
        SessionCommand::Erase(args) => erase::run(args),
    }
}
