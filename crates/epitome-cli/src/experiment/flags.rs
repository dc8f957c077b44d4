//! The flags of all errands, and what they open.
//!
//! Invariant: a name that is nowhere is refused with those that are.

use std::path::PathBuf;
use std::sync::Arc;

use epitome::{Config, ExperimentBook, ExperimentConfig, SessionArchive, TableOrigin, nearest};

use crate::fault::{self, CliError};
use crate::journal::store_path;
use crate::settings::{self, ConfigFlags};
use crate::{flags, shell, store};

/// The flags of all errands.
#[derive(clap::Args)]
pub(super) struct ExperimentFlags {
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = flags::store)]
    store: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFlags,
    /// Prints JSON on standard output
    #[arg(long)]
    pub(super) json: bool,
}

/// The experiments of a user.
pub(super) struct OpenExperiments {
    pub(super) config: Config,
    pub(super) store: Arc<dyn SessionArchive>,
    pub(super) tenant: String,
}

impl ExperimentFlags {
    /// Opens the configuration and its store.
    pub(super) fn open(&self) -> Result<OpenExperiments, CliError> {
        fault::name_store(shell::store_flag(self.store.as_deref()));
        let named = self.store.as_deref();
        let config =
            self.config.load(|sources| settings::path(sources, "--store", "store", named))?;
        let path = store_path(named, &config)?;
        if !store::is_there(&path) {
            return Err(CliError::unreadable(format!(
                "no store at {}; `epitome run -- CLIENT` makes one",
                path.display()
            )));
        }
        let store = store::open_existing(&path).map_err(|error| CliError::of_store(&error))?;
        let tenant = settings::owner(&config).tenant().to_owned();
        Ok(OpenExperiments { config, store, tenant })
    }
}

impl OpenExperiments {
    /// The records.
    pub(super) fn book(&self) -> ExperimentBook<'_> {
        ExperimentBook::new(&*self.store, &self.tenant)
    }

    /// Every name that is configured or recorded.
    pub(super) fn names(&self) -> Result<Vec<String>, CliError> {
        let mut names = self.book().names().map_err(|error| CliError::of_store(&error))?;
        names.extend(self.config.experiments().keys().cloned());
        Ok(names.into_iter().collect())
    }

    /// An experiment by its name: the only one where none is given.
    pub(super) fn named(&self, name: Option<&str>) -> Result<String, CliError> {
        let names = self.names()?;
        match (name, &names[..]) {
            (_, []) => Err(CliError::unreadable(
                "there is no experiment; a table [experiment.NAME] in epitome.toml makes one",
            )),
            (None, [only]) => Ok(only.clone()),
            (None, _) => {
                Err(CliError::usage(format!("name one of the experiments: {}", names.join(", "))))
            }
            (Some(name), _) if names.iter().any(|known| known == name) => Ok(name.to_owned()),
            (Some(name), _) => {
                let meant = nearest(name, names.iter().map(String::as_str));
                let hint = meant.map_or_else(
                    || format!("expected one of {}", names.join(", ")),
                    |meant| format!("did you mean `{meant}`?"),
                );
                Err(CliError::unreadable(format!("there is no experiment `{name}`; {hint}")))
            }
        }
    }

    /// An experiment as it is configured; else as it is known.
    pub(super) fn table(&self, name: &str) -> Result<(ExperimentConfig, TableOrigin), CliError> {
        let configured = self.config.experiments().get(name);
        self.book().table(name, configured).map_err(|error| CliError::of_store(&error))
    }
}
