//! A policy's own tests: `tests/*.lua`, each of which returns a table of functions.
//!
//! Invariant: a test sees the policy as it will be asked, with jobs of the test's making; nothing
//! of it reaches the machines that answer sessions. Called by hosts, and before a changed policy
//! is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use epitome_kernel::HOOKS;
use epitome_types::hook::NameKind;
use mlua::{Error, Function, Lua, Result, Table, Value};
use serde_json::{Map, Value as Json};

use crate::alias::TableDialect;
use crate::call_timer::CallTimer;
use crate::declared::{Hooks, PolicyDeclaration};
use crate::dialect::Dialect;
use crate::fault::{line_in, said};
use crate::files::Module;
use crate::fixture::{self, JobFixture};
use crate::generation::Generation;
use crate::job::{Metatables, OWN_FIELDS};
use crate::misfit::hint;
use crate::option;
use crate::place::place;
use crate::player::{ConversationPlayer, TestStage};
use crate::read::{keys, read_any};
use crate::require;
use crate::sandbox::own;
use crate::strict;
use crate::vm::{CallBounds, Vm, asked, trouble, typed};
use crate::write::to_lua;

/// What a test is given as `t`: names, types and words, as stubs and reference have them.
pub(crate) const GIVEN: &[(&str, &str, &str)] = &[
    (
        "hook",
        "fun(name: string, job?: table, options?: table, behind?: any): any",
        "Asks a hook of the policy; gives its answer. Of the job only what the hook reads is needed, \
         `mode` and `memo` among it; `options` stand in the place of the policy's own, and `behind` is what \
         the policies behind it answer.",
    ),
    (
        "reply",
        "fun(id: string, text: string|fun(ask: Ask): string)",
        "What a model answers from now on in this test to a question of that id: `hook` asks again with \
         it, as the host does. Without one the question is what `hook` gives.",
    ),
    (
        "eq",
        "fun(found: any, expected: any, message?: string)",
        "Fails unless both say the same; tables are compared by what they hold.",
    ),
    ("ok", "fun(held: any, message?: string)", "Fails where it is `nil` or `false`."),
    (
        "replay",
        "fun(recording: string, settings?: PlaySettings): PlayedConversation",
        "Plays a whole conversation under the policy, as `epitome replay` does, and says what came of it. It \
         is a file in `tests`, a client's recording or a request, or one that is made up: `chat`, `agent`, \
         `tight` or `marks`. Models answer what `reply` says; to write summaries they are asked for \
         `summary`, and write none where the test says nothing for that. Such a test runs in `policy test`, \
         and not where a changed policy is taken up.",
    ),
];

/// How one test of a policy went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// The file, as in `tests/budgets.lua`.
    pub file: String,
    /// The test; empty where the file itself does not run.
    pub name: String,
    /// The line of the file that failed, or where the test begins.
    pub line: Option<u32>,
    /// What failed; `None` where nothing did.
    pub failure: Option<String>,
}

/// How much of the tests is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// What is done in the time that a reload has for it.
    Quick,
}

impl Generation {
    /// Runs the policy's own tests, in the order of files and lines. Those that play conversations
    /// are left out.
    pub fn run_tests(&self) -> Vec<TestResult> {
        self.tests(Extent::All, None)
    }

    /// The same with somebody who plays conversations for them.
    pub fn run_tests_with(&self, player: Arc<dyn ConversationPlayer>) -> Vec<TestResult> {
        self.tests(Extent::All, Some(player))
    }

    pub(crate) fn tests(
        &self,
        extent: Extent,
        player: Option<Arc<dyn ConversationPlayer>>,
    ) -> Vec<TestResult> {
        let bounds = self.bounds();
        let timer = Arc::new(CallTimer::default());
        let time = match extent {
            Extent::All => Duration::from_secs(3600),
            Extent::Quick => bounds.limits.tests,
        };
        let whole = bounds.dog.watch(&timer, time);
        let mut results = Vec::new();
        let names = match self.found().files.names("tests", "lua") {
            Ok(names) => names,
            Err(error) => return vec![broken("tests", error.to_string())],
        };
        for name in names {
            let file = format!("tests/{name}.lua");
            let text = match self.found().files.read(&file) {
                Ok(text) => text.unwrap_or_default(),
                Err(error) => {
                    results.push(broken(&file, error.to_string()));
                    continue;
                }
            };
            let module = Module { chunk: file.clone(), text };
            match TestFile::load(self, &module, player.clone()) {
                Ok(tests) => {
                    for (name, test) in tests.list() {
                        let result = tests.run(&file, &name, &test);
                        if whole.is_over() {
                            return results;
                        }
                        results.extend(result);
                    }
                }
                Err(what) => results.push(broken(&file, what)),
            }
        }
        results
    }
}

fn broken(file: &str, what: String) -> TestResult {
    let (file, name) = (file.to_owned(), String::new());
    TestResult { line: line_in(&what, &file), file, name, failure: Some(what) }
}

/// A file of tests, with a machine of its own.
struct TestFile<'g> {
    bounds: &'g CallBounds,
    vm: Vm,
    tests: Table,
    /// Makes what a test is given.
    given: Function,
    /// Whether a test wanted a conversation played and there is nobody who does.
    unplayed: Arc<AtomicBool>,
}

/// What `t.hook` works with.
struct Asking {
    hooks: Hooks,
    dialect: Arc<Dialect>,
    slot: Table,
    declared: PolicyDeclaration,
    options: Map<String, Json>,
}

impl<'g> TestFile<'g> {
    fn load(
        generation: &'g Generation,
        module: &Module,
        player: Option<Arc<dyn ConversationPlayer>>,
    ) -> std::result::Result<Self, String> {
        let bounds = generation.bounds();
        let mut vm = generation.test_machine().map_err(|trouble| trouble.what)?;
        let asking = Asking {
            hooks: std::mem::take(&mut vm.hooks),
            dialect: Arc::clone(&vm.dialect),
            slot: vm.slot.clone(),
            declared: generation.declared().clone(),
            options: generation.options().clone(),
        };
        let watched = bounds.dog.watch(&vm.timer, bounds.limits.load);
        let value = require::run(&vm.lua, module)
            .map_err(|error| trouble(&error, &watched, &bounds.limits, bounds.limits.load).what)?;
        drop(watched);
        let Value::Table(tests) = value else {
            return Err(format!(
                "{}: expected a table of functions as what it returns",
                module.chunk
            ));
        };
        let unplayed = Arc::new(AtomicBool::new(false));
        let stage = TestStage { player, timer: Arc::clone(&vm.timer), unplayed: unplayed.clone() };
        let given = given(&vm.lua, asking, stage).map_err(|error| said(&error))?;
        Ok(Self { bounds, vm, tests, given, unplayed })
    }

    /// Its tests by name, in the order of their lines.
    fn list(&self) -> Vec<(String, Function)> {
        let mut tests: Vec<_> = keys(&self.tests)
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_function()?.clone())))
            .collect();
        tests.sort_by_key(|(_, test)| test.info().line_defined);
        tests
    }

    /// Runs a test; nothing is said of one that could not be played.
    fn run(&self, file: &str, name: &str, test: &Function) -> Option<TestResult> {
        let limits = &self.bounds.limits;
        let watched = self.bounds.dog.watch(&self.vm.timer, limits.test);
        self.vm.limit(limits.memory);
        let outcome = self.given.call::<Table>(()).and_then(|given| test.call::<()>(given));
        self.vm.limit(0);
        if self.unplayed.swap(false, Ordering::Relaxed) {
            return None;
        }
        let start = test.info().line_defined.and_then(|line| u32::try_from(line).ok());
        let (line, failure) = match outcome {
            Ok(()) => (start, None),
            Err(error) => {
                let what = trouble(&error, &watched, limits, limits.test).what;
                (line_in(&error.to_string(), file).or(start), Some(what))
            }
        };
        Some(TestResult { file: file.to_owned(), name: name.to_owned(), line, failure })
    }
}

/// What makes the table `t`.
fn given(lua: &Lua, asking: Asking, stage: TestStage) -> Result<Function> {
    let ask = lua.create_function(
        move |lua, (name, fields, options, next): (String, Option<Table>, Option<Table>, Value)| {
            asking.ask(lua, &name, fields, options, next)
        },
    )?;
    let play = lua.create_function(
        move |lua, (recording, settings, said): (String, Option<Table>, Table)| {
            stage.play(lua, &recording, settings, said)
        },
    )?;
    own(lua, include_str!("lua/suite.lua"))?.call((ask, play))
}

impl Asking {
    /// `t.hook`: asks a hook of the policy. `next` is what the policies behind answer.
    fn ask(
        &self,
        lua: &Lua,
        name: &str,
        fields: Option<Table>,
        options: Option<Table>,
        next: Value,
    ) -> Result<Value> {
        let known = HOOKS.iter().map(|hook| hook.name);
        // Above it stand `t.hook` and the test.
        let at = place(lua, 2);
        let has = |name: &str| HOOKS.iter().any(|hook| hook.name == name);
        let new = self.dialect.now(&at, NameKind::Hook, name, has);
        let Some(hook) = HOOKS.iter().find(|hook| hook.name == new.unwrap_or(name)) else {
            let what = format!("there is no hook `{name}`{}", hint(name, known));
            return Err(Error::runtime(what));
        };
        let Some(called) = self.hooks.get(hook.name) else {
            return Err(Error::runtime(format!("the policy has no hook `{name}`")));
        };
        let fields = fields.map_or_else(|| lua.create_table(), Ok)?;
        let fixture = JobFixture { lua, dialect: &self.dialect, at: &at };
        let job = fixture
            .job(&fields, hook.job, OWN_FIELDS)
            .map_err(|misfit| Error::runtime(format!("the job of `{name}`: {misfit}")))?;
        fixture::add_methods(lua, &job)?;
        if job.raw_get::<Value>("memo")?.is_nil() {
            job.raw_set("memo", lua.create_table()?)?;
        }
        job.raw_set("options", self.options(lua, options)?)?;
        Metatables::new(&self.dialect).lock_job(lua, &job, hook)?;
        self.slot.raw_set("job", &job)?;
        self.slot.raw_set("ask", lua.create_function(move |_, ()| Ok(next.clone()))?)?;
        let answer = called.function.call::<Value>(&job);
        self.slot.raw_set("job", Value::Nil)?;
        self.slot.raw_set("ask", Value::Nil)?;
        let answer = answer?;
        let wrong = |what: String| Error::runtime(format!("{} answered {what}", called.place));
        if asked(&answer).map_err(wrong)?.is_none() {
            typed(hook, &answer, &self.dialect, &called.place).map_err(wrong)?;
        }
        Ok(answer)
    }

    /// The policy's options, with those that the test sets.
    fn options(&self, lua: &Lua, given: Option<Table>) -> Result<Value> {
        let mut options = self.options.clone();
        if let Some(given) = given {
            let read = read_any(&Value::Table(given)).map_err(Error::runtime)?;
            for (name, value) in read.as_object().into_iter().flatten() {
                let is_list = options.get(name).is_some_and(Json::is_array);
                // Lua writes an empty list and an empty table alike.
                let empty = is_list && value.as_object().is_some_and(Map::is_empty);
                let value = if empty { Json::Array(Vec::new()) } else { value.clone() };
                options.insert(name.clone(), value);
            }
        }
        if !self.declared.built_in_options {
            option::values(&self.declared.options, &options).map_err(Error::runtime)?;
        }
        let value = to_lua(lua, &options)?;
        if let Value::Table(table) = &value {
            let are_built_in = self.declared.built_in_options;
            let old = are_built_in
                .then_some(TableDialect { kind: NameKind::Key, dialect: &self.dialect });
            strict::lock(lua, table, "job.options", old)?;
        }
        Ok(value)
    }
}
