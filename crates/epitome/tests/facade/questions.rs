//! What policies ask models about messages, in the background.

use std::sync::Arc;
use std::time::Duration;

use epitome::types::hook::Observe;
use epitome::types::{Event, EventKind};
use epitome::{
    Answer, HookInterrupt, HookResult, Job, MemoryStore, ModelQuestion, NextPolicies, Prompt,
};
use tokio::runtime::Handle;
use tokio::task::yield_now;

use crate::background::{Does, Slow, WRITTEN, is_asked, told};
use crate::talk::{By, Talk, builder, errors};

/// Warns of a question that a person asks with what a model says of it.
fn wondering(job: &Job<'_>, _: &NextPolicies<'_>) -> HookResult<Answer> {
    let Job::Observe(job) = job else { return Ok(None) };
    if !job.text.ends_with('?') {
        return Ok(None);
    }
    match job.common.replies.get("about") {
        Some(reply) if !job.text.contains("again") => {
            let warn = Some(format!("{}: {reply}", job.text));
            Ok(Some(Answer::Observe(Observe { warn, ..Observe::default() })))
        }
        _ => {
            let (id, user) = ("about".to_owned(), job.text.to_owned());
            Err(HookInterrupt::Ask(Box::new(ModelQuestion {
                id,
                user,
                ..ModelQuestion::default()
            })))
        }
    }
}

fn wonders_over(model: &Slow, journal: &Arc<MemoryStore>) -> Talk {
    let builder = builder(2000).model(model.clone()).policy(By("wonders", wondering));
    Talk::of(builder.background(Handle::current()), journal)
}

fn wonders(model: &Slow) -> Talk {
    wonders_over(model, &Arc::default())
}

/// What is warned of, where nothing else happened.
#[track_caller]
fn warned(prompt: &Prompt) -> &str {
    match &prompt.events[..] {
        [Event { what: EventKind::PolicyWarning { text, .. }, .. }] => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn no_prompt_waits_for_what_policies_ask_of_a_message() {
    let model = Slow::new(Does::Write);
    let mut talk = wonders(&model);
    talk.say("user", "Who was it?");
    assert!(talk.prompt().events.is_empty());
    is_asked(&model, 1).await;
    // What is asked meanwhile waits for that.
    talk.say("assistant", "Nobody.");
    talk.say("user", "And why?");
    assert!(talk.prompt().events.is_empty());
    for _ in 0..10 {
        yield_now().await;
    }
    assert_eq!(model.asked(), 1);
    model.go();
    let first = told(&mut talk, "policy-warning").await;
    assert_eq!(warned(&first), format!("Who was it?: {WRITTEN}"));
    model.go();
    let second = told(&mut talk, "policy-warning").await;
    assert_eq!(warned(&second), format!("And why?: {WRITTEN}"));
}

#[tokio::test(start_paused = true)]
async fn who_asks_a_model_that_hangs_is_told() {
    let model = Slow::new(Does::Write);
    let mut talk = wonders(&model);
    talk.say("user", "Who was it?");
    assert!(talk.prompt().events.is_empty());
    is_asked(&model, 1).await;
    tokio::time::sleep(Duration::from_secs(121)).await;
    let late = told(&mut talk, "policy-error").await;
    assert_eq!(errors(&late), ["wonders: `observe`: it asks `about`: no answer within 120 s"]);
    assert_eq!(model.dropped(), 1);
}

#[tokio::test]
async fn a_policy_asks_twice_at_most() {
    let model = Slow::new(Does::Write);
    (0..9).for_each(|_| model.go());
    let mut talk = wonders(&model);
    talk.say("user", "Who was it again?");
    let given_up = told(&mut talk, "policy-error").await;
    let why = "wonders: `observe`: it asks `about`: a model is asked twice at most; answer now";
    assert_eq!((errors(&given_up), model.asked()), (vec![why.to_owned()], 2));
}

/// A process that ends takes its questions with it; the next one asks them, once.
#[tokio::test]
async fn a_question_without_an_answer_is_asked_anew_by_a_new_process() {
    let (model, journal) = (Slow::new(Does::Write), Arc::default());
    let mut talk = wonders_over(&model, &journal);
    talk.say("user", "Who was it?");
    assert!(talk.prompt().events.is_empty());
    is_asked(&model, 1).await;
    talk.say("assistant", "Nobody.");
    talk.say("user", "I see.");
    assert!(talk.prompt().events.is_empty());
    drop(talk);
    yield_now().await;
    assert_eq!(model.dropped(), 1);
    let mut talk = wonders_over(&model, &journal);
    assert!(talk.prompt().events.is_empty());
    is_asked(&model, 2).await;
    // Who waits for an answer does not ask anew.
    assert!(talk.prompt().events.is_empty());
    model.go();
    let answered = told(&mut talk, "policy-warning").await;
    assert_eq!(warned(&answered), format!("Who was it?: {WRITTEN}"));
    drop(talk);
    let mut talk = wonders_over(&model, &journal);
    for _ in 0..10 {
        assert!(talk.prompt().events.is_empty());
        yield_now().await;
    }
    assert_eq!(model.asked(), 2);
}

#[tokio::test]
async fn who_asks_a_model_that_crashes_is_told_and_the_next_is_asked() {
    let (model, journal) = (Slow::new(Does::Crash), Arc::default());
    let mut talk = wonders_over(&model, &journal);
    talk.say("user", "Who was it?");
    assert!(talk.prompt().events.is_empty());
    is_asked(&model, 1).await;
    talk.say("user", "And why?");
    assert!(talk.prompt().events.is_empty());
    model.go();
    let crashed = told(&mut talk, "policy-error").await;
    let why = "wonders: `observe`: it asks `about`: `slow` ended in the middle of it";
    assert_eq!(errors(&crashed), [why]);
    is_asked(&model, 2).await;
    assert_eq!(model.asked.lock().unwrap()[1].user, "And why?");
    talk.say("assistant", "Nobody.");
    assert!(talk.prompt().events.is_empty());
    drop(talk);
    // What came to nothing is not asked again.
    let model = Slow::new(Does::Write);
    let mut talk = wonders_over(&model, &journal);
    assert!(talk.prompt().events.is_empty());
    is_asked(&model, 1).await;
    assert_eq!(model.asked.lock().unwrap()[0].user, "And why?");
}

#[tokio::test]
async fn who_has_too_many_questions_is_told() {
    let model = Slow::new(Does::Write);
    let mut talk = wonders(&model);
    for n in 0..10 {
        talk.say("user", &format!("Who was number {n}?"));
    }
    assert!(talk.prompt().events.is_empty());
    let prompt = talk.prompt();
    let why = "wonders: `observe`: it asks `about`: more than 8 questions wait for an answer";
    assert_eq!(errors(&prompt), [why]);
    (0..9).for_each(|_| model.go());
    let first = told(&mut talk, "policy-warning").await;
    assert!(matches!(&first.events[0].what, EventKind::PolicyWarning { text, .. }
        if *text == format!("Who was number 2?: {WRITTEN}")));
}
