//! The library without any of its features: no database, no scripting engine, no network. The store,
//! the policy and the model client are the host's own, and all of it runs anywhere.

mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome::port::OriginalStore;
use epitome::types::hook::{Line, Observe, ObserveJob, SummaryPrompt, SummaryPromptJob};
use epitome::types::{Event, EventKind};
use epitome::{
    CompressionTarget, Compressor, CompressorBuilder, HookResult, LOCAL, LanguageModel, ModelError,
    ModelQuestion, NextPolicies, Policy, RecordStore, ScopeOwner, Session, WindowSetting,
    conformance,
};

use store::Shelf;

/// Decides two things, and leaves the others to the profile.
struct Careful;

impl Policy for Careful {
    fn name(&self) -> &str {
        "careful"
    }

    /// What holds a decision is never touched.
    fn observe(&self, job: &ObserveJob<'_>, _rest: &NextPolicies<'_>) -> HookResult<Observe> {
        let pin = job.text.contains("DECIDED").then_some(true);
        Ok(pin.map(|_| Observe { pin, ..Observe::default() }))
    }

    /// A model writes the summaries, and is asked in these words.
    fn summary_prompt(
        &self,
        _job: &SummaryPromptJob<'_>,
        _rest: &NextPolicies<'_>,
    ) -> HookResult<SummaryPrompt> {
        Ok(Some(SummaryPrompt {
            model: None,
            style: Line::Separate,
            system: Some("You sum up.".to_owned()),
            user: "Keep {must_keep}.\n\n{conversation}".to_owned(),
            max_tokens: None,
            sections: None,
            beside: None,
            rest: None,
        }))
    }
}

/// In the place of a client of a model: what it says is made up.
#[derive(Default)]
struct Scripted(Arc<AtomicUsize>);

#[async_trait::async_trait]
impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let lines = ask.user.lines().count();
        Ok(format!(
            "The parser is being mended, step by step. Lexer untouched. ({lines} lines read.)"
        ))
    }
}

fn message(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}"}}"#)
}

/// One conversation that stands by itself.
async fn one_request() -> Result<(), Box<dyn std::error::Error>> {
    let mut messages = vec![message("user", "Never touch lexer.rs.")];
    for step in 0..60 {
        messages.push(message("assistant", &format!("Step {step}: I read parser.rs again.")));
        messages.push(message("user", &format!("And then, after {step}?")));
    }
    let request = format!("[{}]", messages.join(","));
    let compressor = Compressor::builder().target(CompressionTarget::Ratio(4.0)).build();
    let compressed = compressor.compress(request.as_bytes()).await?;
    let [before, after] = [&compressed.report.before, &compressed.report.after].map(|it| it.tokens);
    println!("compress: {before} tokens became {after}, by {}", compressed.report.counter);
    assert!(compressed.report.fits && after * 3 < before);
    assert!(String::from_utf8_lossy(&compressed.bytes).contains("Never touch lexer.rs."));
    Ok(())
}

fn builder(asked: &Arc<AtomicUsize>) -> CompressorBuilder {
    let tell = |event: &Event| {
        let [before, after] = event.tokens;
        match &event.what {
            EventKind::Compressed { number, .. } => {
                println!("compression {number}: {before} tokens became {after}");
            }
            what => println!("{what:?}"),
        }
    };
    let builder = Compressor::builder().window(WindowSetting::Limit(1500)).on_event(tell);
    builder.policy(Careful).model(Scripted(asked.clone()))
}

async fn talk(session: &mut Session, steps: std::ops::Range<u32>) -> Result<(), epitome::Error> {
    for step in steps {
        session.push(message("user", &format!("Step {step} of the parser, please.")).as_bytes())?;
        let prompt = session.prompt().await?;
        assert!(prompt.fits, "what is sent fits the window");
        let reply = format!("I looked after {} tokens: {}", prompt.tokens[1], "fine, ".repeat(20));
        session.push(message("assistant", &reply).as_bytes())?;
    }
    Ok(())
}

/// One that goes on, in this process and in the next.
async fn live_session() -> Result<(), Box<dyn std::error::Error>> {
    let (shelf, asked) = (Arc::new(Shelf::default()), Arc::default());
    let store = Arc::new(RecordStore::over(shelf.clone()));
    let mut session = builder(&asked).session(store, Some("work"));
    session.push(message("user", "DECIDED: the grammar stays LL(1).").as_bytes())?;
    talk(&mut session, 0..40).await?;
    drop(session);

    // The same as a new process does: the store knows the conversation by its name.
    let store = Arc::new(RecordStore::over(shelf));
    let mut session = builder(&asked).session(store.clone(), Some("work"));
    talk(&mut session, 40..50).await?;
    let prompt = session.prompt().await?;
    let [said, sent] = prompt.tokens;
    println!("live: {said} tokens were said, {sent} are sent");
    assert!(said > 2500 && sent <= 1500);
    let text = String::from_utf8(prompt.bytes.to_vec())?;
    assert!(text.contains("the grammar stays LL(1)"), "what was pinned is there");
    let calls = asked.load(Ordering::Relaxed);
    println!("the model was asked {calls} times");
    assert!(calls > 0);

    let scope = ScopeOwner::from(LOCAL).scope("default");
    let counter = epitome::for_model("gpt-4o");
    let found = store.search(&scope, "Step 3 of the parser", 2000, &counter)?;
    println!("search: {} excerpts say it", found.len());
    assert!(!found.is_empty());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    conformance::store::run_all(Shelf::default)?;
    one_request().await?;
    live_session().await
}
