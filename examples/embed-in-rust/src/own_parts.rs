//! A host that brings parts of its own: a counter, a store and a policy. Each is a trait.

#![expect(clippy::print_stdout, reason = "an example says what it does")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use epitome::types::hook::{Observe, ObserveJob, ToolResultAnswer, ToolResultJob, Way};
use epitome::types::{EventKind, ImagePart};
use epitome::{
    CompressionTarget, Compressor, Eviction, Excerpt, HookResult, MemoryStore, NextPolicies,
    OriginalStore, Policy, StoreError, StoredText, TokenCounter,
};

/// Counts words.
struct Words;

impl TokenCounter for Words {
    fn id(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    fn image(&self, _image: &ImagePart) -> u64 {
        100
    }
}

/// Keeps what left the prompt in a map.
#[derive(Default)]
struct Shelf(Mutex<BTreeMap<String, StoredText>>);

impl OriginalStore for Shelf {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for blob in &departure.blobs {
            kept.insert(format!("{scope}/{}", blob.id), blob.clone());
        }
        Ok(())
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = format!("{scope}/{id}");
        let found = kept.iter().find(|(key, _)| key.starts_with(&begins));
        found.map(|(_, blob)| blob.clone()).ok_or(StoreError::Unknown { id: id.to_owned() })
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = kept.iter().filter(|(key, _)| key.starts_with(&format!("{scope}/")));
        let lines = here.flat_map(|(_, blob)| blob.text.lines().map(move |line| (blob, line)));
        let found = lines.filter(|(_, line)| line.contains(query)).scan(0, |used, (blob, line)| {
            *used += counter.count(line);
            let (id, text, source) = (blob.id, line.to_owned(), blob.source.clone());
            (*used <= budget).then_some(Excerpt { id, text, source, also: Vec::new() })
        });
        Ok(found.collect())
    }
}

/// Two decisions; all others are left to the profile.
struct Careful;

impl Policy for Careful {
    fn name(&self) -> &str {
        "careful"
    }

    /// What a tool says at length never stays whole.
    fn tool_result(
        &self,
        job: &ToolResultJob<'_>,
        rest: &NextPolicies<'_>,
    ) -> HookResult<ToolResultAnswer> {
        if job.entry.tokens > 200 {
            return Ok(Some(ToolResultAnswer {
                how: Way::Offload,
                text: None,
                max_tokens: Some(60),
            }));
        }
        rest.tool_result(job)
    }

    /// What holds a decision is never touched again.
    fn observe(&self, job: &ObserveJob<'_>, _rest: &NextPolicies<'_>) -> HookResult<Observe> {
        let pin = job.text.contains("DECIDED").then_some(true);
        Ok(pin.map(|_| Observe { pin, ..Observe::default() }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log: Vec<_> = (0..200).map(|line| format!("line {line}: all is well")).collect();
    let messages = [
        r#"{"role":"user","content":"Why did the build fail? DECIDED: we stay on Rust 1.95."}"#.to_owned(),
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"build","arguments":"{}"}}]}"#.to_owned(),
        format!(r#"{{"role":"tool","tool_call_id":"c1","content":"{}"}}"#, log.join("\\n")),
        r#"{"role":"assistant","content":"It did not."}"#.to_owned(),
        r#"{"role":"user","content":"Look again."}"#.to_owned(),
    ];

    // One conversation that stands by itself: what leaves it goes to the shelf.
    let shelf = Arc::new(Shelf::default());
    let builder =
        Compressor::builder().counter(Words).policy(Careful).target(CompressionTarget::Tokens(200));
    let compressor = builder.store(shelf.clone(), "here").build();
    let compressed = compressor.compress(format!("[{}]", messages.join(",")).as_bytes()).await?;
    println!("{} words became {}", compressed.report.before.tokens, compressed.report.after.tokens);
    assert_eq!(compressed.report.counter, "words");
    let found = shelf.search("here", "line 100:", 50, &Words)?;
    assert!(found[0].text.contains("line 100: all is well"));
    assert!(shelf.search("elsewhere", "line 100:", 50, &Words)?.is_empty());

    // One that goes on: the policy is asked for each message, once.
    let builder = Compressor::builder().counter(Words).policy(Careful);
    let mut session = builder.session(Arc::new(MemoryStore::new()), Some("work"));
    for message in &messages {
        session.push(message.as_bytes())?;
    }
    let prompt = session.prompt().await?;
    println!("{} words became {}: {:?}", prompt.tokens[0], prompt.tokens[1], prompt.events);
    let is = |wanted: fn(&EventKind) -> bool| prompt.events.iter().any(|event| wanted(&event.what));
    assert!(is(|what| matches!(what, EventKind::ToolResultOffloaded { .. })));
    assert!(is(|what| matches!(what, EventKind::Pinned { policy, .. } if policy == "careful")));
    assert!(prompt.tokens[1] < prompt.tokens[0] / 4);
    Ok(())
}
