//! `epitome mcp`: the levers of a session for an agent, over standard input and output.
//!
//! Invariant: standard output belongs to the protocol. The store may be empty, and a session may
//! begin at any time in another process and under another profile: they meet in the store.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use epitome::SessionControls;
use epitome::types::Actor;

use crate::fault::CliError;
use crate::journal::store_path;
use crate::settings::{self, ProfileFlags};
use crate::{shell, store, stores};

/// Serves an MCP client: tools to end a task, load augments, recall, set goals and pin
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  epitome mcp --store session.db\n\nFor a client: claude mcp add \
                        epitome -- epitome mcp"
)]
pub(crate) struct Args {
    /// The folder that the client works in, whose augments there are [default: the current folder]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
    #[command(flatten)]
    profile: ProfileFlags,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let store = args.store.as_deref();
    let config = args.profile.load(|from| settings::path(from, "--store", "store", store))?;
    let path = store_path(store, &config)?;
    let journal =
        store::open_for_levers(&path, config.durability()).map_err(CliError::of_output)?;
    let project = args.workspace.clone().or_else(|| env::current_dir().ok());
    let owner = args.profile.owner_in(&config, project.as_deref());
    let config = Arc::new(config);
    let recorders = Arc::clone(&config);
    let levers =
        SessionControls::new(journal, config.profile_in_use()?, owner.clone(), Actor::Model)
            .with_augments(config.augments(project.as_deref()))
            .with_profiles(move |name| recorders.profile(name).ok())
            .with_store_flag(shell::store_flag(store));
    // A prompt of another store of this user's names an id in the same words.
    let levers = match args.store {
        Some(_) => levers,
        None => levers.with_elsewhere(move |id| stores::elsewhere(&config, &owner, id)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.map_err(CliError::internal)?.block_on(epitome_mcp::stdio(levers));
    served.map_err(CliError::unreadable)
}
