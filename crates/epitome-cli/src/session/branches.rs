//! `epitome session branches`: the ways through the history of a session.
//!
//! Invariant: nothing is changed; each way that is listed can be exported whole.

use std::io::{self, Write};

use epitome::BranchInfo;

use crate::fault::CliError;
use crate::files;
use crate::journal::{self, JournalFlags};
use crate::table::{Column, TextTable, left, right};
use crate::text::{grouped, moment, plain};

const COLUMNS: [Column; 6] = [
    right("branch"),
    left("id"),
    right("messages"),
    right("shared").spare(2),
    left("last answered, UTC").spare(1),
    left("goes on with").least(8),
];

/// Lists the ways through a session's history: where it stands, and what a rewind or its client left
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    epitome session branches debugging-session\n  \
    epitome session export debugging-session --branch 1")]
pub(crate) struct Args {
    /// The session [default: the one used last]
    name: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let keeper = args.journal.open_at(args.name.as_deref())?.keeper;
    let branches = keeper.branches(args.name.as_deref()).map_err(CliError::of)?;
    if args.journal.json {
        return journal::json(&branches);
    }
    files::to_stdout(|out| write(out, &branches))
}

fn write(out: &mut dyn Write, branches: &[BranchInfo]) -> io::Result<()> {
    let mut table = TextTable::new(&COLUMNS);
    table.print(out, &branches.iter().map(row).collect::<Vec<_>>())
}

fn row(branch: &BranchInfo) -> Vec<String> {
    let here = if branch.current { "(it stands here) " } else { "" };
    vec![
        branch.number.to_string(),
        branch.id.clone(),
        grouped(branch.messages.into()),
        grouped(branch.shared.into()),
        branch.last.as_deref().map(moment).unwrap_or_default(),
        format!("{here}{}", plain(&branch.title)),
    ]
}
