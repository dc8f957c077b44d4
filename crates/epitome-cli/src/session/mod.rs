//! `epitome session`: the sessions that the journal holds.
//!
//! Invariant: one file for each errand; all of them share the flags and the wording of
//! [`crate::journal`].

mod erase;
mod export;
mod import;
mod list;
mod offloaded;
mod search;
mod show;
mod trash;
mod undo;
mod verify;

use crate::fault::Fault;

/// Lists, shows, searches, exports and mends the sessions in the journal
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session list")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: Errand,
}

#[derive(clap::Subcommand)]
enum Errand {
    List(list::Args),
    Show(show::Args),
    Export(export::Args),
    Import(import::Args),
    Search(search::Args),
    Undo(undo::UndoArgs),
    Redo(undo::RedoArgs),
    Verify(verify::Args),
    Delete(trash::DeleteArgs),
    Restore(trash::RestoreArgs),
    Erase(erase::Args),
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    match &args.errand {
        Errand::List(args) => list::run(args),
        Errand::Show(args) => show::run(args),
        Errand::Export(args) => export::run(args),
        Errand::Import(args) => import::run(args),
        Errand::Search(args) => search::run(args),
        Errand::Undo(args) => undo::undo(args),
        Errand::Redo(args) => undo::redo(args),
        Errand::Verify(args) => verify::run(args),
        Errand::Delete(args) => trash::delete(args),
        Errand::Restore(args) => trash::restore(args),
        Errand::Erase(args) => erase::run(args),
    }
}
