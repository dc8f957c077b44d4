//! `epitome session mode`: what policies are told that a session is about.
//!
//! Invariant: it is a record; whoever serves the session, a proxy that runs among them, goes by it with
//! the next request.

use crate::fault::CliError;
use crate::journal::JournalFlags;
use crate::settings;
use crate::text::plain;

/// Shows or sets the mode of a session; whoever serves it goes by that with the next request
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session mode debugger --session debugging-session")]
pub(crate) struct Args {
    /// The mode: developer, planning, whatever its policies know [default: only shows it]
    #[arg(value_name = "MODE", value_parser = crate::flags::given_name)]
    mode: Option<String>,
    /// Goes back to the mode of the profile, or of whoever serves the session
    #[arg(long, conflicts_with = "mode")]
    clear: bool,
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let keeper = args.journal.open_at(args.session.as_deref())?.keeper;
    let (session, mode) = (args.session.as_deref(), args.mode.as_deref());
    settings::tell_of_mode(keeper.profile(), mode);
    let done = match (mode, args.clear) {
        (None, false) => keeper.mode(session),
        _ => keeper.set_mode(session, mode, &epitome::system_time()),
    };
    let done = done.map_err(CliError::of)?;
    args.journal.print(&done, || {
        let name = &done.session;
        match &done.mode {
            Some(mode) => format!("session {name} is in mode {}", plain(mode)),
            None => format!("session {name} is in no mode of its own"),
        }
    })
}
