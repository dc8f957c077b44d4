//! What authors are told.

use std::sync::Arc;

use epitome_kernel::Job;
use serde_json::{Value as Json, json};

use crate::support::*;

fn refused(text: &str, options: Json) -> String {
    load_with(&patient(), &found("ollm", text), options).unwrap_err().to_string()
}

#[test]
fn policies_that_cannot_be_loaded() {
    let options = "options = { keep = { type = 'integer', default = 1, max = 9 } }";
    let with_options = format!("return {{ {options} }}");
    let cases = [
        ("syntax", "return {\n  trigger = function(job\n}", json!({})),
        ("runs into an error", "local limits = nil\nreturn { soft = limits.soft }", json!({})),
        ("no table", "return 5", json!({})),
        ("nothing", "", json!({})),
        ("no hook", "return { triger = function() end }", json!({})),
        ("no function", "return { trigger = true }", json!({})),
        ("no module", "local c = require('clases')", json!({})),
        ("no name of a module", "local c = require('../secrets')", json!({})),
        ("other name", "return { name = 'other' }", json!({})),
        ("options are no table", "return { options = 5 }", json!({})),
        (
            "wrong default",
            "return { options = { a = { type = 'number', default = 'x' } } }",
            json!({}),
        ),
        ("unknown option", &with_options, json!({"kep": 1})),
        ("wrong value", &with_options, json!({"keep": 10})),
        ("writes a global", "counter = 1\nreturn {}", json!({})),
        ("endless", "while true do end", json!({})),
    ];
    let said: Vec<String> = cases
        .into_iter()
        .map(|(name, text, options)| format!("{name}: {}", refused(text, options)))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn answers_that_cannot_be_taken() {
    let bodies = [
        "return { levle = 'soft' }",
        "return { level = 'sfot' }",
        "return { level = 'soft', target = job.floor / 3 }",
        "return { level = 'soft', target = 'many' }",
        "return { level = 'soft', reason = job }",
        "return 'soft'",
        "return { ask = { user = 'How?' } }",
        "job.memo.call = print\nreturn false",
        "local t = nil\nreturn t.level",
        "return job.flor",
        "error('no way')",
        "error({})",
        "return ep.cuont('x')",
        "return ep.re.find('(', 'x')",
        "return (nil)()",
        "return require('late')",
        "return #job.floor",
    ];
    let said: Vec<String> = bodies
        .into_iter()
        .map(|body| {
            let text = format!("return {{\n  trigger = function(job)\n{body}\n  end,\n}}");
            let policy = load_with(&patient(), &found("ollm", &text), Json::Null).unwrap();
            let chain = chain(&[Arc::new(policy)]);
            let reply = chain.ask().reply(&Job::Trigger(&trigger_job()));
            assert_eq!(reply.result, Ok(None));
            reply.notes.errors[0].to_string()
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}
