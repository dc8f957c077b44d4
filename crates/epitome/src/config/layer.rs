//! One layer of the configuration: what it says, and where it says it.
//!
//! Invariant: every value knows its place, a line of a file, a variable or a flag. A layer that
//! says what may not be said is never merged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use epitome_kernel::nearest;
use figment::value::{Dict, Tag, Value};
use figment::{Metadata, Provider};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check::{Breach, Schema, is_table, is_text};
use super::sources::{ConfigFile, Flag, PREFIX};
use super::{ConfigError, ConfigProblem, origin, proxy, store};

/// Where built-in values are said to be from.
pub(crate) const BUILT_IN: &str = "built-in";

/// Keys that hold paths, at the top and in a profile.
const PATHS: [&str; 5] = ["store", "prices", "models", "policies", "plugins"];
const PATHS_OF_PROFILE: [&str; 1] = ["store"];

/// One layer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) says: Dict,
    pub(crate) places: Arc<Places>,
    /// Whether it is the file of a project, which nobody named.
    pub(crate) found: bool,
}

/// Where things are said, by their path of keys.
#[derive(Debug, Default)]
pub(crate) struct Places(BTreeMap<Vec<String>, String>);

impl Places {
    /// The place of exactly this path.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&str> {
        let path: Vec<_> = path.iter().map(|key| (*key).to_owned()).collect();
        self.0.get(&path).map(String::as_str)
    }

    /// The place of a path, or of the nearest table around it.
    pub(crate) fn of<S: AsRef<str>>(&self, path: &[S]) -> &str {
        let mut path: Vec<_> = path.iter().map(|key| key.as_ref().to_owned()).collect();
        loop {
            if let Some(place) = self.0.get(&path) {
                return place;
            }
            if path.pop().is_none() {
                return BUILT_IN;
            }
        }
    }
}

impl Layer {
    /// What is built in, from TOML that the program brings along.
    ///
    /// # Errors
    ///
    /// When it is no TOML.
    pub(crate) fn built_in(text: &str) -> Result<Self, ConfigProblem> {
        let (says, _) = read(text, |_| BUILT_IN.to_owned())?;
        Ok(Self { says, ..Self::default() })
    }

    /// What a text says that stands in a file.
    ///
    /// # Errors
    ///
    /// Everything in it that may not be said.
    pub(crate) fn text(path: &Path, text: &str, schema: &Schema) -> Result<Self, ConfigError> {
        let name = path.display();
        let (says, places) = read(text, |line| format!("{name}:{line}"))?;
        let places = Arc::new(Places(places));
        refuse(schema.breaches(&says), &places)?;
        Ok(Self { says, places, found: false })
    }

    /// What a file says.
    ///
    /// # Errors
    ///
    /// Everything in it that may not be said.
    pub(crate) fn file(
        file: &ConfigFile,
        schema: &Schema,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let name = file.path.display();
        let (mut says, places) = read(&file.text, |line| format!("{name}:{line}"))?;
        let places = Arc::new(Places(places));
        let mut breaches = schema.breaches(&says);
        breaches.extend(two_windows(&says));
        breaches.extend(origin::foreign(file, &says));
        refuse(breaches, &places)?;
        let resolve = |dict: &mut Dict, keys: &[&str]| {
            for key in keys {
                if let Some(Value::String(_, path)) = dict.get_mut(*key)
                    && store::scheme(path).is_none()
                {
                    *path = resolved(path, file.path.parent(), home);
                }
            }
        };
        resolve(&mut says, &PATHS);
        if let Some(Value::Dict(_, table)) = says.get_mut("proxy") {
            resolve(table, &proxy::PATHS);
        }
        if let Some(Value::Dict(_, profiles)) = says.get_mut("profile") {
            for profile in profiles.values_mut() {
                if let Value::Dict(_, profile) = profile {
                    resolve(profile, &PATHS_OF_PROFILE);
                }
            }
        }
        Ok(Self { says, places, found: file.found })
    }

    /// What the variables say, given the names of the profiles that there are, and the variables
    /// that say nothing to this program.
    ///
    /// # Errors
    ///
    /// Everything in them that may not be said.
    pub(crate) fn variables(
        variables: &[(String, String)],
        schema: &Schema,
        profiles: &[String],
    ) -> Result<(Self, Vec<String>), ConfigError> {
        let (mut says, mut places, mut unused) = (Dict::new(), BTreeMap::new(), Vec::new());
        let mut breaches = Vec::new();
        for (name, text) in variables {
            let Some(keys) = name.strip_prefix(PREFIX) else { continue };
            let path = keys_of(keys, profiles);
            if is_foreign(&path, schema) {
                unused.push(name.clone());
                continue;
            }
            places.insert(path.clone(), name.clone());
            match schema.at(&path) {
                Ok(node) if is_table(node) => {
                    let what = format!(
                        "`{}` is a table; a variable sets one value in it, as \
                         {PREFIX}PROFILE__NAME__OPTIONS__DEFAULT__TRIGGER__SOFT does, and \
                         {PREFIX}DEFAULT_PROFILE chooses a profile",
                        path.join(".")
                    );
                    breaches.push(Breach { path, what });
                }
                Ok(node) if is_text(node) => put(&mut says, &path, Value::from(text.as_str())),
                Ok(_) => put(&mut says, &path, parsed(text)),
                Err(breach) => breaches.push(Breach { path, what: breach.what }),
            }
        }
        let places = Arc::new(Places(places));
        breaches.extend(schema.breaches(&says));
        breaches.extend(two_windows(&says));
        refuse(breaches, &places)?;
        Ok((Self { says, places, found: false }, unused))
    }

    /// What the flags say of the whole, or of the profile that is asked for.
    pub(crate) fn flags(flags: &[Flag], of_profile: bool) -> Self {
        let (mut says, mut places) = (Dict::new(), BTreeMap::new());
        for flag in flags.iter().filter(|flag| flag.of_profile == of_profile) {
            let path: Vec<_> = flag.key.split('.').map(str::to_owned).collect();
            put(&mut says, &path, flag.value.clone());
            places.insert(path, flag.name.clone());
        }
        Self { says, places: Arc::new(Places(places)), found: false }
    }

    /// What it says of a profile.
    pub(crate) fn profile(&self, name: &str) -> Option<&Dict> {
        self.says.get("profile")?.as_dict()?.get(name)?.as_dict()
    }
}

/// A part of a layer as it is merged: what it says, and below which path it says it.
pub(crate) struct LayerPart {
    pub(crate) says: Dict,
    pub(crate) places: Arc<Places>,
    pub(crate) below: Vec<String>,
}

impl Provider for LayerPart {
    fn metadata(&self) -> Metadata {
        let (places, below) = (self.places.clone(), self.below.clone());
        Metadata::named("epitome").interpolater(move |_, keys| {
            let path: Vec<_> =
                below.iter().map(String::as_str).chain(keys.iter().copied()).collect();
            places.of(&path).to_owned()
        })
    }

    fn data(&self) -> figment::error::Result<figment::value::Map<figment::Profile, Dict>> {
        Ok(figment::Profile::Default.collect(self.says.clone()))
    }
}

fn refuse(breaches: Vec<Breach>, places: &Places) -> Result<(), ConfigError> {
    if breaches.is_empty() {
        return Ok(());
    }
    let problem = |breach: Breach| ConfigProblem::new(places.of(&breach.path), breach.what);
    Err(ConfigError::Invalid(breaches.into_iter().map(problem).collect()))
}

/// The profiles of a layer that state their window twice.
fn two_windows(says: &Dict) -> Vec<Breach> {
    let profiles = says.get("profile").and_then(Value::as_dict);
    let breach = |(name, profile): (&String, &Value)| {
        profile.find_ref("limit")?;
        let other = ["size", "window"].into_iter().find(|key| profile.find_ref(key).is_some())?;
        Some(Breach {
            path: vec!["profile".to_owned(), name.clone(), "limit".to_owned()],
            what: format!(
                "`profile.{name}` states both `{other}` and `limit`; expected one of them"
            ),
        })
    };
    profiles.into_iter().flatten().filter_map(breach).collect()
}

/// The keys that a variable names. Profiles are known by their names without regard to case, with
/// `_` for what a variable's name cannot hold.
fn keys_of(name: &str, profiles: &[String]) -> Vec<String> {
    let mut keys: Vec<_> = name.split("__").map(str::to_ascii_lowercase).collect();
    if let [first, profile, ..] = &mut *keys
        && first == "profile"
    {
        let spelt = |name: &str| {
            let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
            name.to_ascii_lowercase().chars().map(plain).collect::<String>()
        };
        if let Some(known) = profiles.iter().find(|name| spelt(name) == *profile) {
            profile.clone_from(known);
        }
    }
    keys
}

/// Whether a variable belongs to another program or a test: it names no table, and nothing that is
/// near to a key.
fn is_foreign(path: &[String], schema: &Schema) -> bool {
    let [key] = path else { return false };
    schema.at(path).is_err() && nearest(key, schema.keys()).is_none()
}

/// A path in a file, where it leads to.
fn resolved(path: &str, folder: Option<&Path>, home: Option<&Path>) -> String {
    let joined = match (path.strip_prefix("~/"), home, folder) {
        (Some(rest), Some(home), _) => home.join(rest),
        (_, _, Some(folder)) => folder.join(path),
        _ => return path.to_owned(),
    };
    joined.display().to_string()
}

fn put(dict: &mut Dict, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => drop(dict.insert(key.clone(), value)),
        [key, rest @ ..] => {
            let table = dict.entry(key.clone()).or_insert_with(|| Value::from(Dict::new()));
            if let Value::Dict(_, table) = table {
                put(table, rest, value);
            }
        }
    }
}

/// A value as TOML writes it; any other text is itself.
fn parsed(text: &str) -> Value {
    let value = DeValue::parse(text).ok();
    value.and_then(|value| plain(value.get_ref()).ok()).unwrap_or_else(|| Value::from(text))
}

/// What a text in TOML says, and at which place each key stands.
fn read(
    text: &str,
    place: impl Fn(usize) -> String,
) -> Result<(Dict, BTreeMap<Vec<String>, String>), ConfigProblem> {
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let table = DeTable::parse(text).map_err(|error| {
        let number = line(error.span().map_or(0, |span| span.start));
        let quoted = text.lines().nth(number - 1).unwrap_or_default().trim();
        let what =
            format!("{}, in `{quoted}`; expected TOML, with texts in quotes", error.message());
        ConfigProblem::new(place(number), what)
    })?;
    let mut reader = TomlReader { places: BTreeMap::new(), place: |at| place(line(at)) };
    let says = reader.table(&mut Vec::new(), table.get_ref())?;
    Ok((says, reader.places))
}

/// Turns TOML into plain values, and notes their places.
struct TomlReader<P> {
    places: BTreeMap<Vec<String>, String>,
    place: P,
}

impl<P: Fn(usize) -> String> TomlReader<P> {
    fn table(
        &mut self,
        path: &mut Vec<String>,
        table: &DeTable<'_>,
    ) -> Result<Dict, ConfigProblem> {
        let mut dict = Dict::new();
        for (key, value) in table {
            let place = (self.place)(key.span().start);
            path.push(key.get_ref().to_string());
            self.places.insert(path.clone(), place.clone());
            let value = match value.get_ref() {
                DeValue::Table(table) => Value::from(self.table(path, table)?),
                value => plain(value).map_err(|what| ConfigProblem::new(place, what))?,
            };
            path.pop();
            dict.insert(key.get_ref().to_string(), value);
        }
        Ok(dict)
    }
}

/// A value without its place.
fn plain(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(is) => Value::from(*is),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            Value::from(i64::from_str_radix(&digits, number.radix()).map_err(|_| {
                format!("{} is out of range; expected a number of 64 bits", number.as_str())
            })?)
        }
        DeValue::Float(number) => {
            let digits = number.as_str().replace('_', "");
            Value::from(digits.parse::<f64>().map_err(|error| format!("{digits}: {error}"))?)
        }
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| plain(item.get_ref()));
            Value::Array(Tag::Default, items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let pair = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                Ok((ToString::to_string(key.get_ref()), plain(value.get_ref())?))
            };
            Value::from(table.iter().map(pair).collect::<Result<Dict, String>>()?)
        }
    })
}
