//! `epitome checkpoint`: what stands in a session's prompt for what left.
//!
//! Invariant: nothing is read but what is shown, and nothing changes.

mod show;

use std::io::{self, Write};

use epitome::CheckpointInfo;

use crate::fault::CliError;
use crate::files;
use crate::journal::{self, JournalFlags};
use crate::table::{Column, TextTable, left, right};
use crate::text::{grouped, moment};

/// Lists and shows the summaries that stand in a session's prompt
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome checkpoint list --session debugging-session")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CheckpointCommand,
}

#[derive(clap::Subcommand)]
enum CheckpointCommand {
    List(CheckpointListArgs),
    Show(CheckpointShowArgs),
}

/// Lists the checkpoints in force, oldest first
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome checkpoint list --session debugging-session")]
struct CheckpointListArgs {
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Shows a checkpoint: what it stands for, how it came to its size, and what it records
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome checkpoint show 1a2b3c4d --session debugging-session")]
struct CheckpointShowArgs {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Shows what was sent at this level, 3 to 1 or 0 for merged, as it was recorded [default: what is
    /// sent now]; no model is asked for a level that it never was at
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=3))]
    level: Option<u8>,
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.command {
        CheckpointCommand::List(args) => list(args),
        CheckpointCommand::Show(args) => show(args),
    }
}

fn list(args: &CheckpointListArgs) -> Result<(), CliError> {
    let session = args.session.as_deref();
    let keeper = args.journal.open_at(session)?.keeper;
    let name = keeper.session(session).map_err(CliError::of)?.name;
    let all = keeper.checkpoints(session).map_err(CliError::of)?;
    if args.journal.json {
        return journal::json(&all);
    }
    files::to_stdout(|out| match all.is_empty() {
        true if args.journal.quiet => Ok(()),
        true => writeln!(out, "session {name}: no checkpoints; nothing of it was summarized yet"),
        false => write(out, &all),
    })
}

const COLUMNS: [Column; 8] = [
    left("id"),
    right("level"),
    right("age"),
    left("messages").least(9),
    right("original"),
    right("first").spare(2),
    right("now"),
    left("made, UTC").spare(1),
];

fn write(out: &mut dyn Write, all: &[CheckpointInfo]) -> io::Result<()> {
    let row = |one: &CheckpointInfo| {
        vec![
            one.id.clone(),
            level(one.level).to_owned(),
            one.age.to_string(),
            format!("{}-{}", one.covers.first, one.covers.last),
            grouped(one.tokens.original),
            grouped(one.tokens.first),
            grouped(one.tokens.now),
            moment(&one.created),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    TextTable::new(&COLUMNS).measured(&rows).print(out, &rows)
}

/// A level as people know it.
fn level(number: u8) -> &'static str {
    match number {
        3 => "3",
        2 => "2",
        1 => "1",
        _ => "merged",
    }
}

fn show(args: &CheckpointShowArgs) -> Result<(), CliError> {
    let session = args.session.as_deref();
    let keeper = args.journal.open_at(session)?.keeper;
    let now = keeper.checkpoint(session, &args.id).map_err(CliError::of)?;
    let sent = now.level;
    let one = match args.level {
        Some(level) => now.at_level(level).map_err(CliError::of)?,
        None => now,
    };
    if args.journal.json {
        return journal::json(&one);
    }
    files::to_stdout(|out| show::write(out, &one, sent))
}
