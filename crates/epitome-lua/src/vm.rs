//! One virtual machine with a policy in it.
//!
//! Invariant: it is used by one call at a time, and thrown away when a call overran its limits.
//! Pooled by `generation`.

use std::cell::RefCell;
use std::sync::Arc;

use epitome_kernel::{Answer, HookInterrupt, HookShape, Job, ModelQuestion, NextPolicies};
use epitome_types::hook::{FieldShape, NameKind, TableShape, ValueShape};
use mlua::{Error, Lua, Result, Table, Value};
use serde_json::{Map, Value as Json};

use crate::alias::TableDialect;
use crate::api::{self, ApiHost, Env};
use crate::call_timer::CallTimer;
use crate::declared::{self, Hooks, PolicyDeclaration};
use crate::dialect::Dialect;
use crate::fault::{out_of_memory, said};
use crate::files::Module;
use crate::job::{self, Metatables};
use crate::limits::LuaLimits;
use crate::old_names::{say_answer, say_options};
use crate::read::{raw, read, read_any, read_said};
use crate::require;
use crate::sandbox;
use crate::strict;
use crate::watchdog::{Watchdog, Watched};
use crate::write::to_lua;

/// A machine is swept after a call when it holds more than this part of what it may.
const SWEPT_ABOVE: usize = 4;

/// The largest memo, in bytes of JSON: it is written down whenever it changes.
const MOST_MEMO: usize = 256 << 10;

/// What every answer may be instead of an answer: a question for a model.
pub(crate) static ASK: TableShape = TableShape {
    name: "Ask",
    doc: "Asks a model first; then the hook is asked again, with `job.replies[id]`.",
    fields: &[
        FieldShape {
            name: "id",
            doc: "The name of the reply in `job.replies`.",
            shape: ValueShape::Text,
        },
        FieldShape {
            name: "system",
            doc: "The system prompt.",
            shape: ValueShape::Optional(&ValueShape::Text),
        },
        FieldShape { name: "user", doc: "The question.", shape: ValueShape::Text },
        FieldShape {
            name: "max_tokens",
            doc: "The most tokens of the reply.",
            shape: ValueShape::Optional(&ValueShape::Integer),
        },
    ],
};

/// A failure in the words of `fault`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VmFailure {
    pub(crate) what: String,
    /// Whether time or memory ran out.
    pub(crate) overran: bool,
}

impl From<String> for VmFailure {
    fn from(what: String) -> Self {
        Self { what, overran: false }
    }
}

/// Why a call gave no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    Trouble(VmFailure),
    Halt(HookInterrupt),
}

impl From<String> for Unanswered {
    fn from(what: String) -> Self {
        Self::Trouble(what.into())
    }
}

/// What a hook answered.
#[derive(Debug)]
pub(crate) struct HookReply {
    pub(crate) answer: Option<Answer>,
    /// The memo after the call, where it is another one.
    pub(crate) memo: Option<String>,
}

/// What calls of policies are held to, and who stops one that takes longer.
#[derive(Debug)]
pub(crate) struct CallBounds {
    pub(crate) limits: LuaLimits,
    pub(crate) dog: Watchdog,
}

/// A virtual machine.
pub(crate) struct Vm {
    pub(crate) lua: Lua,
    /// Raised by the watchdog.
    pub(crate) timer: Arc<CallTimer>,
    /// The names that the policy may use.
    pub(crate) dialect: Arc<Dialect>,
    /// What `ep.next` looks at.
    pub(crate) slot: Table,
    pub(crate) hooks: Hooks,
    options: Option<Table>,
    metatables: Metatables,
}

impl Vm {
    /// A machine with nothing in it yet.
    pub(crate) fn new(host: &Arc<ApiHost>) -> Result<Self> {
        let timer = Arc::new(CallTimer::default());
        let mut slot = None;
        let lua = sandbox::machine(&timer, |lua, globals| {
            let env = Env { host: Arc::clone(host), slot: lua.create_table()? };
            globals.raw_set("ep", api::table(lua, &env)?)?;
            globals.raw_set("print", api::print(lua, &env)?)?;
            globals.raw_set("require", require::require(lua, &host.files)?)?;
            slot = Some(env.slot);
            Ok(())
        })?;
        let slot = slot.map_or_else(|| lua.create_table(), Ok)?;
        let (dialect, metatables) = (Arc::clone(&host.dialect), Metatables::new(&host.dialect));
        Ok(Self { lua, timer, dialect, slot, hooks: Hooks::new(), options: None, metatables })
    }

    /// Runs the policy's file and looks at what it says it is.
    pub(crate) fn load(
        &mut self,
        name: &str,
        policy: &Module,
        bounds: &CallBounds,
    ) -> std::result::Result<PolicyDeclaration, VmFailure> {
        let CallBounds { limits, dog } = bounds;
        let watched = dog.watch(&self.timer, limits.load);
        self.limit(limits.memory);
        let value = require::run(&self.lua, policy);
        let value = value.map_err(|error| trouble(&error, &watched, limits, limits.load))?;
        let (declared, hooks) = declared::read(&self.dialect, name, &value)?;
        self.hooks = hooks;
        Ok(declared)
    }

    /// Sets the `job.options` of the hooks. Those of the built-in policy had other names before.
    pub(crate) fn set_options(
        &mut self,
        options: &Map<String, Json>,
        are_built_in: bool,
    ) -> Result<()> {
        self.limit(0);
        let value = match are_built_in {
            true => to_lua(&self.lua, &say_options(&self.dialect, options))?,
            false => to_lua(&self.lua, options)?,
        };
        if let Value::Table(table) = value {
            let old = are_built_in
                .then_some(TableDialect { kind: NameKind::Key, dialect: &self.dialect });
            strict::lock(&self.lua, &table, "job.options", old)?;
            self.options = Some(table);
        }
        Ok(())
    }

    /// Calls a hook.
    pub(crate) fn ask(
        &mut self,
        hook: &'static HookShape,
        job: Job<'_>,
        memo: Option<&str>,
        rest: &NextPolicies<'_>,
        bounds: &CallBounds,
    ) -> std::result::Result<HookReply, Unanswered> {
        let CallBounds { limits, dog } = bounds;
        let Self { lua, timer, dialect, slot, hooks, options, metatables } = self;
        let Some(called) = hooks.get(hook.name) else {
            return Ok(HookReply { answer: None, memo: None });
        };
        let (halted, got) = (RefCell::new(None), RefCell::new(None));
        let watched = RefCell::new(dog.watch(timer, limits.call));
        limit(lua, 0);
        let outcome = lua.scope(|scope| {
            let Value::Table(table) = to_lua(lua, &job)? else {
                return Err(Error::runtime("the job is no table"));
            };
            job::add_methods(scope, &table, job)?;
            let notes = notes(lua, memo)?;
            table.raw_set("memo", &notes)?;
            table.raw_set("options", options.as_ref())?;
            metatables.lock_job(lua, &table, hook)?;
            let ask = scope.create_function(|lua, ()| {
                let opinion = watched.borrow_mut().paused(|| rest.call(&job));
                match opinion {
                    Ok(None) => Ok(Value::Nil),
                    Ok(Some(answer)) => {
                        let value = heard(lua, dialect, hook, &answer);
                        *got.borrow_mut() = Some(answer);
                        value
                    }
                    Err(halt) => {
                        *halted.borrow_mut() = Some(halt);
                        Err(Error::runtime("a model is asked first"))
                    }
                }
            })?;
            slot.raw_set("job", &table)?;
            slot.raw_set("ask", ask)?;
            limit(lua, limits.memory);
            let answer = called.function.call::<Value>(&table);
            limit(lua, 0);
            slot.raw_set("job", Value::Nil)?;
            slot.raw_set("ask", Value::Nil)?;
            Ok((answer?, notes))
        });
        if let Some(halt) = halted.into_inner() {
            return Err(Unanswered::Halt(halt));
        }
        let watched = watched.into_inner();
        let (answer, notes) = outcome
            .and_then(|(answer, notes)| match watched.is_over() {
                true => Err(Error::runtime("")),
                false => Ok((answer, notes)),
            })
            .map_err(|error| {
                let mut trouble = trouble(&error, &watched, limits, limits.call);
                if trouble.overran && !trouble.what.contains(".lua:") {
                    trouble.what = format!("{}: {}", called.place, trouble.what);
                }
                Unanswered::Trouble(trouble)
            })?;
        drop(watched);
        let wrong = |what: String| format!("{} answered {what}", called.place);
        if let Some(ask) = asked(&answer).map_err(wrong)? {
            return Err(Unanswered::Halt(HookInterrupt::Ask(Box::new(ask))));
        }
        let answer = match got.into_inner() {
            Some(got) if is_same(&answer, heard(lua, dialect, hook, &got)) => Some(got),
            _ => typed(hook, &answer, dialect, &called.place).map_err(wrong)?,
        };
        let memo = noted(&notes, memo).map_err(|what| format!("{} noted {what}", called.place))?;
        if lua.used_memory() > limits.memory / SWEPT_ABOVE {
            lua.gc_collect().map_err(|error| said(&error))?;
        }
        Ok(HookReply { answer, memo })
    }

    pub(crate) fn limit(&self, bytes: usize) {
        limit(&self.lua, bytes);
    }
}

/// Bounds the memory of a machine; 0 is no bound. Input is built without: a bound makes every
/// allocation slower.
fn limit(lua: &Lua, bytes: usize) {
    // The machine is ours, so that its memory can always be bounded.
    drop(lua.set_memory_limit(bytes));
}

/// A failed call in words.
pub(crate) fn trouble(
    error: &Error,
    watched: &Watched<'_>,
    limits: &LuaLimits,
    time: std::time::Duration,
) -> VmFailure {
    let what = said(error);
    let place =
        what.split_once(": ").map(|(place, _)| place).filter(|place| place.contains(".lua:"));
    let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
    if watched.is_over() {
        let time = time.as_millis();
        return VmFailure { what: format!("{place}took longer than {time} ms"), overran: true };
    }
    if out_of_memory(error) {
        let memory = limits.memory >> 20;
        return VmFailure { what: format!("{place}needed more than {memory} MiB"), overran: true };
    }
    what.into()
}

/// The memo as a table.
fn notes(lua: &Lua, memo: Option<&str>) -> Result<Table> {
    let json = memo.and_then(|memo| serde_json::from_str::<Json>(memo).ok());
    match to_lua(lua, &json)? {
        Value::Table(table) => Ok(table),
        _ => lua.create_table(),
    }
}

/// The memo as JSON, where it is not what it was.
fn noted(notes: &Table, before: Option<&str>) -> std::result::Result<Option<String>, String> {
    if before.is_none() && notes.is_empty() {
        return Ok(None);
    }
    let json = read_any(&Value::Table(notes.clone()))
        .map_err(|misfit| misfit.in_field("memo").in_field("job").to_string())?;
    let memo = json.to_string();
    if memo.len() > MOST_MEMO {
        return Err(format!("{} bytes in `job.memo`: at most {MOST_MEMO} are kept", memo.len()));
    }
    Ok((before != Some(&*memo)).then_some(memo))
}

/// Returns the answer of the next policies, in the names that the policy may use.
fn heard(lua: &Lua, dialect: &Arc<Dialect>, hook: &HookShape, answer: &Answer) -> Result<Value> {
    let value = to_lua(lua, answer)?;
    say_answer(lua, dialect, &value, &hook.answer)?;
    Ok(value)
}

/// Whether a hook answers what it got of the policies behind it. One that only passes it on gives that
/// very answer, with the figures that a number in Lua cannot hold (RULES 18).
fn is_same(answer: &Value, got: Result<Value>) -> bool {
    let again = got.ok().and_then(|again| read_any(&again).ok());
    again.is_some() && read_any(answer).ok() == again
}

/// A question for a model, where the answer is one.
pub(crate) fn asked(answer: &Value) -> std::result::Result<Option<ModelQuestion>, String> {
    let Value::Table(table) = answer else { return Ok(None) };
    let ask = raw(table, "ask");
    if ask.is_nil() {
        return Ok(None);
    }
    let read = read(&ask, &ValueShape::Table(&ASK));
    let json = read.map_err(|misfit| misfit.in_field("ask").to_string())?;
    let text = |field: &str| json.get(field).and_then(Json::as_str).map(str::to_owned);
    Ok(Some(ModelQuestion {
        id: text("id").unwrap_or_default(),
        system: text("system"),
        user: text("user").unwrap_or_default(),
        max_tokens: json.get("max_tokens").and_then(Json::as_u64),
        ..ModelQuestion::default()
    }))
}

/// An answer as the kernel takes it.
pub(crate) fn typed(
    hook: &HookShape,
    answer: &Value,
    dialect: &Dialect,
    at: &str,
) -> std::result::Result<Option<Answer>, String> {
    if answer.is_nil() {
        return Ok(None);
    }
    let json = read_said(answer, &hook.answer, dialect, at).map_err(|misfit| misfit.to_string())?;
    Answer::read(hook.name, json).map_err(|error| format!("what cannot be taken: {error}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use epitome_testkit::FixedCounter;
    use mlua::Value;

    use super::*;
    use std::sync::atomic::AtomicU32;

    use crate::api::RegexCache;
    use crate::files::GenerationFiles;
    use crate::source::{FoundPolicy, PolicySource};

    /// Runs a text as a policy's file and gives what it returns as a text, or what it says.
    pub(crate) fn eval(text: &str) -> std::result::Result<String, String> {
        let found =
            FoundPolicy { name: "x".into(), files: PolicySource::Embedded(&[]), libraries: vec![] };
        let files = Arc::new(GenerationFiles::new(found).unwrap());
        let (counter, patterns) = (Arc::new(FixedCounter::Quarters), RegexCache::default());
        let host = Arc::new(ApiHost {
            policy: "x".into(),
            counter,
            files,
            patterns,
            dialect: Dialect::new("x", crate::API_VERSION),
            said: AtomicU32::new(0),
        });
        let vm = Vm::new(&host).unwrap();
        let module = Module { chunk: "policy.lua".into(), text: text.to_owned() };
        let value: Value = require::run(&vm.lua, &module).map_err(|error| said(&error))?;
        value.to_string().map_err(|error| error.to_string())
    }
}
