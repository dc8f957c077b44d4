//! A generation: a policy as its files were at one moment.
//!
//! Invariant: it never changes; the same job and memo give the same answer on any of its virtual
//! machines. One that overruns its limits too often is asked no more.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use epitome_kernel::{
    Answer, HOOKS, HookInterrupt, HookResult, HookShape, Job, NextPolicies, Policy, PolicyError,
    TokenCounter,
};
use serde_json::{Map, Value as Json};

use crate::api::{ApiHost, RegexCache};
use crate::declared::{self, PolicyDeclaration};
use crate::dialect::Dialect;
use crate::error::{LoadCause, LoadError};
use crate::fault::said;
use crate::files::{GenerationFiles, Module};
use crate::source::FoundPolicy;
use crate::vm::{CallBounds, HookReply, Unanswered, Vm, VmFailure};

/// A policy as its files were at one moment.
pub struct Generation {
    bounds: Arc<CallBounds>,
    host: Arc<ApiHost>,
    policy: Module,
    declared: PolicyDeclaration,
    options: Map<String, Json>,
    id: String,
    /// The lines of the policy's own file where its hooks begin.
    lines: BTreeMap<&'static str, u32>,
    idle: Mutex<Vec<Vm>>,
    overruns: AtomicU32,
}

impl fmt::Debug for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        f.debug_struct("Generation").field("policy", &name).field("id", &self.id).finish()
    }
}

impl Generation {
    pub(crate) fn load(
        bounds: Arc<CallBounds>,
        found: &FoundPolicy,
        counter: &Arc<dyn TokenCounter>,
        options: &Map<String, Json>,
    ) -> Result<Self, LoadError> {
        let failed = |cause| LoadError { policy: found.name.clone(), cause };
        let files = GenerationFiles::new(found.clone())
            .map_err(|what| failed(LoadCause::Unreadable(what)))?;
        let policy =
            files.policy().map_err(|what| failed(LoadCause::Unreadable(what)))?.ok_or_else(
                || failed(LoadCause::Missing(found.files.folder().map(ToOwned::to_owned))),
            )?;
        let api = declared::check_header(&policy.text);
        let api = api.map_err(|what| failed(LoadCause::Broken(what)))?;
        let host = Arc::new(ApiHost {
            policy: found.name.clone(),
            counter: Arc::clone(counter),
            files: Arc::new(files),
            patterns: RegexCache::default(),
            dialect: Dialect::new(&found.name, api),
            said: AtomicU32::new(0),
        });
        let mut generation = Self {
            bounds,
            host,
            policy,
            declared: PolicyDeclaration::default(),
            options: Map::new(),
            id: String::new(),
            lines: BTreeMap::new(),
            idle: Mutex::new(Vec::new()),
            overruns: AtomicU32::new(0),
        };
        let (mut vm, declared) =
            generation.machine().map_err(|trouble| failed(LoadCause::Broken(trouble.what)))?;
        generation.host.files.seal();
        let lines = vm.hooks.iter().filter_map(|(name, hook)| Some((*name, hook.line()?)));
        generation.lines = lines.collect();
        generation.id = format!("b3:{}", generation.host.files.hash().to_hex());
        generation.options = match declared.built_in_options {
            true => options.clone(),
            false => crate::option::values(&declared.options, options)
                .map_err(|what| failed(LoadCause::Options(what)))?,
        };
        generation.declared = declared;
        vm.set_options(&generation.options, generation.declared.built_in_options)
            .map_err(|error| failed(LoadCause::Broken(said(&error))))?;
        generation.put_back(vm);
        Ok(generation)
    }

    /// The address of everything that it was made of: `b3:` and a hash.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it says it is.
    pub fn declared(&self) -> &PolicyDeclaration {
        &self.declared
    }

    /// The values of its options.
    pub fn options(&self) -> &Map<String, Json> {
        &self.options
    }

    /// Whether it overran its limits so often that it is asked no more.
    pub fn quarantined(&self) -> bool {
        self.overruns.load(Ordering::Relaxed) >= self.bounds.limits.overruns
    }

    pub(crate) fn found(&self) -> &FoundPolicy {
        self.host.files.found()
    }

    /// What its calls are held to.
    pub(crate) fn bounds(&self) -> &CallBounds {
        &self.bounds
    }

    /// A new machine with the policy in it, without options.
    fn machine(&self) -> Result<(Vm, PolicyDeclaration), VmFailure> {
        let mut vm = Vm::new(&self.host).map_err(|error| said(&error))?;
        let declared = vm.load(&self.host.policy, &self.policy, &self.bounds)?;
        Ok((vm, declared))
    }

    /// A machine for tests, in which `require` finds modules that the policy does not use.
    pub(crate) fn test_machine(&self) -> Result<Vm, VmFailure> {
        let host = Arc::new(ApiHost {
            policy: self.host.policy.clone(),
            counter: Arc::clone(&self.host.counter),
            files: Arc::new(self.host.files.unsealed()),
            patterns: RegexCache::default(),
            dialect: Arc::clone(&self.host.dialect),
            said: AtomicU32::new(0),
        });
        let mut vm = Vm::new(&host).map_err(|error| said(&error))?;
        vm.load(&self.host.policy, &self.policy, &self.bounds)?;
        Ok(vm)
    }

    /// A machine that nobody uses. There are as many as calls under way, and no call waits for
    /// another; of those that come back a few are kept.
    pub(crate) fn take(&self) -> Result<Vm, VmFailure> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(vm) = idle {
            return Ok(vm);
        }
        let (mut vm, _) = self.machine()?;
        vm.set_options(&self.options, self.declared.built_in_options)
            .map_err(|error| said(&error))?;
        Ok(vm)
    }

    fn put_back(&self, vm: Vm) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.bounds.limits.idle {
            idle.push(vm);
        }
    }

    fn call(
        &self,
        hook: &'static HookShape,
        job: Job<'_>,
        rest: &NextPolicies<'_>,
    ) -> Result<HookReply, Unanswered> {
        let mut vm = self.take().map_err(Unanswered::Trouble)?;
        let memo = rest.memo(&self.host.policy);
        let reply = vm.ask(hook, job, memo.as_deref(), rest, &self.bounds);
        match &reply {
            Err(Unanswered::Trouble(trouble)) if trouble.overran => {}
            _ => self.put_back(vm),
        }
        reply
    }

    /// What is said of an overrun: with the last one that is borne, that it was the last.
    fn counted(&self, trouble: VmFailure) -> String {
        let most = self.bounds.limits.overruns;
        match trouble.overran && self.overruns.fetch_add(1, Ordering::Relaxed) + 1 == most {
            true => {
                let what = trouble.what;
                format!("{what}; after {most} overruns it is asked no more until it is changed")
            }
            false => trouble.what,
        }
    }
}

impl Policy for Generation {
    fn name(&self) -> &str {
        &self.host.policy
    }

    fn line(&self, hook: &str) -> Option<u32> {
        self.lines.get(hook).copied()
    }

    fn takes(&self, hook: &str) -> bool {
        self.declared.hooks.contains(&hook) && !self.quarantined()
    }

    fn answer(&self, job: &Job<'_>, rest: &NextPolicies<'_>) -> HookResult<Answer> {
        let name = job.hook();
        if !self.takes(name) {
            return Ok(None);
        }
        let Some(hook) = HOOKS.iter().find(|hook| hook.name == name) else { return Ok(None) };
        match self.call(hook, *job, rest) {
            Ok(reply) => {
                if let Some(memo) = reply.memo {
                    rest.set_memo(&self.host.policy, memo);
                }
                Ok(reply.answer)
            }
            Err(Unanswered::Halt(halt)) => Err(halt),
            Err(Unanswered::Trouble(trouble)) => Err(HookInterrupt::Error(PolicyError {
                policy: self.host.policy.clone(),
                hook: name,
                what: self.counted(trouble),
            })),
        }
    }
}
