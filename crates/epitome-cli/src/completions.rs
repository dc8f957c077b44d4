//! `epitome completions`: what a shell needs to complete the command line.
//!
//! Invariant: generated from the same declaration that parses the arguments.

use clap_complete::Shell;

use crate::fault::CliError;
use crate::files;

/// Prints a shell's completions of this command
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome completions bash > epitome.bash")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the verb; `command` is what is completed.
pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "epitome", &mut script);
    files::bytes_to_stdout(&script)
}
