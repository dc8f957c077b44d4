//! Loads the policies of a profile, once they are needed.
//!
//! Invariant: what a profile names runs, or the profile is refused; only what a policy extends may
//! be left out, and then that is said. Nothing runs that somebody else may have written and the
//! user has not trusted. Called by profiles.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use epitome_kernel::{Counter, Policy, nearest};
use epitome_lua::{Engine, Limits, LoadCause, LuaPolicy, Reloaded, Trust, Watch, WatchError};
use serde_json::{Map, Value as Json};

use super::reference::PolicyRef;
use super::{DEFAULT, FILE, extends};
use crate::config::{ConfigError, Problem, hint};

/// The policies of a profile: the host's own, then those that the configuration names.
#[derive(Clone)]
pub(crate) struct Policies {
    own: Vec<Arc<dyn Policy>>,
    pub(crate) named: Vec<PolicyRef>,
    /// The options of what is built in, which a policy may have in place of its own.
    built_in: Map<String, Json>,
    trust: Option<Trust>,
    kept: Arc<Kept>,
}

/// What clones of a profile share: what was loaded, by counter, and what nothing can change.
#[derive(Default)]
struct Kept {
    engine: OnceLock<Engine>,
    loaded: Mutex<BTreeMap<String, Loaded>>,
    /// The address of policies that are all compiled in.
    address: OnceLock<String>,
}

/// Policies that are ready to be asked, in the order in which they are asked. What is built in
/// stands behind them and is not among them.
#[derive(Clone, Default)]
pub struct Loaded {
    own: Vec<Arc<dyn Policy>>,
    lua: Vec<Arc<LuaPolicy>>,
    left_out: Vec<Problem>,
}

impl Loaded {
    /// The policies as they are now. What is asked as one pass takes them once; where they are
    /// watched, the next pass takes them anew.
    pub fn current(&self) -> Vec<Arc<dyn Policy>> {
        let lua = self.lua.iter().map(|policy| policy.current().0 as Arc<dyn Policy>);
        self.own.iter().cloned().chain(lua).collect()
    }

    /// The policies, each in its newest good generation whenever it is asked.
    pub fn live(&self) -> Vec<Arc<dyn Policy>> {
        let lua = self.lua.iter().map(|policy| Arc::clone(policy) as Arc<dyn Policy>);
        self.own.iter().cloned().chain(lua).collect()
    }

    /// Those of the configuration, with what they declare and the generation in force.
    pub fn lua(&self) -> &[Arc<LuaPolicy>] {
        &self.lua
    }

    /// What a policy extends and may not run, with the remedy; the chain goes on without it.
    pub fn left_out(&self) -> &[Problem] {
        &self.left_out
    }

    /// Has the files of the policies watched, and tells of what became of each change, until what
    /// is given back falls. Of a change that cannot be used the last good generation stays.
    ///
    /// ```no_run
    /// use epitome::{Config, Counter, Sources, VocabularyCounter};
    /// use std::{path::Path, sync::Arc};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config::load(Sources::default().policies(Path::new("policies")))?;
    /// let counter: Arc<dyn Counter> = Arc::new(VocabularyCounter::default());
    /// let policies = config.profile("team")?.load(&counter)?;
    /// let _watch = policies.watch(|reloaded| eprintln!("{reloaded:?}"))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the system does not let a folder be watched.
    pub fn watch(&self, tell: impl FnMut(Reloaded) + Send + 'static) -> Result<Watch, WatchError> {
        Watch::start(self.lua.clone(), tell)
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (own, lua) = (self.own.iter(), self.lua.iter());
        let names = own.map(|policy| policy.name()).chain(lua.map(|policy| policy.name()));
        f.debug_list().entries(names).finish()
    }
}

impl Policies {
    pub(crate) fn new(
        named: Vec<PolicyRef>,
        built_in: Map<String, Json>,
        trust: Option<Trust>,
    ) -> Self {
        Self { own: Vec::new(), named, built_in, trust, kept: Arc::default() }
    }

    /// With a policy of the host's own, asked after those that it added before.
    pub(crate) fn with(mut self, policy: Arc<dyn Policy>) -> Self {
        self.own.push(policy);
        self.kept = Arc::default();
        self
    }

    /// What the hash of a configuration covers: which policies, their texts and options.
    pub(crate) fn address(&self) -> String {
        match self.named.iter().all(PolicyRef::is_embedded) {
            true => self.kept.address.get_or_init(|| self.address_now()).clone(),
            false => self.address_now(),
        }
    }

    fn address_now(&self) -> String {
        let own = self.own.iter().map(|policy| format!("{}\n", policy.name()));
        let named = self.named.iter().map(|policy| {
            let content = policy.content().unwrap_or_else(|error| error.to_string());
            format!("{} {content} {:?}\n", policy.name(), policy.options())
        });
        own.chain(named).collect()
    }

    /// Whether all policies that the profile names may run.
    ///
    /// # Errors
    ///
    /// The first that may not, with the remedy.
    pub(crate) fn permitted(&self) -> Result<(), ConfigError> {
        let mut refused = self.named.iter().filter(|policy| policy.is_required());
        refused
            .find_map(|policy| self.refusal(policy))
            .map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// The policies, loaded when they are first asked for; `counter` counts for them.
    ///
    /// # Errors
    ///
    /// When one may not run, cannot be read or run, or does not have the options that are set.
    pub(crate) fn load(&self, counter: &Arc<dyn Counter>) -> Result<Loaded, ConfigError> {
        if self.named.is_empty() {
            return Ok(Loaded { own: self.own.clone(), ..Loaded::default() });
        }
        let mut kept = self.kept.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = kept.get(counter.id()) {
            return Ok(loaded.clone());
        }
        self.permitted()?;
        let engine = self.engine()?;
        let mut loaded = Loaded { own: self.own.clone(), ..Loaded::default() };
        for policy in &self.named {
            if let Some(problem) = self.refusal(policy) {
                loaded.left_out.push(problem);
                continue;
            }
            loaded.lua.push(Arc::new(self.one(engine, policy, counter)?));
        }
        kept.insert(counter.id().to_owned(), loaded.clone());
        Ok(loaded)
    }

    /// Why a policy may not run, with the remedy.
    pub(crate) fn refusal(&self, policy: &PolicyRef) -> Option<Problem> {
        policy.brought()?.refusal(self.trust.as_ref())
    }

    /// Loads one policy.
    fn one(
        &self,
        engine: &Engine,
        policy: &PolicyRef,
        counter: &Arc<dyn Counter>,
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
        Ok(loaded)
    }

    fn engine(&self) -> Result<&Engine, ConfigError> {
        if let Some(engine) = self.kept.engine.get() {
            return Ok(engine);
        }
        let engine = Engine::new(Limits::default())
            .map_err(|error| Problem::new("policies", format!("cannot be run: {error}")))?;
        Ok(self.kept.engine.get_or_init(|| engine))
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own.iter().map(|policy| policy.name());
        f.debug_list().entries(own.chain(self.named.iter().map(PolicyRef::name))).finish()
    }
}

impl PartialEq for Policies {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<dyn Policy>, &Arc<dyn Policy>)| Arc::ptr_eq(one, other);
        self.named == other.named
            && self.own.len() == other.own.len()
            && self.own.iter().zip(&other.own).all(same)
    }
}

/// Whether a policy extends what its text says that it extends.
fn said_plainly(policy: &PolicyRef, loaded: &LuaPolicy) -> Result<(), Problem> {
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
    Err(Problem::new(policy.place(), what))
}

/// What is wrong with the options of a policy, where that is said.
fn wrong_option(
    engine: &Engine,
    policy: &PolicyRef,
    counter: &Arc<dyn Counter>,
) -> Option<Problem> {
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
        Some(Problem::new(place, format!("`{key}` is {value}; {expected}")))
    })
}

/// What is wrong with a policy, at the line that its text names where it names one.
fn placed(policy: &PolicyRef, what: &str) -> Problem {
    let (Some(folder), Some((at, rest))) = (policy.folder(), what.split_once(": ")) else {
        return Problem::new(policy.place(), what);
    };
    // With a line behind it or without.
    match at.split_once(".lua") {
        Some((file, _)) if folder.join(format!("{file}.lua")).is_file() => {
            Problem::new(folder.join(at).display().to_string(), rest)
        }
        _ => Problem::new(policy.place(), what),
    }
}

/// A policy does not have this option.
fn no_option(policy: &PolicyRef, name: &str, names: &[String]) -> Problem {
    let hint = match names {
        [] => format!("the policy `{}` has no options of its own", policy.name()),
        names => hint(nearest(name, names.iter().map(String::as_str)), names),
    };
    let what = format!("unknown key `options.{}.{name}`; {hint}", policy.name());
    Problem::new(policy.said_at(name).unwrap_or_default(), what)
}
