//! `epitome session export`: a session as a file.
//!
//! Invariant: a file is the old one or the whole new one; see [`crate::files`].

use std::path::PathBuf;

use epitome::{ExportFormat, SessionAdmin};

use crate::fault::{CliError, note, warn};
use crate::files::{self, PendingFile};
use crate::journal::JournalFlags;
use crate::outputs::{FileFate, apart};
use crate::text::counted;

/// So many messages of its own a way has that was only tried: a message that was asked again in other
/// words.
const RETRIED: u32 = 1;

/// Writes all that was said on the way on which a session stands, whatever was compressed
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    epitome session export debugging-session --format markdown --output session.md")]
pub(crate) struct Args {
    /// The session
    name: String,
    /// For people (markdown), for programs (json), or as OLLM keeps its sessions (ollm)
    #[arg(long, value_enum, default_value = "markdown")]
    format: ExportFormatFlag,
    /// Another way through its history, by its number or id in `session branches`
    #[arg(long, value_name = "N|ID")]
    branch: Option<String>,
    /// Writes to a file instead of standard output, which is `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    journal: JournalFlags,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ExportFormatFlag {
    Markdown,
    Json,
    Ollm,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let written = match args.format {
        ExportFormatFlag::Markdown if args.journal.json => ExportFormat::Json,
        ExportFormatFlag::Markdown => ExportFormat::Markdown,
        ExportFormatFlag::Json => ExportFormat::Json,
        ExportFormatFlag::Ollm => ExportFormat::Ollm,
    };
    let store = args.journal.path(&args.journal.config()?)?;
    apart(&[
        ("`--output`", args.output.as_deref(), FileFate::Output),
        ("the store", Some(&store), FileFate::Store),
        args.journal.profile.file(),
    ])?;
    let keeper = args.journal.open_at(Some(&args.name))?.keeper;
    let output = files::named(args.output.as_deref()).map(PendingFile::prepare).transpose()?;
    let text = match &args.branch {
        Some(branch) => keeper.export_branch(&args.name, branch, written),
        None => keeper.export(&args.name, written),
    };
    let text = text.map_err(CliError::of)?;
    tell_of_damage(&keeper, args)?;
    tell_of_others(&keeper, args)?;
    if written != ExportFormat::Markdown {
        tell_of_goals(&keeper, args)?;
    }
    let Some(mut file) = output else { return files::bytes_to_stdout(text.as_bytes()) };
    file.write(text.as_bytes())?;
    file.finish()?;
    if let (Some(path), false) = (&args.output, args.journal.quiet) {
        note(&format!("{} was written", path.display()));
    }
    Ok(())
}

/// Says that there is more than was written.
fn tell_of_others(keeper: &SessionAdmin, args: &Args) -> Result<(), CliError> {
    if args.branch.is_some() || args.journal.quiet {
        return Ok(());
    }
    let branches = keeper.branches(Some(&args.name)).map_err(CliError::of)?;
    let left = branches.iter().filter(|it| !it.current && it.messages - it.shared > RETRIED);
    match left.count() {
        0 => Ok(()),
        count => {
            let (name, others) = (&args.name, counted(count as u64, "other way"));
            note(&format!(
                "{name} has {others} through its history: `epitome session branches {name}` lists \
                 them, `--branch N` writes one"
            ));
            Ok(())
        }
    }
}

/// Says what the store has lost of what is written.
fn tell_of_damage(keeper: &SessionAdmin, args: &Args) -> Result<(), CliError> {
    let history = match &args.branch {
        Some(branch) => keeper.branch(&args.name, branch),
        None => keeper.history(Some(&args.name)),
    };
    if let Some(missing) = history.map_err(CliError::of)?.missing() {
        let name = &args.name;
        warn(&format!(
            "{name}: messages are damaged in the store and not in the file: {missing}; `epitome \
             session verify` says more, `epitome store salvage` makes a store of all that is whole"
        ));
    }
    Ok(())
}

/// Says that what was decided beside the messages is not in the file.
fn tell_of_goals(keeper: &SessionAdmin, args: &Args) -> Result<(), CliError> {
    let goals = keeper.goals(Some(&args.name)).map_err(CliError::of)?.goals;
    if args.journal.quiet || goals.goals.is_empty() && goals.decisions.is_empty() {
        return Ok(());
    }
    let name = &args.name;
    note(&format!(
        "goals and decisions of {name} are not in the file; `epitome store copy` keeps them, \
         `epitome goal list --session {name}` shows them"
    ));
    Ok(())
}
