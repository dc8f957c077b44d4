//! What all verbs of the journal share: where it is, whose, and how the answer is printed.
//!
//! Invariant: only a verb that records something makes a store where there is none.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{Config, Keeper, Profile, Sources, Sqlite, Taught, WindowSource};
use serde::Serialize;

use crate::fault::Fault;
use crate::files;
use crate::settings::{self, ProfileFlags};

/// Where the journal is, and how the answer is printed.
#[derive(clap::Args)]
pub(crate) struct JournalFlags {
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) profile: ProfileFlags,
    /// Prints JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Says nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// An open journal.
pub(crate) struct Journal {
    pub(crate) keeper: Keeper,
    pub(crate) store: Arc<Sqlite>,
    /// The store, where another one than the default was named.
    named: Option<PathBuf>,
}

impl JournalFlags {
    /// What the journal goes by.
    pub(crate) fn config(&self) -> Result<Config, Fault> {
        self.profile.load(|sources| self.set(sources))
    }

    /// Sets the store, where one was named.
    pub(crate) fn set(&self, sources: Sources) -> Sources {
        settings::path(sources, "--store", "store", self.store.as_deref())
    }

    /// The path of the store, whether or not there is one.
    pub(crate) fn path(&self, config: &Config) -> Result<PathBuf, Fault> {
        store_path(self.store.as_deref(), config)
    }

    /// Opens the journal.
    pub(crate) fn open(&self) -> Result<Journal, Fault> {
        let config = self.config()?;
        let (profile, path) = (config.chosen()?, self.path(&config)?);
        if !path.exists() {
            let (path, flag) = (path.display(), self.flag());
            return Err(Fault::unreadable(format!(
                "no store at {path}; `epitome session import{flag} FILE` makes one"
            )));
        }
        let store = Sqlite::open_with(&path, config.durability());
        let store = store.map_err(|error| Fault::of_store(&error))?;
        Ok(self.journal(profile, store))
    }

    /// Opens the journal, and makes one where there is none.
    pub(crate) fn create(&self, config: &Config) -> Result<Journal, Fault> {
        let store = Sqlite::open_with(&self.path(config)?, config.durability());
        Ok(self.journal(config.chosen()?, store.map_err(Fault::of_output)?))
    }

    fn journal(&self, profile: Profile, store: Sqlite) -> Journal {
        let store = Arc::new(store);
        Journal { keeper: Keeper::new(store.clone(), profile), store, named: self.store.clone() }
    }

    /// What has to be added to another command so that it means the same store.
    fn flag(&self) -> String {
        flag(self.store.as_deref())
    }

    /// Prints an answer: as JSON where that is asked for, else in words.
    pub(crate) fn print<T: Serialize>(
        &self,
        answer: &T,
        words: impl FnOnce() -> String,
    ) -> Result<(), Fault> {
        match (self.json, self.quiet) {
            (true, _) => json(answer),
            (false, true) => Ok(()),
            (false, false) => files::to_stdout(|out| writeln!(out, "{}", words())),
        }
    }
}

impl Journal {
    /// What has to be added to another command so that it means the same store.
    pub(crate) fn flag(&self) -> String {
        flag(self.named.as_deref())
    }
}

/// The store that is meant.
pub(crate) fn store_path(named: Option<&Path>, config: &Config) -> Result<PathBuf, Fault> {
    let path = named.or_else(|| config.store()).map(Path::to_owned);
    path.ok_or_else(|| Fault::usage("no home folder; name a store with `--store`"))
}

/// What refusals and answers taught of models; nothing where there is no store that can be read.
pub(crate) fn lessons(store: &Path, profile: &Profile) -> Vec<Taught> {
    let store = store.exists().then(|| Sqlite::open_existing(store).ok()).flatten();
    let keeper = store.map(|store| Keeper::new(Arc::new(store), profile.clone()));
    keeper.and_then(|keeper| keeper.lessons().ok()).unwrap_or_default()
}

/// How large a prompt to a model may be, as its server or a refusal said, and which of them.
pub(crate) fn said(taught: &Taught) -> Option<(u64, WindowSource)> {
    let told = taught.window.map(|limit| (limit, WindowSource::Probe));
    told.or(taught.limit.map(|limit| (limit, WindowSource::Learned)))
}

fn flag(named: Option<&Path>) -> String {
    named.map(|path| format!(" --store {}", path.display())).unwrap_or_default()
}

/// Prints a value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), Fault> {
    let json = serde_json::to_string_pretty(value).map_err(Fault::internal)?;
    files::bytes_to_stdout(format!("{json}\n").as_bytes())
}
