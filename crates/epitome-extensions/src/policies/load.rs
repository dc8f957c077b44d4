//! Loads the policies of a profile, once they are needed, and stands plugins among them.
//!
//! Invariant: what a profile names runs, or the profile is refused; only what a policy extends may
//! be left out, and then that is said. Nothing runs that somebody else may have written and the
//! user has not trusted. Called by profiles.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use epitome_kernel::{Policy, TokenCounter};
use epitome_lua::TrustStore;
#[cfg(feature = "lua")]
use epitome_lua::{LuaPolicy, PolicyEngine};
use serde_json::{Map, Value as Json, json};

use super::link::ChainLink;
use super::reference::PolicyRef;
use crate::plugins::{PluginPolicy, ProfilePlugins};
use crate::problem::{ConfigError, ConfigProblem};
use crate::trust::Refusal;

/// The policies of a profile: the host's own, then those that the configuration names.
#[derive(Clone)]
pub struct ProfilePolicies {
    own: Vec<Arc<dyn Policy>>,
    /// Those that the configuration names, in the order in which they are asked.
    pub chain: Vec<ChainLink>,
    /// The options of what is built in, which a policy may have in place of its own.
    #[cfg_attr(not(feature = "lua"), expect(dead_code, reason = "what runs may have them"))]
    pub(super) built_in: Map<String, Json>,
    pub(super) trust: Option<TrustStore>,
    /// What was passed over when the policies and plugins were looked for.
    passed: Vec<ConfigProblem>,
    pub(super) kept: Arc<SharedPolicies>,
}

/// What clones of a profile share: what was loaded, by counter, and what nothing can change.
#[derive(Default)]
pub(super) struct SharedPolicies {
    #[cfg(feature = "lua")]
    pub(super) engine: OnceLock<PolicyEngine>,
    loaded: Mutex<BTreeMap<String, LoadedPolicies>>,
    /// The address of policies that are all compiled in.
    address: OnceLock<Json>,
}

/// Policies that are ready to be asked, in the order in which they are asked. What is built in
/// stands behind them and is not among them.
#[derive(Clone, Default)]
pub struct LoadedPolicies {
    own: Vec<Arc<dyn Policy>>,
    pub(super) chain: Vec<Ready>,
    left_out: Vec<ConfigProblem>,
    passed: Vec<ConfigProblem>,
}

/// A policy of the configuration that is ready to be asked.
#[derive(Clone)]
pub(super) enum Ready {
    #[cfg(feature = "lua")]
    Lua(Arc<LuaPolicy>),
    Plugin(Arc<PluginPolicy>),
}

impl Ready {
    /// As it is now.
    fn current(&self) -> Arc<dyn Policy> {
        match self {
            #[cfg(feature = "lua")]
            Self::Lua(policy) => policy.current().0,
            Self::Plugin(plugin) => Arc::clone(plugin) as Arc<dyn Policy>,
        }
    }

    /// In its newest generation whenever it is asked.
    fn live(&self) -> Arc<dyn Policy> {
        match self {
            #[cfg(feature = "lua")]
            Self::Lua(policy) => Arc::clone(policy) as Arc<dyn Policy>,
            Self::Plugin(plugin) => Arc::clone(plugin) as Arc<dyn Policy>,
        }
    }
}

impl LoadedPolicies {
    /// The policies as they are now. What is asked as one pass takes them once; where they are
    /// watched, the next pass takes them anew.
    pub fn current(&self) -> Vec<Arc<dyn Policy>> {
        self.own.iter().cloned().chain(self.chain.iter().map(Ready::current)).collect()
    }

    /// The policies, each in its newest good generation whenever it is asked.
    pub fn live(&self) -> Vec<Arc<dyn Policy>> {
        self.own.iter().cloned().chain(self.chain.iter().map(Ready::live)).collect()
    }

    /// What a policy extends and may not run, with the remedy; the chain goes on without it.
    pub fn left_out(&self) -> &[ConfigProblem] {
        &self.left_out
    }

    /// What came with the project and may not or cannot run, while another one of its name answers.
    pub fn passed_over(&self) -> &[ConfigProblem] {
        &self.passed
    }
}

impl fmt::Debug for LoadedPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.live();
        f.debug_list().entries(all.iter().map(|policy| policy.name())).finish()
    }
}

impl ProfilePolicies {
    /// The policies of a chain; `built_in` are the options of what answers last.
    pub fn new(
        chain: Vec<ChainLink>,
        built_in: Map<String, Json>,
        trust: Option<TrustStore>,
    ) -> Self {
        Self { own: Vec::new(), chain, built_in, trust, passed: Vec::new(), kept: Arc::default() }
    }

    /// The same, where these were passed over.
    pub fn without(self, passed: Vec<ConfigProblem>) -> Self {
        Self { passed, ..self }
    }

    /// Those in Lua.
    pub fn named(&self) -> impl Iterator<Item = &PolicyRef> {
        self.chain.iter().filter_map(ChainLink::policy)
    }

    /// Whether anything else decides: a policy of the host's own, or a plugin.
    pub fn has_others(&self) -> bool {
        !self.own.is_empty() || self.chain.iter().any(|link| link.policy().is_none())
    }

    /// With a policy of the host's own, asked after those that it added before.
    pub fn with(mut self, policy: Arc<dyn Policy>) -> Self {
        self.own.push(policy);
        self.kept = Arc::default();
        self
    }

    /// What the hash of a configuration covers: which policies, their texts and options.
    pub fn address(&self) -> Json {
        match self.named().all(PolicyRef::is_embedded) {
            true => self.kept.address.get_or_init(|| self.address_now()).clone(),
            false => self.address_now(),
        }
    }

    fn address_now(&self) -> Json {
        let own = self.own.iter().map(|policy| json!({ "name": policy.name() }));
        let named = self.chain.iter().map(|link| match link {
            ChainLink::Policy(policy) => {
                let content = policy.content().unwrap_or_else(|error| error.to_string());
                let (name, options) = (policy.name(), policy.options());
                json!({ "name": name, "content": content, "options": options })
            }
            // What it is made of is in the address of the plugins.
            ChainLink::Plugin { .. } => json!({ "name": link.name() }),
        });
        own.chain(named).collect()
    }

    /// Whether all policies that the profile names may run.
    ///
    /// # Errors
    ///
    /// The first that may not, with the remedy.
    pub fn permitted(&self) -> Result<(), ConfigError> {
        let mut required = self.named().filter(|policy| policy.is_required());
        let refused = required.find_map(|policy| self.refusal(policy));
        refused.map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// The policies, loaded when they are first asked for; `counter` counts for them.
    ///
    /// # Errors
    ///
    /// When one may not run, cannot be read or run, or does not have the options that are set.
    pub fn load(
        &self,
        counter: &Arc<dyn TokenCounter>,
        plugins: &ProfilePlugins,
    ) -> Result<LoadedPolicies, ConfigError> {
        let mut kept = self.kept.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = kept.get(counter.id()) {
            return Ok(loaded.clone());
        }
        // What runs goes on: the files of another day are looked at where they are taken up.
        self.permitted()?;
        plugins.permitted()?;
        let (own, passed) = (self.own.clone(), self.passed.clone());
        let mut loaded = LoadedPolicies { own, passed, ..LoadedPolicies::default() };
        for link in &self.chain {
            let ready = match link {
                ChainLink::Plugin { name, .. } => {
                    let running = plugins.running(name);
                    running.map(|running| Ready::Plugin(Arc::new(PluginPolicy::new(running))))
                }
                ChainLink::Policy(policy) => match self.refusal(policy) {
                    Some(problem) => {
                        loaded.left_out.push(problem);
                        None
                    }
                    None => {
                        let (policy, passed) = self.first_good(policy, counter)?;
                        loaded.passed.extend(passed);
                        Some(policy)
                    }
                },
            };
            loaded.chain.extend(ready);
        }
        kept.insert(counter.id().to_owned(), loaded.clone());
        Ok(loaded)
    }

    /// Why a policy may not run, with the remedy.
    pub fn refusal(&self, policy: &PolicyRef) -> Option<ConfigProblem> {
        policy.brought()?.refusal(self.trust.as_ref()).map(Refusal::problem)
    }
}

impl fmt::Debug for ProfilePolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own.iter().map(|policy| policy.name());
        let chain = self.chain.iter().map(ChainLink::name);
        f.debug_list().entries(own.map(Into::into).chain(chain)).finish()
    }
}

impl PartialEq for ProfilePolicies {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<dyn Policy>, &Arc<dyn Policy>)| Arc::ptr_eq(one, other);
        self.chain == other.chain
            && self.own.len() == other.own.len()
            && self.own.iter().zip(&other.own).all(same)
    }
}
