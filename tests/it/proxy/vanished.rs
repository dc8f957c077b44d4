//! A store that is taken away, cut, or held by another program while the proxy runs on it: every request
//! is answered and stays within its window, it is said once, and no command waits for ever.

use std::fs::OpenOptions;
use std::process::Child;
use std::time::Duration;

use super::agent::Api;
use super::outage::{SAID, agent, check_prefixes, check_said_once, count, rounds, serving};
use super::serving::Serving;

/// How often a command is looked at before it counts as hanging, and the pause between two looks.
const LOOKS: usize = 1_500;
const PAUSE: Duration = Duration::from_millis(20);

/// How a command ended, and what it said of errors; it is killed where it takes too long.
#[track_caller]
fn ended(serving: &Serving, args: &[&str]) -> (Option<i32>, String) {
    let mut command = serving.place.command(args);
    command.args(["--store", "s.db"]);
    let mut child: Child = command.spawn().unwrap();
    let ended = (0..LOOKS).any(|_| {
        std::thread::sleep(PAUSE);
        child.try_wait().unwrap().is_some()
    });
    if !ended {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("{args:?} did not end");
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_store_that_is_removed_is_noticed_and_stops_no_compression() {
    for api in [Api::Anthropic, Api::Chat] {
        let mut serving = serving("s.db");
        let mut one = agent(api);
        rounds(&mut one, &serving, 3);
        for name in ["s.db", "s.db-wal", "s.db-shm"] {
            std::fs::remove_file(serving.place.path(name)).unwrap();
        }
        rounds(&mut one, &serving, usize::MAX);
        check_prefixes(api, &serving, &serving.prompts());
        check_said_once(&serving, SAID);
        let outage = &serving.status()["store"];
        assert_eq!(outage["writable"], false, "{outage}");
        assert!(outage["cause"].as_str().is_some_and(|it| it.contains("removed")), "{outage}");

        // A new one is made behind a restart, and the conversation is recorded in it as a whole.
        serving.stop();
        serving.go_on();
        one.say("Is that all?");
        rounds(&mut one, &serving, usize::MAX);
        assert_eq!(serving.sessions().len(), 1);
    }
}

#[test]
fn a_store_that_was_moved_away_is_used_again_where_it_comes_back() {
    let serving = serving("s.db");
    rounds(&mut agent(Api::Chat), &serving, 2);
    let (path, aside) = (serving.place.path("s.db"), serving.place.path("aside.db"));
    std::fs::rename(&path, &aside).unwrap();
    let mut other = super::agent::Agent::new(Api::Chat, "Tell me why the leases are forgotten.");
    rounds(&mut other, &serving, 2);
    check_said_once(&serving, SAID);
    assert!(!path.exists());
    std::fs::rename(&aside, &path).unwrap();
    let mut third = super::agent::Agent::new(Api::Chat, "Look after the invoices of the north.");
    rounds(&mut third, &serving, 2);
    check_said_once(&serving, "can be written again");
    assert_eq!(serving.status()["store"]["writable"], true);
}

#[test]
fn a_store_that_is_cut_stops_no_compression_and_no_command_hangs_on_it() {
    for length in [0, 8192] {
        let serving = serving("s.db");
        let mut one = agent(Api::Anthropic);
        rounds(&mut one, &serving, 5);
        let file = OpenOptions::new().write(true).open(serving.place.path("s.db")).unwrap();
        file.set_len(length).unwrap();
        for args in [&["session", "list"][..], &["status"], &["recall", "deployment"]] {
            let (code, said) = ended(&serving, args);
            if length == 0 || code != Some(0) {
                assert_eq!(code, Some(3), "{args:?}: {said}");
                assert!(said.contains("s.db") && said.contains("verify"), "{args:?}: {said}");
            }
        }
        rounds(&mut one, &serving, usize::MAX);
        check_prefixes(Api::Anthropic, &serving, &serving.prompts());
        assert!(count(&serving, SAID) <= 1, "{}", serving.said());
        if length == 0 {
            check_said_once(&serving, SAID);
        }
    }
}

#[test]
fn a_store_that_another_program_holds_is_waited_for_shortly_and_once() {
    let serving = serving("s.db");
    let mut one = agent(Api::Anthropic);
    rounds(&mut one, &serving, 4);
    // As another program does that is in the middle of something.
    let holding = rusqlite::Connection::open(serving.place.path("s.db")).unwrap();
    holding.execute_batch("BEGIN EXCLUSIVE").unwrap();
    rounds(&mut one, &serving, 4);
    assert!(!serving.said().contains("deadline"), "{}", serving.said());
    check_said_once(&serving, SAID);
    drop(holding);
    let mut other = super::agent::Agent::new(Api::Chat, "Look after the invoices of the north.");
    let known = serving.sessions().len();
    rounds(&mut other, &serving, 2);
    assert_eq!(serving.sessions().len(), known + 1);
    check_said_once(&serving, "can be written again");
}
