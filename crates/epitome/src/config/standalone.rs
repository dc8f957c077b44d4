//! A file of TOML that is no configuration, held to a schema in the same way: `plugin.toml`.
//!
//! Invariant: what is wrong is named with its line and the nearest name that there is, as in
//! `epitome.toml`. Called by whoever reads such a file.

use std::path::Path;
use std::sync::Arc;

use figment::Figment;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::check::Schema;
use super::layer::{Layer, LayerPart, Places};
use super::{ConfigError, unreadable};

/// What such a file says, and where.
pub(crate) struct Standalone(Arc<Places>);

impl Standalone {
    /// The content of a file, and where its keys stand.
    ///
    /// # Errors
    ///
    /// Everything in it that may not be said.
    pub(crate) fn read<T>(path: &Path, text: &str) -> Result<(T, Self), ConfigError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let Layer { says, places, .. } = Layer::text(path, text, &Schema::of::<T>())?;
        let part = LayerPart { says, places: Arc::clone(&places), below: Vec::new() };
        let content = Figment::from(part).extract().map_err(unreadable)?;
        Ok((content, Self(places)))
    }

    /// Where a key stands, or the nearest table around it; the first line where nothing is said.
    pub(crate) fn place(&self, path: &Path, key: &[&str]) -> String {
        match self.0.get(key) {
            Some(place) => place.to_owned(),
            None => format!("{}:1", path.display()),
        }
    }
}
