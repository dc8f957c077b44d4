//! `epitome store key`: a new key for the files of stores.
//!
//! Invariant: a file that is there is left alone.

use std::path::PathBuf;

use epitome::StoreKey;

use crate::fault::CliError;
use crate::files;

/// Makes a new key, at random, that stores in files are encrypted with
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome store key ~/.config/epitome/store.key\n\nOnly you may read the \
                  file. Keep a copy of it elsewhere: nothing opens an encrypted store without its key. \
                  `store_key_file = \"FILE\"` in your own epitome.toml has stores that are made from then \
                  on be encrypted; `epitome store copy OLD NEW` encrypts one that is there."
)]
pub(crate) struct Args {
    /// The file to make
    file: PathBuf,
    /// Says nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the errand.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    StoreKey::create(&args.file).map_err(CliError::usage)?;
    if args.quiet {
        return Ok(());
    }
    files::to_stdout(|out| {
        writeln!(
            out,
            "{} holds a new key; keep a copy of it, and name it as `store_key_file`",
            args.file.display()
        )
    })
}
