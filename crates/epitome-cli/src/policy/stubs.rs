//! `epitome policy stubs`: the types of policies, for editors.
//!
//! Invariant: they are generated from what this program asks and takes, so they are written anew
//! whatever stands there.

use std::path::PathBuf;

use epitome::policy_stubs;

use super::new::STUBS;
use super::place::{self, TYPES};
use crate::fault::CliError;
use crate::files;

/// Writes the types of policies for lua-language-server, and prints where
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome policy stubs .epitome/policies/types")]
pub(crate) struct Args {
    /// The folder [default: `types` beside the project's policies]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs the errand.
pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => place::project(place::POLICIES)?.join(TYPES),
    };
    files::make_folder(&folder)?;
    let file = folder.join(STUBS);
    files::write(&file, policy_stubs().as_bytes())?;
    files::to_stdout(|out| writeln!(out, "{}", place::shown(&file)))
}
