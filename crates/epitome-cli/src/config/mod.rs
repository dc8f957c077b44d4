//! `epitome config`: what is in force and what may be said.
//!
//! Invariant: it changes nothing; it shows what the other verbs go by.

mod show;

use epitome::Config;

use crate::fault::CliError;
use crate::journal;

/// Shows what is in force and where it is from, or the schema of epitome.toml
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome config show")]
pub(crate) struct Args {
    #[command(subcommand)]
    errand: ConfigCommand,
}

#[derive(clap::Subcommand)]
enum ConfigCommand {
    Show(Box<show::Args>),
    Schema(SchemaArgs),
}

/// Prints the JSON schema of epitome.toml
#[derive(clap::Args)]
#[command(after_help = "Example:\n  epitome config schema > epitome.schema.json")]
struct SchemaArgs {}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.errand {
        ConfigCommand::Show(args) => show::run(args),
        ConfigCommand::Schema(SchemaArgs {}) => journal::json(&Config::schema()),
    }
}
