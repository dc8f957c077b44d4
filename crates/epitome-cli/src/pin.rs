//! `epitome pin` and `epitome unpin`: entries that no compression touches.
//!
//! Invariant: all ids are known before the first one is marked.

use epitome::StoreError;
use epitome::types::{EntryId, EntryKey, Mark};
use serde::Serialize;

use crate::fault::Fault;
use crate::journal::JournalFlags;

/// Pins entries of a session: no compression touches them
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome pin e4 e17 --session debugging-session")]
pub(crate) struct PinArgs {
    #[command(flatten)]
    which: Which,
}

/// Takes pins out again
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome unpin e4 --session debugging-session")]
pub(crate) struct UnpinArgs {
    #[command(flatten)]
    which: Which,
}

#[derive(clap::Args)]
struct Which {
    /// The entries, as places (`e4`) or beginnings of their keys
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

#[derive(Serialize)]
struct Done {
    session: String,
    /// All entries of the session that are pinned by hand now.
    pinned: Vec<String>,
}

/// Pins.
pub(crate) fn pin(args: &PinArgs) -> Result<(), Fault> {
    run(&args.which, Mark::Pin)
}

/// Unpins.
pub(crate) fn unpin(args: &UnpinArgs) -> Result<(), Fault> {
    run(&args.which, Mark::Unpin)
}

fn run(which: &Which, mark: impl Fn(EntryKey) -> Mark) -> Result<(), Fault> {
    let keeper = which.journal.open()?.keeper;
    let history = keeper.history(which.session.as_deref()).map_err(Fault::of)?;
    let session = history.info.name.clone();
    let ids = which.ids.iter().map(|id| history.entry(id)).collect::<Result<Vec<_>, _>>();
    for (entry, key) in ids.map_err(Fault::of)? {
        let at = epitome::system_time();
        keeper.journal().mark(keeper.scope(), &session, &mark(key), &at).map_err(|error| {
            match error {
                StoreError::NothingToMark { .. } => {
                    Fault::usage(format!("{entry} of session `{session}` is not pinned by hand"))
                }
                error => Fault::of_store(&error),
            }
        })?;
    }
    let pinned = keeper.history(Some(&session)).map_err(Fault::of)?.pinned();
    let pinned: Vec<_> = pinned.iter().map(EntryId::to_string).collect();
    let done = Done { session, pinned };
    which.journal.print(&done, || match done.pinned.as_slice() {
        [] => format!("session {}: nothing is pinned by hand", done.session),
        pinned => format!("session {}: pinned by hand are {}", done.session, pinned.join(" ")),
    })
}
