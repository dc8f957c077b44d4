//! Policies that run away.

use std::sync::Arc;
use std::time::Duration;

use epitome_kernel::Job;
use epitome_lua::{Generation, LuaLimits, PolicyEngine};
use serde_json::Value as Json;

use crate::support::*;

fn strict(call: Duration) -> PolicyEngine {
    PolicyEngine::new(LuaLimits { call, ..LuaLimits::default() }).unwrap()
}

fn runaway(body: &str, call: Duration) -> Arc<Generation> {
    let text = format!("return {{ trigger = function(job) {body}\nend }}");
    Arc::new(load_with(&strict(call), &found("bad", &text), Json::Null).unwrap())
}

/// What a `trigger` with this body is reported for, while the next policy answers.
#[track_caller]
fn check(body: &str, expected: &str) {
    let good = load("good", "return { trigger = function() return false end }");
    // What would run for ever is stopped soon; whatever else, in its own time.
    let is_endless = expected.contains("took longer");
    let time = if is_endless { Duration::from_millis(100) } else { Duration::from_secs(60) };
    let chain = chain(&[runaway(body, time), good]);
    let reply = chain.ask().reply(&Job::Trigger(&trigger_job()));
    assert!(matches!(reply.result, Ok(Some(_))), "{body}: {reply:?}");
    let errors: Vec<String> = reply.notes.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, [format!("bad: `trigger`: {expected}")], "{body}");
}

#[test]
fn what_takes_too_long_is_passed_over() {
    check("while true do end", "policy.lua:2: took longer than 100 ms");
    check(
        "while true do pcall(function() while true do end end) end",
        "policy.lua:2: took longer than 100 ms",
    );
    check(
        "coroutine.wrap(function() while true do end end)()",
        "policy.lua:2: took longer than 100 ms",
    );
    check(
        "return string.find(('a'):rep(1e5), '.-.-.-.-b')",
        "policy.lua:2: took longer than 100 ms",
    );
}

#[test]
fn what_takes_too_much_is_passed_over() {
    check("return ('x'):rep(1e9)", "policy.lua:2: needed more than 64 MiB");
    check("local function f() return 1 + f() end\nreturn f()", "policy.lua:2: stack overflow");
}

#[test]
fn what_overruns_too_often_is_asked_no_more() {
    let bad = runaway("while true do end", Duration::from_millis(20));
    let chain = chain(&[Arc::clone(&bad)]);
    let mut said = Vec::new();
    for _ in 0..5 {
        let reply = chain.ask().reply(&Job::Trigger(&trigger_job()));
        assert_eq!(reply.result, Ok(None));
        said.extend(reply.notes.errors.iter().map(|error| error.what.clone()));
    }
    let line = "policy.lua:2: took longer than 20 ms";
    let last = format!("{line}; after 3 overruns it is asked no more until it is changed");
    assert_eq!(said, [line, line, &last]);
    assert!(bad.quarantined());
}

#[test]
fn time_behind_next_is_not_its_own() {
    let slow = "return { trigger = function() local i = 0 while i < 6e6 do i = i + 1 end return false end }";
    let over = runaway("return ep.next(job)", Duration::from_millis(60));
    let chain = chain(&[over, load("slow", slow)]);
    let reply = chain.ask().reply(&Job::Trigger(&trigger_job()));
    assert!(matches!(reply.result, Ok(Some(_))));
    assert!(reply.notes.errors.is_empty());
}
