//! The profile for those who choose none, without a configuration around it.
//!
//! Invariant: it is the one that a configuration in which nobody says anything comes to. Read once in
//! a process.

use std::error::Error;

use epitome_extensions::plugins::ProfilePlugins;
use epitome_extensions::policies::ProfilePolicies;
use epitome_wire::OverflowSignatures;
use serde::Deserialize;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::{Profile, ProfileOptions, ProfileRules, SHIPPED, StatedDefaults};
use crate::models::{ModelTable, Models, Prices, SummarizerSpec};
use crate::redaction::RedactionPatterns;

/// What stands beside the options: who digests, and who writes summaries.
const BESIDE: [&str; 2] = ["digests", "summarizers"];

/// The profile.
///
/// # Errors
///
/// When its text does not hold what it must.
pub(super) fn profile() -> Result<Profile, Box<dyn Error>> {
    let [(name, text)] = SHIPPED;
    let mut says: Table = text.parse()?;
    let [digests, scribes] = BESIDE.map(|key| says.remove(key).unwrap_or(Value::Array(Vec::new())));
    let built_in = match serde_json::to_value(&says)? {
        Json::Object(options) => options,
        _ => serde_json::Map::new(),
    };
    let options: ProfileOptions = says.try_into()?;
    let scribes: Vec<String> = scribes.try_into()?;
    Ok(Profile {
        name: name.to_owned(),
        redaction: RedactionPatterns::new(&options.redact.patterns)?
            .with_keys(&options.redact.keys),
        signatures: OverflowSignatures::new(&options.limit.signatures)?,
        options,
        rules: ProfileRules::default(),
        stated: StatedDefaults::default(),
        table: ModelTable::default(),
        prices: Prices::default(),
        policies: ProfilePolicies::new(Vec::new(), built_in, None),
        plugins: ProfilePlugins::shipped(Vec::deserialize(digests)?),
        scribes: scribes
            .iter()
            .map(|name| name.parse())
            .collect::<Result<Vec<SummarizerSpec>, _>>()?,
        models: Models::default(),
    })
}
