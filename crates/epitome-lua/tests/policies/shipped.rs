//! The shipped policies: each loads with its default options, and has the hooks that it describes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use epitome_kernel::{Policy, PolicyChain, TokenCounter};
use epitome_lua::{FoundPolicy, Generation, LuaLimits, PolicyEngine, PolicySource};
use epitome_testkit::FixedCounter;
use epitome_types::hook::*;
use serde_json::{Map, Value as Json, json};

fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies")
}

fn load(name: &str, options: Json) -> Generation {
    let files = PolicySource::Folder(policies().join(name));
    let libraries = vec![PolicySource::Folder(policies().join("lib"))];
    let found = FoundPolicy { name: name.to_owned(), files, libraries };
    let counter: Arc<dyn TokenCounter> = Arc::new(FixedCounter::Words);
    let options = options.as_object().cloned().unwrap_or_else(Map::new);
    PolicyEngine::new(LuaLimits::default()).unwrap().load(&found, &counter, &options).unwrap()
}

fn chain(name: &str, options: Json) -> PolicyChain {
    PolicyChain::new(vec![Arc::new(load(name, options)) as Arc<dyn Policy>], Default::default())
}

fn common(limit: u64, total: u64) -> Common {
    let model = ModelFacts { limit, ..ModelFacts::default() };
    Common { model, tokens: Tokens { total, ..Tokens::default() }, ..Common::default() }
}

#[test]
fn each_has_the_hooks_that_it_describes() {
    let check = |name: &str, hooks: &[&str]| {
        let loaded = load(name, Json::Null);
        let declared = loaded.declared();
        assert_eq!(declared.hooks, hooks, "{name}");
        assert!(declared.doc.is_some() && declared.extends.is_none());
    };
    let default = [
        "budgets",
        "tool_result",
        "trigger",
        "plan",
        "summary_prompt",
        "verify",
        "render",
        "recall",
    ];
    check("default", &default);
    let early =
        ["budgets", "tool_result", "trigger", "plan", "summary_prompt", "render", "on_event"];
    check("early", &early);
    check("none", &["tool_result", "trigger"]);
    let ollm = ["budgets", "goals", "trigger", "plan", "age", "summary_prompt", "status"];
    check("ollm", &ollm);
    let staged =
        ["budgets", "trigger", "plan", "age", "summary_prompt", "verify", "render", "status"];
    check("staged", &staged);
    let tiered = [
        "budgets",
        "tool_result",
        "observe",
        "trigger",
        "plan",
        "summary_prompt",
        "verify",
        "render",
        "status",
    ];
    check("tiered", &tiered);
    check("truncate", &["tool_result", "trigger", "plan"]);
    check("watermark", &["tool_result", "observe", "trigger", "plan"]);
}

#[test]
fn each_passes_its_own_tests() {
    for name in ["default", "early", "none", "ollm", "staged", "tiered", "truncate", "watermark"] {
        let failed: Vec<_> = load(name, Json::Null)
            .run_tests()
            .into_iter()
            .filter(|result| result.failure.is_some())
            .collect();
        assert!(failed.is_empty(), "{name}: {failed:#?}");
    }
}

#[test]
fn every_option_is_described() {
    for name in ["early", "ollm", "staged", "tiered", "watermark"] {
        let loaded = load(name, Json::Null);
        let readme =
            PolicySource::Folder(policies().join(name)).read("README.md").unwrap().unwrap();
        for option in &loaded.declared().options {
            let whole = option.doc.as_ref().is_some_and(|doc| doc.ends_with('.'));
            assert!(whole && readme.contains(&format!("`{}`", option.name)), "{}", option.name);
        }
    }
}

#[test]
fn the_built_in_decisions_read_the_built_in_options() {
    let options = json!({
        "trigger": { "warn": 0.7, "prefetch": 0.75, "soft": 0.8, "target": 0.5 },
        "limit": { "reserve": 100, "reserve_share": 0.05 },
    });
    let job = BudgetsJob { common: common(1000, 0) };
    let expected = Budgets {
        warn: Some(700),
        ahead: Some(750),
        soft: Some(800),
        hard: Some(950),
        target: Some(500),
        reserve: Some(50),
        ..Budgets::default()
    };
    assert_eq!(chain("default", options).ask().budgets(&job), Ok(Some(expected)));
}

#[test]
fn a_status_line_reads_as_it_should() {
    let mut common = common(6800, 5234);
    (common.compressions, common.model.name) = (2, Some("llama3:70b".to_owned()));
    let (report, history, done) = (false, Vec::new(), Default::default());
    let budgets = Budgets::default();
    let job = StatusJob { common, used: 0.77, budgets, report, history, done };
    let status = chain("ollm", Json::Null).ask().status(&job).unwrap().unwrap();
    let line = "Context: 5,234/6,800  🟡 66%  (2 compressions)";
    assert_eq!(status.text.as_deref(), Some(line));
}
