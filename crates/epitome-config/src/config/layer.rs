//! One layer of the configuration: what it says, and where it says it.
//!
//! Invariant: every value knows its place, a line of a file, a variable or a flag. A layer that
//! says what may not be said is never merged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use epitome_extensions::toml_file::{
    BUILT_IN, OldNames, SchemaBreach, TomlPlaces, TomlSchema, is_table, is_text, parsed, read,
    refuse, renamed,
};
use epitome_kernel::{nearest, renamed_key};
use epitome_types::hook::NameKind;
use figment::value::{Dict, Value};

use super::declared::schema;
use super::models::{LIMIT, SIZE, WINDOW};
use super::rules::PROMPTS;
use super::sources::{ConfigFile, Flag, PREFIX};
use super::{ConfigError, ConfigProblem, origin, proxy, store_name};

/// Keys that hold paths, at the top and in a profile.
const PATHS: [&str; 6] = ["store", "store_key_file", "prices", "models", "policies", "plugins"];
const PATHS_OF_PROFILE: [&str; 1] = ["store"];

/// One layer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) says: Dict,
    pub(crate) places: Arc<TomlPlaces>,
    /// Whether it is the file of a project, which nobody named.
    pub(crate) found: bool,
    /// What it says by old names.
    pub(crate) renamed: Vec<ConfigProblem>,
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

    /// What a file says.
    ///
    /// # Errors
    ///
    /// Everything in it that may not be said.
    pub(crate) fn file(
        file: &ConfigFile,
        schema: &TomlSchema,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let name = file.path.display();
        let (mut says, mut places) = read(&file.text, |line| format!("{name}:{line}"))?;
        let OldNames { used: renamed, twice: mut breaches } = schema.renew(&mut says, &mut places);
        let places = Arc::new(places);
        breaches.extend(schema.breaches(&says));
        breaches.extend(two_windows(&says));
        breaches.extend(origin::foreign(file, &says));
        refuse(breaches, &places)?;
        let resolve = |dict: &mut Dict, keys: &[&str]| {
            for key in keys {
                if let Some(Value::String(_, path)) = dict.get_mut(*key)
                    && store_name::scheme(path).is_none()
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
                    if let Some(Value::Dict(_, prompts)) = profile.get_mut(PROMPTS) {
                        let modes: Vec<_> = prompts.keys().cloned().collect();
                        resolve(prompts, &modes.iter().map(String::as_str).collect::<Vec<_>>());
                    }
                }
            }
        }
        Ok(Self { says, places, found: file.found, renamed })
    }

    /// What the variables say, given the names of the profiles that there are, and the variables
    /// that say nothing to this program.
    ///
    /// # Errors
    ///
    /// Everything in them that may not be said.
    pub(crate) fn variables(
        variables: &[(String, String)],
        schema: &TomlSchema,
        profiles: &[String],
    ) -> Result<(Self, Vec<String>), ConfigError> {
        let (mut says, mut places, mut unused) = (Dict::new(), TomlPlaces::default(), Vec::new());
        let (mut breaches, mut renamed, mut given) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (name, text) in variables {
            let Some(keys) = name.strip_prefix(PREFIX) else { continue };
            let old = keys_of(keys, profiles);
            if is_foreign(&old, schema) {
                unused.push(name.clone());
                continue;
            }
            let path = schema.renewed_path(&old);
            renamed.extend(renamed_path(name, &old, &path));
            if let Some(other) = given.insert(path.clone(), old.clone()).filter(|it| *it != old) {
                let what = format!(
                    "`{}` is given as `{}` too, which is another name of it; expected one of them",
                    old.join("."),
                    other.join(".")
                );
                breaches.push(SchemaBreach { path: path.clone(), what });
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
                    breaches.push(SchemaBreach { path, what });
                }
                Ok(node) if is_text(node) => put(&mut says, &path, Value::from(text.as_str())),
                Ok(_) => put(&mut says, &path, parsed(text)),
                Err(breach) => breaches.push(SchemaBreach { path, what: breach.what }),
            }
        }
        renamed.extend(schema.renew(&mut says, &mut places).used);
        let places = Arc::new(places);
        breaches.extend(schema.breaches(&says));
        breaches.extend(two_windows(&says));
        refuse(breaches, &places)?;
        Ok((Self { says, places, found: false, renamed }, unused))
    }

    /// What the flags say of the whole, or of the profile that is asked for.
    pub(crate) fn flags(flags: &[Flag], of_profile: bool) -> Self {
        let (mut says, mut places) = (Dict::new(), TomlPlaces::default());
        let mut renamed = Vec::new();
        for flag in flags.iter().filter(|flag| flag.of_profile == of_profile) {
            let old: Vec<_> = flag.key.split('.').map(str::to_owned).collect();
            let path = renewed_flag(&old, of_profile);
            renamed.extend(renamed_path(&flag.name, &old, &path));
            put(&mut says, &path, flag.value.clone());
            places.insert(path, flag.name.clone());
        }
        Self { says, places: Arc::new(places), found: false, renamed }
    }

    /// What it says of a profile.
    pub(crate) fn profile(&self, name: &str) -> Option<&Dict> {
        self.says.get("profile")?.as_dict()?.get(name)?.as_dict()
    }
}

/// The warning about a path of keys that is another one today.
fn renamed_path(place: &str, old: &[String], new: &[String]) -> Option<ConfigProblem> {
    let is_old = old != new;
    is_old.then(|| ConfigProblem::new(place, renamed(&old.join("."), &new.join("."))))
}

/// The key of a flag by its new name. Hosts give few keys by an old one, and the schema is made for
/// those alone.
fn renewed_flag(path: &[String], of_profile: bool) -> Vec<String> {
    let is_old = |key: &String| renamed_key(NameKind::Key, key, |name| name != key).is_some();
    match (path.iter().any(is_old), of_profile) {
        (false, _) => path.to_vec(),
        (true, false) => schema().renewed_path(path),
        (true, true) => {
            let below = ["profile", ""].map(str::to_owned);
            schema().renewed_path(&[&below[..], path].concat()).split_off(below.len())
        }
    }
}

/// The profiles of a layer that state their window twice.
fn two_windows(says: &Dict) -> Vec<SchemaBreach> {
    let profiles = says.get("profile").and_then(Value::as_dict);
    let breach = |(name, profile): (&String, &Value)| {
        profile.find_ref(LIMIT)?;
        let other = [SIZE, WINDOW].into_iter().find(|key| profile.find_ref(key).is_some())?;
        Some(SchemaBreach {
            path: vec!["profile".to_owned(), name.clone(), LIMIT.to_owned()],
            what: format!(
                "`profile.{name}` states both `{other}` and `{LIMIT}`; expected one of them"
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
fn is_foreign(path: &[String], schema: &TomlSchema) -> bool {
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
