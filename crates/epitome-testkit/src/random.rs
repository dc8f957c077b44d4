//! Random conversations with everything that makes them hard: parallel calls, results in either
//! role, server tools, reasoning, harness notes, orphans and open calls.

use epitome_kernel::types::{Entry, Role};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::chat::{Chat, chat};

const VOCABULARY: [&str; 12] = [
    "parser",
    "fails",
    "src/lib.rs",
    "fixed",
    "the",
    "error",
    "E0425",
    "in",
    "tests",
    "of",
    "naïve",
    "42",
];

#[derive(Clone, Debug)]
enum Turn {
    User(String),
    Note(String),
    State(Role, usize, String),
    Beside(usize, String),
    Assistant {
        thinking: Option<String>,
        text: String,
    },
    Tools {
        thinking: Option<String>,
        arguments: String,
        results: Vec<String>,
        in_user: bool,
        tail: Option<String>,
    },
    ServerTool(String, String),
    Image,
    Orphan(String),
    Abandoned(String),
}

/// A text of so many words, in lines.
pub fn words(count: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = String> {
    let word = (0..VOCABULARY.len(), prop::bool::weighted(0.15));
    vec(word, count).prop_map(|words| {
        let pieces = words
            .into_iter()
            .map(|(word, ends)| format!("{}{}", VOCABULARY[word], if ends { "\n" } else { " " }));
        let text: String = pieces.collect();
        text.trim_end().to_owned()
    })
}

/// A conversation of up to `turns` turns, most of them well formed.
pub fn conversation(turns: usize) -> impl Strategy<Value = Vec<Entry>> {
    let system = prop::option::weighted(0.8, words(1..20));
    let pending = prop::option::weighted(0.1, vec(words(1..40), 0..2));
    (system, vec(turn(), 1..=turns), pending).prop_map(|(system, turns, pending)| {
        let start = system.iter().fold(chat(), |chat, text| chat.system(text));
        let chat = turns.into_iter().fold(start, said);
        let Some(results) = pending else { return chat.entries() };
        let chat = chat.assistant("wait").call("one", "{}").call("two", "{}");
        results.iter().fold(chat, |chat, text| chat.result(text)).entries()
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    let thinking = || prop::option::weighted(0.2, words(1..30));
    let tools = (
        thinking(),
        words(1..60),
        vec(words(0..200), 1..4),
        any::<bool>(),
        prop::option::weighted(0.2, words(1..10)),
    );
    prop_oneof![
        4 => words(1..60).prop_map(Turn::User),
        1 => words(1..40).prop_map(Turn::Note),
        1 => (any::<bool>(), 0..3usize, words(1..60)).prop_map(|(system, subject, text)| {
            Turn::State(if system { Role::System } else { Role::User }, subject, text)
        }),
        1 => (0..3usize, words(1..60)).prop_map(|(subject, text)| Turn::Beside(subject, text)),
        4 => (thinking(), words(1..80)).prop_map(|(thinking, text)| Turn::Assistant { thinking, text }),
        6 => tools.prop_map(|(thinking, arguments, results, in_user, tail)| {
            Turn::Tools { thinking, arguments, results, in_user, tail }
        }),
        1 => (words(1..10), words(1..60)).prop_map(|(query, found)| Turn::ServerTool(query, found)),
        1 => Just(Turn::Image),
        1 => words(1..20).prop_map(Turn::Orphan),
        1 => words(1..20).prop_map(Turn::Abandoned),
    ]
}

fn said(chat: Chat, turn: Turn) -> Chat {
    match turn {
        Turn::User(text) => chat.user(&text),
        Turn::Note(text) => chat.note(&text),
        Turn::State(role, subject, text) => chat.states(role, &format!("s{subject}"), &text),
        Turn::Beside(subject, text) => chat.user("look").and_states(&format!("s{subject}"), &text),
        Turn::Assistant { thinking: None, text } => chat.assistant(&text),
        Turn::Assistant { thinking: Some(thought), text } => chat.thinking(&thought).and(&text),
        Turn::Tools { thinking, arguments, results, in_user, tail } => {
            let chat = match thinking {
                Some(thought) => chat.thinking(&thought),
                None => chat.assistant("so"),
            };
            let chat = results.iter().fold(chat, |chat, _| chat.call("read", &arguments));
            let answer = |chat: Chat, text: &String| {
                if in_user { chat.user_result(text) } else { chat.result(text) }
            };
            let chat = results.iter().fold(chat, answer);
            tail.into_iter().filter(|_| in_user).fold(chat, |chat, text| chat.and(&text))
        }
        Turn::ServerTool(query, found) => chat.assistant("searching").server_tool(&query, &found),
        Turn::Image => chat.image(640, 480),
        Turn::Orphan(text) => chat.orphan(&text),
        Turn::Abandoned(text) => chat.abandoned("stop", &text).user("never mind"),
    }
}

/// How many conversations a law is tried on: what `EPITOME_CONVERSATIONS` says, else so many.
pub fn conversations(most: u32) -> u32 {
    let asked = std::env::var("EPITOME_CONVERSATIONS").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or(most)
}
