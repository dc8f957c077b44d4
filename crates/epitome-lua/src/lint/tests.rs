//! Mistakes that are planted, and legal Lua that must pass.
//!
//! Invariant: each mistake is named with its line, and nothing else with it.

use serde_json::json;

use super::*;
use crate::source::PolicySource;

/// The policies of the repository.
const POLICIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");

fn found(text: &str) -> FoundPolicy {
    let text: &'static str = text.to_owned().leak();
    let other =
        "local sizes = { DETAILED = 3 }\nfunction sizes.half(n) return n / 2 end\nreturn sizes";
    let files: Vec<(&str, &str)> = vec![("policy.lua", text), ("sizes.lua", other)];
    let (name, libraries) = ("x".to_owned(), Vec::new());
    FoundPolicy { name, files: PolicySource::Embedded(files.leak()), libraries }
}

fn said(text: &str) -> Vec<String> {
    let options = json!({ "budget": 1, "names": [], "nested": { "inner": "x" } });
    let text = format!("--- @api 2\n{text}");
    examine(&found(&text), options.as_object()).iter().map(ToString::to_string).collect()
}

/// A policy with one hook, whose body begins in line 3.
fn hook(name: &str, body: &str) -> String {
    format!("return {{ {name} = function(job)\n{body}\nend }}")
}

#[track_caller]
pub(super) fn check(text: &str, expected: &[&str]) {
    assert_eq!(said(text), expected, "\n{text}");
}

#[track_caller]
pub(super) fn wrong(name: &str, body: &str, expected: &str) {
    let whole = format!("policy.lua:{expected}");
    check(&hook(name, body), &[&whole]);
}

#[track_caller]
pub(super) fn right(name: &str, body: &str) {
    check(&hook(name, body), &[]);
}

#[test]
fn names_that_a_job_lacks_are_named() {
    wrong(
        "budgets",
        "return { soft = job.modle.limit }",
        "3: the job of `budgets` has no `modle`; did you mean `mode`?",
    );
    wrong(
        "trigger",
        "local t = job.tokens\nreturn t.totl > 3",
        "4: `t` has no `totl`; did you mean `total`?",
    );
    wrong(
        "budgets",
        "return { soft = job.cache.read }",
        "3: the job of `budgets` has no `cache`; that of `trigger` has",
    );
    wrong(
        "plan",
        "for _, c in ipairs(job.checkpoints) do\n  if c.levle == 3 then return nil end\nend",
        "4: `c` has no `levle`; did you mean `level`?",
    );
}

#[test]
fn loops_are_followed() {
    wrong(
        "verify",
        "for _, fact in job.must_keep do\n  if fact.txt then return true end\nend",
        "4: `fact` has no `txt`; did you mean `text`?",
    );
    wrong(
        "plan",
        "for _, list in ipairs(job.entries.inputs) do for _, input in ipairs(list) do\n  if input.pth then return nil end\nend end",
        "4: `input` has no `pth`; did you mean `path`?",
    );
}

#[test]
fn jobs_cannot_be_set() {
    let said = "can only be read, as all of a job: `job.memo` is there for notes, a local variable for what is worked out";
    wrong("trigger", "job.cause = 'manual'", &format!("3: `job` {said}"));
    wrong("plan", "local e = job.entries\ne.tokens[1] = 3", &format!("4: `e.tokens` {said}"));
    wrong(
        "plan",
        "table.insert(job.entries.tokens, 3)",
        &format!("3: `job.entries.tokens` {said}"),
    );
    wrong("plan", "job.options.budget = 3", &format!("3: `job.options` {said}"));
}

#[test]
fn wrong_answers_are_named() {
    wrong(
        "budgets",
        "return { sotf = 3 }",
        "3: `budgets` answers `sotf = 3`: no such field; did you mean `soft`?",
    );
    wrong(
        "plan",
        "return { ops = {\n  { op = 'fit', most = 'many' } } }",
        "4: `plan` answers `ops[1].most = \"many\"`: no such field; it is called `max_tokens` since api 2",
    );
    wrong(
        "plan",
        "return { ops = { { op = 'fit', max_tokens = 'many' } } }",
        "3: `plan` answers `ops[1].max_tokens = \"many\"`: expected a whole number from 0 up",
    );
    wrong(
        "plan",
        "return { ops = { { op = 'fot' } } }",
        "3: `plan` answers `ops[1].op = \"fot\"`: no such `op`; did you mean `fit`?",
    );
    wrong(
        "plan",
        "return { ops = { { op = 'drop', entries = 3 } } }",
        "3: `plan` answers `ops[1].entries = 3`: expected a list",
    );
    wrong("plan", "return { ops = 3 }", "3: `plan` answers `ops = 3`: expected a list");
    wrong(
        "plan",
        "return { ops = { { op = 'insert', after = 1, role = 'user' } } }",
        "3: `plan` answers `ops[1] = {...}`: `text` is missing: expected a text",
    );
    wrong(
        "trigger",
        "return { level = 'sfot' }",
        "3: `trigger` answers `level = \"sfot\"`: no such word; did you mean `soft`?",
    );
    wrong(
        "trigger",
        "return 'soft'",
        "3: `trigger` answers `\"soft\"`: expected `true` or `false`, or a table with `skip`, or a table with `level`",
    );
    wrong(
        "observe",
        "return { warn = 'x', level = 'sfot' }",
        "3: `observe` answers `level = \"sfot\"`: no such word; did you mean `soft`?",
    );
    wrong(
        "render",
        "return { place = 'top' }",
        "3: `render` answers `place = \"top\"`: no such word; there are `front`",
    );
    wrong(
        "goals",
        "return { kind = 'goal', text = 'x' }",
        "3: `goals` answers `{...}`: expected a list",
    );
    wrong(
        "budgets",
        "return { soft = 0.5 }",
        "3: `budgets` answers `soft = 0.5`: expected a whole number from 0 up; `math.floor` makes one",
    );
    wrong(
        "observe",
        "return { ask = { idd = 'x', id = 'y', user = 'z' } }",
        "3: `observe` answers `ask.idd = \"x\"`: no such field; did you mean `id`?",
    );
}

#[test]
fn answers_are_followed_through_variables_and_helpers() {
    wrong(
        "budgets",
        "local b = { soft = 3 }\nb.hrad = 4\nreturn b",
        "4: `budgets` answers `hrad = 4`: no such field; did you mean `hard`?",
    );
    wrong(
        "plan",
        "local ops = {}\nops[#ops + 1] = { op = 'fot' }\nreturn { ops = ops }",
        "4: `plan` answers `ops[...].op = \"fot\"`: no such `op`; did you mean `fit`?",
    );
    wrong(
        "plan",
        "local ops = {}\ntable.insert(ops, { op = 'drop' })\nreturn { ops = ops }",
        "4: `plan` answers `ops[...] = {...}`: `entries` is missing: expected a list",
    );
    wrong(
        "trigger",
        "return job.tokens.total > 3 and { level = 'soft' } or { level = 'hrad' }",
        "3: `trigger` answers `level = \"hrad\"`: no such word; did you mean `hard`?",
    );
    wrong(
        "budgets",
        "local b = ep.next(job)\nb.sfot = 3\nreturn b",
        "4: `b` has no `sfot`; did you mean `soft`?",
    );
    wrong(
        "budgets",
        "local b = ep.next(job)\nb.soft = 'x'\nreturn b",
        "4: `b` gets `soft = \"x\"`: expected a whole number from 0 up",
    );
    wrong(
        "budgets",
        "return { soft = ep.next(job).sotf }",
        "3: `ep.next()` has no `sotf`; did you mean `soft`?",
    );
    check(
        "local function due(job)\n  return { levl = 'soft' }\nend\nreturn { trigger = function(job) return due(job) end }",
        &[
            "policy.lua:3: `trigger` answers `levl = \"soft\"`: no such field; did you mean `level`?",
            "policy.lua:3: `trigger` answers `{...}`: `level` is missing: expected `soft`, `hard` or `asked`",
        ],
    );
    check(
        "local function over(it)\n  return it.tokens.totla > 3\nend\nreturn { trigger = function(job) return over(job) end }",
        &["policy.lua:3: `it.tokens` has no `totla`; did you mean `total`?"],
    );
}

#[test]
fn calls_are_looked_at() {
    wrong(
        "budgets",
        "return { soft = ep.cuont('x') }",
        "3: ep has no `cuont`; did you mean `count`?",
    );
    wrong(
        "budgets",
        "return { soft = ep.count() }",
        "3: `ep.count` is given 0 arguments: it takes (text)",
    );
    wrong(
        "budgets",
        "return { soft = ep.count(job.tokens) }",
        "3: `ep.count` is given `text = job.tokens`: expected a text",
    );
    wrong(
        "budgets",
        "ep.log('wran', 'x')",
        "3: `ep.log` is given `level = \"wran\"`: no such word; did you mean `warn`?",
    );
    wrong(
        "plan",
        "return job.entries.text(3) and nil",
        "3: `job.entries.text` is a method: `job.entries:text(place)`",
    );
    wrong(
        "plan",
        "local x = job.entries:head(3)",
        "3: `job.entries.head` is given 1 argument: it takes (place, lines)",
    );
    wrong(
        "budgets",
        "return { soft = ep:count('x') }",
        "3: `ep.count` is no method: `ep.count(text)`",
    );
    right("plan", "local e = job.entries\nreturn e.text(e, 3) and nil");
    wrong(
        "trigger",
        "return ep.next('trigger')",
        "3: `ep.next` is given `\"trigger\"`: expected the job that the hook is given",
    );
    check(
        "local b = ep.next()\nreturn {}",
        &["policy.lua:2: `ep.next` is for hooks: it asks the policies behind this one"],
    );
    wrong("trigger", "return job.tokens() > 3", "3: `job.tokens` is a table and no function");
    wrong("trigger", "return job.tokens > 3", "3: `job.tokens` is a table and no number");
    wrong(
        "trigger",
        "return job.cause == 'trun'",
        "3: `job.cause` is never `trun`; did you mean `turn`?",
    );
}

#[test]
fn what_the_sandbox_lacks_is_named() {
    wrong(
        "budgets",
        "local t = os.time()",
        "3: there is no global `os`; there is no clock: `job.now` says when the request came",
    );
    wrong(
        "budgets",
        "local t = math.random(3)",
        "3: policies have no `math.random`; there is no chance: `job.seed` is a number to draw lots with",
    );
    wrong(
        "budgets",
        "local t = ('a,b'):split(',')",
        "3: a text has no `split`; `ep.re.all` and `string.gmatch` find pieces",
    );
    wrong(
        "budgets",
        "count = 3",
        "3: `count` is a global, and those cannot be set: `local count` holds a value for a while, `job.memo.count` from one call to the next",
    );
    check(
        "local x = require('szes')\nreturn {}",
        &[
            "policy.lua:2: there is no module `szes`: neither the policy's folder nor `lib` has a `szes.lua`",
        ],
    );
    check(
        "local sizes = require('sizes')\nlocal x = sizes.hlaf(3)\nreturn {}",
        &["policy.lua:3: `sizes` has no `hlaf`; did you mean `half`?"],
    );
}

#[test]
fn declarations_are_looked_at() {
    check(
        "return {\n  triger = function(job) end\n}",
        &["policy.lua:3: there is no hook `triger`; did you mean `trigger`?"],
    );
    check(
        "local p = {}\nfunction p.plna(job) end\nreturn p",
        &["policy.lua:3: there is no hook `plna`; did you mean `plan`?"],
    );
    check("return { trigger = 3 }", &["policy.lua:2: hook `trigger = 3`: expected a function"]);
    check(
        "local p = {}\nlocal function trigger(job) return true end\nreturn p",
        &[
            "policy.lua:3: `trigger` is never used, so it is no hook: put it into the table that the file returns, as `trigger`",
        ],
    );
    check(
        "return { options = { a = { type = 'int', default = 3 } } }",
        &[
            "policy.lua:2: the policy says `options.a.type = \"int\"`: no such word; did you mean `integer`?",
        ],
    );
    wrong(
        "budgets",
        "local opt = job.options\nreturn { soft = opt.budgit }",
        "4: there is no option `budgit`; did you mean `budget`?",
    );
    wrong(
        "budgets",
        "return { soft = job.options.nested.innre }",
        "3: there is no option `innre`; did you mean `inner`?",
    );
    let without = examine(&found("return {}"), None);
    assert_eq!(
        without[0].to_string(),
        "policy.lua:1: expected `--- @api 2` as the first line, found `return {}`"
    );
}

/// Legal Lua, however odd, passes.
#[test]
fn what_may_be_right_passes() {
    right(
        "plan",
        "local ops = {}\nfor i = 1, 3 do\n  local op = { op = 'drop' }\n  op.entries = { i }\n  ops[i] = op\nend\nreturn { ops = ops }",
    );
    right(
        "budgets",
        "local b = {}\nfor _, name in ipairs({ 'soft', 'hard' }) do b[name] = 3 end\nreturn b",
    );
    right("budgets", "local name = 'so' .. 'ft'\nlocal b = { [name] = 3 }\nreturn b");
    right("budgets", "local b = ep.next(job) or {}\nb.soft = b.soft or 3\nreturn b");
    right(
        "trigger",
        "local due = setmetatable({}, { __index = { level = 'soft' } })\nreturn due.level and nil",
    );
    right("trigger", "local t = { x = 3 }\nt.level = 'soft'\nt.x = nil\nreturn t");
    right(
        "trigger",
        "local v = job.requested_by and 'text' or { level = 'soft' }\nif type(v) == 'string' then return nil end\nreturn v",
    );
    right(
        "observe",
        "return { pin = job.entry:text():find('x') ~= nil, warn = job.entry:head(2):upper() }",
    );
    right(
        "on_event",
        "local event = job.event\nif event.event == 'x' then job.memo[event.event] = event.anything.at.all end",
    );
    right(
        "status",
        "local x = job.memo.a or { b = 3 }\nx.c = 4\njob.memo.a = x\nreturn { text = tostring(x.b) }",
    );
    right("budgets", "local f = ep.next\nreturn f(job)");
    right(
        "tool_result",
        "local ok, what = pcall(ep.prompt, 'x')\nreturn ok and { how = 'digest', text = what } or nil",
    );
    right(
        "render",
        "local x = if job.part == 'state' then 'a' else `b {job.part}`\nreturn { text = x }",
    );
    right(
        "plan",
        "local n = 0\nfor k, v in pairs(job.entries.tokens) do n += v if n > 3 then continue end end\nreturn nil",
    );
    right(
        "budgets",
        "local account = {}\naccount.__index = account\nfunction account.new() return setmetatable({ sum = 0 }, account) end\nfunction account:add(n) self.sum = self.sum + n return self end\nreturn { soft = account.new():add(3).sum }",
    );
    right(
        "verify",
        "local f = function(fact) return fact.found end\nlocal n = 0\nfor _, fact in ipairs(job.must_keep) do if f(fact) then n = n + 1 end end\nreturn n > 3 or { reject = 'x' }",
    );
    right(
        "trigger",
        "local due = job.cause == 'manual' and { level = 'asked' }\nreturn due or false",
    );
    right(
        "goals",
        "local found = {}\nfor _, text in ipairs(ep.re.all('x', job.text)) do\n  found[#found + 1] = { kind = 'goal', text = text }\nend\nreturn found",
    );
    right("observe", "return { ask = { id = 'x', user = 'y' } }");
    check(
        "local function each(list, f) for _, it in ipairs(list) do f(it) end end\nreturn { plan = function(job)\n  each(job.checkpoints, function(it) return it.level end)\n  each({ 'a' }, function(it) return it.nothing end)\nend }",
        &[],
    );
    check(
        "local p = setmetatable({}, { __index = function() return nil end })\np.plan = function(job) return nil end\nreturn p",
        &[],
    );
    check(
        "local M = {}\nfor _, name in ipairs({ 'plan', 'age' }) do M[name] = function(job) return ep.next(job) end end\nreturn M",
        &[],
    );
    let old = "--- @api 1\nreturn { arrive = function(job) return { how = 'digest', most = job.opt and 3 } end }";
    assert_eq!(examine(&found(old), None), []);
}

#[test]
fn shipped_policies_pass() {
    let library = PolicySource::Folder(format!("{POLICIES}/lib").into());
    let folders = std::fs::read_dir(POLICIES).unwrap().map(|entry| entry.unwrap().path());
    let mut looked_at = 0;
    for folder in folders.filter(|folder| folder.join("policy.lua").exists()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let files = PolicySource::Folder(folder);
        let found = FoundPolicy { name, files, libraries: vec![library.clone()] };
        assert_eq!(examine(&found, None), [], "{}", found.name);
        looked_at += 1;
    }
    assert!(looked_at >= 8);
}

#[test]
fn examples_of_the_reference_pass() {
    for hook in epitome_kernel::HOOKS {
        let text = crate::example(hook.name).unwrap();
        assert_eq!(examine(&found(&format!("--- @api 2\n{text}")), None), [], "{}", hook.name);
    }
}

/// Whatever a file holds, the check ends and says nothing of what the machine refuses.
#[test]
fn texts_that_are_no_lua_are_left_to_the_machine() {
    for text in
        ["return {", "local local", &format!("return {}1{}", "(".repeat(9_000), ")".repeat(9_000))]
    {
        check(text, &[]);
    }
    check(&format!("return {{ doc = {}'x'{} }}", "(".repeat(150), ")".repeat(150)), &[]);
}
