//! `epitome session export`: a session as a file.
//!
//! Invariant: a file is the old one or the whole new one; see [`crate::files`].

use std::path::PathBuf;

use epitome::ExportFormat;

use crate::fault::{CliError, note};
use crate::files::{self, PendingFile};
use crate::journal::JournalFlags;
use crate::outputs::{FileFate, apart};

/// Writes all that was said in a session, whatever was compressed
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    epitome session export debugging-session --format markdown --output session.md")]
pub(crate) struct Args {
    /// The session
    name: String,
    /// For people (markdown), for programs (json), or as OLLM keeps its sessions (ollm)
    #[arg(long, value_enum, default_value = "markdown")]
    format: ExportFormatFlag,
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
    let text = keeper.export(&args.name, written).map_err(CliError::of)?;
    let Some(mut file) = output else { return files::bytes_to_stdout(text.as_bytes()) };
    file.write(text.as_bytes())?;
    file.finish()?;
    if let (Some(path), false) = (&args.output, args.journal.quiet) {
        note(&format!("{} was written", path.display()));
    }
    Ok(())
}
