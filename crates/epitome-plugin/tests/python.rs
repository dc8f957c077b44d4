//! The example in Python, run by the host as users run it.
//!
//! Invariant: it obeys the laws that digests in Rust obey. Needs `python3` on the path.

#![cfg(test)]

use std::path::Path;
use std::time::Duration;

use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::host::{HostedPlugin, LaunchOptions, PluginProcess, ProcessLimits};
use epitome_plugin::{DigestInput, PluginInfo, check};
use serde_json::{Value, json};

fn tickets() -> PluginProcess {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugin-in-python");
    let minute = Duration::from_secs(60);
    let launch = LaunchOptions {
        command: vec!["python3".to_owned(), "plugin.py".to_owned()],
        folder: Path::new(folder).join("plugins/tickets"),
        limits: ProcessLimits { hello: minute, call: minute, ..ProcessLimits::default() },
        ..LaunchOptions::default()
    };
    PluginProcess::new(PluginInfo::new("tickets", "1").with_digest(), launch)
}

/// Tickets of which every eighth is open.
fn list(count: usize) -> String {
    (0..count)
        .map(|n| {
            let state = if n % 8 == 3 { "open" } else { "closed" };
            format!(
                "#{n} [{state}] Zahlung hängt in step {n}\n  priority: high\n  | Waits for {n} s.\n\n"
            )
        })
        .collect()
}

fn digest(text: &str, arguments: &str, most: u64, options: &Value) -> Option<String> {
    let size = |text: &str| text.len() as u64;
    let job = DigestInput::new(text, most, &size).of("list_tickets", arguments).with(options);
    check::digest(&tickets(), &job).unwrap().map(|digested| digested.text)
}

#[test]
fn it_says_what_it_is() {
    let about = tickets().hello().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(about, PluginInfo::new("tickets", "1").with_digest());
}

#[test]
fn open_tickets_stay_and_the_named_one_is_whole() {
    let text = list(80);
    let found = digest(&text, r#"{"number": 17}"#, 700, &Value::Null).unwrap();
    let mut expected = vec!["[… 80 tickets, 69 closed left out]".to_owned()];
    for n in (0..80).filter(|n| n % 8 == 3 || *n == 17) {
        if n == 17 {
            expected.push("#17 [closed] Zahlung hängt in step 17".to_owned());
            expected.push("  priority: high\n  | Waits for 17 s.".to_owned());
        } else {
            expected.push(format!("#{n} [open] Zahlung hängt in step {n}\n  [… 2 lines]"));
        }
    }
    assert_eq!(found, expected.join("\n"));
}

#[test]
fn the_profile_says_which_are_only_counted() {
    let found = digest(&list(80), "", 4000, &json!({"done": ["open"]})).unwrap();
    assert!(found.starts_with("[… 80 tickets, 10 open left out]\n#0 [closed]"), "{found}");
}

#[test]
fn it_obeys_the_laws() {
    let shipped =
        include_str!("../../../examples/plugin-in-python/plugins/tickets/samples/list.txt");
    let samples = [
        ConformanceSample::new("tickets", list(200))
            .keeping("#195 [open] Zahlung hängt in step 195"),
        ConformanceSample::new("shipped", shipped),
    ];
    let samples: Vec<ConformanceSample> =
        samples.into_iter().chain(conformance::usual()).chain(conformance::odd()).collect();
    let report = conformance::check(&tickets(), &samples);
    assert_eq!(report.findings, []);
    let made: Vec<&str> = report.made.iter().map(|made| &*made.sample).collect();
    assert_eq!(made, ["tickets", "shipped"]);
}
