//! Whatever is named works as it is printed: each command in a prompt, in `diff` and in `status`, run
//! by a shell in the same folder behind a restart, whatever profile and store it was made under.

use epitome_upstream::Script;
use serde_json::json;

use super::agent::{Agent, Api, calls};
use super::serving::Serving;
use crate::mcp::{call, hello};

/// The commands that a prompt names, each as it stands there; it names no store, since that may change.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, named) in text.match_indices("epitome recall ") {
        let rest = text[at + named.len()..].chars();
        let id: String = rest.take_while(char::is_ascii_hexdigit).collect();
        if id.len() >= 8 {
            found.push(format!("{named}{id}"));
        }
    }
    found
}

/// The commands that the words of a verb name: what stands behind the first words of a line, or in
/// quotes.
fn printed(text: &str) -> Vec<String> {
    let begins = |part: &&str| part.starts_with("epitome recall ");
    let quoted = text.split('`').filter(begins).map(str::to_owned);
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("back"));
    lines.map(|line| line.trim().to_owned()).chain(quoted).collect()
}

#[track_caller]
fn check(profile: &'static str, store: Option<&'static str>) {
    let script = Script::agent(11, calls());
    let args = ["--prompt-limit", "16000", "--profile", profile];
    let mut serving = Serving::on_store(script, &args, store);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.").with_id();
    agent.work(&serving);
    serving.stop();
    serving.go_on();
    let context = format!("{profile}, {store:?}");
    let mut named = Vec::new();
    for prompt in serving.prompts() {
        named.extend(commands(&prompt.body.to_string()));
    }
    let flags: Vec<&str> = store.into_iter().flat_map(|store| ["--store", store]).collect();
    for verb in [&["diff"][..], &["status"], &["status", "--session", "client-one"]] {
        let ran = serving.place.run([verb, &flags].concat());
        assert_eq!(ran.code, 0, "{context}: {verb:?}: {}", ran.err);
        named.extend(printed(ran.text()));
    }
    named.sort();
    named.dedup();
    assert!(!named.is_empty(), "{context}: nothing is named");
    for line in &named {
        let ran = serving.place.shell(line);
        assert_eq!(ran.code, 0, "{context}: {line}: {}", ran.err);
        assert!(ran.text().len() > 20, "{context}: {line}: {}", ran.text());
    }
    // The tools of an agent find the same ids, from whatever store they are.
    let id = named.last().and_then(|line| line.rsplit(' ').next()).unwrap();
    let asked = [hello(1), call(2, "recall", &json!({"id": id}))].map(|it| format!("{it}\n"));
    let answered = serving.place.feed(["mcp"], asked.concat().as_bytes());
    let found = answered
        .text()
        .lines()
        .any(|line| line.contains("\\\"text\\\"") || line.contains("\"text\""));
    let is_error = answered.text().contains("\"isError\":true");
    assert!(found && !is_error, "{context}: {}{}", answered.text(), answered.err);
}

#[test]
fn what_is_named_brings_the_original_back_as_printed() {
    let profiles = ["default", "ollm", "staged", "watermark", "early", "tiered"];
    std::thread::scope(|scope| {
        for profile in profiles {
            scope.spawn(move || {
                check(profile, None);
                check(profile, Some("my stores/the first.db"));
            });
        }
    });
}

/// The files that a prompt names.
fn files(prompt: &str) -> Vec<&str> {
    let named = prompt.match_indices(FOLDER).map(|(at, _)| &prompt[at..]);
    let name = |rest: &'_ str| rest[FOLDER.len()..].find(".md").map(|end| FOLDER.len() + end + 3);
    named.filter_map(|rest| name(rest).map(|end| &rest[..end])).collect()
}

const FOLDER: &str = ".epitome/offloaded/";

/// A folder that somebody deletes is there again before a prompt names a file in it, without a restart.
#[test]
fn files_of_a_folder_that_was_deleted_are_written_again() {
    let args = ["--prompt-limit", "16000", "--workspace", "."];
    let serving = Serving::on_store(Script::agent(11, calls()), &args, Some("s.db"));
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.").with_id();
    agent.work(&serving);
    for deleted in [".epitome", ".epitome/offloaded"] {
        std::fs::remove_dir_all(serving.place.path(deleted)).unwrap();
        agent.say("Go on.");
        agent.work(&serving);
        let prompt = serving.last().body.to_string();
        let named = files(&prompt);
        assert!(!named.is_empty(), "{prompt}");
        let is_there = |name: &&&str| serving.place.path(name).is_file();
        let missing: Vec<_> = named.iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "behind a lost {deleted}: {missing:?}");
    }
}
