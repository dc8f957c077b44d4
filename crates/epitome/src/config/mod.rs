//! The configuration: which profile, which store, and every number of a profile, in layers.
//!
//! Built in, then the user's file, the project's, variables, flags: each says as much as it likes,
//! and the later wins. A profile is what it says over what it inherits.
//!
//! ```
//! use epitome::{Config, Sources};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), epitome::ConfigError> {
//! let team = "[profile.team.options.default.trigger]\nsoft = 0.7\n";
//! let config = Config::load(Sources::default().text(Path::new("epitome.toml"), team))?;
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

mod check;
mod declared;
mod error;
mod files;
mod layer;
mod sources;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use epitome_kernel::nearest;
use epitome_store::Durability;
use figment::Figment;
use figment::value::{Dict, Value};
use serde::Serialize;
use serde_json::Value as Json;

use self::check::Schema;
use self::declared::{PolicyOptions, Settings, Table};
use self::layer::{BUILT_IN, Layer, Part};
use crate::profile::{Contradiction, Profile, SHIPPED};
use crate::session::Redaction;
use crate::target::Window;

pub use self::error::{ConfigError, Problem};
pub use self::sources::{Setting, Sources};

/// What holds where nobody says anything, beside the options of the shipped profiles.
const DEFAULTS: &str = "default_profile = \"default\"\ndurability = \"normal\"\n";

/// The profile that others inherit from, unless they say otherwise.
const ROOT: &str = "default";

/// The two ways to state how large a prompt may be; the later takes the place of the other.
const WINDOW: [&str; 2] = ["size", "limit"];

/// A configuration.
#[derive(Debug)]
pub struct Config {
    /// From what is built in up to the variables.
    layers: Vec<Layer>,
    of_profile: Layer,
    whole: Figment,
    settings: Settings,
    read: Vec<PathBuf>,
    unused: Vec<String>,
}

/// A value that is in force, and where it is from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effective {
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
    pub fn load(sources: Sources) -> Result<Self, ConfigError> {
        let Sources { files, variables, flags, store, home } = sources;
        let mut layers = vec![built_in(store.as_deref())?];
        let mut unused = Vec::new();
        if !(files.is_empty() && variables.is_empty()) {
            let schema = Schema::new();
            for file in &files {
                layers.push(Layer::file(file, &schema, home.as_deref())?);
            }
            let profiles = names(&layers);
            let (layer, foreign) = Layer::variables(&variables, &schema, &profiles)?;
            layers.push(layer);
            unused = foreign;
        }
        let flags_of_all = Layer::flags(&flags, false);
        let mut whole = Figment::new();
        for layer in layers.iter().chain([&flags_of_all]) {
            let mut says = layer.says.clone();
            says.remove("profile");
            whole = whole.merge(Part { says, places: layer.places.clone(), below: Vec::new() });
        }
        let settings = whole.extract().map_err(unreadable)?;
        let of_profile = Layer::flags(&flags, true);
        let read = files.into_iter().map(|file| file.path).collect();
        Ok(Self { layers, of_profile, whole, settings, read, unused })
    }

    /// The profile that was chosen.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`]; where a file or a variable chose it, that is named.
    pub fn chosen(&self) -> Result<Profile, ConfigError> {
        self.profile(self.chosen_name()).map_err(|error| match (&error, self.chooser()) {
            (ConfigError::UnknownProfile { .. }, Some(place)) => {
                Problem::new(place, error.to_string()).into()
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

    /// A profile by its name.
    ///
    /// # Errors
    ///
    /// When there is none of this name or one that it inherits from, when they inherit in a
    /// circle, or when values contradict each other.
    pub fn profile(&self, name: &str) -> Result<Profile, ConfigError> {
        let figment = self.figment(name)?;
        let Table { model, size, limit, options, .. } = figment.extract().map_err(unreadable)?;
        let PolicyOptions { default: options, .. } = options;
        if let Some(Contradiction { keys, why }) = options.contradiction() {
            let [one, other] = keys.map(|key| {
                let key = format!("options.default.{key}");
                let value = figment.find_value(&key).map(|value| check::said(&value));
                let place = self.source(&figment, &key).unwrap_or_default();
                (place, value.unwrap_or_default())
            });
            let [key, other_key] = keys;
            let what = format!(
                "profile `{name}`: `{key}` is {} and `{other_key}` is {} ({}); {why}",
                one.1, other.1, other.0
            );
            return Err(Problem::new(one.0, what).into());
        }
        let redaction = Redaction::new(&options.redact.patterns).map_err(|error| {
            let place =
                self.source(&figment, "options.default.redact.patterns").unwrap_or_default();
            Problem::new(place, format!("profile `{name}`: {error}"))
        })?;
        let size = size.map(Window::Size);
        let window = size.or(limit.map(Window::Limit)).unwrap_or_default();
        Ok(Profile { name: name.to_owned(), options, redaction, model, window })
    }

    /// The names of all profiles.
    pub fn profiles(&self) -> Vec<String> {
        names(&self.layers)
    }

    /// The profiles that one inherits from, the nearest first.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`].
    pub fn inherited(&self, name: &str) -> Result<Vec<String>, ConfigError> {
        let known = self.profiles();
        let is_known = |name: &str| known.iter().any(|known| known == name);
        let nearest = |name: &str| nearest(name, known.iter().map(String::as_str));
        if !is_known(name) {
            let nearest = nearest(name).map(str::to_owned);
            return Err(ConfigError::UnknownProfile { name: name.to_owned(), nearest, known });
        }
        let mut way = vec![name.to_owned()];
        while let Some((parent, place)) = self.parent(&way[way.len() - 1]) {
            if !is_known(&parent) {
                let child = &way[way.len() - 1];
                let hint = error::hint(nearest(&parent), &known);
                let what =
                    format!("`{child}` inherits from `{parent}`, which is not there; {hint}");
                return Err(Problem::new(place, what).into());
            }
            let is_circle = way.contains(&parent);
            way.push(parent);
            if is_circle {
                let what = format!("profiles inherit in a circle: {}", way.join(" → "));
                return Err(Problem::new(place, what).into());
            }
        }
        way.remove(0);
        Ok(way)
    }

    /// Every value that is in force for a profile, with its source.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`].
    pub fn values(&self, name: &str) -> Result<Vec<Effective>, ConfigError> {
        self.profile(name)?;
        let (schema, figment) = (Schema::new(), self.figment(name)?);
        let of = |figment: &Figment, key: String| {
            let value = figment.find_value(&key).ok()?;
            let source = self.source(figment, &key)?;
            Some(Effective { key, value: serde_json::to_value(value).ok()?, source })
        };
        let whole = schema.leaves(&[]).into_iter().filter_map(|key| of(&self.whole, key));
        let profile = schema.leaves(&["profile", name]).into_iter();
        Ok(whole.chain(profile.filter_map(|key| of(&figment, key))).collect())
    }

    /// The JSON schema of `epitome.toml`.
    pub fn schema() -> Json {
        declared::schema()
    }

    /// The store that is meant where none is named.
    pub fn store(&self) -> Option<&Path> {
        self.settings.store.as_deref()
    }

    /// Whether that is the one in the user's data folder.
    pub fn is_usual_store(&self) -> bool {
        self.source(&self.whole, "store").is_some_and(|source| source == BUILT_IN)
    }

    /// What survives a power cut.
    pub fn durability(&self) -> Durability {
        self.settings.durability.into()
    }

    /// The price table that is read before the shipped one.
    pub fn prices(&self) -> Option<&Path> {
        self.settings.prices.as_deref()
    }

    /// The files that were read.
    pub fn files(&self) -> &[PathBuf] {
        &self.read
    }

    /// The variables that begin as ours do and say nothing to this program.
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// Where a value is from.
    fn source(&self, figment: &Figment, key: &str) -> Option<String> {
        let metadata = figment.get_metadata(figment.find_value(key).ok()?.tag())?;
        let keys: Vec<_> = key.split('.').collect();
        Some(metadata.interpolate(&figment::Profile::Default, &keys))
    }

    /// What is said of a profile, merged: from the root of what it inherits to itself, and each
    /// from what is built in to the variables; flags last.
    fn figment(&self, name: &str) -> Result<Figment, ConfigError> {
        let mut way = self.inherited(name)?;
        way.insert(0, name.to_owned());
        let of = |layer: &Layer, name: &str| {
            let mut says = layer.profile(name)?.clone();
            says.remove("inherits");
            let below = vec!["profile".to_owned(), name.to_owned()];
            Some(Part { says, places: layer.places.clone(), below })
        };
        let said = way
            .iter()
            .rev()
            .flat_map(|name| self.layers.iter().filter_map(move |layer| of(layer, name)));
        let Layer { says, places } = self.of_profile.clone();
        let mut parts: Vec<_> = said.chain([Part { says, places, below: Vec::new() }]).collect();
        let states = |part: &Part| WINDOW.iter().any(|key| part.says.contains_key(*key));
        let last = parts.iter().rposition(states).unwrap_or_default();
        for part in &mut parts[..last] {
            part.says.retain(|key, _| !WINDOW.contains(&key.as_str()));
        }
        Ok(parts.into_iter().fold(Figment::new(), Figment::merge))
    }

    /// The profile that another inherits from, and where that is said.
    fn parent(&self, name: &str) -> Option<(String, String)> {
        let said = self.layers.iter().rev().find_map(|layer| {
            let parent = layer.profile(name)?.get("inherits")?.as_str()?.to_owned();
            Some((parent, layer.places.of(&["profile", name, "inherits"]).to_owned()))
        });
        let is_shipped = SHIPPED.iter().any(|(shipped, _)| *shipped == name);
        said.or_else(|| (!is_shipped).then(|| (ROOT.to_owned(), BUILT_IN.to_owned())))
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
fn built_in(store: Option<&Path>) -> Result<Layer, Problem> {
    let mut whole = Layer::built_in(DEFAULTS)?;
    let mut profiles = Dict::new();
    for (name, options) in SHIPPED {
        let options = Layer::built_in(options)?.says;
        let options = Dict::from([("default".to_owned(), Value::from(options))]);
        let profile = Dict::from([("options".to_owned(), Value::from(options))]);
        profiles.insert(name.to_owned(), Value::from(profile));
    }
    whole.says.insert("profile".to_owned(), Value::from(profiles));
    if let Some(store) = store {
        whole.says.insert("store".to_owned(), Value::from(store.display().to_string()));
    }
    Ok(whole)
}

/// What is left for the reading itself to find; the check before leaves it next to nothing.
fn unreadable(error: figment::Error) -> ConfigError {
    let place = error.metadata.as_ref().map_or_else(
        || BUILT_IN.to_owned(),
        |metadata| metadata.interpolate(&figment::Profile::Default, &error.path),
    );
    Problem::new(place, format!("`{}`: {}", error.path.join("."), error.kind)).into()
}
