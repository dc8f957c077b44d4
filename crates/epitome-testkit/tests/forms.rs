//! A plugin answers the same whether it is compiled in or a program of its own.

#![cfg(test)]

use std::path::Path;
use std::time::Duration;

use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::host::{HostedPlugin, LaunchOptions, PluginProcess, ProcessLimits};
use epitome_plugin::{DigestInput, Plugin, check};
use epitome_testkit::FirstLines;
use serde_json::json;

fn program() -> PluginProcess {
    let minute = Duration::from_secs(60);
    let launch = LaunchOptions {
        command: vec![env!("CARGO_BIN_EXE_first-lines-plugin").to_owned()],
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).to_owned(),
        limits: ProcessLimits { hello: minute, call: minute, ..ProcessLimits::default() },
        ..LaunchOptions::default()
    };
    PluginProcess::new(FirstLines.about(), launch)
}

#[test]
fn it_says_the_same_of_itself() {
    assert_eq!(program().hello().unwrap(), FirstLines.about());
}

#[test]
fn digests_are_the_same() {
    let program = program();
    let size = |text: &str| text.len() as u64;
    for sample in conformance::usual() {
        let options = json!({ "lines": 9 });
        let job = DigestInput::new(&sample.text, 900, &size).with(&options);
        let found = check::digest(&program, &job).unwrap();
        assert_eq!(found, check::digest(&FirstLines, &job).unwrap(), "{}", sample.name);
        // What is one long line has no first lines.
        assert_eq!(found.is_some(), sample.text.lines().next().unwrap().len() < 800);
    }
}

#[test]
fn hooks_are_the_same() {
    let (program, options) = (program(), json!({ "lines": 2 }));
    for job in [json!({}), json!({ "fail": true })] {
        let compiled_in = FirstLines.hook("trigger", &job, &options);
        let found = program.hook("trigger", &job, &options);
        assert_eq!(found.is_ok(), compiled_in.is_ok());
        match compiled_in {
            Ok(answer) => assert_eq!(found.unwrap(), answer),
            // What the program says of its failure comes back in words about the call.
            Err(failed) => assert_eq!(
                found.unwrap_err().to_string(),
                format!("trigger: it reports: {failed}; it goes on")
            ),
        }
    }
}

#[test]
fn what_is_larger_by_the_hosts_count_is_asked_for_once_more() {
    // A program is told of sizes by the share of bytes; of this text the first lines take more.
    let text = "a\n".repeat(400) + &"b".repeat(2000);
    let size = |text: &str| text.split_whitespace().count() as u64;
    let job = DigestInput::new(&text, 200, &size);
    let found = check::digest(&program(), &job).unwrap().unwrap();
    assert!(size(&found.text) <= 200 && found.text.contains("a\n"), "{}", found.text);
}

#[test]
fn both_obey_the_laws() {
    let samples: Vec<ConformanceSample> =
        conformance::usual().into_iter().chain(conformance::odd()).collect();
    for plugin in [&FirstLines as &dyn Plugin, &program()] {
        let report = conformance::check(plugin, &samples);
        // It knows no failure when it sees one, and so keeps none.
        let broken = report.findings.iter().filter(|finding| !finding.what.contains("hold"));
        assert_eq!(broken.map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
        assert!(report.made.len() > 10, "{:?}", report.made);
    }
}
