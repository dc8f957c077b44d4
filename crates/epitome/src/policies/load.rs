//! Loads the policies of a profile, once they are needed, and stands plugins among them.
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

use super::link::Link;
use super::reference::PolicyRef;
use super::{DEFAULT, FILE, extends};
use crate::config::{ConfigError, Problem, hint};
use crate::plugins::{Hooked, Plugins};
use crate::rack::Origin;
use crate::trusted::Refusal;

/// The policies of a profile: the host's own, then those that the configuration names.
#[derive(Clone)]
pub(crate) struct Policies {
    own: Vec<Arc<dyn Policy>>,
    pub(crate) chain: Vec<Link>,
    /// The options of what is built in, which a policy may have in place of its own.
    built_in: Map<String, Json>,
    trust: Option<Trust>,
    /// What was passed over when the policies and plugins were looked for.
    passed: Vec<Problem>,
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
    chain: Vec<Ready>,
    left_out: Vec<Problem>,
    passed: Vec<Problem>,
}

/// A policy of the configuration that is ready to be asked.
#[derive(Clone)]
enum Ready {
    Lua(Arc<LuaPolicy>),
    Plugin(Arc<Hooked>),
}

impl Ready {
    /// As it is now.
    fn current(&self) -> Arc<dyn Policy> {
        match self {
            Self::Lua(policy) => policy.current().0,
            Self::Plugin(plugin) => Arc::clone(plugin) as Arc<dyn Policy>,
        }
    }

    /// In its newest generation whenever it is asked.
    fn live(&self) -> Arc<dyn Policy> {
        match self {
            Self::Lua(policy) => Arc::clone(policy) as Arc<dyn Policy>,
            Self::Plugin(plugin) => Arc::clone(plugin) as Arc<dyn Policy>,
        }
    }
}

impl Loaded {
    /// The policies as they are now. What is asked as one pass takes them once; where they are
    /// watched, the next pass takes them anew.
    pub fn current(&self) -> Vec<Arc<dyn Policy>> {
        self.own.iter().cloned().chain(self.chain.iter().map(Ready::current)).collect()
    }

    /// The policies, each in its newest good generation whenever it is asked.
    pub fn live(&self) -> Vec<Arc<dyn Policy>> {
        self.own.iter().cloned().chain(self.chain.iter().map(Ready::live)).collect()
    }

    /// Those in Lua, with what they declare and the generation in force.
    pub fn lua(&self) -> impl Iterator<Item = &Arc<LuaPolicy>> {
        self.chain.iter().filter_map(|ready| match ready {
            Ready::Lua(policy) => Some(policy),
            Ready::Plugin(_) => None,
        })
    }

    /// What a policy extends and may not run, with the remedy; the chain goes on without it.
    pub fn left_out(&self) -> &[Problem] {
        &self.left_out
    }

    /// What came with the project and may not or cannot run, while another one of its name answers.
    pub fn passed_over(&self) -> &[Problem] {
        &self.passed
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
        Watch::start(self.lua().cloned().collect(), tell)
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.live();
        f.debug_list().entries(all.iter().map(|policy| policy.name())).finish()
    }
}

impl Policies {
    pub(crate) fn new(chain: Vec<Link>, built_in: Map<String, Json>, trust: Option<Trust>) -> Self {
        Self { own: Vec::new(), chain, built_in, trust, passed: Vec::new(), kept: Arc::default() }
    }

    /// The same, where these were passed over.
    pub(crate) fn without(self, passed: Vec<Problem>) -> Self {
        Self { passed, ..self }
    }

    /// Those in Lua.
    pub(crate) fn named(&self) -> impl Iterator<Item = &PolicyRef> {
        self.chain.iter().filter_map(Link::policy)
    }

    /// With a policy of the host's own, asked after those that it added before.
    pub(crate) fn with(mut self, policy: Arc<dyn Policy>) -> Self {
        self.own.push(policy);
        self.kept = Arc::default();
        self
    }

    /// What the hash of a configuration covers: which policies, their texts and options.
    pub(crate) fn address(&self) -> String {
        match self.named().all(PolicyRef::is_embedded) {
            true => self.kept.address.get_or_init(|| self.address_now()).clone(),
            false => self.address_now(),
        }
    }

    fn address_now(&self) -> String {
        let own = self.own.iter().map(|policy| format!("{}\n", policy.name()));
        let named = self.chain.iter().map(|link| match link {
            Link::Policy(policy) => {
                let content = policy.content().unwrap_or_else(|error| error.to_string());
                format!("{} {content} {:?}\n", policy.name(), policy.options())
            }
            // What it is made of is in the address of the plugins.
            Link::Plugin { .. } => format!("{}\n", link.name()),
        });
        own.chain(named).collect()
    }

    /// Whether all policies that the profile names may run.
    ///
    /// # Errors
    ///
    /// The first that may not, with the remedy.
    pub(crate) fn permitted(&self) -> Result<(), ConfigError> {
        let mut required = self.named().filter(|policy| policy.is_required());
        let refused = required.find_map(|policy| self.refusal(policy));
        refused.map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// The policies, loaded when they are first asked for; `counter` counts for them.
    ///
    /// # Errors
    ///
    /// When one may not run, cannot be read or run, or does not have the options that are set.
    pub(crate) fn load(
        &self,
        counter: &Arc<dyn Counter>,
        plugins: &Plugins,
    ) -> Result<Loaded, ConfigError> {
        if self.chain.is_empty() {
            let (own, passed) = (self.own.clone(), self.passed.clone());
            return Ok(Loaded { own, passed, ..Loaded::default() });
        }
        let mut kept = self.kept.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = kept.get(counter.id()) {
            return Ok(loaded.clone());
        }
        let (own, passed) = (self.own.clone(), self.passed.clone());
        let mut loaded = Loaded { own, passed, ..Loaded::default() };
        for link in &self.chain {
            let ready = match link {
                Link::Plugin { name, .. } => {
                    let running = plugins.running(name);
                    running.map(|running| Ready::Plugin(Arc::new(Hooked::new(running))))
                }
                Link::Policy(policy) => match self.refusal(policy) {
                    Some(problem) => {
                        loaded.left_out.push(problem);
                        None
                    }
                    None => {
                        let (policy, passed) = self.first_good(policy, counter)?;
                        loaded.passed.extend(passed);
                        Some(Ready::Lua(Arc::new(policy)))
                    }
                },
            };
            loaded.chain.extend(ready);
        }
        kept.insert(counter.id().to_owned(), loaded.clone());
        Ok(loaded)
    }

    /// Why a policy may not run, with the remedy.
    pub(crate) fn refusal(&self, policy: &PolicyRef) -> Option<Problem> {
        policy.brought()?.refusal(self.trust.as_ref()).map(Refusal::problem)
    }

    /// A policy, or where it came with the project and cannot be loaded what it hides.
    fn first_good(
        &self,
        policy: &PolicyRef,
        counter: &Arc<dyn Counter>,
    ) -> Result<(LuaPolicy, Option<Problem>), ConfigError> {
        let loaded = self.one(self.engine()?, policy, counter);
        // One that is given by itself is that one and no other of its name.
        let is_brought = policy.foreign().is_some() && policy.origin() != Origin::Given;
        let mut hidden = policy.hides().filter(|_| is_brought);
        let hidden = hidden.find(|hidden| self.refusal(hidden).is_none());
        match (loaded, hidden) {
            (Err(ConfigError::Invalid(problems)), Some(hidden)) => {
                let loaded = self.one(self.engine()?, &hidden, counter)?;
                let problem = problems.into_iter().next().map(|Problem { place, what }| {
                    let (name, from) = (policy.name(), hidden.origin());
                    let what = format!(
                        "{what}: the policy `{name}` is passed over, and the {from} one of that \
                         name answers"
                    );
                    Problem::new(place, what)
                });
                Ok((loaded, problem))
            }
            (loaded, _) => Ok((loaded?, None)),
        }
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
        let chain = self.chain.iter().map(Link::name);
        f.debug_list().entries(own.map(Into::into).chain(chain)).finish()
    }
}

impl PartialEq for Policies {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<dyn Policy>, &Arc<dyn Policy>)| Arc::ptr_eq(one, other);
        self.chain == other.chain
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
