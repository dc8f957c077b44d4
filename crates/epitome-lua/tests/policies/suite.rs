//! Tests that policies bring with them.

use epitome_lua::{FoundPolicy, PolicySource, TestResult};
use serde_json::Value as Json;

use crate::support::*;

const POLICY: &str = "--- @api 2
local halves = require('halves')
return {
  options = {
    names = { type = 'list', default = { 'a' } },
    share = { type = 'number', default = 0.5, max = 1 },
  },
  trigger = function(job)
    local behind = ep.next(job)
    if behind ~= nil then return behind end
    job.memo.seen = job.floor
    return { level = 'soft', target = halves.of(job.floor), reason = job.options.names[1] or 'none' }
  end,
  tool_result = function(job)
    return { how = 'mask', text = job.entry:head(1) .. job.entry.tool:len() }
  end,
  plan = function(job)
    local wrote = job.entries.inputs[2]
    local path = wrote and (wrote[1].path .. tostring(wrote[1].ok)) or ''
    return { ops = {}, reason = job.entries:text(2) .. job.checkpoints[1].level .. path }
  end,
  verify = function(job)
    return job.tokens < 10
  end,
  summary_prompt = function(job)
    return { style = 'separate', user = job.covered:text(job.covered.count) }
  end,
}
";

fn results(tests: &'static str) -> Vec<TestResult> {
    let files = PolicySource::Embedded(
        vec![
            ("policy.lua", POLICY),
            ("halves.lua", "return { of = function(n) return n // 2 end }"),
            ("more.lua", "return 'more'"),
            ("tests/all.lua", tests),
        ]
        .leak(),
    );
    let found = FoundPolicy { name: "half".to_owned(), files, libraries: Vec::new() };
    load_with(&patient(), &found, Json::Null).unwrap().run_tests()
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let tests = format!("return {{\n  test = function(t)\n{body}\n  end,\n}}").leak();
    let results = results(tests);
    assert_eq!(results.len(), 1, "{results:?}");
    let result = &results[0];
    assert_eq!((result.file.as_str(), result.name.as_str()), ("tests/all.lua", "test"));
    let line = result.line.unwrap_or_default();
    let said = result.failure.as_ref().map(|what| format!("{line}: {what}"));
    assert_eq!(said.unwrap_or_default(), expected, "{body}");
}

#[test]
fn hooks_are_asked_with_jobs_of_the_test() {
    check(
        "t.eq(t.hook('trigger', { floor = 9 }), { level = 'soft', target = 4, reason = 'a' })",
        "",
    );
    check("t.eq(t.hook('trigger').target, 0)", "");
    check("t.eq(t.hook('trigger', {}, { names = {} }).reason, 'none')", "");
    check("t.eq(t.hook('trigger', {}, nil, false), false)", "");
    check("t.eq(t.hook('trigger', {}, nil, { level = 'hard' }).level, 'hard')", "");
    check("local memo = {} t.hook('trigger', { floor = 3, memo = memo }) t.eq(memo.seen, 3)", "");
    check(
        "local covered = { count = 2, text = { 'a', 'b' } }
         t.eq(t.hook('summary_prompt', { covered = covered }).user, 'b')",
        "",
    );
    check(
        "local entries = { text = { 'a', 'b' }, inputs = { {}, { { path = 'a.rs' } } } }
         local job = { entries = entries, checkpoints = { { level = 3 } } }
         t.eq(t.hook('plan', job).reason, 'b3a.rsfalse')",
        "",
    );
    check(
        "local entry = { tool = 'ls', text = 'a\\nb' }
         t.eq(t.hook('tool_result', { entry = entry }).text, 'a2')",
        "",
    );
    check(
        "local job = { entries = { count = 2, text = { 'x', 'y' } }, checkpoints = { { level = 3 } } }
         t.eq(t.hook('plan', job).reason, 'y3')",
        "",
    );
    // The size of a summary, in the place of the prompt's.
    check("t.eq(t.hook('verify', { tokens = 9 }), true)", "");
    check("t.eq(t.hook('verify', { tokens = 10 }), false)", "");
    check("t.eq(require('more'), 'more')", "");
    check("t.ok(true)", "");
}

#[test]
fn what_fails_is_said_with_its_line() {
    check("t.eq(1, 2)", "3: tests/all.lua:3: expected 2, found 1");
    check(
        "t.eq({ a = { 1 } }, { a = { 2 } }, 'it')",
        "3: tests/all.lua:3: it: expected { a = { 2 } }, found { a = { 1 } }",
    );
    check(
        "t.hook('plan', { entries = { inputs = { { { pth = 'a.rs' } } } } })",
        "3: tests/all.lua:3: the job of `plan`: `entries.inputs[1][1].pth = \"a.rs\"`: no such \
         field; did you mean `path`?",
    );
    check("t.ok(nil, 'size')", "3: tests/all.lua:3: size: expected it to hold");
    check(
        "\nt.hook('triger')",
        "4: tests/all.lua:4: there is no hook `triger`; did you mean `trigger`?",
    );
    check("t.hook('age')", "3: tests/all.lua:3: the policy has no hook `age`");
    check(
        "t.hook('trigger', { flor = 1 })",
        "3: tests/all.lua:3: the job of `trigger`: `flor = 1`: no such field; did you mean `floor`?",
    );
    check(
        "t.hook('trigger', { floor = 'x' })",
        "3: tests/all.lua:3: the job of `trigger`: `floor = \"x\"`: expected a whole number from 0 up",
    );
    check(
        "t.hook('trigger', {}, { share = 2 })",
        "3: tests/all.lua:3: option `share = 2`: expected at most 1",
    );
    check("t.hook('tool_result', {})", "3: policy.lua:15: attempt to index nil with 'len'");
}

#[test]
fn a_file_that_is_none_is_a_failure() {
    let results = results("return 5");
    let expected = TestResult {
        file: "tests/all.lua".to_owned(),
        name: String::new(),
        line: None,
        failure: Some("tests/all.lua: expected a table of functions as what it returns".to_owned()),
    };
    assert_eq!(results, [expected]);
}

#[test]
fn tests_run_in_the_order_of_their_lines() {
    let results = results("return {\nb = function() end,\na = function() end,\n}");
    let names: Vec<_> = results.iter().map(|one| (one.name.as_str(), one.line)).collect();
    assert_eq!(names, [("b", Some(2)), ("a", Some(3))]);
}
