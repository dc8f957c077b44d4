//! A whole host: it pushes what is said, sends what comes out, and hears what happens on the way.
//! The model is made up, so that this runs anywhere.

#![expect(clippy::print_stdout, reason = "an example says what it does")]

use std::sync::Arc;

use epitome::types::{Event, EventKind};
use epitome::{Compressor, MemoryStore, Prompt, WindowSetting};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `SqliteStore::open` in the place of `MemoryStore` keeps the conversation; its name finds it again.
    let journal = Arc::new(MemoryStore::new());
    let builder = Compressor::builder().window(WindowSetting::Limit(1000)).on_event(tell);
    let mut session = builder.session(journal, Some("work"));

    session.push(message("system", "You mend parsers.").as_bytes())?;
    for question in 0..40 {
        session
            .push(message("user", &format!("Never touch lexer.rs. Step {question}?")).as_bytes())?;
        let prompt = session.prompt().await?;
        session.push(message("assistant", &reply(&prompt)).as_bytes())?;
    }

    let prompt = session.prompt().await?;
    let [said, sent] = prompt.tokens;
    println!("{said} tokens were said, {sent} are sent");
    assert!(said > 1500 && sent <= 1000, "what is sent fits the window");
    let sent = String::from_utf8(prompt.bytes.into())?;
    assert!(sent.contains("Never touch lexer.rs."), "what matters is still there");
    Ok(())
}

fn message(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}"}}"#)
}

/// In the place of a request to a provider: `prompt.bytes` is its body.
fn reply(prompt: &Prompt) -> String {
    assert!(prompt.fits);
    format!(
        "I looked into it, after {} tokens, and found {}.",
        prompt.tokens[1],
        "nothing ".repeat(20)
    )
}

/// Every event is typed, and a line of the log by `tracing` too.
fn tell(event: &Event) {
    let [before, after] = event.tokens;
    match &event.what {
        EventKind::Compressed { number, .. } => {
            println!("compression {number}: {before} tokens became {after}");
        }
        what => println!("{what:?}"),
    }
}
