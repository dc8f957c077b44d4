//! The store that is backed up or restored.
//!
//! Invariant: it is the one that the other verbs would use here.

use std::path::PathBuf;

use crate::fault::CliError;
use crate::journal;
use crate::settings::{self, ConfigFlags};

/// The store, and whose configuration names it.
#[derive(clap::Args)]
pub(super) struct NamedStore {
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFlags,
}

impl NamedStore {
    /// Its path, or its address.
    pub(super) fn path(&self) -> Result<PathBuf, CliError> {
        let store = self.store.as_deref();
        let config =
            self.config.load(|sources| settings::path(sources, "--store", "store", store))?;
        journal::store_path(store, &config)
    }
}
