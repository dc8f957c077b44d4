//! What a host says of a plugin that misbehaves, and that it always has an answer to say it in.
//!
//! Invariant: no test waits for a clock: a deadline is only ever met by what would never answer.

#![cfg(test)]

use std::path::Path;
use std::time::Duration;

use epitome_plugin::host::{
    HostedPlugin, LaunchOptions, PluginErrorCause, PluginProcess, ProcessLimits, ProcessNeeds,
    confinement,
};
use epitome_plugin::{DigestInput, PluginInfo, check};
use serde_json::Value;

const TEXT: &str = "thirty bytes of text, and more";

fn process(fault: &[&str], limits: ProcessLimits) -> PluginProcess {
    needing(fault, limits, ProcessNeeds::default())
}

/// One that says that it needs something.
fn needing(fault: &[&str], limits: ProcessLimits, needs: ProcessNeeds) -> PluginProcess {
    let program = env!("CARGO_BIN_EXE_hostile-plugin");
    let command = std::iter::once(&program).chain(fault).map(|part| (*part).to_owned()).collect();
    let about = PluginInfo::new("hostile", "0").with_digest().with_hook("trigger");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
    let env = vec![("GRANTED".to_owned(), "yes".to_owned())];
    PluginProcess::new(about, LaunchOptions { command, folder, env, needs, limits })
}

/// Limits that are met by what never ends only.
fn patient() -> ProcessLimits {
    let minute = Duration::from_secs(60);
    ProcessLimits {
        hello: minute,
        call: minute,
        memory: Some(64 << 20),
        line: 1 << 20,
        pauses: vec![Duration::ZERO],
    }
}

/// Limits for faults that meet the deadline.
fn hasty() -> ProcessLimits {
    ProcessLimits { call: Duration::from_secs(1), ..patient() }
}

fn ask(process: &PluginProcess) -> String {
    let size = |text: &str| text.len() as u64;
    match check::digest(process, &DigestInput::new(TEXT, 20, &size)) {
        Ok(None) => "nothing".to_owned(),
        Ok(Some(digested)) => digested.text,
        Err(failed) => failed.to_string(),
    }
}

/// Those that show at once, the last three being none, and those that only a deadline ends.
const FAULTS: &[&str] = &[
    "exit-before-hello",
    "wrong-version",
    "hello-of-garbage",
    "answer-for-hello",
    "crash",
    "exit",
    "garbage",
    "binary",
    "half-a-line",
    "huge-line",
    "flood",
    "other-id",
    "no-id",
    "deep",
    "second-hello",
    "wrong-shape",
    "wrong-type",
    "negative-range",
    "wild-range",
    "empty",
    "larger",
    "refuses",
    "slow",
    "environment",
    "none",
];
const ENDLESS: &[&str] = &["hang", "flood-of-logs", "escape"];

#[test]
fn every_fault_is_told_and_none_takes_longer_than_its_deadline() {
    let said = std::thread::scope(|scope| {
        let run = |fault: &'static str, limits: ProcessLimits| {
            scope.spawn(move || format!("{fault}:\n  {}\n", ask(&process(&[fault], limits))))
        };
        let mut runs: Vec<_> = FAULTS.iter().map(|fault| run(fault, patient())).collect();
        runs.extend(ENDLESS.iter().map(|fault| run(fault, hasty())));
        let silent = ProcessLimits { hello: Duration::from_millis(400), ..patient() };
        runs.push(run("silent", silent));
        runs.into_iter().map(|run| run.join().unwrap()).collect::<String>()
    });
    insta::assert_snapshot!(said);
}

#[test]
fn a_program_that_cannot_be_started_is_told() {
    let about = PluginInfo::new("hostile", "0").with_digest();
    let of = |command: &[&str]| {
        let command = command.iter().map(|part| (*part).to_owned()).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
        let launch =
            LaunchOptions { command, folder, limits: patient(), ..LaunchOptions::default() };
        PluginProcess::new(about.clone(), launch).hello().unwrap_err().to_string()
    };
    let said = [of(&[]), of(&["no-such-program-anywhere", "x"]), of(&["./Cargo.toml"])].join("\n");
    insta::assert_snapshot!(said);
}

#[test]
fn one_that_failed_is_started_again_until_it_failed_too_often() {
    let pauses = vec![Duration::ZERO, Duration::from_secs(3600)];
    let process = process(&["exit"], ProcessLimits { pauses, ..patient() });
    let said: Vec<String> = (0..4).map(|_| ask(&process)).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn one_that_failed_for_good_is_not_started_again() {
    let process = process(&["wrong-version"], patient());
    let said: Vec<String> = (0..2).map(|_| ask(&process)).collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn one_that_was_late_is_started_again_and_may_answer() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("was-here");
    let needs = ProcessNeeds { files: true, network: false };
    let process = needing(&["late-once", flag.to_str().unwrap()], hasty(), needs);
    let said: Vec<String> = (0..2).map(|_| ask(&process)).collect();
    assert!(said[0].starts_with("digest: no answer within 1 s"), "{said:?}");
    assert_eq!(said[1], "[… all is well]");
}

/// Linux tells of processes in files.
#[cfg(target_os = "linux")]
#[test]
fn what_it_started_ends_with_it() {
    let process = process(&["offspring"], patient());
    let said = ask(&process);
    let number: u32 = said.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    // Between its end and its burial a process is a zombie.
    let lives = || {
        let stat = std::fs::read_dir(format!("/proc/{number}/fd"));
        stat.is_ok_and(|mut open| open.next().is_some())
    };
    assert!(lives());
    drop(process);
    while lives() {
        std::thread::yield_now();
    }
}

/// What a program starts cannot leave its group.
#[cfg(target_os = "linux")]
#[test]
fn what_would_escape_ends_with_it_too() {
    let said = ask(&process(&["escape"], patient()));
    // Whoever escaped would hold its output open until the deadline.
    assert_eq!(said.starts_with("digest: it ended"), confinement().network, "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn one_that_takes_memory_ends_and_the_machine_does_not() {
    let said = ask(&process(&["greedy"], patient()));
    assert!(said.starts_with("digest: it ended (signal: 6"), "{said}");
}

#[test]
fn a_program_reaches_what_it_says_that_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("written");
    let there = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = there.local_addr().unwrap().to_string();
    let asked = ["reach", file.to_str().unwrap(), &address];
    let can = confinement();
    for (files, network) in [(false, false), (true, false), (false, true), (true, true)] {
        std::fs::remove_file(&file).ok();
        let said = ask(&needing(&asked, patient(), ProcessNeeds { files, network }));
        let (wrote, called) = (files || !can.files, network || !can.network);
        assert_eq!(said, format!("[… {wrote} {called}]"));
        assert_eq!(file.exists(), wrote);
    }
}

#[test]
fn calls_of_many_threads_wait_for_one_another() {
    let process = process(&[], patient());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(ask(&process), "[… all is well]")));
        }
    });
}

#[test]
fn a_hook_that_the_program_does_not_name_is_not_asked() {
    let process = process(&[], patient());
    let error = process.try_hook("trigger", &Value::Null, &Value::Null).unwrap_err();
    assert!(matches!(error.cause, PluginErrorCause::Lacks { .. }));
    insta::assert_snapshot!(error.to_string());
    assert_eq!(ask(&process), "[… all is well]");
}

#[test]
fn features_that_nobody_knows_are_passed_over() {
    let about = process(&[], patient()).hello().unwrap();
    assert!(about.digest && about.hooks.is_empty());
    assert_eq!((&*about.name, &*about.version), ("hostile", "0"));
}
