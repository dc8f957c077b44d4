//! What is generated from the declarations: up to date in the repository, and true.
#![expect(clippy::disallowed_methods, reason = "compares and writes the generated files")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use epitome_kernel::{HOOKS, TokenCounter};
use epitome_lua::{
    FoundPolicy, LuaLimits, PolicyEngine, PolicySource, example, reference, schema, stubs,
};
use epitome_testkit::FixedCounter;
use serde_json::Map;

#[track_caller]
fn check(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "policies/{file} is stale; `UPDATE=1 cargo test -p epitome-lua` writes it"
    );
}

#[test]
fn the_files_of_the_repository_are_up_to_date() {
    check("types/epitome.d.lua", &stubs());
    check("HOOKS.md", &reference());
    check("types/epitome.schema.json", &format!("{:#}\n", schema()));
}

/// Each example is a policy that runs, and its answer to a job that says little can be taken.
#[test]
fn every_hook_has_an_example_that_runs() {
    let engine = PolicyEngine::new(LuaLimits::default()).unwrap();
    let counter: Arc<dyn TokenCounter> = Arc::new(FixedCounter::Quarters);
    for hook in HOOKS {
        let example = example(hook.name).unwrap_or_else(|| panic!("`{}` has none", hook.name));
        let policy: &'static str = format!("--- @api 2\n{example}").leak();
        let test = format!("return {{ test = function(t) t.hook('{}') end }}", hook.name).leak();
        let files = vec![("policy.lua", policy), ("tests/example.lua", test)].leak();
        let files = PolicySource::Embedded(files);
        let found = FoundPolicy { name: "example".to_owned(), files, libraries: Vec::new() };
        let policy = engine.load(&found, &counter, &Map::new()).unwrap();
        assert_eq!(policy.declared().hooks, [hook.name]);
        let failures: Vec<_> =
            policy.run_tests().into_iter().filter_map(|test| test.failure).collect();
        assert!(failures.is_empty(), "{}: {failures:?}", hook.name);
    }
}

#[test]
fn the_schema_refers_to_nothing_that_it_lacks() {
    let schema = schema();
    let text = schema.to_string();
    let references = text.split("\"#/$defs/").skip(1).map(|rest| rest.split('"').next().unwrap());
    let references: BTreeSet<&str> = references.collect();
    assert!(references.len() > 20);
    for name in references {
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
    assert_eq!(schema["properties"].as_object().unwrap().len(), HOOKS.len());
}
