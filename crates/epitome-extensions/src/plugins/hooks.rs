//! A policy that a plugin makes with the hooks that it answers.
//!
//! Invariant: a plugin gets what a policy in Lua gets, as JSON, and what it answers is read in the
//! same types; whatever else it does is an error, and the next policy answers (RULES 9). Stands in
//! the chain of a profile as `plugin:NAME`.

use std::borrow::Cow;

use epitome_kernel::{
    Answer, ApiNames, HOOKS, HookInterrupt, HookResult, Job, ModelQuestion, NextPolicies, Policy,
    PolicyError, nearest,
};
use epitome_plugin::check;
use epitome_types::hook::{NameKind, RenamedName, TableShape, ValueShape};
use serde::Deserialize;
use serde_json::Value as Json;

use super::PREFIX;
use super::generation::PluginGeneration;
use super::load::LoadedPlugin;
use super::old_names::{AnswerTranslator, add_old_fields};

/// What stands before the name of a field that is near.
const MEANT: &str = "did you mean";

/// The field of an answer that has a model asked first.
const ASK: &str = "ask";

/// A question for a model, as an answer states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginQuestion {
    id: String,
    system: Option<String>,
    user: String,
    max_tokens: Option<u64>,
}

/// The hooks of a plugin.
pub struct PluginPolicy {
    /// `plugin:NAME`.
    name: String,
    running: LoadedPlugin,
}

impl PluginPolicy {
    /// The policy of a plugin.
    pub fn new(running: LoadedPlugin) -> Self {
        Self { name: format!("{PREFIX}{}", running.name), running }
    }

    /// Returns the name by which a plugin that answers these hooks declares one.
    fn declared(&self, hook: &'static str, hooks: &[Cow<'static, str>]) -> Option<&'static str> {
        let has = |name: &str| hooks.iter().any(|known| known == name);
        if has(hook) {
            return Some(hook);
        }
        let names = &self.running.names;
        let old = names.old_name(NameKind::Hook, hook);
        let renamed = names.renamed(NameKind::Hook, old, |name| name == hook);
        let name = renamed.filter(|name| has(name.old))?;
        self.warn(hook, name);
        Some(name.old)
    }

    /// Returns an answer in the names of today, and warns about the old ones.
    fn translated(&self, hook: &'static str, answer: Json) -> Json {
        let Some(shape) = answer_of(hook) else { return answer };
        let mut translator = AnswerTranslator::new(&self.running.names);
        let answer = translator.translate(answer, &shape);
        translator.used.into_iter().for_each(|name| self.warn(hook, name));
        answer
    }

    /// Warns the author about an old name, once.
    fn warn(&self, hook: &str, name: &RenamedName) {
        if self.running.names.is_first_use(name) {
            tracing::warn!(target: "policy", policy = &*self.name, at = hook, "{name}");
        }
    }

    fn failed(&self, hook: &'static str, what: String) -> HookInterrupt {
        HookInterrupt::Error(PolicyError { policy: self.name.clone(), hook, what })
    }
}

impl Policy for PluginPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn takes(&self, hook: &str) -> bool {
        let PluginGeneration { plugin, .. } = self.running.current();
        let hooks = plugin.about().hooks;
        let known = HOOKS.iter().find(|known| known.name == hook);
        known.is_some_and(|known| self.declared(known.name, &hooks).is_some())
    }

    fn answer(&self, job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
        let hook = job.hook();
        let PluginGeneration { plugin, options } = self.running.current();
        let hooks = plugin.about().hooks;
        let Some(declared) = self.declared(hook, &hooks) else { return Ok(None) };
        let asked =
            said(job, &self.running.names).map_err(|error| self.failed(hook, error.to_string()))?;
        let answer = check::hook(&*plugin, declared, &asked, &options);
        let answer = answer.map_err(|failed| {
            // A program's failure says which call it was.
            let said = failed.to_string();
            let what = said.strip_prefix(&format!("{declared}: ")).unwrap_or(&said);
            self.failed(hook, what.to_owned())
        })?;
        let Some(answer) = answer else { return Ok(None) };
        if let Some(ask) = answer.get(ASK) {
            return Err(match PluginQuestion::deserialize(ask) {
                Ok(PluginQuestion { id, system, user, max_tokens }) => {
                    HookInterrupt::Ask(Box::new(ModelQuestion {
                        id,
                        system,
                        user,
                        max_tokens,
                        ..ModelQuestion::default()
                    }))
                }
                Err(error) => self.failed(hook, format!("`{ASK}`: {error}")),
            });
        }
        let answer = self.translated(hook, answer);
        let wrong = |what| format!("{what}; policies/HOOKS.md says what it may answer");
        if let Some(strange) = answer_of(hook).and_then(|shape| strange(&answer, &shape)) {
            return Err(self.failed(hook, wrong(strange)));
        }
        Answer::read(hook, answer).map_err(|error| self.failed(hook, wrong(error.to_string())))
    }
}

/// What a hook may answer.
fn answer_of(hook: &str) -> Option<ValueShape> {
    HOOKS.iter().find(|known| known.name == hook).map(|hook| hook.answer)
}

/// The first field of an answer that there is not.
fn strange(value: &Json, shape: &ValueShape) -> Option<String> {
    match (shape, value) {
        (ValueShape::Optional(inner), value) => strange(value, inner),
        (ValueShape::List(inner), Json::Array(items)) => {
            items.iter().find_map(|item| strange(item, inner))
        }
        (ValueShape::Map(inner), Json::Object(items)) => {
            items.values().find_map(|item| strange(item, inner))
        }
        (ValueShape::Table(table), Json::Object(said)) => said.iter().find_map(|(name, value)| {
            match table.all_fields().find(|field| field.name == name) {
                Some(field) => strange(value, &field.shape),
                None => Some(no_field(name, table)),
            }
        }),
        (ValueShape::Either(shapes), Json::Object(_)) => {
            let tables = shapes.iter().filter(|shape| matches!(shape, ValueShape::Table(_)));
            let strange: Option<Vec<_>> = tables.map(|table| strange(value, table)).collect();
            strange?.into_iter().max_by_key(|what| what.contains(MEANT))
        }
        _ => None,
    }
}

fn no_field(name: &str, table: &TableShape) -> String {
    let names = || table.all_fields().map(|field| field.name);
    match nearest(name, names()) {
        Some(near) => format!("there is no field `{name}`; {MEANT} `{near}`"),
        None => {
            let names: Vec<_> = names().collect();
            format!("there is no field `{name}`; there is `{}`", names.join("`, `"))
        }
    }
}

/// Returns a job as JSON, with the text that it is about.
fn said(job: &Job<'_>, names: &ApiNames) -> serde_json::Result<Json> {
    let mut said = serde_json::to_value(job)?;
    if let Some(hook) = HOOKS.iter().find(|known| known.name == job.hook()) {
        add_old_fields(names, &mut said, hook.job);
    }
    let text = match job {
        Job::ToolResult(job) => Some(job.text),
        Job::Observe(job) => Some(job.text),
        _ => None,
    };
    if let (Some(text), Some(entry)) = (text, said.get_mut("entry").and_then(Json::as_object_mut)) {
        entry.insert("text".to_owned(), text.into());
    }
    Ok(said)
}
