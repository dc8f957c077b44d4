//! The pause behind an answer: what is due is compressed there, and nothing waits for it later.

use std::sync::Arc;

use epitome::types::SessionFigures;
use epitome::{
    Compressor, CompressorBuilder, Config, ConfigSources, Format, MemoryStore, Prompt,
    WindowSetting,
};
use epitome_testkit::{FixedCounter, now};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::yield_now;

use crate::background::{Does, Slow, WRITTEN, is_asked, told};
use crate::model::asks;
use crate::talk::{AT, By, Talk, builder, names, text};

/// A conversation under a shipped profile, with a window of so many tokens.
fn under(profile: &str, limit: u64) -> CompressorBuilder {
    let profile = Config::load(ConfigSources::default()).unwrap().profile(profile).unwrap();
    let builder = Compressor::builder().profile(profile).counter(FixedCounter::Words);
    let builder = builder.input_format(Format::Ollama);
    builder.clock(|| AT.to_owned()).window(WindowSetting::Limit(limit))
}

fn is_compressed(prompt: &Prompt) -> bool {
    names(&prompt.events).contains(&"compressed".to_owned())
}

fn messages(prompt: &Prompt) -> Vec<Value> {
    let request: Value = serde_json::from_slice(&prompt.bytes).unwrap();
    request["messages"].as_array().unwrap().clone()
}

fn paused(talk: &mut Talk) -> Prompt {
    now(talk.session.compress_if_due()).unwrap().unwrap()
}

fn question(talk: &mut Talk, turn: usize) {
    talk.say("user", &format!("Question {turn}: {}", format!("ask{turn} ").repeat(50)));
}

fn answer(talk: &mut Talk, turn: usize) {
    talk.say("assistant", &format!("Answer {turn}: {}", format!("tell{turn} ").repeat(420)));
}

/// What compressions of a chat of so many turns were made with: prompts, or pauses.
fn chat(profile: &str, turns: usize) -> ([usize; 2], SessionFigures) {
    let journal = Arc::new(MemoryStore::new());
    let mut talk = Talk::of(under(profile, 6800), &journal);
    let (mut made, mut last) = ([0, 0], Vec::new());
    for turn in 0..turns {
        question(&mut talk, turn);
        let prompt = talk.prompt();
        assert!(prompt.fits && prompt.tokens[1] <= 6800, "{turn}: {:?}", prompt.tokens);
        made[0] += usize::from(is_compressed(&prompt));
        let sent = messages(&prompt);
        assert!(is_compressed(&prompt) || sent.starts_with(&last), "{turn}");
        // The status behind an answer counts it.
        answer(&mut talk, turn);
        let pause = paused(&mut talk);
        made[1] += usize::from(is_compressed(&pause));
        let grown = prompt.tokens[1] + 426;
        assert!(pause.tokens[1] == grown || is_compressed(&pause), "{turn}: {:?}", pause.tokens);
        last = messages(&pause);
        if turn % 3 == 0 {
            // Another process goes on in the same way.
            talk = Talk::of(under(profile, 6800), &journal);
        }
    }
    (made, talk.session.info().unwrap().figures)
}

#[test]
fn what_is_due_is_compressed_behind_the_answer_and_not_with_the_next_message() {
    for profile in ["ollm", "staged", "early", "default"] {
        let ([with_prompts, in_pauses], figures) = chat(profile, 50);
        assert_eq!(with_prompts, 0, "{profile}");
        assert!(in_pauses >= 4, "{profile}: {in_pauses}");
        assert_eq!(figures.compressions as usize, in_pauses, "{profile}");
        // What is looked at in a pause was not sent.
        assert_eq!(figures.turns, 50, "{profile}");
    }
}

#[test]
fn in_a_pause_nothing_is_due_before_anything_is_said_or_while_a_call_waits() {
    let mut talk = Talk::new(under("ollm", 6800));
    assert!(now(talk.session.compress_if_due()).unwrap().is_none());
    talk.say("user", "Look.");
    talk.prompt();
    let call = r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"ls","arguments":{}}}]}"#;
    talk.session.push(call.as_bytes()).unwrap();
    assert!(now(talk.session.compress_if_due()).unwrap().is_none());
    talk.session.push(br#"{"role":"tool","tool_name":"ls","content":"src"}"#).unwrap();
    assert_eq!(messages(&paused(&mut talk)).len(), messages(&talk.prompt()).len());
}

/// Whoever types before a pause came to its end gets what it gives up with the prompt.
#[tokio::test]
async fn what_a_pause_has_not_finished_is_made_with_the_next_prompt() {
    let model = Slow::new(Does::Write);
    let mut talk = Talk::new(under("ollm", 2000).model(model.clone()));
    for turn in 0..4 {
        question(&mut talk, turn);
        if turn < 3 {
            answer(&mut talk, turn);
        }
    }
    talk.session.prompt().await.unwrap();
    answer(&mut talk, 3);
    let asked = model.asked();
    tokio::select! {
        biased;
        made = talk.session.compress_if_due() => panic!("{made:?}"),
        () = async { is_asked(&model, asked + 1).await } => {}
    }
    model.go();
    question(&mut talk, 4);
    let prompt = talk.session.prompt().await.unwrap();
    assert!(is_compressed(&prompt) && prompt.fits, "{:?}", prompt.events);
}

/// Nothing of a prompt that was compressed in a pause is cached yet: words that come before the next
/// message stand in it.
#[tokio::test]
async fn words_that_come_before_the_next_message_stand_in_it() {
    let model = Slow::new(Does::Write);
    let settings = builder(2000).model(model.clone()).policy(By("asks", asks));
    let mut talk = Talk::new(settings.background(Handle::current()));
    talk.chat(20);
    talk.session.request_compression();
    let pause = paused(&mut talk);
    assert!(is_compressed(&pause) && !text(&pause).contains(WRITTEN));
    is_asked(&model, 1).await;
    model.go();
    for _ in 0..10 {
        yield_now().await;
    }
    talk.say("user", "And now?");
    let prompt = told(&mut talk, "summary-written-in-background").await;
    assert!(text(&prompt).contains(WRITTEN), "{:?}", prompt.events);
    assert_eq!(talk.session.info().unwrap().figures.compressions, 1);
}
