//! Every value that is in force, and where it is from.
//!
//! Invariant: nothing is left out; what is not listed is not set by anybody. Called by those who
//! show a configuration.

use std::sync::Arc;

use epitome_count::for_model;
use epitome_extensions::ExtensionOrigin;
use epitome_extensions::policies::{DEFAULT, LoadedPolicies, PolicyRef};
use epitome_extensions::toml_file::BUILT_IN;
use epitome_kernel::TokenCounter;
use figment::Figment;
use figment::value::Value;
use serde_json::Value as Json;

use super::declared::schema;
use super::rules::{AGEING, BUDGETS, PROMPTS};
use super::{Config, ConfigError, EffectiveValue, plugins, store};
use crate::counting::BUDGET_VOCABULARY;

/// The key of a profile that stands for something else at the top.
const POLICIES: &str = "policies";

/// The key at the top whose table has any names.
const GRANTS: &str = "grants";

/// The key at the top whose tables have any names.
const EXPERIMENT: &str = "experiment";

/// The key of a profile with what becomes of the results of tools.
const RESULTS: &str = "tools";

impl Config {
    /// Every value that is in force for a profile, with its source. Policies say what their
    /// options are, so they are loaded, but for those that may not run.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`], and when a policy cannot be loaded.
    pub fn values(&self, name: &str) -> Result<Vec<EffectiveValue>, ConfigError> {
        let profile = self.profile(name)?;
        let (schema, figment) = (schema(), self.figment(name)?);
        let of = |figment: &Figment, key: &str| {
            let value = serde_json::to_value(figment.find_value(key).ok()?).ok()?;
            Some(EffectiveValue { key: key.to_owned(), value, source: self.source(figment, key)? })
        };
        let mut values = Vec::new();
        for key in schema.leaves(&[]) {
            let is_store = key == store::KEY;
            values.extend(if is_store {
                self.effective_store(&self.way(name)?)
            } else {
                of(&self.whole, &key)
            });
        }
        values.extend(self.named_values(&self.whole, &[GRANTS]));
        for experiment in self.experiments().keys() {
            values.extend(self.named_values(&self.whole, &[EXPERIMENT, experiment]));
        }
        for key in schema.leaves(&["profile", name]).iter().filter(|key| *key != store::KEY) {
            let value = of(&figment, key);
            values.extend(value.map(|value| match key.as_str() {
                POLICIES => EffectiveValue { key: format!("profile.{POLICIES}"), ..value },
                _ => value,
            }));
        }
        values.extend(self.named_values(&figment, &[plugins::TOOLS]));
        values.extend(self.named_values(&figment, &[PROMPTS]));
        for tool in profile.rules.tools.keys() {
            values.extend(self.named_values(&figment, &[RESULTS, tool]));
        }
        let turns = profile.rules.budgets.keys().map(|turn| (BUDGETS, turn));
        for (key, number) in turns.chain(profile.rules.ageing.keys().map(|age| (AGEING, age))) {
            values.extend(self.named_values(&figment, &[key, &number.to_string()]));
        }
        let counter: Arc<dyn TokenCounter> = Arc::new(for_model(BUDGET_VOCABULARY));
        let loaded = match profile.permitted() {
            Ok(()) => profile.load(&counter)?,
            Err(_) => LoadedPolicies::default(),
        };
        for policy in profile.policies().into_iter().filter(|policy| policy.name() != DEFAULT) {
            match loaded.declared(policy.name()) {
                Some(declared) => values.extend(
                    declared.iter().map(|option| in_force(policy, &option.name, &option.default)),
                ),
                None => values.extend(
                    policy.options().iter().map(|(name, value)| in_force(policy, name, value)),
                ),
            }
        }
        for plugin in profile.plugins() {
            let options = plugin.options().into_iter();
            values.extend(options.map(|(option, value)| {
                let key = format!("options.{}.{option}", plugin.name());
                let source = match plugin.said_at(&option) {
                    Some(place) => place.to_owned(),
                    None if plugin.origin() == ExtensionOrigin::Shipped => BUILT_IN.to_owned(),
                    None => plugin.place(),
                };
                EffectiveValue { key, value, source }
            }));
        }
        Ok(values)
    }

    /// The values of a table whose keys are anybody's names.
    fn named_values(&self, figment: &Figment, table: &[&str]) -> Vec<EffectiveValue> {
        let find = || {
            let (first, rest) = table.split_first()?;
            let whole = figment.find_value(first).ok()?;
            rest.iter()
                .try_fold(whole, |value, key| value.as_dict()?.get(*key).cloned())?
                .into_dict()
        };
        let says = find().unwrap_or_default();
        let value = |(name, value): (String, Value)| {
            let path = [table, &[&*name]].concat();
            let source = self.source_of(figment, &path)?;
            Some(EffectiveValue {
                key: path.join("."),
                value: serde_json::to_value(value).ok()?,
                source,
            })
        };
        says.into_iter().filter_map(value).collect()
    }
}

/// An option of a policy as it is set, or with the value that the policy gives it.
fn in_force(policy: &PolicyRef, name: &str, default: &Json) -> EffectiveValue {
    let value = policy.options().get(name).unwrap_or(default).clone();
    let source = match policy.said_at(name) {
        Some(place) => place.to_owned(),
        None if policy.origin() == ExtensionOrigin::Shipped => BUILT_IN.to_owned(),
        None => policy.place(),
    };
    EffectiveValue { key: format!("options.{}.{name}", policy.name()), value, source }
}
