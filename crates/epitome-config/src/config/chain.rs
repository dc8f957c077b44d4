//! The policies of a profile, plugins that answer hooks among them, resolved without running any.
//!
//! Invariant: a chain depends on the configuration and the texts of its policies alone. A policy
//! that is not there, or may not be asked for, is an error that says where it is named.

use epitome_extensions::ExtensionOrigin;
use epitome_extensions::policies::{ChainLink, DEFAULT, FILE, PolicyRef, extends};
use epitome_extensions::problem::hint;
use epitome_extensions::stated::StatedOptions;
use figment::Figment;
use figment::value::Value;
use serde_json::{Map, Value as Json};

use super::{Config, ConfigError, ConfigProblem, plugins};

/// A name of a policy, and where it stands.
pub(super) struct NamedPolicy {
    pub(super) name: String,
    pub(super) place: String,
}

impl Config {
    /// The chain of a profile: the policies that it lists; otherwise the policy of its name and
    /// what that extends, then, where it says that it inherits from one, the chain of that profile.
    pub(super) fn chain(
        &self,
        profile: &str,
        figment: &Figment,
    ) -> Result<Vec<ChainLink>, ConfigError> {
        let mut chain: Vec<ChainLink> = Vec::new();
        let mut current = profile.to_owned();
        loop {
            if let Some(listed) = self.listed(&current) {
                for NamedPolicy { name, place } in listed {
                    match plugins::in_chain(&name) {
                        Some(plugin) => {
                            chain.push(ChainLink::Plugin { name: plugin.to_owned(), place })
                        }
                        None => {
                            self.add(&NamedPolicy { name, place }, figment, &mut chain)?.require()
                        }
                    }
                }
                break;
            }
            let is_policy = self.extensions.policies.knows(&current) && !self.is_built_in(&current);
            if is_policy {
                let place = format!("profile `{current}`");
                self.extend(NamedPolicy { name: current.clone(), place }, figment, &mut chain)?;
            }
            match self.parent(&current) {
                Some((parent, _)) if !is_policy || self.says_parent(&current) => current = parent,
                _ => break,
            }
        }
        Ok(chain)
    }

    /// Adds a policy and what it extends, and so on.
    pub(super) fn extend(
        &self,
        mut named: NamedPolicy,
        figment: &Figment,
        chain: &mut Vec<ChainLink>,
    ) -> Result<(), ConfigError> {
        let mut way = Vec::new();
        loop {
            let is_circle = way.contains(&named.name);
            way.push(named.name.clone());
            if is_circle {
                let what = format!("policies extend each other in a circle: {}", way.join(" → "));
                return Err(ConfigProblem::new(named.place, what).into());
            }
            let policy = self.add(&named, figment, chain)?;
            if way.len() == 1 {
                policy.require();
            }
            let place = policy.place();
            let text = policy.found().files.read(FILE).map_err(|error| {
                let (file, cause) = (place.clone(), error.to_string());
                ConfigError::Unreadable { file, cause }
            })?;
            let Some((base, line)) = text.as_deref().and_then(extends) else { return Ok(()) };
            named = NamedPolicy { name: base, place: format!("{place}:{line}") };
        }
    }

    /// Adds a policy, unless it is in the chain already.
    fn add<'c>(
        &self,
        NamedPolicy { name, place }: &NamedPolicy,
        figment: &Figment,
        chain: &'c mut Vec<ChainLink>,
    ) -> Result<&'c mut PolicyRef, ConfigError> {
        let is_known = |link: &ChainLink| link.policy().is_some_and(|known| known.name() == name);
        if !chain.iter().any(is_known) {
            let placed =
                self.extensions.policies.find(name).ok_or_else(|| self.missing(name, place))?;
            chain.push(ChainLink::Policy(PolicyRef::new(placed, self.stated(name, figment))));
        }
        let mut policies = chain.iter_mut().filter_map(ChainLink::policy_mut);
        policies.find(|known| known.name() == name).ok_or_else(|| self.missing(name, place))
    }

    /// Whether a name stands for what is built in, which is asked last without being named. Its
    /// twin in Lua is asked where it is listed or extended.
    fn is_built_in(&self, name: &str) -> bool {
        let found = self.extensions.policies.find(name);
        name == DEFAULT && found.is_none_or(|placed| placed.origin == ExtensionOrigin::Shipped)
    }

    /// A policy is not there, or may not be asked for.
    pub(super) fn missing(&self, name: &str, place: &str) -> ConfigError {
        let what = match self.extensions.policies.barred(name) {
            Some(barred) => {
                let place = PolicyRef::new(barred, StatedOptions::default()).place();
                format!("the policy `{name}` ({place}) may not run: only shipped policies may")
            }
            None => {
                let known = self.extensions.policies.names();
                let nearest = epitome_kernel::nearest(name, known.iter().map(String::as_str));
                format!("there is no policy `{name}`; {}", hint(nearest, &known))
            }
        };
        ConfigProblem::new(place, what).into()
    }

    /// The policies that a profile lists, itself and not what it inherits from.
    pub(super) fn listed(&self, profile: &str) -> Option<Vec<NamedPolicy>> {
        self.layers.iter().rev().find_map(|layer| {
            let listed = layer.profile(profile)?.get("policies")?.clone().into_array()?;
            let place = layer.places.of(&["profile", profile, "policies"]);
            let named = |value: Value| {
                Some(NamedPolicy { name: value.into_string()?, place: place.to_owned() })
            };
            Some(listed.into_iter().filter_map(named).collect())
        })
    }

    /// What is said of the options of a policy, and where.
    pub(super) fn stated(&self, policy: &str, figment: &Figment) -> StatedOptions {
        let key = format!("options.{policy}");
        let Some(says) = figment.find_value(&key).ok().and_then(Value::into_dict) else {
            return StatedOptions::default();
        };
        let mut stated = StatedOptions { values: Map::new(), ..StatedOptions::default() };
        for (name, value) in says {
            let place = self.source_of(figment, &["options", policy, &name]).unwrap_or_default();
            stated.places.insert(name.clone(), place);
            stated.values.insert(name, serde_json::to_value(value).unwrap_or(Json::Null));
        }
        stated
    }
}
