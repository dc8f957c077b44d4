//! Policies in Lua: started, held to what their text says, watched.
//!
//! Invariant: what is wrong with one is named with its file and line; one that came with the project
//! and cannot be loaded stands in nobody's way who has its name. Called where a chain is loaded.

use std::sync::Arc;

use epitome_kernel::{Policy, TokenCounter, nearest};
use epitome_lua::{
    LoadCause, LuaLimits, LuaPolicy, OptionShape, PolicyEngine, PolicyReload, PolicyWatch,
    WatchError,
};
use serde_json::{Map, Value as Json};

use super::load::{LoadedPolicies, ProfilePolicies, Ready};
use super::reference::PolicyRef;
use super::{DEFAULT, FILE, extends};
use crate::origin::ExtensionOrigin;
use crate::problem::{ConfigError, ConfigProblem, hint};

impl LoadedPolicies {
    /// Those in Lua, with what they declare and the generation in force.
    pub fn lua(&self) -> impl Iterator<Item = &Arc<LuaPolicy>> {
        self.chain.iter().filter_map(|ready| match ready {
            Ready::Lua(policy) => Some(policy),
            Ready::Plugin(_) => None,
        })
    }

    /// The options that a policy of this name declares, where it is in Lua.
    pub fn declared(&self, policy: &str) -> Option<Vec<OptionShape>> {
        let known = self.lua().find(|known| known.name() == policy)?;
        Some(known.current().0.declared().options.clone())
    }

    /// Has the files of the policies watched, and tells of what became of each change, until what
    /// is given back falls. Of a change that cannot be used the last good generation stays.
    ///
    /// ```no_run
    /// # use epitome_extensions::policies::LoadedPolicies;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let policies = LoadedPolicies::default();
    /// let _watch = policies.watch(|reloaded| eprintln!("{reloaded:?}"))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the system does not let a folder be watched.
    pub fn watch(
        &self,
        tell: impl FnMut(PolicyReload) + Send + 'static,
    ) -> Result<PolicyWatch, WatchError> {
        PolicyWatch::start(self.lua().cloned().collect(), tell)
    }
}

impl ProfilePolicies {
    /// A policy, or where it came with the project and cannot be loaded what it hides.
    pub(super) fn first_good(
        &self,
        policy: &PolicyRef,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<(Ready, Option<ConfigProblem>), ConfigError> {
        let ready = |policy| Ready::Lua(Arc::new(policy));
        let loaded = self.one(self.engine()?, policy, counter);
        // One that is given by itself is that one and no other of its name.
        let is_brought = policy.foreign().is_some() && policy.origin() != ExtensionOrigin::Given;
        let mut hidden = policy.hides().filter(|_| is_brought);
        let hidden = hidden.find(|hidden| self.refusal(hidden).is_none());
        match (loaded, hidden) {
            (Err(ConfigError::Invalid(problems)), Some(hidden)) => {
                let loaded = self.one(self.engine()?, &hidden, counter)?;
                let problem = problems.into_iter().next().map(|ConfigProblem { place, what }| {
                    let (name, from) = (policy.name(), hidden.origin());
                    let what = format!(
                        "{what}: the policy `{name}` is passed over, and the {from} one of that \
                         name answers"
                    );
                    ConfigProblem::new(place, what)
                });
                Ok((ready(loaded), problem))
            }
            (loaded, _) => Ok((ready(loaded?), None)),
        }
    }

    /// Loads one policy.
    fn one(
        &self,
        engine: &PolicyEngine,
        policy: &PolicyRef,
        counter: &Arc<dyn TokenCounter>,
    ) -> Result<LuaPolicy, ConfigError> {
        let load = |options: &Map<String, Json>| {
            LuaPolicy::open(engine, policy.found(), counter, options).map_err(|error| {
                let options = match error.cause {
                    LoadCause::Options(_) => wrong_option(engine, policy, counter),
                    _ => None,
                };
                options.unwrap_or_else(|| placed(policy, &error.cause.to_string()))
            })
        };
        let mut loaded = load(policy.options())?;
        if loaded.current().0.declared().built_in_options && policy.name() != DEFAULT {
            if let Some((name, _)) = policy.options().iter().next() {
                return Err(no_option(policy, name, &[]).into());
            }
            loaded = load(&self.built_in)?;
        }
        said_plainly(policy, &loaded)?;
        let (trust, policy) = (self.trust.clone(), policy.clone());
        let refused = move || policy.brought()?.refusal(trust.as_ref());
        Ok(loaded.gated(Arc::new(move || refused().map(|refusal| refusal.problem().what))))
    }

    fn engine(&self) -> Result<&PolicyEngine, ConfigError> {
        if let Some(engine) = self.kept.engine.get() {
            return Ok(engine);
        }
        let engine = PolicyEngine::new(LuaLimits::default())
            .map_err(|error| ConfigProblem::new("policies", format!("cannot be run: {error}")))?;
        Ok(self.kept.engine.get_or_init(|| engine))
    }
}

/// Whether a policy extends what its text says that it extends.
fn said_plainly(policy: &PolicyRef, loaded: &LuaPolicy) -> Result<(), ConfigProblem> {
    let text = policy.found().files.read(FILE).ok().flatten();
    let read = text.as_deref().and_then(extends);
    let generation = loaded.current().0;
    let says = generation.declared().extends.as_deref();
    if says == read.as_ref().map(|(name, _)| name.as_str()) {
        return Ok(());
    }
    let what = format!(
        "`{}` extends `{}`, which cannot be seen before it runs; expected the line \
         `extends = \"NAME\"` with the name itself in it",
        policy.name(),
        says.unwrap_or("nothing"),
    );
    Err(ConfigProblem::new(policy.place(), what))
}

/// What is wrong with the options of a policy, where that is said.
fn wrong_option(
    engine: &PolicyEngine,
    policy: &PolicyRef,
    counter: &Arc<dyn TokenCounter>,
) -> Option<ConfigProblem> {
    let loaded = engine.load(policy.found(), counter, &Map::new()).ok()?;
    let declared = &loaded.declared().options;
    policy.options().iter().find_map(|(name, value)| {
        let place = policy.said_at(name)?;
        let key = format!("options.{}.{name}", policy.name());
        let Some(option) = declared.iter().find(|option| option.name == *name) else {
            let names: Vec<_> = declared.iter().map(|option| option.name.clone()).collect();
            return Some(no_option(policy, name, &names));
        };
        let expected = option.check(value).err()?;
        Some(ConfigProblem::new(place, format!("`{key}` is {value}; {expected}")))
    })
}

/// What is wrong with a policy, at the line that its text names where it names one.
fn placed(policy: &PolicyRef, what: &str) -> ConfigProblem {
    let (Some(folder), Some((at, rest))) = (policy.folder(), what.split_once(": ")) else {
        return ConfigProblem::new(policy.place(), what);
    };
    // With a line behind it or without.
    match at.split_once(".lua") {
        Some((file, _)) if folder.join(format!("{file}.lua")).is_file() => {
            ConfigProblem::new(folder.join(at).display().to_string(), rest)
        }
        _ => ConfigProblem::new(policy.place(), what),
    }
}

/// The option that may be meant by a name that is none: with the key of a table behind it
/// (`compression.enabled`), the one that is spelled most like it, or the only one that ends in it.
fn meant<'n>(name: &str, value: Option<&Json>, names: &'n [String]) -> Option<&'n str> {
    let table = value.and_then(Json::as_object).into_iter().flat_map(Map::keys);
    let mut joined = table.map(|key| format!("{name}_{key}"));
    let named = |wanted: &String| names.iter().find(|known| *known == wanted);
    let behind = format!("_{name}");
    let mut ends = names.iter().filter(|known| known.ends_with(&behind));
    let only = ends.next().filter(|_| ends.next().is_none());
    let found = joined.find_map(|wanted| named(&wanted)).map(String::as_str);
    let found = found.or_else(|| nearest(name, names.iter().map(String::as_str)));
    found.or(only.map(String::as_str))
}

/// A policy does not have this option.
fn no_option(policy: &PolicyRef, name: &str, names: &[String]) -> ConfigProblem {
    let hint = match names {
        [] => format!("the policy `{}` has no options of its own", policy.name()),
        names => hint(meant(name, policy.options().get(name), names), names),
    };
    let what = format!("unknown key `options.{}.{name}`; {hint}", policy.name());
    ConfigProblem::new(policy.said_at(name).unwrap_or_default(), what)
}
