//! Going back to a snapshot (RULES 24): the next prompt is the one of then, byte for
//! byte, whatever was decided, pinned and compressed since, and what came later can be gone back to.

use epitome_upstream::{Script, Turn};

use super::agent::{Agent, Api, calls};
use super::serving::Serving;

/// The profiles that are shipped.
const PROFILES: [&str; 6] = ["default", "watermark", "ollm", "early", "staged", "tiered"];
const NEXT: &str = "Go on with the ledger.";

fn start(profile: &str) -> Serving {
    let turn = Turn { text: "I look.".into(), calls: calls(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 99, ..Script::default() };
    Serving::start(script, &["--profile", profile, "--prompt-limit", "16000"])
}

/// Runs a command over the store, and gives what it prints.
fn journal(serving: &Serving, profile: &str, args: &[&str]) -> String {
    let flags = ["--store", "s.db", "--profile", profile];
    serving.place.run([args, &flags].concat()).text().to_owned()
}

/// Sends what the agent would, with one more thing said; gives the prompt.
fn next(serving: &Serving, agent: &Agent) -> (Agent, String) {
    let mut agent = agent.clone();
    agent.say(NEXT);
    agent.round(serving);
    let prompts = serving.prompts();
    (agent, timeless(&prompts.last().unwrap().body.to_string()))
}

/// A prompt without the times at which summaries in it were made: one that is made again says its own.
fn timeless(prompt: &str) -> String {
    let mut pieces = prompt.split("[Summary ");
    let mut out = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (id, rest) = piece.split_once(", ").unwrap();
        out.extend(["[Summary ", id, rest.split_once("Z: ").unwrap().1]);
    }
    out
}

fn check(profile: &str) {
    let serving = start(profile);
    let mut agent = Agent::new(Api::Anthropic, "Find out why the deployment fails.").with_id();
    for _ in 0..6 {
        agent.round(&serving);
    }
    journal(&serving, profile, &["goal", "set", "Find the leak"]);
    journal(&serving, profile, &["goal", "decide", "Keep the schema", "--lock"]);
    journal(&serving, profile, &["pin", "e1"]);
    let goals = journal(&serving, profile, &["goal", "list"]);
    let made = journal(&serving, profile, &["snapshot", "create", "--name", "then"]);
    assert!(made.contains("snapshot"), "{profile}: {made}");
    let (mut later, then) = next(&serving, &agent);

    let before = serving.compressions();
    journal(&serving, profile, &["goal", "set", "Mend the ledger", "--new"]);
    journal(&serving, profile, &["goal", "decide", "Drop the ledger", "--lock"]);
    journal(&serving, profile, &["pin", "e3"]);
    journal(&serving, profile, &["session", "mode", "planning"]);
    for round in 0.. {
        later.round(&serving);
        if serving.compressions() >= before + 2 {
            break;
        }
        assert!(round < 40, "{profile} compresses no more: {}", serving.said());
    }
    let changed = journal(&serving, profile, &["goal", "list"]);
    assert!(changed.contains("Mend the ledger"), "{profile}: {changed}");

    let restored = journal(&serving, profile, &["snapshot", "restore", "then"]);
    assert!(restored.contains("taken back"), "{profile}: {restored}");
    assert_eq!(journal(&serving, profile, &["goal", "list"]), goals, "{profile}");
    assert_eq!(next(&serving, &agent).1, then, "{profile}: {restored}");

    // What came later is still there.
    let branches = journal(&serving, profile, &["session", "branches"]);
    assert!(branches.lines().count() >= 3, "{profile}: {branches}");
    let switched = journal(&serving, profile, &["session", "switch", "1"]);
    assert!(switched.contains("goes back"), "{profile}: {switched}");
    assert_eq!(journal(&serving, profile, &["goal", "list"]), changed, "{profile}: {switched}");
    journal(&serving, profile, &["snapshot", "restore", "then"]);
    assert_eq!(journal(&serving, profile, &["goal", "list"]), goals, "{profile}");
    let id = restored.split('`').nth(1).unwrap().split(' ').next_back().unwrap().to_owned();
    let forth = journal(&serving, profile, &["snapshot", "restore", &id]);
    assert_eq!(journal(&serving, profile, &["goal", "list"]), changed, "{profile}: {forth}");

    let diff = journal(&serving, profile, &["snapshot", "diff", "then", &id]);
    let lines = [
        "  - g1 (medium, active): Find the leak",
        "  + g1 (medium, paused): Find the leak",
        "  + g2 (medium, active): Mend the ledger",
        "  + g2 decision (locked): Drop the ledger",
        "mode:",
        "  + planning",
        "  + e3",
    ];
    for line in lines {
        assert!(diff.lines().any(|found| found == line), "{profile}: {line} is not in {diff}");
    }
    assert!(!diff.contains("Keep the schema"), "{profile}: {diff}");
}

#[test]
fn the_next_prompt_is_the_one_of_then() {
    std::thread::scope(|scope| {
        for profile in PROFILES {
            scope.spawn(move || check(profile));
        }
    });
}
