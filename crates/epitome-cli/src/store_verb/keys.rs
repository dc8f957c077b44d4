//! The keys of the stores that something is copied between.
//!
//! Invariant: what is read is read as it is, and what is made is encrypted where a key is configured,
//! unless `--plain` says otherwise.

use std::path::{Path, PathBuf};

use crate::fault::CliError;
use crate::settings::ConfigFlags;

/// The keys of both stores.
#[derive(clap::Args)]
pub(super) struct KeyFlags {
    /// The key of the store that is read, where it is not the one that is configured
    #[arg(long, value_name = "FILE")]
    from_key_file: Option<PathBuf>,
    /// Writes TO without encryption, be it that a key is configured
    #[arg(long)]
    pub(super) plain: bool,
    #[command(flatten)]
    config: ConfigFlags,
}

impl KeyFlags {
    /// The key of the store that is read, where one is named here; reads what is configured.
    pub(super) fn of_source(&self) -> Result<Option<&Path>, CliError> {
        self.config.load(|sources| sources)?;
        Ok(self.from_key_file.as_deref())
    }
}
