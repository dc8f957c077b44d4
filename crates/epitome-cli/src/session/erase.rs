//! `epitome session erase`: the content of messages, removed for good.
//!
//! Invariant: all ids are known before the first one goes.

use epitome::types::{EntryId, EntryKey};
use serde::Serialize;

use super::offloaded::WorkspaceFlag;
use crate::fault::CliError;
use crate::journal::JournalFlags;
use crate::text::counted;

/// Removes what messages said, for good and everywhere; their places stay, empty
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session erase debugging-session e4 e17")]
pub(crate) struct Args {
    /// The session
    name: String,
    /// The entries, as places (`e4`) or beginnings of their keys
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    journal: JournalFlags,
}

#[derive(Serialize)]
struct Erased {
    entry: String,
    key: String,
    tokens: u64,
    /// Compressions that went with it, since their summaries may quote it.
    epochs: u32,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let keeper = args.journal.open_at(Some(&args.name))?.keeper;
    let history = keeper.history(Some(&args.name)).map_err(CliError::of)?;
    let mut ids: Vec<(EntryId, EntryKey)> = Vec::new();
    for id in &args.ids {
        let found = history.entry(id).map_err(CliError::of)?;
        if ids.iter().all(|(_, key)| *key != found.1) {
            ids.push(found);
        }
    }
    let files = args.workspace.of(&keeper, [args.name.clone()]);
    let mut gone = Vec::new();
    for (entry, key) in ids {
        let epochs = keeper.journal().erase(keeper.scope(), key);
        let epochs = epochs.map_err(|error| CliError::of_store(&error))?;
        let tokens = history.message(entry).map_or(0, |message| message.tokens);
        gone.push(Erased { entry: entry.to_string(), key: key.short(), tokens, epochs });
    }
    files.remove(args.journal.quiet)?;
    args.journal.print(&gone, || {
        let line = |one: &Erased| {
            let Erased { entry, key, tokens, epochs } = one;
            let with = match epochs {
                0 => String::new(),
                _ => {
                    format!(", and {} that may quote it", counted((*epochs).into(), "compression"))
                }
            };
            format!("erased {entry} ({key}), {}{with}", counted(*tokens, "token"))
        };
        gone.iter().map(line).collect::<Vec<_>>().join("\n")
    })
}
