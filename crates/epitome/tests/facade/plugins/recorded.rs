//! Digests of real tool results, from the folder that `EPITOME_SHARED` names: each is smaller than
//! its original and fits. `--nocapture` shows them all.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that reads files and shows what became of them"
)]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use epitome::Profile;
use epitome_extensions::plugins::{DigestRunner, ExtensionFailures};
use epitome_kernel::{DigestJob, SizeGauge, TextMeasure, ToolDigester};
use epitome_testkit::FixedCounter;
use epitome_types::{BudgetUnit, EventKind};
use serde_json::Value;

/// A recorded result: the tool, its arguments, the text, whether it failed.
type Recorded = (String, String, String, bool);

fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("EPITOME_SHARED").map(|root| PathBuf::from(root).join("data"));
    if root.is_none() {
        eprintln!("skipped: EPITOME_SHARED names no folder");
    }
    root
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn recorded(root: &Path) -> Vec<Recorded> {
    let mut out = Vec::new();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let mut calls = HashMap::new();
    for line in read(&root.join("pi-sessions/large-session.jsonl")).lines() {
        let message = serde_json::from_str::<Value>(line).unwrap()["message"].take();
        for block in message["content"].as_array().into_iter().flatten() {
            calls.insert(block["id"].to_string(), block["arguments"].to_string());
        }
        if message["role"] == "toolResult" {
            let arguments = calls.get(&message["toolCallId"].to_string()).cloned();
            out.push((
                text(&message["toolName"]),
                arguments.unwrap_or_default(),
                text(&message["content"]),
                message["isError"] == true,
            ));
        }
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root.join("swe-agent"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "traj")) {
        let recording: Value = serde_json::from_str(&read(path)).unwrap();
        for step in recording["trajectory"].as_array().into_iter().flatten() {
            let command = serde_json::json!({ "command": step["action"] }).to_string();
            out.push(("bash".into(), command, text(&step["observation"]), false));
        }
    }
    let flights: Value =
        serde_json::from_str(&read(&root.join("tau-bench-airline/gpt-4o-airline-30.json")))
            .unwrap();
    for message in flights
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|case| case["traj"].as_array().into_iter().flatten())
    {
        if message["role"] == "tool" {
            out.push((text(&message["name"]), String::new(), text(&message["content"]), false));
        }
    }
    out
}

#[test]
fn recorded_results_become_smaller() {
    let Some(root) = shared() else { return };
    let measure = SizeGauge { counter: &FixedCounter::Words, unit: BudgetUnit::Chars };
    let (profile, failures) = (Profile::default(), ExtensionFailures::default());
    let digests = DigestRunner::new(&[], profile.plugin_runner(), &failures);
    // By kind and room: how many, characters before and after, how many lost nothing.
    let mut sums: BTreeMap<(String, u64), [u64; 4]> = BTreeMap::new();
    for (tool, arguments, text, error) in &recorded(&root) {
        for most in [800, 2000, 6000] {
            let (error, size) = (*error, measure.size(text));
            let job = DigestJob { tool, arguments, text, error, most, measure: &measure };
            let Some(digested) = digests.digest(&job) else { continue };
            let smaller = measure.size(&digested.text);
            assert!(!error && smaller <= most && smaller < size);
            println!("== {} {size} -> {smaller} {tool}\n{}\n", digested.kind, digested.text);
            let counts = [1, size, smaller, u64::from(digested.left.is_empty())];
            let sum = sums.entry((digested.kind.into_owned(), most)).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    for ((kind, most), [count, before, after, whole]) in &sums {
        let ratio = *before as f64 / *after as f64;
        println!(
            "{kind} in {most}: {count} results, {before} -> {after} ({ratio:.1}), {whole} whole"
        );
    }
    assert_eq!(failures.take(), Vec::<EventKind>::new());
    assert!(sums.values().map(|sum| sum[0]).sum::<u64>() > 100);
}
