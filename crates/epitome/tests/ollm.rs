//! The profile `ollm`, driven through the kernel: figures of SPEC 3 that show in a conversation.
//! Those of single decisions are tests of the policy itself.

use std::sync::Arc;

use epitome::types::{Event, Happened};
use epitome::{Compressor, Memory, Profile, Prompt, Session, Window};
use epitome_testkit::{FixedCounter, Script, ScriptedSummarizer, now};
use serde_json::{Value as Json, json};

/// What a message takes beside its words.
const MESSAGE: usize = 4;

/// A client with a token for each word, whose summaries take all the room that they may.
struct Client {
    session: Session,
    messages: Vec<Json>,
}

impl Client {
    /// A client with a context size, whose system prompt takes so many tokens.
    fn new(size: u64, system: usize) -> Self {
        let session = Compressor::builder()
            .profile(Profile::shipped("ollm").unwrap())
            .counter(FixedCounter::Words)
            .summarizer(ScriptedSummarizer::new(Script::Fill))
            .window(Window::Size(size))
            .clock(|| "2026-01-02T03:04:05Z".to_owned())
            .session(Arc::new(Memory::new()), None);
        let mut client = Self { session, messages: Vec::new() };
        client.say("system", system);
        client
    }

    /// Adds a message of so many tokens, none of whose words was said before.
    fn say(&mut self, role: &str, tokens: usize) {
        let number = self.messages.len();
        let words = (MESSAGE..tokens).map(|word| format!("w{number}x{word}"));
        let text = words.collect::<Vec<_>>().join(" ");
        self.messages.push(json!({ "role": role, "content": text }));
    }

    fn send(&mut self) -> Prompt {
        let request = json!({ "model": "llama3:70b", "messages": self.messages });
        now(self.session.send(request.to_string().as_bytes())).unwrap()
    }

    /// Has the assistant say this much, and the user a little, until there were so many
    /// compressions. Gives each prompt with their number so far.
    fn until(&mut self, compressions: usize, tokens: usize) -> Vec<(usize, Prompt)> {
        let (mut all, mut number) = (Vec::new(), 0);
        self.say("user", 20);
        while number < compressions {
            self.say("assistant", tokens);
            self.say("user", 20);
            let prompt = self.send();
            assert!(prompt.fits, "{:?} of {}", prompt.tokens, prompt.limit);
            number += usize::from(is_compressed(&prompt));
            all.push((number, prompt));
        }
        all
    }
}

fn is_compressed(prompt: &Prompt) -> bool {
    let of = |event: &Event| matches!(event.what, Happened::Compressed { .. });
    prompt.events.iter().any(of)
}

fn status(prompt: &Prompt) -> &str {
    prompt.status.as_ref().and_then(|status| status.text.as_deref()).unwrap_or_default()
}

#[test]
fn a_conversation_is_compressed_at_80_percent_of_what_is_available() {
    let check = |conversation: usize, expected: bool| {
        let mut client = Client::new(8000, 500);
        client.say("user", 100);
        client.say("assistant", conversation - 200);
        client.say("user", 100);
        let prompt = client.send();
        assert_eq!((prompt.limit, prompt.tokens[0]), (6800, 500 + conversation as u64));
        assert_eq!(is_compressed(&prompt), expected, "{conversation}: {:#?}", prompt.events);
    };
    check(5039, false);
    check(5040, true);
}

#[test]
fn sizes_leave_their_share_to_the_prompt() {
    for (size, limit) in [(8192, 6963), (8000, 6800), (4096, 3481)] {
        let mut client = Client::new(size, 100);
        client.say("user", 100);
        assert_eq!(client.send().limit, limit);
    }
}

#[test]
fn a_checkpoint_ages_with_compressions_4_and_7() {
    let (mut first, mut aged) = (None, Vec::new());
    for (number, prompt) in Client::new(32768, 500).until(8, 10_000) {
        for event in prompt.events {
            let Happened::CheckpointAged { checkpoint, levels, .. } = event.what else { continue };
            if *first.get_or_insert_with(|| checkpoint.clone()) == checkpoint {
                aged.push((number, levels));
            }
        }
    }
    assert_eq!(aged, [(4, [3, 2]), (7, [2, 1])]);
}

/// A window of 8K holds through many compressions, none of which follows hard upon another, and
/// checkpoints come down until they are merged.
#[test]
fn a_small_window_holds_for_long() {
    let prompts = Client::new(8192, 500).until(12, 400);
    assert!(prompts.iter().all(|(_, prompt)| prompt.tokens[1] <= 6963));
    let apart = |two: &[(usize, Prompt)]| !two.iter().all(|(_, prompt)| is_compressed(prompt));
    assert!(prompts.windows(2).all(apart), "{} turns", prompts.len());
    let events = || prompts.iter().flat_map(|(_, prompt)| &prompt.events);
    let comes_to = |expected: u8| {
        events().any(|event| {
            matches!(event.what, Happened::CheckpointAged { levels: [_, to], .. } if to == expected)
        })
    };
    assert!(comes_to(2) && comes_to(1));
    assert!(events().any(|event| matches!(event.what, Happened::CheckpointMerged { .. })));
}

#[test]
fn a_window_of_class_1_starts_over() {
    for (_, prompt) in Client::new(4096, 200).until(3, 300) {
        if is_compressed(&prompt) {
            let by = &prompt.by;
            assert!(by.checkpoints > 0 && by.checkpoints <= 400, "{by:?}");
            assert!(prompt.tokens[1] <= 200 + 400 + 20, "{:?}", prompt.tokens);
        }
    }
}

#[test]
fn the_status_line_counts_compressions() {
    let prompts = Client::new(8192, 500).until(2, 500);
    let [first, .., last] = &prompts[..] else { panic!("{} turns", prompts.len()) };
    assert_eq!(status(&first.1), "Context: 1,040/6,963  🟢 95%  (0 compressions)");
    assert!(status(&last.1).ends_with("  🟡 66%  (2 compressions)"), "{}", status(&last.1));
}
