//! What a text in TOML says, and at which line it says it.
//!
//! Invariant: every value knows its place; what may not be said is never handed on. Called by whoever
//! reads a file that people write.

use std::collections::BTreeMap;
use std::sync::Arc;

use figment::value::{Dict, Tag, Value};
use figment::{Metadata, Provider};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::schema::SchemaBreach;
use crate::problem::{ConfigError, ConfigProblem};

/// Where built-in values are said to be from.
pub const BUILT_IN: &str = "built-in";

/// Where things are said, by their path of keys.
#[derive(Debug, Default)]
pub struct TomlPlaces(BTreeMap<Vec<String>, String>);

impl TomlPlaces {
    /// Notes where something is said.
    pub fn insert(&mut self, path: Vec<String>, place: String) {
        self.0.insert(path, place);
    }

    /// Gives a key another name, in the paths below it too.
    pub fn rename(&mut self, path: &[String], name: &str) {
        let Some(depth) = path.len().checked_sub(1) else { return };
        for (mut key, place) in std::mem::take(&mut self.0) {
            if key.starts_with(path) {
                name.clone_into(&mut key[depth]);
            }
            self.0.insert(key, place);
        }
    }

    /// The place of exactly this path.
    pub fn get(&self, path: &[&str]) -> Option<&str> {
        let path: Vec<_> = path.iter().map(|key| (*key).to_owned()).collect();
        self.0.get(&path).map(String::as_str)
    }

    /// The place of a path, or of the nearest table around it.
    pub fn of<S: AsRef<str>>(&self, path: &[S]) -> &str {
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

/// A part of a layer as it is merged: what it says, and below which path it says it.
#[derive(Debug)]
pub struct TomlPart {
    /// What it says.
    pub says: Dict,
    /// Where it says that.
    pub places: Arc<TomlPlaces>,
    /// The path below which it says it.
    pub below: Vec<String>,
}

impl Provider for TomlPart {
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

/// Refuses what may not be said.
///
/// # Errors
///
/// Where there is any of it, with all of it.
pub fn refuse(breaches: Vec<SchemaBreach>, places: &TomlPlaces) -> Result<(), ConfigError> {
    if breaches.is_empty() {
        return Ok(());
    }
    let problem = |breach: SchemaBreach| ConfigProblem::new(places.of(&breach.path), breach.what);
    Err(ConfigError::Invalid(breaches.into_iter().map(problem).collect()))
}

/// Returns what is left for the reading itself to find; the check before leaves it next to nothing.
pub fn unreadable(error: figment::Error) -> ConfigError {
    let place = error.metadata.as_ref().map_or_else(
        || BUILT_IN.to_owned(),
        |metadata| metadata.interpolate(&figment::Profile::Default, &error.path),
    );
    ConfigProblem::new(place, format!("`{}`: {}", error.path.join("."), error.kind)).into()
}

/// Reads a value as TOML writes it; any other text is itself.
pub fn parsed(text: &str) -> Value {
    let value = DeValue::parse(text).ok();
    value.and_then(|value| plain(value.get_ref()).ok()).unwrap_or_else(|| Value::from(text))
}

/// Reads what a text in TOML says, and at which place each key stands; `place` names a line.
///
/// # Errors
///
/// When it is no TOML, with the line.
pub fn read(
    text: &str,
    place: impl Fn(usize) -> String,
) -> Result<(Dict, TomlPlaces), ConfigProblem> {
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let table = DeTable::parse(text).map_err(|error| {
        let number = line(error.span().map_or(0, |span| span.start));
        let quoted = text.lines().nth(number - 1).unwrap_or_default().trim();
        let what =
            format!("{}, in `{quoted}`; expected TOML, with texts in quotes", error.message());
        ConfigProblem::new(place(number), what)
    })?;
    let mut reader = TomlReader { places: TomlPlaces::default(), place: |at| place(line(at)) };
    let says = reader.table(&mut Vec::new(), table.get_ref())?;
    Ok((says, reader.places))
}

/// Turns TOML into plain values, and notes their places.
struct TomlReader<P> {
    places: TomlPlaces,
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
