//! The configuration: which profile, which store, and every number of a profile, in layers.
//!
//! A [`Profile`](profile::Profile) is a value: what a compression goes by. With the feature `files` it is
//! put together from `epitome.toml`, variables and flags; without it there is the one that is compiled in.
//!
//! Invariant: what was read is sound, and a profile runs nothing of what it names before that is asked
//! for. Loaded by hosts, read by sessions and by those who look after them.

#[cfg(feature = "files")]
mod config;
mod counting;
pub mod limits;
pub mod models;
pub mod profile;
mod redaction;
pub mod scope;

#[cfg(feature = "files")]
pub use self::config::{
    Config, ConfigSources, EffectiveValue, ExperimentConfig, ExperimentUnit, FlagSetting,
    GuardrailMargins, MetricName, ProxyConfig, known_store,
};
pub use self::counting::{BUDGET_VOCABULARY, tool_format};
pub use self::redaction::{PatternError, RedactionPatterns};
