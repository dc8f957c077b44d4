//! Conversations without an id whose beginnings are word for word the same, answers among them: none of
//! them is shown what another one says or decides, and each can be exported whole (RULES 13).

use epitome_upstream::{Script, Turn};

use super::agent::{Agent, Api};
use super::faults::eventually;
use super::serving::Serving;
use crate::program::Ran;

const LIMIT: &str = "6000";
const TASK: &str = "Can you help me to write a parser?";
const GOAL: &str = "Ship the heron parser";
const LOCK: &str = "Keep the pelican port";

/// Whatever is said, the model answers this.
fn start(answer: &str) -> Serving {
    let turn = Turn { text: answer.to_owned(), ..Turn::default() };
    let script = Script { turns: vec![turn], repeat: 400, plain: true, ..Script::default() };
    Serving::start(script, &["--limit", LIMIT])
}

fn journal(serving: &Serving, args: &[&str]) -> Ran {
    serving.place.run([args, &["--store", "s.db"]].concat())
}

/// Sends what it has, takes the answer, and gives the session.
fn ask(serving: &Serving, agent: &mut Agent) -> String {
    let answer = agent.send(serving, agent.request().to_string().into_bytes());
    agent.take(&answer);
    answer.header("x-epitome-session").unwrap().to_owned()
}

fn say(serving: &Serving, agent: &mut Agent, text: &str) -> String {
    let line = format!("{text}: the ledger of the ferry is checked line by line. ");
    agent.say(&line.repeat(12));
    ask(serving, agent)
}

fn set_goal(serving: &Serving, session: &str) -> Ran {
    let lock = ["goal", "decide", LOCK, "--lock", "--session", session];
    journal(serving, &lock).silent();
    journal(serving, &["goal", "set", GOAL, "--session", session])
}

#[test]
fn what_is_set_after_a_short_answer_is_kept() {
    let serving = start("Yes, sure.");
    let mut agent = Agent::new(Api::Chat, TASK);
    let session = ask(&serving, &mut agent);
    set_goal(&serving, &session);
    for turn in 0..40 {
        assert_eq!(say(&serving, &mut agent, &format!("A{turn}")), session);
    }
    assert_eq!(serving.sessions().len(), 1);
    assert!(serving.compressions() > 0);
    let prompt = serving.last().body.to_string();
    assert!(prompt.contains(GOAL) && prompt.contains(LOCK), "{prompt}");
}

#[test]
fn what_others_set_after_the_same_short_answer_is_theirs() {
    let serving = start("Yes, sure.");
    let [mut first, mut second] = [(); 2].map(|()| Agent::new(Api::Chat, TASK));
    let session = ask(&serving, &mut first);
    set_goal(&serving, &session);
    assert_eq!(say(&serving, &mut first, "A0"), session);
    let other = ask(&serving, &mut second);
    assert_ne!(other, session);
    // The first one may have been rewound, or the second one goes on: nobody knows.
    let other = say(&serving, &mut second, "B0");
    let before = serving.prompts().len();
    for turn in 1..40 {
        assert_eq!(say(&serving, &mut second, &format!("B{turn}")), other);
    }
    for prompt in &serving.prompts()[before..] {
        let body = prompt.body.to_string();
        assert!(!body.contains(GOAL) && !body.contains(LOCK), "{body}");
    }
    let exported = journal(&serving, &["session", "export", &other]).text().to_owned();
    assert!(exported.contains("B39") && exported.contains(TASK) && !exported.contains("A0"));
}

#[test]
fn whoever_sets_something_is_told_of_others_that_were_told_the_same() {
    let serving = start("Yes, sure.");
    let [mut first, mut second] = [(); 2].map(|()| Agent::new(Api::Chat, TASK));
    let session = ask(&serving, &mut first);
    assert_eq!(set_goal(&serving, &session).err, "");
    let other = ask(&serving, &mut second);
    eventually("the answer is recorded", || {
        let shown = journal(&serving, &["session", "show", &other, "--json"]).json();
        !shown["answer"].is_null()
    });
    for act in [&["goal", "set", GOAL][..], &["pin", "e0"]] {
        let told = journal(&serving, &[act, &["--session", &other]].concat());
        assert!(told.err.contains(&format!("1 other session ({session})")), "{told:?}");
        assert_eq!(told.code, 0);
    }
    assert_ne!(say(&serving, &mut second, "B0"), other);
}

/// A client that rewinds, or compacts its own history, leaves ways that are still there.
#[test]
fn what_was_left_under_an_id_is_listed_and_exported() {
    let serving = start("I have read it.");
    let mut agent = Agent::new(Api::Anthropic, TASK).with_id();
    let session = ask(&serving, &mut agent);
    say(&serving, &mut agent, "First");
    let shared = agent.messages().clone();
    for turn in 0..4 {
        say(&serving, &mut agent, &format!("QA{turn}"));
    }
    agent.messages().clone_from(&shared);
    for turn in 0..6 {
        assert_eq!(say(&serving, &mut agent, &format!("QB{turn}")), session);
    }
    let listed = journal(&serving, &["session", "branches", &session, "--json"]).json();
    let listed = listed.as_array().unwrap();
    let facts: Vec<_> = listed.iter().map(|it| (&it["messages"], &it["current"])).collect();
    assert_eq!(format!("{facts:?}"), "[(Number(12), Bool(false)), (Number(16), Bool(true))]");
    assert!(listed[0]["title"].as_str().unwrap().starts_with("QA0"), "{listed:?}");

    let here = journal(&serving, &["session", "export", &session]);
    assert!(here.text().contains("QB5") && !here.text().contains("QA3"), "{here:?}");
    assert!(here.err.contains("1 other way") && here.err.contains("session branches"), "{here:?}");
    for named in ["1", listed[0]["id"].as_str().unwrap()] {
        let args = ["session", "export", &session, "--branch", named];
        let left = String::from_utf8(journal(&serving, &args).silent()).unwrap();
        assert!(left.contains(TASK) && left.contains("QA3") && !left.contains("QB"), "{left}");
        assert_eq!(left.matches("I have read it.").count(), 6, "the last answer, too: {left}");
    }
    let none = journal(&serving, &["session", "export", &session, "--branch", "9"]);
    assert!(none.code != 0 && none.err.contains("it has 2"), "{none:?}");
}

/// They are one session as long as they are the same, and two from the moment that both go on.
#[test]
fn two_that_part_after_some_exchanges_are_exported_whole() {
    let answer = "I have read it, and I will go through the grammar of the parser rule by rule, then \
        write the lexer, then the tests for it, and then I will say what is left to be done here.";
    for restarts in [false, true] {
        let mut serving = start(answer);
        let [mut first, mut second] = [(); 2].map(|()| Agent::new(Api::Chat, TASK));
        for agent in [&mut first, &mut second] {
            ask(&serving, agent);
            say(&serving, agent, "Then");
        }
        let mut names = [String::new(), String::new()];
        for turn in 0..30 {
            if restarts && turn % 10 == 5 {
                serving.kill();
                serving.go_on();
            }
            let said = [format!("QA{turn}."), format!("QB{turn}.")];
            for ((agent, said), name) in
                [&mut first, &mut second].into_iter().zip(said).zip(&mut names)
            {
                let session = say(&serving, agent, &said);
                // At first nobody knows of the other one.
                assert!(turn < 3 || session == *name, "{turn}: {session} {names:?}");
                *name = session;
            }
        }
        let [one, other] = &names;
        assert_ne!(one, other);
        for (name, own, others) in [(one, "QA", "QB29."), (other, "QB", "QA29.")] {
            let exported = journal(&serving, &["session", "export", name]).text().to_owned();
            let lacks = (0..30).find(|turn| !exported.contains(&format!("{own}{turn}.")));
            assert_eq!(lacks, None, "{name}");
            assert!(exported.contains(TASK) && !exported.contains(others), "{name}");
        }
    }
}
