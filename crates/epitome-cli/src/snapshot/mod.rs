//! `epitome snapshot`: restore points of sessions.
//!
//! Invariant: going back deletes nothing and says how to come forth again.

mod diff;

use std::io::{self, Write};

use epitome::types::{Snapshot, SnapshotPurpose};
use epitome::{SessionAdmin, StoreError};

use crate::fault::CliError;
use crate::journal::{self, JournalFlags};
use crate::table::{Column, TextTable, left, right};
use crate::text::{counted, grouped, moment, plain};
use crate::{files, flags};

/// Makes, lists, restores and prunes snapshots of sessions
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome snapshot create --name before-the-merge")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: SnapshotCommand,
}

#[derive(clap::Subcommand)]
enum SnapshotCommand {
    Create(CreateArgs),
    List(SnapshotListArgs),
    Diff(SnapshotDiffArgs),
    Restore(SnapshotRestoreArgs),
    Prune(PruneArgs),
}

/// Makes a snapshot of a session as it stands
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome snapshot create --name before-the-merge")]
struct CreateArgs {
    /// A name to find it by
    #[arg(long, value_name = "NAME", value_parser = crate::flags::given_name)]
    name: Option<String>,
    /// The session [default: the one used last]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Lists the snapshots, newest first
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome snapshot list --session debugging-session")]
struct SnapshotListArgs {
    /// Only those of the session with this name
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Says what two snapshots of a session differ in
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome snapshot diff before-the-merge after-the-merge")]
struct SnapshotDiffArgs {
    /// The one: its id or name
    #[arg(value_name = "A")]
    from: String,
    /// The other one
    #[arg(value_name = "B")]
    to: String,
    /// Only among those of the session with this name
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Goes back to a snapshot: messages, compressions, goals, augments and pins are as they were then
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome snapshot restore before-the-merge")]
struct SnapshotRestoreArgs {
    /// The snapshot's id or name
    #[arg(value_name = "ID")]
    id: String,
    /// Only among those of the session with this name
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Deletes the oldest automatic snapshots of each session; those made by hand only where named
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome snapshot prune --keep 2")]
struct PruneArgs {
    /// Deletes these, by id or name, and nothing else
    #[arg(value_name = "ID", conflicts_with = "keep")]
    ids: Vec<String>,
    /// So many automatic ones of each session stay
    #[arg(long, value_name = "N", default_value = "5", value_parser = flags::number)]
    keep: u64,
    /// Only those of the session with this name
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        SnapshotCommand::Create(args) => create(args),
        SnapshotCommand::List(args) => list(args),
        SnapshotCommand::Diff(args) => difference(args),
        SnapshotCommand::Restore(args) => restore(args),
        SnapshotCommand::Prune(args) => prune(args),
    }
}

fn create(args: &CreateArgs) -> Result<(), CliError> {
    let journal = args.journal.open_at(args.session.as_deref())?;
    let (session, name) = (args.session.as_deref(), args.name.as_deref());
    let made =
        journal.keeper.snapshot(session, name, &epitome::system_time()).map_err(CliError::of)?;
    args.journal.print(&made, || {
        let (flag, id) = (journal.flag(), &made.id);
        let messages = counted(made.size.messages.into(), "message");
        format!(
            "snapshot {id} of session {}, {messages}; `epitome snapshot restore{flag} {id}` goes \
             back to it",
            made.session
        )
    })
}

/// The keepers whose snapshots are meant: that of a session which is named, or all that may be read.
fn keepers(flags: &JournalFlags, session: Option<&str>) -> Result<Vec<SessionAdmin>, CliError> {
    match session {
        Some(_) => {
            let keeper = flags.open_at(session)?.keeper;
            keeper.session(session).map_err(CliError::of)?;
            Ok(vec![keeper])
        }
        None => flags.open()?.keepers(),
    }
}

/// The first keeper that has a snapshot, and that; what the first one says where none has it.
fn holder(
    keepers: Vec<SessionAdmin>,
    find: impl Fn(&SessionAdmin) -> Result<Snapshot, StoreError>,
) -> Result<(SessionAdmin, Snapshot), CliError> {
    let mut missing = None;
    for keeper in keepers {
        match find(&keeper) {
            Ok(snapshot) => return Ok((keeper, snapshot)),
            Err(error @ StoreError::NoSnapshot { .. }) => missing = missing.or(Some(error)),
            Err(error) => return Err(CliError::of_store(&error)),
        }
    }
    Err(missing.map_or_else(|| CliError::internal("no scope"), |error| CliError::of_store(&error)))
}

fn list(args: &SnapshotListArgs) -> Result<(), CliError> {
    let mut all = Vec::new();
    for keeper in keepers(&args.journal, args.session.as_deref())? {
        let some = keeper.journal().snapshots(keeper.scope(), args.session.as_deref());
        all.extend(some.map_err(|error| CliError::of_store(&error))?);
    }
    // Those of one profile stay in their order.
    all.sort_by(|one, other| other.at.cmp(&one.at));
    if args.journal.json {
        return journal::json(&all);
    }
    files::to_stdout(|out| match all.is_empty() {
        true if args.journal.quiet => Ok(()),
        true => writeln!(out, "no snapshots; `epitome snapshot create` makes one"),
        false => write(out, &all, true),
    })
}

const COLUMNS: [Column; 8] = [
    left("id"),
    left("name").least(8),
    left("session").least(16),
    left("time, UTC"),
    left("made").spare(2),
    right("messages"),
    right("tokens").spare(1),
    right("sent").spare(3),
];

/// Writes snapshots as a table.
pub(crate) fn write(out: &mut dyn Write, all: &[Snapshot], sessions: bool) -> io::Result<()> {
    let columns: Vec<_> = COLUMNS
        .iter()
        .enumerate()
        .filter(|(place, _)| sessions || *place != 2)
        .map(|(_, column)| *column)
        .collect();
    let row = |one: &Snapshot| {
        let [came, sent] = one.size.tokens.map(grouped);
        let mut row = vec![one.id.clone(), plain(one.name.as_deref().unwrap_or_default())];
        row.extend(sessions.then(|| plain(&one.session)));
        row.extend([moment(&one.at), purpose(one.purpose).to_owned()]);
        row.extend([grouped(one.size.messages.into()), came, sent]);
        row
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let indent = if sessions { 0 } else { 2 };
    TextTable::new(&columns).indented(indent).print(out, &rows)
}

fn purpose(purpose: SnapshotPurpose) -> &'static str {
    match purpose {
        SnapshotPurpose::Recovery => "by hand",
        SnapshotPurpose::Rollback => "automatic",
        SnapshotPurpose::Emergency => "hard",
    }
}

fn difference(args: &SnapshotDiffArgs) -> Result<(), CliError> {
    let session = args.session.as_deref();
    let all = keepers(&args.journal, session)?;
    let keeper = holder(all, |keeper| keeper.find_snapshot(session, &args.from))?.0;
    let found = keeper.snapshot_diff(session, &args.from, &args.to).map_err(CliError::of)?;
    if args.journal.json {
        return journal::json(&found);
    }
    files::to_stdout(|out| diff::write(out, &found))
}

fn restore(args: &SnapshotRestoreArgs) -> Result<(), CliError> {
    let journal = args.journal.open()?;
    let at = epitome::system_time();
    let keeper = holder(keepers(&args.journal, args.session.as_deref())?, |keeper| {
        keeper.find_snapshot(args.session.as_deref(), &args.id)
    })?
    .0;
    let restored = keeper.restore(args.session.as_deref(), &args.id, &at);
    let restored = restored.map_err(CliError::of)?;
    args.journal.print(&restored, || {
        let snapshot = &restored.snapshot;
        let mut line = format!(
            "session {} is at snapshot {} again: {}",
            snapshot.session,
            snapshot.id,
            counted(snapshot.size.messages.into(), "message")
        );
        if restored.undone > 0 {
            let undone = counted(restored.undone as u64, "compression");
            line += &format!("; {undone} taken back");
        }
        if restored.redone > 0 {
            line += "; the compression of that time is in force again";
        }
        let changes = |count: usize| counted(count as u64, "change");
        if restored.dropped > 0 {
            let dropped = changes(restored.dropped);
            line += &format!("; {dropped} of goals, augments and pins made since taken back");
        }
        if restored.revived > 0 {
            line += &format!("; {} of them in force again", changes(restored.revived));
        }
        if let Some(before) = &restored.before {
            let flag = journal.flag();
            line += &format!("; `epitome snapshot restore{flag} {}` comes forth again", before.id);
        }
        line
    })
}

fn prune(args: &PruneArgs) -> Result<(), CliError> {
    let session = args.session.as_deref();
    let mut gone = Vec::new();
    if args.ids.is_empty() {
        let keep = usize::try_from(args.keep).unwrap_or(usize::MAX);
        for keeper in keepers(&args.journal, session)? {
            gone.extend(keeper.prune(session, keep).map_err(|error| CliError::of_store(&error))?);
        }
    } else {
        let find = |id: &String| {
            let all = keepers(&args.journal, session)?;
            holder(all, |keeper| keeper.find_snapshot(session, id))
        };
        let found = args.ids.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        for (keeper, one) in found {
            let forgotten = keeper.journal().delete_snapshot(keeper.scope(), &one.id);
            forgotten.map_err(|error| CliError::of_store(&error))?;
            gone.push(one);
        }
    }
    args.journal.print(&gone, || match gone.len() as u64 {
        0 => "nothing to prune".to_owned(),
        gone => format!("{} deleted", counted(gone, "snapshot")),
    })
}
