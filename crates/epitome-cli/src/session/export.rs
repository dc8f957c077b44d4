//! `epitome session export`: a session as a file.
//!
//! Invariant: a file is the old one or the whole new one; see [`crate::files`].

use std::path::PathBuf;

use epitome::Written;

use crate::apart::{Part, apart};
use crate::fault::{Fault, note};
use crate::files::{self, Output};
use crate::journal::JournalFlags;

/// Writes all that was said in a session, whatever was compressed
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    epitome session export debugging-session --format markdown --output session.md")]
pub(crate) struct Args {
    /// The session
    name: String,
    /// For people (markdown), for programs (json), or as OLLM keeps its sessions (ollm)
    #[arg(long, value_enum, default_value = "markdown")]
    format: FormatFlag,
    /// Writes to a file instead of standard output, which is `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    journal: JournalFlags,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FormatFlag {
    Markdown,
    Json,
    Ollm,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let written = match args.format {
        FormatFlag::Markdown if args.journal.json => Written::Json,
        FormatFlag::Markdown => Written::Markdown,
        FormatFlag::Json => Written::Json,
        FormatFlag::Ollm => Written::Ollm,
    };
    let store = args.journal.path(&args.journal.config()?)?;
    apart(&[
        ("`--output`", args.output.as_deref(), Part::Output),
        ("the store", Some(&store), Part::Store),
        args.journal.profile.file(),
    ])?;
    let keeper = args.journal.open_at(Some(&args.name))?.keeper;
    let output = files::named(args.output.as_deref()).map(Output::prepare).transpose()?;
    let text = keeper.export(&args.name, written).map_err(Fault::of)?;
    let Some(mut file) = output else { return files::bytes_to_stdout(text.as_bytes()) };
    file.write(text.as_bytes())?;
    file.finish()?;
    if let (Some(path), false) = (&args.output, args.journal.quiet) {
        note(&format!("{} was written", path.display()));
    }
    Ok(())
}
