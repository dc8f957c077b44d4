//! What all verbs of the journal share: where it is, whose, and how the answer is printed.
//!
//! Invariant: only a verb that records something makes a store where there is none.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::{
    Config, ConfigSources, LimitSource, ModelKnowledge, Profile, SavingsLedger, ScopeOwner,
    SessionAdmin, SessionArchive,
};
use serde::Serialize;

use crate::fault::{self, CliError};
use crate::files;
use crate::settings::{self, ProfileFlags};
use crate::shell;
use crate::store;
use crate::text::counted;

/// Where the journal is, and how the answer is printed.
#[derive(clap::Args)]
pub(crate) struct JournalFlags {
    /// The store [default: as configured, or epitome.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", value_parser = crate::flags::store)]
    store: Option<PathBuf>,
    /// Reads the sessions of all projects, and not of the one alone that the current folder is in
    #[arg(long)]
    everywhere: bool,
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
pub(crate) struct OpenJournal {
    pub(crate) keeper: SessionAdmin,
    pub(crate) store: Arc<dyn SessionArchive>,
    /// What has to be added to another command so that it means the same sessions.
    flag: String,
    /// Whose profiles the sessions may be of.
    config: Config,
}

impl JournalFlags {
    /// What the journal goes by.
    pub(crate) fn config(&self) -> Result<Config, CliError> {
        self.profile.load(|sources| self.set(sources))
    }

    /// Sets the store, where one was named.
    pub(crate) fn set(&self, sources: ConfigSources) -> ConfigSources {
        settings::path(sources, "--store", "store", self.store.as_deref())
    }

    /// The path of the store, whether or not there is one.
    pub(crate) fn path(&self, config: &Config) -> Result<PathBuf, CliError> {
        store_path(self.store.as_deref(), config)
    }

    /// Opens the journal where a session is: the one of this name, or else the one used last.
    pub(crate) fn open_at(&self, session: Option<&str>) -> Result<OpenJournal, CliError> {
        self.open()?.at(session)
    }

    /// Opens the journal.
    pub(crate) fn open(&self) -> Result<OpenJournal, CliError> {
        fault::name_store(self.flag());
        let config = self.config()?;
        let path = self.path(&config)?;
        if !store::is_there(&path) {
            let (path, flag) = (path.display(), self.store_flag());
            return Err(CliError::unreadable(format!(
                "no store at {path}; `epitome session import{flag} FILE` makes one"
            )));
        }
        let store = store::open(&path, config.durability());
        let store = store.map_err(|error| CliError::of_store(&error))?;
        self.journal(config, store)
    }

    /// The keeper of a session, whichever profile recorded it: the one that is named here is for
    /// something else.
    pub(crate) fn open_of_any_profile(&self, session: &str) -> Result<SessionAdmin, CliError> {
        let config = self.profile.load_as(None, |sources| self.set(sources))?;
        let OpenJournal { store, .. } = self.open()?;
        let owner = settings::owner(&config);
        let owner = if self.everywhere { owner.everywhere() } else { owner };
        let keeper = SessionAdmin::of(store, config.profile_in_use()?, owner);
        keeper.of_session(Some(session)).map_err(|error| CliError::of_store(&error))
    }

    /// Opens the journal, and makes one where there is none.
    pub(crate) fn create(&self, config: Config) -> Result<OpenJournal, CliError> {
        let store = store::open(&self.path(&config)?, config.durability());
        self.journal(config, store.map_err(CliError::of_output)?)
    }

    fn journal(
        &self,
        config: Config,
        store: Arc<dyn SessionArchive>,
    ) -> Result<OpenJournal, CliError> {
        let profile = config.profile_in_use()?;
        let owner = self.profile.owner(&config);
        let owner = if self.everywhere { owner.everywhere() } else { owner };
        let keeper = SessionAdmin::of(store.clone(), profile, owner);
        Ok(OpenJournal { keeper, store, flag: self.flag(), config })
    }

    /// What has to be added to another command so that it means the same sessions.
    fn flag(&self) -> String {
        let everywhere = if self.everywhere { " --everywhere" } else { "" };
        format!("{}{everywhere}", self.store_flag())
    }

    /// What has to be added to another command so that it means the same store.
    pub(crate) fn store_flag(&self) -> String {
        shell::store_flag(self.store.as_deref())
    }

    /// Says where nobody knows yet whether what is said next belongs to a session that something was
    /// done to.
    pub(crate) fn tell_of_alike(
        &self,
        keeper: &SessionAdmin,
        session: &str,
    ) -> Result<(), CliError> {
        let alike = keeper.alike(session).map_err(CliError::of)?;
        if !alike.is_empty() && !self.quiet {
            let (count, names) = (counted(alike.len() as u64, "other session"), alike.join(", "));
            fault::note(&format!(
                "{count} ({names}) had the same said and answered: what is said next may be a new \
                 session, and what was set here stays with {session}; `session list` shows which"
            ));
        }
        Ok(())
    }

    /// Prints an answer: as JSON where that is asked for, else in words.
    pub(crate) fn print<T: Serialize>(
        &self,
        answer: &T,
        words: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        match (self.json, self.quiet) {
            (true, _) => json(answer),
            (false, true) => Ok(()),
            (false, false) => files::to_stdout(|out| writeln!(out, "{}", words())),
        }
    }
}

impl OpenJournal {
    /// The same where a session is: the one of this name, or else the one used last.
    pub(crate) fn at(self, session: Option<&str>) -> Result<Self, CliError> {
        let keeper = self.keeper.of_session(session).map_err(|error| CliError::of_store(&error))?;
        let keeper = keeper.as_recorded(|name| self.config.profile(name).ok());
        let at = Self { keeper, ..self };
        at.tell_of_damage(session);
        Ok(at)
    }

    /// Says what of a session was left out, since it is not what was written.
    fn tell_of_damage(&self, session: Option<&str>) {
        // Whoever asks for one that is not there is told so in its place.
        let Ok(info) = self.keeper.session(session) else { return };
        let lost = self.store.damage(self.keeper.scope(), &info.name).unwrap_or_default();
        for what in lost {
            fault::warn(&format!(
                "{what} is damaged in the store, and left out: `epitome session verify` says more"
            ));
        }
    }

    /// The keeper of the sessions in each scope that may be read, the profile's own first.
    pub(crate) fn keepers(&self) -> Result<Vec<SessionAdmin>, CliError> {
        let readers = self.keeper.readers().map_err(|error| CliError::of_store(&error))?;
        let recorded = |name: &str| self.config.profile(name).ok();
        Ok(readers.into_iter().map(|reader| reader.as_recorded(recorded)).collect())
    }

    /// Whose sessions they are.
    pub(crate) fn tenant(&self) -> &str {
        self.keeper.tenant()
    }

    /// The ledger of whoever the sessions belong to.
    pub(crate) fn ledger(&self) -> Result<SavingsLedger, CliError> {
        let ledger = SavingsLedger::load(&*self.store, self.tenant());
        ledger.map_err(|error| CliError::of_store(&error))
    }

    /// What has to be added to another command so that it means the same sessions.
    pub(crate) fn flag(&self) -> String {
        self.flag.clone()
    }
}

/// Whose a session is that goes on under this name: the owner's, but for one of an older store that
/// was recorded in no project.
pub(crate) fn owner_of(
    session: Option<&str>,
    owner: ScopeOwner,
    store: Arc<dyn SessionArchive>,
    profile: &Profile,
) -> Result<ScopeOwner, CliError> {
    let Some(name) = session else { return Ok(owner) };
    let keeper = SessionAdmin::of(store, profile.clone(), owner.clone().alone());
    let keeper = keeper.of_session(Some(name)).map_err(|error| CliError::of_store(&error))?;
    let is_of_none = keeper.scope() == owner.without_project(profile.name());
    Ok(if is_of_none { ScopeOwner::from(owner.tenant()) } else { owner })
}

/// The store that is meant.
pub(crate) fn store_path(named: Option<&Path>, config: &Config) -> Result<PathBuf, CliError> {
    let path = named.or_else(|| config.store()).map(Path::to_owned);
    path.ok_or_else(|| CliError::usage("no home folder; name a store with `--store`"))
}

/// What refusals and answers taught of models; nothing where there is no store that can be read.
pub(crate) fn lessons(store: &Path, profile: &Profile, config: &Config) -> Vec<ModelKnowledge> {
    let store = store::is_there(store).then(|| store::open_existing(store).ok()).flatten();
    let Some(store) = store else { return Vec::new() };
    let owner = settings::owner(config);
    SessionAdmin::of(store, profile.clone(), owner).learned_limits().unwrap_or_default()
}

/// How large a prompt to a model may be, as its server or a refusal said, and which of them.
pub(crate) fn said(taught: &ModelKnowledge) -> Option<(u64, LimitSource)> {
    let told = taught.window.map(|limit| (limit, LimitSource::Probe));
    told.or(taught.limit.map(|limit| (limit, LimitSource::Learned)))
}

/// Prints a value as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), CliError> {
    let json = serde_json::to_string_pretty(value).map_err(CliError::internal)?;
    files::bytes_to_stdout(format!("{json}\n").as_bytes())
}
