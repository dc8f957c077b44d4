//! What a verb goes by: the configuration, with the verb's own flags as its last layer.
//!
//! Invariant: what the environment and the folder say is read here and nowhere else; a verb asks
//! the configuration, never a flag that a key stands for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome::model::HttpTransport;
use epitome::{
    Config, ConfigError, ConfigSources, Prices, Profile, ScopeOwner, TokenCounter,
    VocabularyCounter,
};

use crate::fault::{self, CliError};
use crate::files;
use crate::outputs::{FileFate, OutputFile};
use crate::store_key;
use crate::text::plain;

/// The largest price table that is read, in bytes.
const MOST: u64 = 16 << 20;

/// Whose configuration.
#[derive(Clone, clap::Args)]
pub(crate) struct ConfigFlags {
    /// The configuration, in place of the nearest epitome.toml upwards
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Lets shipped policies run, and no others
    #[arg(long)]
    untrusted: bool,
    /// The key that stores in files are encrypted with; `epitome store key FILE` makes one
    #[arg(long, value_name = "FILE")]
    store_key_file: Option<PathBuf>,
}

/// Which profile, and whose configuration.
#[derive(clap::Args)]
pub(crate) struct ProfileFlags {
    /// The profile: its numbers, texts and name in the store [default: as configured, or `default`]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    #[command(flatten)]
    config: ConfigFlags,
}

impl ProfileFlags {
    /// The words that mean the same configuration in another process, wherever it runs.
    pub(crate) fn words(&self) -> Vec<String> {
        let Self { profile, config: ConfigFlags { config, untrusted, store_key_file } } = self;
        let named = |file: &Option<PathBuf>| {
            let file = std::path::absolute(file.as_ref()?).ok().or(file.clone());
            file.map(|file| file.display().to_string())
        };
        let words = [
            ("--profile", profile.clone()),
            ("--config", named(config)),
            ("--store-key-file", named(store_key_file)),
        ];
        let words = words.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        let untrusted = untrusted.then(|| "--untrusted".to_owned());
        words.flatten().chain(untrusted).collect()
    }
}

impl ConfigFlags {
    /// The configuration, with what `set` adds.
    pub(crate) fn load(
        &self,
        set: impl FnOnce(ConfigSources) -> ConfigSources,
    ) -> Result<Config, CliError> {
        let config = Config::load(set(self.sources()?))?;
        config.renamed().for_each(|old| fault::warn_once(&old.to_string()));
        store_key::configure(&config);
        Ok(config)
    }

    /// Sets the key of stores, where one was named.
    fn sealed(&self, sources: ConfigSources) -> ConfigSources {
        path(sources, "--store-key-file", "store_key_file", self.store_key_file.as_deref())
    }

    fn sources(&self) -> Result<ConfigSources, ConfigError> {
        let sources = ConfigSources::from_env(std::env::vars_os())?;
        let sources = if self.untrusted { sources.untrusted() } else { sources };
        let sources = self.sealed(sources);
        match (&self.config, std::env::current_dir()) {
            (Some(file), Ok(folder)) => {
                let beside = folder.join(file);
                sources.with_project_extensions(beside.parent().unwrap_or(&folder)).file(file)
            }
            (Some(file), Err(_)) => sources.file(file),
            (None, Ok(folder)) => sources.project(&folder),
            // A folder that is gone belongs to no project.
            (None, Err(_)) => Ok(sources),
        }
    }
}

/// Whose sessions somebody keeps who works in the current folder.
pub(crate) fn owner(config: &Config) -> ScopeOwner {
    config.owner(std::env::current_dir().ok().as_deref())
}

impl ProfileFlags {
    /// The configuration, with these flags and those that `set` adds.
    pub(crate) fn load(
        &self,
        set: impl FnOnce(ConfigSources) -> ConfigSources,
    ) -> Result<Config, CliError> {
        self.config.load(|sources| set(self.set(sources)))
    }

    /// The profile that was named.
    pub(crate) fn named(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// The configuration with another profile in use than the one that was named: this one, or the
    /// one that is configured.
    pub(crate) fn load_as(
        &self,
        profile: Option<&str>,
        set: impl FnOnce(ConfigSources) -> ConfigSources,
    ) -> Result<Config, CliError> {
        self.config.load(|sources| set(chosen(sources, profile)))
    }

    /// What may be looked up: what any profile recorded, unless one is named here.
    pub(crate) fn owner(&self, config: &Config) -> ScopeOwner {
        self.owner_in(config, std::env::current_dir().ok().as_deref())
    }

    /// The same for somebody who works in a folder.
    pub(crate) fn owner_in(&self, config: &Config, folder: Option<&Path>) -> ScopeOwner {
        let owner = config.owner(folder);
        if self.profile.is_some() { owner.alone() } else { owner }
    }

    /// The configuration that was named.
    pub(crate) fn file(&self) -> OutputFile<'_> {
        ("`--config`", self.config.config.as_deref(), FileFate::Read)
    }

    /// The configuration; where it cannot be used, what is built in, and why.
    pub(crate) fn load_or_built_in(
        &self,
        set: impl Fn(ConfigSources) -> ConfigSources,
    ) -> Result<(Config, Option<ConfigError>), CliError> {
        let sources = self.config.sources().map(|sources| set(self.set(sources)));
        let (config, error) = match sources.and_then(Config::load) {
            Ok(config) => (config, None),
            Err(error) => {
                let built_in = self.config.sealed(ConfigSources::built_in(std::env::vars_os()));
                (Config::load(set(built_in))?, Some(error))
            }
        };
        store_key::configure(&config);
        Ok((config, error))
    }

    fn set(&self, sources: ConfigSources) -> ConfigSources {
        chosen(sources, self.profile.as_deref())
    }
}

/// Has a profile in use, where one is named.
fn chosen(sources: ConfigSources, profile: Option<&str>) -> ConfigSources {
    match profile {
        Some(name) => sources.flag("--profile", "default_profile", name),
        None => sources,
    }
}

/// A profile whose policies may run: what is asked for by name is never replaced in silence.
pub(crate) fn permitted(profile: Profile) -> Result<Profile, CliError> {
    profile.permitted()?;
    Ok(profile)
}

/// The same, with the models that it names ready to be asked.
pub(crate) fn connected(profile: Profile) -> Result<Profile, CliError> {
    let profile = permitted(profile)?;
    if !profile.names_models() {
        return Ok(profile);
    }
    let transport = HttpTransport::new().map_err(CliError::internal)?;
    let var = |name: &str| std::env::var(name).ok();
    profile.connected(Arc::new(transport), var).map_err(CliError::usage)
}

/// Says which policies of a profile do not run, where others answer in their place.
pub(crate) fn tell_passed_over(profile: &Profile) -> Result<(), CliError> {
    let counter: Arc<dyn TokenCounter> = Arc::new(VocabularyCounter::default());
    let loaded = profile.load(&counter)?;
    let problems = loaded.passed_over().iter().chain(loaded.left_out());
    problems.for_each(|problem| fault::warn(&problem.to_string()));
    Ok(())
}

/// Says what came with the project and does not run, since nobody trusts it and another one of its
/// name answers.
pub(crate) fn tell_untrusted(config: &Config) {
    config.passed_over().for_each(|passed| fault::warn_once(&passed.to_string()));
}

/// Says where a mode that was asked for changes nothing, wherever it was set, and which one may be meant.
pub(crate) fn tell_of_mode(profile: &Profile, mode: Option<&str>) {
    if let Some(problem) = mode.and_then(|mode| profile.mode_problem(mode)) {
        fault::warn_once(&plain(&problem));
    }
}

/// Sets a path from a flag, where it was given.
pub(crate) fn path(
    sources: ConfigSources,
    flag: &str,
    key: &str,
    path: Option<&Path>,
) -> ConfigSources {
    match path {
        Some(path) => sources.flag(flag, key, &*path.to_string_lossy()),
        None => sources,
    }
}

/// Sets a text of the profile from a flag, where it was given.
pub(crate) fn text(
    sources: ConfigSources,
    flag: &str,
    key: &str,
    text: Option<&str>,
) -> ConfigSources {
    match text {
        Some(text) => sources.flag_of_profile(flag, key, text),
        None => sources,
    }
}

/// Sets a number of the profile from a flag, where it was given.
pub(crate) fn number(
    sources: ConfigSources,
    flag: &str,
    key: &str,
    number: Option<u64>,
) -> ConfigSources {
    match number {
        Some(number) => sources.flag_of_profile(flag, key, number),
        None => sources,
    }
}

/// What tokens cost: the shipped table, with the one that the configuration names before it.
pub(crate) fn prices(config: &Config) -> Result<Prices, CliError> {
    let prices = Prices::default();
    let Some(path) = config.prices() else { return Ok(prices) };
    let name = path.display();
    let text = files::read(Some(path), MOST).map_err(|error| {
        CliError::unreadable(format!("{}: {}", place(config, "prices"), error.line()))
    })?;
    let text = String::from_utf8(text)
        .map_err(|_| CliError::unreadable(format!("{name}: is no text in UTF-8")))?;
    prices.extended(&text).map_err(|error| CliError::unreadable(format!("{name}: {error}")))
}

/// Returns the file and line of a key's value, and the key; the key alone where they are not known.
pub(crate) fn place(config: &Config, key: &str) -> String {
    let values = config.values(config.chosen_name()).unwrap_or_default();
    match values.into_iter().find(|value| value.key == key) {
        Some(value) => format!("{}: {key}", value.source),
        None => key.to_owned(),
    }
}
