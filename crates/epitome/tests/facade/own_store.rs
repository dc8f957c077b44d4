//! A store of the host's own under a live session: the one of the example without features.

use std::sync::Arc;

use epitome::{Compressor, MemoryStore, RecordStore, SessionArchive, WindowSetting, conformance};

#[path = "../../../../examples/embed-minimal/src/store.rs"]
mod store;

#[test]
fn the_store_of_the_example_keeps_to_all_rules() {
    conformance::store::run_all(store::Shelf::default).unwrap();
}

/// What is sent in the course of a conversation that outgrows its window twice, with a new process
/// in the middle.
async fn prompts(journal: impl Fn() -> Arc<dyn SessionArchive>) -> Vec<Vec<u8>> {
    let open = || {
        let builder = Compressor::builder().window(WindowSetting::Limit(1500));
        builder.clock(|| "2026-01-01T00:00:00Z".to_owned()).session(journal(), Some("work"))
    };
    let (mut session, mut sent) = (open(), Vec::new());
    for step in 0..60 {
        if step == 30 {
            session = open();
        }
        let said = format!(r#"{{"role":"user","content":"Step {step} of the parser, please."}}"#);
        session.push(said.as_bytes()).unwrap();
        let prompt = session.prompt().await.unwrap();
        sent.push(prompt.bytes.to_vec());
        let reply = format!("I looked at step {step}: {}", "fine, ".repeat(20));
        let reply = format!(r#"{{"role":"assistant","content":"{reply}"}}"#);
        session.push(reply.as_bytes()).unwrap();
    }
    sent
}

#[tokio::test]
async fn a_session_over_it_is_the_same_as_in_memory() {
    let (memory, shelf) = (Arc::new(MemoryStore::new()), Arc::new(store::Shelf::default()));
    let known = prompts(|| memory.clone()).await;
    let found = prompts(|| Arc::new(RecordStore::over(shelf.clone()))).await;
    assert!(known.last().unwrap().len() < 8_000, "it was compressed");
    assert_eq!(found, known);
}
