//! Tests that policies bring with them.

use std::sync::Arc;

use epitome_kernel::ModelQuestion;
use epitome_lua::{ConversationPlayer, FoundPolicy, ModelReplies, PolicySource, TestResult};
use epitome_types::hook::{PlaySettings, PlayedConversation};
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

/// A policy that asks a model in `trigger`, and a second time where it is not sure.
const ASKING: &str = "--- @api 2
return {
  trigger = function(job)
    local done = job.replies.done
    if done == nil then
      job.memo.asked = (job.memo.asked or 0) + 1
      return { ask = { id = 'done', user = 'Is it done?' } }
    elseif done == 'perhaps' and not job.replies.sure then
      return { ask = { id = 'sure', user = 'Sure?' } }
    end
    local said = done == 'perhaps' and job.replies.sure or done
    return said == 'yes' and { level = 'soft', reason = 'done' } or false
  end,
}
";

#[track_caller]
fn check_asking(body: &str, expected: Option<&str>) {
    let tests = format!(
        "return {{\n  first = function(t)\n{body}\n  end,\n\n  \
         second = function(t)\n    t.eq(t.hook('trigger').ask.id, 'done')\n  end,\n}}"
    );
    let files = vec![("policy.lua", ASKING), ("tests/all.lua", tests.leak())];
    let files = PolicySource::Embedded(files.leak());
    let found = FoundPolicy { name: "asks".to_owned(), files, libraries: Vec::new() };
    let results = load_with(&patient(), &found, Json::Null).unwrap().run_tests();
    let failures: Vec<_> = results.iter().map(|one| one.failure.as_deref()).collect();
    assert_eq!(failures.len(), 2, "{failures:?}");
    match expected {
        None => assert_eq!(failures[0], None),
        Some(what) => assert!(failures[0].unwrap_or_default().contains(what), "{failures:?}"),
    }
    // What one test has a model reply is unknown to the next.
    assert_eq!(failures[1], None);
}

#[test]
fn a_test_says_what_a_model_replies() {
    let soft = "{ level = 'soft', reason = 'done' }";
    check_asking(&format!("t.reply('done', 'yes') t.eq(t.hook('trigger'), {soft})"), None);
    check_asking("t.reply('done', 'no') t.eq(t.hook('trigger', { floor = 5 }), false)", None);
    let twice = "t.reply('done', 'perhaps') t.reply('sure', 'yes')";
    check_asking(&format!("{twice} t.eq(t.hook('trigger', {{}}), {soft})"), None);
    check_asking("t.reply('done', 'perhaps') t.eq(t.hook('trigger').ask.id, 'sure')", None);
    let asked =
        "t.reply('done', function(ask) return ask.user == 'Is it done?' and 'yes' or '' end)";
    check_asking(&format!("{asked} t.eq(t.hook('trigger'), {soft})"), None);
    // What it noted before it had the reply is there.
    check_asking(
        "local job = { memo = {} } t.reply('done', 'yes') t.hook('trigger', job) t.eq(job.memo.asked, 1)",
        None,
    );
    check_asking("t.reply('done', 5)", Some("t.reply takes the id of a question and a text"));
    check_asking("t.reply('done', 'yes') t.eq(t.hook('trigger'), 1)", Some("expected 1, found"));
}

/// Says what it was handed.
struct Echo;

impl ConversationPlayer for Echo {
    fn play(
        &self,
        recording: &str,
        settings: PlaySettings,
        replies: Option<ModelReplies>,
    ) -> Result<PlayedConversation, String> {
        let ask = ModelQuestion { id: "done".into(), user: recording.into(), ..Default::default() };
        let said = replies.map_or(Ok("nobody".to_owned()), |replies| replies(&ask))?;
        let lost = vec![said, format!("{:?}", settings.options.unwrap_or_default())];
        Ok(PlayedConversation {
            lost,
            limit: settings.prompt_limit.unwrap_or(7),
            ..Default::default()
        })
    }
}

/// A conversation is played by whoever is handed in; where nobody is, the test is left out.
#[test]
fn conversations_are_played_by_the_host() {
    let tests = "return {
      a = function(t)
        local played = t.replay('x', { prompt_limit = 3, options = { n = 2 } })
        t.eq(played.limit, 3)
        t.eq(played.lost, { 'nobody', '{\\\"n\\\": Whole(2)}' })
      end,
      b = function(t)
        t.reply('done', function(ask) return ask.user .. '!' end)
        t.eq(t.replay('x').lost[1], 'x!')
        t.replay('x').limt = 3
      end,
      c = function(t) t.reply('other', 'x') t.replay('x') end,
      d = function(t) t.ok(true) end,
    }";
    let files = PolicySource::Embedded(
        vec![("policy.lua", "--- @api 2\nreturn {}"), ("tests/all.lua", tests)].leak(),
    );
    let found = FoundPolicy { name: "one".to_owned(), files, libraries: Vec::new() };
    let policy = load_with(&patient(), &found, Json::Null).unwrap();
    let played = policy.run_tests_with(Arc::new(Echo));
    let failures: Vec<_> = played.iter().map(|test| test.failure.as_deref()).collect();
    assert_eq!(
        failures,
        [
            None,
            Some("tests/all.lua:10: attempt to modify a readonly table"),
            Some("tests/all.lua:12: the test says nothing for `done`; `t.reply(\"done\", …)` does"),
            None,
        ]
    );
    let names = policy.run_tests().into_iter().map(|test| test.name).collect::<Vec<_>>();
    assert_eq!(names, ["d"]);
}
