//! The configuration: which profile, which store, and every number of a profile, in layers.
//!
//! Built in, then the user's file, the project's, variables, flags: each says as much as it likes,
//! and the later wins. A profile is what it says over what it inherits.
//!
//! ```
//! # mod epitome {
//! #     pub use epitome_config::{Config, ConfigSources};
//! #     pub use epitome_extensions::problem::ConfigError;
//! # }
//! use epitome::{Config, ConfigSources};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), epitome::ConfigError> {
//! let team = "[profile.team.options.default.trigger]\nsoft = 0.7\n";
//! let config = Config::load(ConfigSources::default().text(Path::new("epitome.toml"), team))?;
//! let profile = config.profile("team")?;
//!
//! let values = config.values("team")?;
//! let soft = values.iter().find(|value| value.key == "options.default.trigger.soft").unwrap();
//! assert_eq!((soft.value.to_string().as_str(), soft.source.as_str()), ("0.7", "epitome.toml:2"));
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: a configuration that is handed out was checked as a whole; it is a value, and no
//! state is shared. Loaded by hosts.

mod chain;
mod declared;
mod experiments;
mod files;
mod find;
mod folders;
mod layer;
mod models;
mod origin;
mod plugins;
mod profiles;
mod proxy;
mod rules;
mod sources;
mod store;
mod store_name;
mod summarizers;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use epitome_extensions::plugins::PluginFolders;
use epitome_extensions::policies::PolicyFolders;
use epitome_extensions::problem::{ConfigError, ConfigProblem};
use epitome_extensions::toml_file::{BUILT_IN, TomlPart, unreadable};
use epitome_lua::TrustStore;
use epitome_store::Durability;
use epitome_workspace::augments::AugmentFolders;
use figment::Figment;
use figment::value::{Dict, Value};
use serde::Serialize;
use serde_json::Value as Json;

use self::declared::ConfigToml;
use self::layer::Layer;
use crate::models::ModelTable;
use crate::profile::{Profile, SHIPPED};
use crate::scope::ScopeOwner;

pub use self::experiments::{ExperimentConfig, ExperimentUnit, GuardrailMargins, MetricName};
pub use self::proxy::ProxyConfig;
pub use self::sources::{ConfigSources, FlagSetting};
use self::store::ChosenStore;
pub use self::store_name::known as known_store;

/// What holds where nobody says anything, beside the options of the shipped profiles.
const DEFAULTS: &str = "default_profile = \"default\"\ndurability = \"normal\"\neverywhere = false\n\
    tenant = \"local\"\n";

/// What profiles of shipped policies say of themselves: in `ollm` the model that talks writes the
/// summaries (RULES 21).
const BESIDE: &str = "[ollm]\nsummarizers = ['talking', 'extractive']\n";

/// What the names of variables begin with that say something of a profile.
const PROFILES: &str = "EPITOME_PROFILE__";

/// A configuration.
#[derive(Debug)]
pub struct Config {
    /// From what is built in up to the variables.
    layers: Vec<Layer>,
    /// Of the whole, and of whichever profile is asked for.
    flags: Layer,
    of_profile: Layer,
    whole: Figment,
    settings: ConfigToml,
    models: ModelTable,
    extensions: FoundExtensions,
    user: UserPlaces,
    /// The store of the profile that was chosen.
    store: Option<ChosenStore>,
    read: Vec<PathBuf>,
    unused: Vec<String>,
}

/// What is found by the names of policies and plugins.
#[derive(Debug)]
struct FoundExtensions {
    policies: PolicyFolders,
    plugins: PluginFolders,
    /// Where it is recorded which policies of others may run.
    trust: Option<TrustStore>,
    /// The policies and the plugins that came with the project, may not run, and would hide others
    /// of their names: why, by name.
    passed: [BTreeMap<String, ConfigProblem>; 2],
}

/// What lies where the environment says that the user's folders are.
#[derive(Debug)]
struct UserPlaces {
    /// The store in the user's data folder.
    store: Option<PathBuf>,
    /// Our folder in the user's folder for configurations.
    own: Option<PathBuf>,
    /// The user's home.
    home: Option<PathBuf>,
}

/// A value that is in force, and where it is from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectiveValue {
    /// The key; those of the profile without its name.
    pub key: String,
    /// The value.
    pub value: Json,
    /// `built-in`, a file with its line, a variable or a flag.
    pub source: String,
}

impl Config {
    /// The configuration that these sources make.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Invalid`] with everything in the first source that may not be said.
    pub fn load(sources: ConfigSources) -> Result<Self, ConfigError> {
        let ConfigSources {
            files,
            variables,
            flags,
            store,
            home,
            own,
            shelves,
            plugin_shelves,
            trust,
            untrusted,
        } = sources;
        let mut layers = vec![built_in(store.as_deref())?];
        let flags_of_all = Layer::flags(&flags, false);
        let mut unused = Vec::new();
        if !(files.is_empty() && variables.is_empty()) {
            let schema = declared::schema();
            for file in &files {
                layers.push(Layer::file(file, &schema, home.as_deref())?);
            }
            let mut known = names(&layers);
            if variables.iter().any(|(name, _)| name.starts_with(PROFILES)) {
                let shelves = folders::policies(shelves.clone(), &layers, &files);
                known.extend(PolicyFolders::new(shelves, false).names());
            }
            let (layer, foreign) = Layer::variables(&variables, &schema, &known)?;
            layers.push(layer);
            unused = foreign;
        }
        let mut shelves =
            PolicyFolders::new(folders::policies(shelves, &layers, &files), untrusted);
        let plugin_shelves = folders::plugins(plugin_shelves, &layers, &files);
        let mut plugin_shelves = PluginFolders::new(plugin_shelves, untrusted);
        let trust = trust.map(TrustStore::at);
        let passed = match untrusted {
            true => [BTreeMap::new(), BTreeMap::new()],
            false => [shelves.pass_over(trust.as_ref()), plugin_shelves.pass_over(trust.as_ref())],
        };
        folders::known(&layers, &shelves, &plugin_shelves)?;
        let mut whole = Figment::new();
        for layer in layers.iter().chain([&flags_of_all]) {
            let mut says = layer.says.clone();
            says.remove("profile");
            whole = whole.merge(TomlPart { says, places: layer.places.clone(), below: Vec::new() });
        }
        let settings: ConfigToml = whole.extract().map_err(unreadable)?;
        let of_profile = Layer::flags(&flags, true);
        let read = files.into_iter().map(|file| file.path).collect();
        let mut config = Self {
            layers,
            flags: flags_of_all,
            of_profile,
            whole,
            models: models::table(settings.models.as_deref())?,
            settings,
            extensions: FoundExtensions {
                policies: shelves,
                plugins: plugin_shelves,
                trust,
                passed,
            },
            user: UserPlaces { store, own, home },
            store: None,
            read,
            unused,
        };
        config.check_experiments()?;
        config.store = config.chosen_store();
        if let Some(store) = &config.store {
            store_name::known(&store.path.to_string_lossy()).map_err(|what| {
                let place = store.source.clone();
                ConfigError::UnknownStore { place, what }
            })?;
        }
        Ok(config)
    }

    /// The profile that was chosen.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`]; where a file or a variable chose it, that is named.
    pub fn profile_in_use(&self) -> Result<Profile, ConfigError> {
        self.profile(self.chosen_name()).map_err(|error| match (&error, self.chooser()) {
            (ConfigError::UnknownProfile { .. }, Some(place)) => {
                ConfigProblem::new(place, error.to_string()).into()
            }
            _ => error,
        })
    }

    /// The name of the profile that was chosen.
    pub fn chosen_name(&self) -> &str {
        &self.settings.default_profile
    }

    /// Where the profile was chosen, unless a flag did it.
    fn chooser(&self) -> Option<String> {
        let place = self.source(&self.whole, "default_profile")?;
        (!place.starts_with('-')).then_some(place)
    }

    /// The names of all profiles.
    pub fn profiles(&self) -> Vec<String> {
        let mut names = names(&self.layers);
        // What is built in may say something of a policy, which makes it no profile of somebody's.
        let is_built_in = |name: &str| SHIPPED.iter().any(|(shipped, _)| *shipped == name);
        let is_said = |name: &str| self.layers[1..].iter().any(|it| it.profile(name).is_some());
        names.retain(|name| is_built_in(name) || is_said(name));
        let policies = self.extensions.policies.names().into_iter();
        let others: Vec<_> = policies.filter(|name| !names.contains(name)).collect();
        names.extend(others);
        names
    }

    /// The JSON schema of `epitome.toml`.
    pub fn schema() -> Json {
        declared::schema().into_json()
    }

    /// The store that is meant where none is named, by the profile that was chosen.
    pub fn store(&self) -> Option<&Path> {
        self.store.as_ref().map(|store| &*store.path)
    }

    /// Whether that is the one in the user's data folder.
    pub fn is_usual_store(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.source == BUILT_IN)
    }

    /// The store in the user's data folder, whichever is meant.
    pub fn usual_store(&self) -> Option<&Path> {
        self.user.store.as_deref()
    }

    /// Whether it is the file of a project that says which store is meant, and not its user.
    pub fn is_store_of_project(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.of_project)
    }

    /// Whose sessions are kept and read by somebody who works in a folder: those of its project,
    /// unless the user opened all of them to each other.
    pub fn owner(&self, folder: Option<&Path>) -> ScopeOwner {
        let owner = ScopeOwner::from(&*self.settings.tenant);
        let owner = match folder {
            Some(folder) => owner.within(folder, self.user.home.as_deref()),
            None => owner,
        };
        if self.settings.everywhere { owner.everywhere() } else { owner }
    }

    /// The file of the key that stores are encrypted with.
    pub fn store_key_file(&self) -> Option<&Path> {
        self.settings.store_key_file.as_deref()
    }

    /// What survives a power cut.
    pub fn durability(&self) -> Durability {
        self.settings.durability.into()
    }

    /// The price table that is read before the shipped one.
    pub fn prices(&self) -> Option<&Path> {
        self.settings.prices.as_deref()
    }

    /// What is known of models by their names: the shipped table, with the one that `models` names
    /// before it.
    pub fn models(&self) -> &ModelTable {
        &self.models
    }

    /// The record of the folders that the user trusts; `None` where nobody said where it is.
    pub fn trust(&self) -> Option<&TrustStore> {
        self.extensions.trust.as_ref()
    }

    /// The folders of policies and of plugins that somebody else may have written, so that nothing
    /// in them runs before the user trusts it.
    pub fn untrusted_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.extensions.policies.foreign().chain(self.extensions.plugins.foreign())
    }

    /// The folder of the user's own policies, where the environment says where that is.
    pub fn own_policies(&self) -> Option<PathBuf> {
        Some(self.user.own.as_ref()?.join(sources::POLICIES))
    }

    /// What came with the project and is passed over, since it may not run and another one of its
    /// name may: why, and what lets it run.
    pub fn passed_over(&self) -> impl Iterator<Item = &ConfigProblem> {
        self.extensions.passed.iter().flat_map(BTreeMap::values)
    }

    /// Our folder in the user's data folder, where the environment says where that is.
    pub fn data(&self) -> Option<&Path> {
        self.user.store.as_deref().and_then(Path::parent)
    }

    /// The folders of augments: those of a project, then the user's own (RULES 40).
    pub fn augments(&self, project: Option<&Path>) -> AugmentFolders {
        AugmentFolders::new(project, self.user.own.as_deref())
    }

    /// The files that were read.
    pub fn files(&self) -> &[PathBuf] {
        &self.read
    }

    /// The variables that begin as ours do and say nothing to this program.
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// The keys and words that files, variables and flags say by an old name: where each stands, and
    /// its name today.
    pub fn renamed(&self) -> impl Iterator<Item = &ConfigProblem> {
        let flags = [&self.flags, &self.of_profile];
        self.layers.iter().chain(flags).flat_map(|layer| &layer.renamed)
    }

    /// Returns the key of a value in force by its name today; `key` may be the old one.
    pub fn renewed_key(&self, key: &str) -> String {
        let path = |key: &str| key.split('.').map(str::to_owned).collect::<Vec<_>>();
        let top = declared::schema().renewed_path(&path(key));
        let below = declared::schema().renewed_path(&path(&format!("profile..{key}")));
        match top == path(key) {
            true => below[2..].join("."),
            false => top.join("."),
        }
    }

    /// Where a value is from.
    fn source(&self, figment: &Figment, key: &str) -> Option<String> {
        let keys: Vec<_> = key.split('.').collect();
        self.source_of(figment, &keys)
    }

    /// The same for a path of keys, which may hold dots.
    fn source_of(&self, figment: &Figment, keys: &[&str]) -> Option<String> {
        let (first, rest) = keys.split_first()?;
        let first = figment.find_value(first).ok()?;
        let value = rest.iter().try_fold(&first, |value, key| value.as_dict()?.get(*key))?;
        let metadata = figment.get_metadata(value.tag())?;
        Some(metadata.interpolate(&figment::Profile::Default, keys))
    }
}

/// The names of all profiles, those that are built in first.
fn names(layers: &[Layer]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for layer in layers {
        let profiles = layer.says.get("profile").and_then(Value::as_dict);
        for name in profiles.into_iter().flat_map(Dict::keys) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// What is built in: the shipped profiles, and the store in the user's data folder.
fn built_in(store: Option<&Path>) -> Result<Layer, ConfigProblem> {
    let mut whole = Layer::built_in(&[DEFAULTS, proxy::DEFAULTS].concat())?;
    let mut profiles = Layer::built_in(BESIDE)?.says;
    for (name, options) in SHIPPED {
        let mut options = Layer::built_in(options)?.says;
        let mut profile: Dict = plugins::built_in(&mut options).collect();
        profile.extend(options.remove_entry(summarizers::KEY));
        let options = Dict::from([("default".to_owned(), Value::from(options))]);
        profile.insert("options".to_owned(), Value::from(options));
        profiles.insert(name.to_owned(), Value::from(profile));
    }
    whole.says.insert("profile".to_owned(), Value::from(profiles));
    if let Some(store) = store {
        whole.says.insert("store".to_owned(), Value::from(store.display().to_string()));
    }
    Ok(whole)
}
