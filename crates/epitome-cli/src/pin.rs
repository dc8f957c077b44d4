//! `epitome pin` and `epitome unpin`: entries that no compression touches.
//!
//! Invariant: all ids are known before the first one is marked.

use epitome::types::{EntryKey, JournalMark};

use crate::fault::CliError;
use crate::journal::JournalFlags;
use crate::shell::quoted;

/// Pins entries of a session: no compression touches them
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome pin e4 e17 --session debugging-session")]
pub(crate) struct PinArgs {
    #[command(flatten)]
    which: EntrySelector,
}

/// Takes pins out again
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome unpin e4 --session debugging-session")]
pub(crate) struct UnpinArgs {
    #[command(flatten)]
    which: EntrySelector,
}

#[derive(clap::Args)]
struct EntrySelector {
    /// The entries, as places (`e4`) or beginnings of their keys
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Pins.
pub(crate) fn pin(args: &PinArgs) -> Result<(), CliError> {
    run(&args.which, JournalMark::Pin)
}

/// Unpins.
pub(crate) fn unpin(args: &UnpinArgs) -> Result<(), CliError> {
    run(&args.which, JournalMark::Unpin)
}

fn run(which: &EntrySelector, mark: fn(EntryKey) -> JournalMark) -> Result<(), CliError> {
    let journal = which.journal.open_at(which.session.as_deref())?;
    let (keeper, flag) = (&journal.keeper, journal.flag());
    let done = keeper.pin(which.session.as_deref(), &which.ids, mark, &epitome::system_time());
    let done = done.map_err(CliError::of)?;
    which.journal.print(&done, || {
        let pinned = match done.pinned.as_slice() {
            [] => format!("session {}: nothing is pinned by hand", done.session),
            pinned => format!("session {}: pinned by hand are {}", done.session, pinned.join(" ")),
        };
        match done.left.as_slice() {
            [] => pinned,
            left => {
                let (ids, session) = (which.ids.join(" "), quoted(&done.session));
                format!(
                    "{pinned}\ncompressions that no longer apply, since they took that out: {}; \
                     `epitome unpin {ids} --session {session}{flag}` brings them back",
                    left.join(" ")
                )
            }
        }
    })?;
    which.journal.tell_of_alike(keeper, &done.session)
}
