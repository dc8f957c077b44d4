//! What was erased stays erased, though the client still holds it and sends it with each request.

use std::fs;
use std::path::Path;

use epitome_upstream::Script;

use super::agent::{Agent, Api, calls};
use super::serving::Serving;
use crate::program::read_file;

/// Words of one message of a person, of one answer and of one result; no other message holds them.
const TOLD: &str = "quagmire-heron-7741";
const RESULT: &str = "run 2 out of memory";

/// The files of a folder, and of all in it, that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if read_file(&path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|it| it == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

fn holders(serving: &Serving, text: &str) -> Vec<String> {
    holding(&serving.place.path(""), text)
}

fn run(serving: &Serving, args: &[&str]) -> String {
    let ran = serving.place.run([args, &["--store", "s.db"]].concat());
    assert!([0, 4].contains(&ran.code), "{args:?}: {ran:?}");
    ran.text().to_owned()
}

/// The ids of the messages that hold a text; the system prompt comes first.
fn ids(agent: &mut Agent, text: &str) -> Vec<String> {
    let messages = agent.messages().iter().enumerate();
    let found = messages.filter(|(_, message)| message.to_string().contains(text));
    found.map(|(place, _)| format!("e{}", place + 1)).collect()
}

#[track_caller]
fn check(profile: &str, restarts: bool) {
    let args = ["--prompt-limit", "16000", "--profile", profile];
    let mut serving = Serving::on_store(Script::agent(5, calls()), &args, Some("s.db"));
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.").with_id();
    agent.work(&serving);
    agent.say(&format!("Never use the password {TOLD}."));
    agent.work(&serving);
    for text in [TOLD, RESULT] {
        assert!(!holders(&serving, text).is_empty(), "{profile}: {text} was recorded");
    }
    if restarts {
        serving.stop();
    }
    let found = [TOLD, RESULT].map(|text| ids(&mut agent, text)).concat();
    assert!(found.len() >= 2, "{found:?}");
    let found: Vec<_> = found.iter().map(String::as_str).collect();
    run(&serving, &[&["session", "erase", "client-one"], &found[..]].concat());
    for text in [TOLD, RESULT] {
        assert_eq!(holders(&serving, text), Vec::<String>::new(), "{profile}: behind the erasure");
    }
    if restarts {
        serving.go_on();
    }
    for turn in 0..6 {
        agent.say(&format!("Go on with step {turn}: {}", "look at the ledger of it. ".repeat(400)));
        agent.work(&serving);
    }
    assert_eq!(serving.sessions().len(), 1, "{profile}: one session goes on");
    assert!(serving.compressions() > 0, "{profile}");
    serving.stop();
    serving.go_on();
    agent.say("And now?");
    agent.work(&serving);
    for text in [TOLD, RESULT] {
        let args = [
            &["session", "search", text][..],
            &["recall", text],
            &["session", "export", "client-one"],
            &["session", "show", "client-one"],
            &["diff"],
        ];
        for args in args {
            let shown = run(&serving, args).replace(&format!("{text:?}"), "");
            assert!(!shown.contains(text), "{profile}: {args:?}: {shown}");
        }
    }
    serving.stop();
    for text in [TOLD, RESULT] {
        assert_eq!(holders(&serving, text), Vec::<String>::new(), "{profile}: at the end");
    }
}

#[test]
fn what_was_erased_is_not_recorded_again() {
    check("default", false);
    check("default", true);
    check("staged", false);
}

/// Nothing is taken from what the client says while it fits.
#[test]
fn what_was_erased_still_goes_out() {
    let args = ["--prompt-limit", "100000"];
    let serving = Serving::on_store(Script::agent(1, calls()), &args, Some("s.db"));
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.").with_id();
    agent.say(&format!("Never use the password {TOLD}."));
    agent.work(&serving);
    let found = ids(&mut agent, TOLD);
    run(&serving, &["session", "erase", "client-one", &found[0]]);
    agent.say("Go on.");
    agent.work(&serving);
    let sent = serving.prompts().last().unwrap().body.to_string();
    assert!(sent.contains(TOLD), "{sent}");
}
