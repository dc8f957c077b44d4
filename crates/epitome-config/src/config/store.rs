//! Which store a profile means.
//!
//! Invariant: the later layer wins, as everywhere; within one layer a profile's own store wins over
//! the one for all. Called by the configuration.

use std::path::PathBuf;

use super::layer::Layer;
use super::{Config, EffectiveValue};

/// The key, at the top and in a profile.
pub(super) const KEY: &str = "store";

/// A store, and who says it.
#[derive(Clone, Debug)]
pub(super) struct ChosenStore {
    pub(super) path: PathBuf,
    /// Where that is said.
    pub(super) source: String,
    /// Whether it is said by a file that may have come with a repository.
    pub(super) of_project: bool,
}

impl Config {
    /// The store of a profile that inherits along this way, itself first.
    pub(super) fn store_of(&self, way: &[String]) -> Option<ChosenStore> {
        let all: Vec<_> = self.layers.iter().chain([&self.flags]).collect();
        let layers = || all.iter().enumerate().rev();
        let said = |layer: &Layer, path: &[&str]| {
            let dict = match path {
                ["profile", name, _] => layer.profile(name)?,
                _ => &layer.says,
            };
            let store = PathBuf::from(dict.get(KEY)?.as_str()?);
            let source = layer.places.of(path).to_owned();
            Some(ChosenStore { path: store, source, of_project: layer.found })
        };
        let of_all = layers().find_map(|(at, layer)| Some((at, said(layer, &[KEY])?)));
        let own = way.iter().find_map(|name| {
            layers().find_map(|(at, layer)| Some((at, said(layer, &["profile", name, KEY])?)))
        });
        let later = match (own, of_all) {
            (Some(own), Some(of_all)) if own.0 < of_all.0 => Some(of_all),
            (own, of_all) => own.or(of_all),
        };
        later.map(|(_, said)| said)
    }

    /// The store of the profile that was chosen; where there is none of that name, the one for all.
    pub(super) fn chosen_store(&self) -> Option<ChosenStore> {
        let name = self.chosen_name();
        let mut way = self.inherited(name).unwrap_or_default();
        way.insert(0, name.to_owned());
        self.store_of(&way)
    }

    /// The store as a value that is in force.
    pub(super) fn effective_store(&self, way: &[String]) -> Option<EffectiveValue> {
        let ChosenStore { path, source, .. } = self.store_of(way)?;
        Some(EffectiveValue {
            key: KEY.to_owned(),
            value: path.display().to_string().into(),
            source,
        })
    }
}
