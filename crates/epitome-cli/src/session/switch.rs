//! `epitome session switch`: another way through the history of a session.
//!
//! Invariant: what is left is kept, and the way back is said.

use crate::fault::CliError;
use crate::journal::JournalFlags;
use crate::text::counted;

/// Has a session stand on another one of its branches, as it stood when that was left
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session switch 1 --session debugging-session")]
pub(crate) struct Args {
    /// The branch: its number or its id in `epitome session branches`
    #[arg(value_name = "BRANCH")]
    branch: String,
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let journal = args.journal.open_at(args.session.as_deref())?;
    let (session, at) = (args.session.as_deref(), epitome::system_time());
    let done = journal.keeper.switch(session, &args.branch, &at).map_err(CliError::of)?;
    args.journal.print(&done, || {
        let (name, messages) = (&done.session, counted(done.messages.into(), "message"));
        let Some(before) = &done.before else {
            return format!("session {name} stands there already, {messages}");
        };
        let (flag, id) = (journal.flag(), &before.id);
        let back = format!("`epitome snapshot restore{flag} {id}` goes back");
        match &done.restored {
            Some(left) => format!(
                "session {name} stands where snapshot {} was made, {messages}; {back}",
                left.id
            ),
            None => format!("session {name} stands on branch {}, {messages}; {back}", args.branch),
        }
    })
}
