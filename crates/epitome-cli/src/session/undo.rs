//! `epitome session undo` and `redo`: a compression is taken back, or put in force again.
//!
//! Invariant: both are records; a client that goes on meanwhile sees them with its next request.

use epitome::SessionAdmin;
use serde::Serialize;

use crate::fault::CliError;
use crate::journal::JournalFlags;

/// Takes the last compression of a session back, and holds what it had touched
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session undo debugging-session")]
pub(crate) struct UndoArgs {
    /// The session [default: the one used last]
    name: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Puts the compression in force again that was taken back last
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session redo debugging-session")]
pub(crate) struct RedoArgs {
    /// The session [default: the one used last]
    name: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// What was done.
#[derive(Serialize)]
struct UndoOutput {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redone: Option<String>,
    /// The epoch in force now.
    in_force: Option<String>,
    /// Whether what was taken back is held.
    held: bool,
}

/// Takes a compression back.
pub(crate) fn undo(args: &UndoArgs) -> Result<(), CliError> {
    let keeper = args.journal.open_at(args.name.as_deref())?.keeper;
    let session = name(&keeper, args.name.as_deref())?;
    let compressions = keeper.compressions(&session).map_err(CliError::of)?;
    let undone = compressions.undo(&epitome::system_time()).map_err(CliError::of)?.short();
    let in_force = in_force(&keeper, &session)?;
    let now = standing(in_force.as_deref());
    let line = format!(
        "session {session}: epoch {undone} is taken back; {now}. What it had touched is held: it \
         stays as it was said until the window forces a compression, or you redo"
    );
    let done = UndoOutput { session, undone: Some(undone), redone: None, in_force, held: true };
    args.journal.print(&done, || line)
}

/// Puts a compression in force again.
pub(crate) fn redo(args: &RedoArgs) -> Result<(), CliError> {
    let keeper = args.journal.open_at(args.name.as_deref())?.keeper;
    let session = name(&keeper, args.name.as_deref())?;
    let compressions = keeper.compressions(&session).map_err(CliError::of)?;
    let redone = compressions.redo(&epitome::system_time()).map_err(CliError::of)?.short();
    let in_force = in_force(&keeper, &session)?;
    let now = standing(in_force.as_deref());
    let line = format!("session {session}: {now} again, and nothing of it is held any longer");
    let done = UndoOutput { session, undone: None, redone: Some(redone), in_force, held: false };
    args.journal.print(&done, || line)
}

fn name(keeper: &SessionAdmin, named: Option<&str>) -> Result<String, CliError> {
    Ok(keeper.session(named).map_err(CliError::of)?.name)
}

fn in_force(keeper: &SessionAdmin, session: &str) -> Result<Option<String>, CliError> {
    let compressions = keeper.compressions(session).map_err(CliError::of)?;
    Ok(compressions.in_force().map(epitome::types::ContentId::short))
}

fn standing(in_force: Option<&str>) -> String {
    match in_force {
        Some(id) => format!("epoch {id} is in force"),
        None => "no compression is in force".to_owned(),
    }
}
