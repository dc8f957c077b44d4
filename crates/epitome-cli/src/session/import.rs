//! `epitome session import`: a recording becomes a session.
//!
//! Invariant: what is recorded already is not recorded again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{MemoryStore, SessionAdmin};

use crate::fault::{self, CliError};
use crate::files;
use crate::flags::{self, FormatFlag};
use crate::journal::JournalFlags;
use crate::shell::quoted;
use crate::store;
use crate::text::{counted, grouped};

/// Records a conversation from a file: a client's recording or a request to a provider
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome session import session.jsonl")]
pub(crate) struct Args {
    /// The recording; `-` reads standard input
    file: PathBuf,
    /// The session's name [default: the file's]
    #[arg(long, value_parser = flags::given_name)]
    name: Option<String>,
    /// The file's format, if its content does not tell
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = flags::format)]
    format: FormatFlag,
    /// The largest input that is read, in bytes: 1000000, 512M or 1G
    #[arg(long, value_name = "N", default_value = "256M", value_parser = flags::size)]
    max_input: u64,
    #[command(flatten)]
    journal: JournalFlags,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let input = files::read(Some(&args.file), args.max_input)?;
    let file = files::name(Some(&args.file));
    if input.trim_ascii().is_empty() {
        return Err(CliError::unreadable(format!("{file}: is empty; expected one conversation")));
    }
    let config = args.journal.config()?;
    let profile = config.profile_in_use()?;
    let stem = Some(&*args.file).filter(|path| *path != Path::new("-")).and_then(Path::file_stem);
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
    let (name, now) = (args.name.clone().or(stem), epitome::system_time());
    let import = |keeper: &SessionAdmin| {
        let imported = keeper.import(&input, args.format.0, name.as_deref(), &now);
        imported.map_err(|error| CliError::of_compression(error, &file))
    };
    if !store::is_there(&args.journal.path(&config)?) {
        // A file that cannot be read leaves no store behind.
        import(&SessionAdmin::new(Arc::new(MemoryStore::new()), profile))?;
    }
    let journal = args.journal.create(config)?;
    let imported = import(&journal.keeper)?;
    imported.warnings.iter().for_each(|line| fault::warn(&format!("{file}: {line}")));
    let recorded = journal.keeper.session(Some(&imported.session)).map_err(CliError::of)?;
    if recorded.trashed {
        let (flag, session) = (journal.flag(), &imported.session);
        let remedy =
            format!("`epitome session restore{flag} {}` takes it out of it", quoted(session));
        let line = format!("session {session} is in the trash; {remedy}");
        if imported.new == 0 {
            return Err(CliError::usage(line));
        }
        fault::warn(&line);
    }
    args.journal.print(&imported, || {
        let session = &imported.session;
        let (new, all) = (imported.new as u64, grouped(imported.messages as u64));
        match imported.new {
            0 => format!("session {session} has all {all} messages of it already"),
            _ if imported.new == imported.messages => {
                format!("session {session}: {} recorded", counted(new, "message"))
            }
            _ => format!("session {session}: {} recorded of {all}", counted(new, "new message")),
        }
    })
}
