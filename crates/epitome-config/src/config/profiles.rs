//! A profile, put together from what the layers say of it and of what it inherits from.
//!
//! Invariant: what is said of a nearer profile wins over what is said of a farther one, and of one
//! profile the later layer; nothing is run.

use epitome_extensions::ExtensionOrigin;
use epitome_extensions::plugins::ProfilePlugins;
use epitome_extensions::policies::{ChainLink, DEFAULT, ProfilePolicies};
use epitome_extensions::problem::hint;
use epitome_extensions::toml_file::{BUILT_IN, TomlPart, said, unreadable};
use epitome_kernel::nearest;
use epitome_wire::OverflowSignatures;
use figment::Figment;
use figment::value::Value;

use super::declared::{CounterName, ProfileToml};
use super::layer::Layer;
use super::rules::StatedRules;
use super::{Config, ConfigError, ConfigProblem, ConfigSources, models};
use crate::limits::WindowSetting;
use crate::models::{Models, Prices};
use crate::profile::options::{Contradiction, ProfileOptions, Redact};
use crate::profile::{Profile, SHIPPED, StatedDefaults};
use crate::redaction::{PatternError, RedactionPatterns};

/// The profile that others inherit from, unless they say otherwise.
const ROOT: &str = "default";

/// The ways to state how large a prompt may be; the later takes the place of all others.
const WINDOW: [&str; 3] = [models::SIZE, models::LIMIT, models::WINDOW];

impl Profile {
    /// A profile that is compiled in, whatever any file or variable says.
    ///
    /// # Errors
    ///
    /// When there is none of this name.
    pub fn shipped(name: &str) -> Result<Self, ConfigError> {
        Config::load(ConfigSources::default())?.profile(name)
    }
}

impl Config {
    /// A profile by its name.
    ///
    /// # Errors
    ///
    /// When there is none of this name or one that it inherits from, when they inherit in a
    /// circle, or when values contradict each other.
    pub fn profile(&self, name: &str) -> Result<Profile, ConfigError> {
        let figment = self.figment(name)?;
        let chain = self.chain(name, &figment)?;
        self.made(name, &figment, chain)
    }

    /// A profile of what is said of it, with this chain.
    pub(super) fn made(
        &self,
        name: &str,
        figment: &Figment,
        chain: Vec<ChainLink>,
    ) -> Result<Profile, ConfigError> {
        let ProfileToml {
            mode,
            model,
            counter,
            window,
            context_size: size,
            prompt_limit: limit,
            options,
            digests,
            digests_by_tool,
            summarizers,
            keep,
            never,
            tools,
            markers,
            prompts,
            budgets,
            ageing,
            ..
        } = figment.extract().map_err(unreadable)?;
        let options = options.default;
        self.consistent(name, figment, &options)?;
        let way = self.way(name)?;
        let redaction = self.redaction(name, figment, &way, &options)?;
        let signatures = OverflowSignatures::new(&options.limit.signatures).map_err(|error| {
            let key = "options.default.limit.signatures";
            let place = self.source(figment, key).unwrap_or_default();
            ConfigProblem::new(place, format!("profile `{name}`: {error}"))
        })?;
        let stated = match (&window, size, limit) {
            (Some(name), size, _) => self.window_of(figment, name, size)?,
            (None, Some(size), _) => WindowSetting::Size(size),
            (None, None, limit) => limit.map(WindowSetting::Limit).unwrap_or_default(),
        };
        let rules = StatedRules { keep, never, tools, markers, prompts, budgets, ageing };
        let rules = self.rules(name, figment, rules)?;
        let built_in = self.stated(DEFAULT, figment).values;
        let digests = digests.unwrap_or_default();
        let plugins = self.plugins_of(figment, digests, digests_by_tool, &chain)?;
        let scribes = self.scribes(figment, &summarizers.unwrap_or_default())?;
        let passed = self.passed_in(&way, &chain, &plugins);
        let policies =
            ProfilePolicies::new(chain, built_in, self.extensions.trust.clone()).without(passed);
        Ok(Profile {
            name: name.to_owned(),
            options,
            rules,
            redaction,
            signatures,
            stated: StatedDefaults {
                mode,
                model,
                counter: counter.map(CounterName::vocabulary),
                window: stated,
                window_of: window,
                store: self.store_of(&way).map(|store| store.path),
            },
            table: self.models.clone(),
            prices: Prices::default(),
            policies,
            plugins,
            scribes,
            models: Models::default(),
        })
    }

    /// What is never recorded.
    fn redaction(
        &self,
        name: &str,
        figment: &Figment,
        way: &[String],
        options: &ProfileOptions,
    ) -> Result<RedactionPatterns, ConfigProblem> {
        let unread = |list: &'static str| {
            move |error: PatternError| {
                let key = format!("options.default.redact.{list}");
                let place = self.source(figment, &key).unwrap_or_default();
                ConfigProblem::new(place, format!("profile `{name}`: {error}"))
            }
        };
        let Redact { keys, patterns } = &options.redact;
        let keys = self.redacted(way, "keys", keys, |shipped| shipped.keys);
        let patterns = self.redacted(way, "patterns", patterns, |shipped| shipped.patterns);
        // Reading those that are shipped would take each start of the program a millisecond.
        let place = self.source(figment, "options.default.redact.keys");
        if place.is_none_or(|place| place != BUILT_IN) {
            RedactionPatterns::check(&keys).map_err(unread("keys"))?;
        }
        let redaction = RedactionPatterns::new(&patterns).map_err(unread("patterns"))?;
        Ok(redaction.with_keys(&keys))
    }

    /// One of the lists of what is never recorded. Where the file of a project says some of it, that
    /// stands beside what is shipped and what the user says, and takes nothing of it away.
    fn redacted(
        &self,
        way: &[String],
        list: &str,
        stated: &[String],
        shipped: fn(Redact) -> Vec<String>,
    ) -> Vec<String> {
        let said = |layer: &Layer, name: &String| -> Vec<String> {
            let find = || {
                let default = layer.profile(name)?.get("options")?.as_dict()?.get(DEFAULT)?;
                let redact = default.as_dict()?.get("redact")?.as_dict()?;
                redact.get(list)?.clone().into_array()
            };
            find().into_iter().flatten().filter_map(Value::into_string).collect()
        };
        let says = |layer: &Layer| {
            let redact = |name: &String| {
                let key = ["profile", name.as_str(), "options", DEFAULT, "redact", list];
                layer.places.get(&key).is_some()
            };
            way.iter().any(redact)
        };
        let mut all = stated.to_vec();
        if self.layers.iter().any(|layer| layer.found && says(layer)) {
            all.extend(shipped(Profile::default().options.redact));
            for layer in self.layers.iter().filter(|layer| !layer.found) {
                all.extend(way.iter().flat_map(|name| said(layer, name)));
            }
        }
        all
    }

    /// What was passed over that a profile would have asked.
    fn passed_in(
        &self,
        way: &[String],
        chain: &[ChainLink],
        plugins: &ProfilePlugins,
    ) -> Vec<ConfigProblem> {
        let [policies, others] = &self.extensions.passed;
        // A profile that is a policy, or lists some, asks none that it inherits.
        let is_last = |name: &String| {
            self.listed(name).is_some()
                || (self.extensions.policies.knows(name) && !self.says_parent(name))
        };
        let looked = way.iter().position(is_last).map_or(way, |last| &way[..=last]);
        let asks =
            |name: &String| looked.contains(name) || chain.iter().any(|it| it.name() == *name);
        let policies = policies.iter().filter(|(name, _)| asks(name));
        let others = others.iter().filter(|(name, _)| plugins.named(name).is_some());
        policies.chain(others).map(|(_, problem)| problem.clone()).collect()
    }

    /// The profiles that one inherits from, the nearest first.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`].
    pub fn inherited(&self, name: &str) -> Result<Vec<String>, ConfigError> {
        let mut way = self.way(name)?;
        way.remove(0);
        Ok(way)
    }

    /// What was hardly meant in a profile and those that it inherits from: one that says what it
    /// inherits has the name of a shipped policy, which is asked before all of that.
    ///
    /// # Errors
    ///
    /// As [`Config::profile`].
    pub fn warnings(&self, name: &str) -> Result<Vec<ConfigProblem>, ConfigError> {
        let doubt = |name: &String| {
            let (parent, place) = self.parent(name).filter(|_| self.is_taken(name))?;
            let what = format!(
                "profile `{name}` has the name of a shipped policy, which is asked before those of \
                 `{parent}`; choose another name, or list its `policies`"
            );
            Some(ConfigProblem::new(place, what))
        };
        Ok(self.way(name)?.iter().filter_map(doubt).collect())
    }

    /// Whether a profile says what it inherits from, names no policies, and a shipped one that may
    /// be asked has its name.
    fn is_taken(&self, name: &str) -> bool {
        let found = self.extensions.policies.find(name).filter(|_| name != DEFAULT);
        self.says_parent(name)
            && self.listed(name).is_none()
            && found.is_some_and(|placed| placed.origin == ExtensionOrigin::Shipped)
    }

    /// A profile and those that it inherits from.
    pub(super) fn way(&self, name: &str) -> Result<Vec<String>, ConfigError> {
        if !self.is_profile(name) {
            let known = self.profiles();
            let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
            return Err(ConfigError::UnknownProfile { name: name.to_owned(), nearest, known });
        }
        let mut way = vec![name.to_owned()];
        while let Some((parent, place)) = self.parent(&way[way.len() - 1]) {
            if !self.is_profile(&parent) {
                let (child, known) = (&way[way.len() - 1], self.profiles());
                let nearest = nearest(&parent, known.iter().map(String::as_str));
                let hint = hint(nearest, &known);
                let what =
                    format!("`{child}` inherits from `{parent}`, which is not there; {hint}");
                return Err(ConfigProblem::new(place, what).into());
            }
            let is_circle = way.contains(&parent);
            way.push(parent);
            if is_circle {
                let what = format!("profiles inherit in a circle: {}", way.join(" → "));
                return Err(ConfigProblem::new(place, what).into());
            }
        }
        Ok(way)
    }

    /// Whether there is a profile of this name: a table, a policy, or both.
    fn is_profile(&self, name: &str) -> bool {
        self.is_said(name) || self.extensions.policies.knows(name)
    }

    /// Whether a table of this name is in any layer.
    pub(super) fn is_said(&self, name: &str) -> bool {
        self.layers.iter().any(|layer| layer.profile(name).is_some())
    }

    /// Whether a profile says itself what it inherits from.
    pub(super) fn says_parent(&self, name: &str) -> bool {
        let says =
            |layer: &Layer| layer.profile(name).is_some_and(|dict| dict.contains_key("inherits"));
        self.layers.iter().any(says)
    }

    /// Whether the options of what is built in can hold together.
    fn consistent(
        &self,
        name: &str,
        figment: &Figment,
        options: &ProfileOptions,
    ) -> Result<(), ConfigProblem> {
        let Some(Contradiction { keys, why }) = options.contradiction() else { return Ok(()) };
        let [one, other] = keys.map(|key| {
            let key = format!("options.default.{key}");
            let value = figment.find_value(&key).map(|value| said(&value));
            let place = self.source(figment, &key).unwrap_or_default();
            (place, value.unwrap_or_default())
        });
        let [key, other_key] = keys;
        let what = format!(
            "profile `{name}`: `{key}` is {} and `{other_key}` is {} ({}); {why}",
            one.1, other.1, other.0
        );
        Err(ConfigProblem::new(one.0, what))
    }

    /// What is said of a profile, merged: from the root of what it inherits to itself, and each
    /// from what is built in to the variables; flags last.
    pub(super) fn figment(&self, name: &str) -> Result<Figment, ConfigError> {
        let way = self.way(name)?;
        let of = |layer: &Layer, name: &str| {
            let mut says = layer.profile(name)?.clone();
            says.remove("inherits");
            let below = vec!["profile".to_owned(), name.to_owned()];
            Some(TomlPart { says, places: layer.places.clone(), below })
        };
        let said = way
            .iter()
            .rev()
            .flat_map(|name| self.layers.iter().filter_map(move |layer| of(layer, name)));
        let Layer { says, places, .. } = self.of_profile.clone();
        let mut parts: Vec<_> =
            said.chain([TomlPart { says, places, below: Vec::new() }]).collect();
        let states = |part: &TomlPart| WINDOW.iter().any(|key| part.says.contains_key(*key));
        let last = parts.iter().rposition(states).unwrap_or_default();
        for part in &mut parts[..last] {
            part.says.retain(|key, _| !WINDOW.contains(&key.as_str()));
        }
        Ok(parts.into_iter().fold(Figment::new(), Figment::merge))
    }

    /// The profile that another inherits from, and where that is said.
    pub(super) fn parent(&self, name: &str) -> Option<(String, String)> {
        let said = self.layers.iter().rev().find_map(|layer| {
            let parent = layer.profile(name)?.get("inherits")?.as_str()?.to_owned();
            Some((parent, layer.places.of(&["profile", name, "inherits"]).to_owned()))
        });
        let is_shipped = SHIPPED.iter().any(|(shipped, _)| *shipped == name);
        said.or_else(|| (!is_shipped).then(|| (ROOT.to_owned(), BUILT_IN.to_owned())))
    }
}
