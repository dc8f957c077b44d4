//! `epitome session delete` and `restore`: into the trash, out of it, and away for good.
//!
//! Invariant: nothing is deleted for good unless `--forever` says so.

use serde::Serialize;

use super::offloaded::WorkspaceFlag;
use crate::fault::CliError;
use crate::journal::JournalFlags;
use crate::shell::quoted;
use crate::text::counted;

/// Puts a session into the trash; with --forever deletes it, or all that is in the trash
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session delete debugging-session")]
pub(crate) struct DeleteArgs {
    /// The session
    #[arg(required_unless_present = "forever")]
    name: Option<String>,
    /// Deletes the session for good, wherever it is; without a name, all in the trash that
    /// `session list --trashed` shows
    #[arg(long)]
    forever: bool,
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Takes a session out of the trash
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session restore debugging-session")]
pub(crate) struct UntrashArgs {
    /// The session
    name: String,
    #[command(flatten)]
    journal: JournalFlags,
}

/// What was done.
#[derive(Serialize)]
struct TrashOutput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trashed: Option<bool>,
    /// Sessions that went for good.
    sessions: u32,
    /// Messages that went for good.
    messages: u32,
}

/// Puts into the trash, or deletes.
pub(crate) fn delete(args: &DeleteArgs) -> Result<(), CliError> {
    let journal = args.journal.open()?;
    let journal = if args.name.is_some() { journal.at(args.name.as_deref())? } else { journal };
    let (keeper, flag) = (&journal.keeper, journal.flag());
    match (&args.name, args.forever) {
        (Some(name), false) => {
            let trashed = keeper.journal().set_trashed(keeper.scope(), name, true);
            trashed.map_err(|error| CliError::of_store(&error))?;
            let done =
                TrashOutput { session: Some(name), trashed: Some(true), sessions: 0, messages: 0 };
            args.journal.print(&done, || {
                let word = quoted(name);
                format!(
                    "session {name} is in the trash; `epitome session restore{flag} {word}` takes \
                     it out, `epitome session delete --forever{flag} {word}` deletes it for good"
                )
            })
        }
        (Some(name), true) => {
            let files = args.workspace.of(keeper, [name.clone()]);
            let messages = keeper.journal().delete(keeper.scope(), name);
            let messages = messages.map_err(|error| CliError::of_store(&error))?;
            files.remove(args.journal.quiet)?;
            let done = TrashOutput { session: Some(name), trashed: None, sessions: 1, messages };
            args.journal.print(&done, || {
                let gone = counted(messages.into(), "message");
                format!("session {name} is deleted for good, {gone} with it")
            })
        }
        (None, _) => {
            let of_store = |error| CliError::of_store(&error);
            let (mut sessions, mut messages) = (0, 0);
            for keeper in journal.keepers()? {
                let all = keeper.journal().sessions(keeper.scope(), 0, usize::MAX, true);
                let all = all.map_err(of_store)?.into_iter().filter(|session| session.trashed);
                let files = args.workspace.of(&keeper, all.map(|session| session.name));
                let gone = keeper.empty_trash().map_err(of_store)?;
                files.remove(args.journal.quiet)?;
                (sessions, messages) = (sessions + gone.0, messages + gone.1);
            }
            let done = TrashOutput { session: None, trashed: None, sessions, messages };
            args.journal.print(&done, || match sessions {
                0 => "the trash is empty".to_owned(),
                _ => {
                    let messages = counted(messages.into(), "message");
                    let sessions = counted(sessions.into(), "session");
                    format!("deleted for good: {sessions}, {messages}")
                }
            })
        }
    }
}

/// Takes out of the trash.
pub(crate) fn restore(args: &UntrashArgs) -> Result<(), CliError> {
    let keeper = args.journal.open_at(Some(&args.name))?.keeper;
    let name = &args.name;
    let known = keeper.session(Some(name)).map_err(CliError::of)?;
    keeper
        .journal()
        .set_trashed(keeper.scope(), name, false)
        .map_err(|error| CliError::of_store(&error))?;
    let done = TrashOutput { session: Some(name), trashed: Some(false), sessions: 0, messages: 0 };
    args.journal.print(&done, || match known.trashed {
        true => format!("session {name} is out of the trash"),
        false => format!("session {name} was not in the trash"),
    })
}
