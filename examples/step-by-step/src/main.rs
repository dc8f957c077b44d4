//! A turn that two processes share: the first begins it and writes it down, the second finishes it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example says what it does")]

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use epitome::{
    Compressor, CompressorBuilder, EffectAnswer, MemoryStore, SteppedTurn, TurnEffect, TurnStep,
    WindowSetting,
};
use serde_json::json;

/// So many effects are answered before the turn is written down.
const FIRST: usize = 6;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("begin") => begin(),
        Some("finish") => finish(),
        Some("whole") => whole(),
        _ => Err("say `begin`, `finish` or `whole`".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers the first effects, and prints the record of the turn.
fn begin() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemoryStore::new());
    let mut turn = SteppedTurn::new(settings(), store, Some("talk"), request().as_bytes());
    let mut step = turn.advance()?;
    for _ in 0..FIRST {
        let TurnStep::Waits(effect) = step else { break };
        step = turn.answer(answer(&effect))?;
    }
    println!("{}", serde_json::to_string_pretty(&turn.record())?);
    Ok(())
}

/// Takes the turn up from standard input, and prints its prompt.
fn finish() -> Result<(), Box<dyn Error>> {
    let record = serde_json::from_reader(io::stdin())?;
    to_the_end(SteppedTurn::resume(settings(), Arc::new(MemoryStore::new()), record)?)
}

/// All of the turn in one process.
fn whole() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemoryStore::new());
    to_the_end(SteppedTurn::new(settings(), store, Some("talk"), request().as_bytes()))
}

fn to_the_end(mut turn: SteppedTurn) -> Result<(), Box<dyn Error>> {
    let mut step = turn.advance()?;
    loop {
        match step {
            TurnStep::Waits(effect) => step = turn.answer(answer(&effect))?,
            TurnStep::Done(prompt) => {
                eprintln!("{} tokens became {}", prompt.tokens[0], prompt.tokens[1]);
                println!("{}", String::from_utf8_lossy(&prompt.bytes));
                return Ok(());
            }
        }
    }
}

/// What an effect is answered.
fn answer(effect: &TurnEffect) -> EffectAnswer {
    let (how, answer) = match &*effect.name {
        "clock.now" => ("by hand", EffectAnswer::Reply(json!("2026-01-02T03:04:05Z"))),
        "hook.trigger" => {
            let by = json!({ "policy": "a person", "hook": "trigger" });
            let reply = json!({ "answer": { "level": "hard" }, "by": by });
            ("by hand", EffectAnswer::Reply(reply))
        }
        _ if effect.writes => ("taken for done", EffectAnswer::Accept),
        _ => ("performed", EffectAnswer::Perform),
    };
    eprintln!("{:24} {how}", effect.name);
    answer
}

fn settings() -> CompressorBuilder {
    Compressor::builder().window(WindowSetting::Limit(2000))
}

/// A conversation that takes half of the window.
fn request() -> String {
    let mut messages = vec![json!({ "role": "user", "content": "Never push to main." })];
    for number in 0..24 {
        let said = format!("Step {number} is done: src/part{number}.rs was written and tested.");
        messages.push(json!({ "role": "assistant", "content": said }));
        messages.push(json!({ "role": "user", "content": "Go on, one step at a time." }));
    }
    json!({ "model": "m", "messages": messages }).to_string()
}
