//! A file of TOML that is no configuration, held to a schema in the same way: `plugin.toml`.
//!
//! Invariant: what is wrong is named with its line and the nearest name that there is, as in
//! `epitome.toml`. Called by whoever reads such a file.

use std::path::Path;
use std::sync::Arc;

use figment::Figment;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::schema::TomlSchema;
use super::values::{TomlPart, TomlPlaces, read, refuse, unreadable};
use crate::problem::ConfigError;

/// What such a file says, and where.
#[derive(Debug)]
pub struct StandaloneToml(Arc<TomlPlaces>);

impl StandaloneToml {
    /// The content of a file, and where its keys stand.
    ///
    /// # Errors
    ///
    /// Everything in it that may not be said.
    pub fn read<T>(path: &Path, text: &str) -> Result<(T, Self), ConfigError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let name = path.display();
        let (says, places) = read(text, |line| format!("{name}:{line}"))?;
        refuse(TomlSchema::of::<T>().breaches(&says), &places)?;
        let places = Arc::new(places);
        let part = TomlPart { says, places: Arc::clone(&places), below: Vec::new() };
        let content = Figment::from(part).extract().map_err(unreadable)?;
        Ok((content, Self(places)))
    }

    /// Where a key stands, or the nearest table around it; the first line where nothing is said.
    pub fn place(&self, path: &Path, key: &[&str]) -> String {
        match self.0.get(key) {
            Some(place) => place.to_owned(),
            None => format!("{}:1", path.display()),
        }
    }
}
