//! Conversations that begin alike (RULES 13): whatever is said or decided in one is in no prompt,
//! list or export of another, under other ids, under none, and in other APIs.

use epitome_upstream::{Script, Turn};
use serde_json::json;

use super::agent::{APIS, Agent, Api, calls};
use super::serving::Serving;
use super::summaries::{GOAL, LOCK, decided, go_on, summarize};
use crate::program::Ran;

/// Tokens; some rounds of the agent fill it.
const LIMIT: &str = "16000";
const TASK: &str = "Find out why the deployment fails.";
/// What a person decides.
const BY_HAND: &str = "Name the queues by region";

fn start() -> Serving {
    let turn = Turn { text: "I look.".into(), calls: calls(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 9, ..Script::default() };
    Serving::start(script, &["--prompt-limit", LIMIT])
}

fn journal(serving: &Serving, args: &[&str]) -> Ran {
    serving.place.run([args, &["--store", "s.db"]].concat())
}

/// An agent under an id that says this after the task and works on; gives the name of its session.
fn converse(serving: &Serving, api: Api, label: Option<&str>, said: &str) -> String {
    let mut agent = Agent::new(api, TASK);
    agent.headers.extend(label.map(|it| ("x-claude-code-session-id".to_owned(), it.to_owned())));
    agent.send(serving, agent.request().to_string().into_bytes());
    agent.messages().push(json!({"role": "assistant", "content": said}));
    agent.say("Go on.");
    agent.work(serving);
    let answer = agent.send(serving, agent.request().to_string().into_bytes());
    answer.header("x-epitome-session").unwrap().to_owned()
}

/// One conversation with a goal and a lock, and another one that begins alike.
#[track_caller]
fn check(serving: &Serving, apis: [Api; 2], labels: [Option<&str>; 2]) {
    let context = format!("{apis:?} {labels:?}");
    let marked = format!("[GOAL] {GOAL}\n[DECISION] {LOCK} - LOCKED\nOn it.");
    let first = converse(serving, apis[0], labels[0], &marked);
    let of_first = serving.prompts().len();
    let goals = journal(serving, &["goal", "list", "--session", &first]);
    assert!(goals.text().contains(GOAL) && goals.text().contains(LOCK), "{context}: {goals:?}");
    let exported = journal(serving, &["session", "export", &first]).silent();

    let second = converse(serving, apis[1], labels[1], "I begin with the log.");
    assert_ne!(first, second, "{context}");
    for prompt in &serving.prompts()[of_first..] {
        let body = prompt.body.to_string();
        assert!(!body.contains(GOAL) && !body.contains(LOCK), "{context}: {body}");
    }
    let goals = journal(serving, &["goal", "list", "--session", &second]);
    assert!(goals.text().contains("no goal is set"), "{context}: {goals:?}");
    let exported_again = journal(serving, &["session", "export", &first]).silent();
    assert_eq!(exported_again, exported, "{context}");
    let other = journal(serving, &["session", "export", &second]).silent();
    assert!(!String::from_utf8_lossy(&other).contains(GOAL), "{context}");
}

#[test]
fn another_client_that_is_told_the_same_inherits_nothing() {
    let serving = start();
    check(&serving, [Api::Anthropic; 2], [Some("client-one"), Some("client-two")]);
    assert!(serving.compressions() >= 2, "{}", serving.said());
}

#[test]
fn conversations_without_ids_that_begin_alike_stay_apart() {
    std::thread::scope(|scope| {
        for api in APIS {
            scope.spawn(move || check(&start(), [api; 2], [None; 2]));
        }
    });
}

#[test]
fn one_opening_in_two_apis_is_two_conversations() {
    std::thread::scope(|scope| {
        for apis in [[Api::Anthropic, Api::Chat], [Api::Chat, Api::Ollama]] {
            for label in [None, Some("client-one")] {
                scope.spawn(move || check(&start(), apis, [label; 2]));
            }
        }
    });
}

/// What is larger than the limit goes out all the same, and its answer is one of the conversation's.
#[test]
fn a_conversation_that_begins_with_more_than_fits_is_one() {
    let pasted = "The log of the night, as it was printed by the third machine from the left. ";
    std::thread::scope(|scope| {
        for api in APIS {
            scope.spawn(move || {
                let serving = start();
                let mut agent = Agent::new(api, &pasted.repeat(1500));
                let answer = agent.send(&serving, agent.request().to_string().into_bytes());
                assert_eq!(answer.header("x-epitome-skip"), Some("oversized"), "{api:?}");
                agent.take(&answer);
                agent.work(&serving);
                let listed = journal(&serving, &["session", "list", "--json", "--all"]).json();
                let [only] = &listed.as_array().unwrap()[..] else { panic!("{api:?} {listed:#}") };
                assert_eq!(only["turns"], 10, "{api:?}");
            });
        }
    });
}

/// What a model decided is in force where the conversation goes on from that, and on no other way.
#[test]
fn a_rewind_leaves_behind_what_was_decided_after_it() {
    std::thread::scope(|scope| {
        for api in [Api::Anthropic, Api::Chat] {
            for with_id in [true, false] {
                scope.spawn(move || rewind(&start(), api, with_id));
            }
        }
    });
}

fn rewind(serving: &Serving, api: Api, with_id: bool) {
    let agent = Agent::new(api, TASK);
    let mut agent = if with_id { agent.with_id() } else { agent };
    let ask = |agent: &Agent| {
        let answer = agent.send(serving, agent.request().to_string().into_bytes());
        answer.header("x-epitome-session").unwrap().to_owned()
    };
    let goals = |session: &str| journal(serving, &["goal", "list", "--session", session]);
    agent.round(serving);
    agent.round(serving);
    let shared = agent.messages().clone();

    let decides = |agent: &mut Agent, said: &str| {
        agent.messages().push(json!({"role": "assistant", "content": said}));
        agent.say("Go on.");
        ask(agent)
    };
    decides(&mut agent, &format!("[GOAL] {GOAL}\n[DECISION] {LOCK} - LOCKED\nOn it."));
    agent.messages().push(json!({"role": "assistant", "content": "Done so far."}));
    agent.say("And then?");
    let first = ask(&agent);
    assert!(goals(&first).text().contains(LOCK), "{:?}", goals(&first));
    journal(serving, &["goal", "decide", BY_HAND, "--lock", "--session", &first]).silent();
    ask(&agent);
    assert!(goals(&first).text().contains(BY_HAND), "{:?}", goals(&first));
    let left = agent.messages().clone();

    let before = serving.prompts().len();
    agent.messages().clone_from(&shared);
    let second = decides(&mut agent, "[GOAL] Write the badger report\nOn it.");
    agent.work(serving);
    let last = ask(&agent);
    assert_eq!(second, last);
    for prompt in &serving.prompts()[before..] {
        let body = prompt.body.to_string();
        for text in [GOAL, LOCK, BY_HAND] {
            assert!(!body.contains(text), "{api:?} {with_id}: {text}: {body}");
        }
    }
    let listed = goals(&last).text().to_owned();
    assert!(listed.contains("badger") && !listed.contains(GOAL), "{api:?} {with_id}: {listed}");
    assert!(!listed.contains(BY_HAND), "{api:?} {with_id}: {listed}");

    // Back on the way that was left, the other way round.
    agent.messages().clone_from(&left);
    agent.messages().push(json!({"role": "assistant", "content": "Then this."}));
    agent.say("Back to that.");
    let back = ask(&agent);
    let listed = goals(&back).text().to_owned();
    assert!(listed.contains(LOCK) && !listed.contains("badger"), "{api:?} {with_id}: {listed}");
    assert!(listed.contains(BY_HAND), "{api:?} {with_id}: {listed}");
}

/// A client that sums its history up goes on with what was decided in it, by the model and by hand.
#[test]
fn what_was_decided_holds_behind_a_summary_that_the_client_made() {
    let serving = start();
    let (mut agent, session) = decided(&serving);
    journal(&serving, &["goal", "decide", BY_HAND, "--lock", "--session", &session]).silent();
    for round in ["first", "second"] {
        let said = format!("The lease of the {round} cluster was read, the log was not.");
        let text = summarize(&agent, &serving, &format!("<summary>\n{said}\n</summary>"));
        go_on(&mut agent, &serving, &text);
        agent.work(&serving);
        let answer = agent.send(&serving, agent.request().to_string().into_bytes());
        assert_eq!(answer.header("x-epitome-session"), Some(&*session));
        let listed = journal(&serving, &["goal", "list", "--session", &session]);
        let prompt = serving.last().body.to_string();
        for text in [GOAL, LOCK, BY_HAND] {
            assert!(listed.text().contains(text), "{text}: {listed:?}");
            assert!(prompt.contains(text), "{text}: {prompt}");
        }
    }
    // Nobody else has it.
    let other = converse(&serving, Api::Anthropic, Some("client-two"), "I begin with the log.");
    let goals = journal(&serving, &["goal", "list", "--session", &other]);
    assert!(goals.text().contains("no goal is set"), "{goals:?}");
}
