//! What is said in a chat, and what a scripted model writes of it.

use async_trait::async_trait;
use epitome::{LanguageModel, ModelError, ModelQuestion};
use std::collections::BTreeMap;

use std::sync::{Arc, Mutex};

/// By what a prompt shows that a model wrote in it.
pub(super) const WRITTEN: &str = "A model wrote that";

const NOUNS: [&str; 24] = [
    "table", "reader", "buffer", "window", "record", "handler", "folder", "branch", "header",
    "counter", "worker", "driver", "market", "garden", "letter", "number", "signal", "bridge",
    "engine", "station", "pattern", "segment", "channel", "ledger",
];
const VERBS: [&str; 12] = [
    "holds", "opens", "follows", "carries", "closes", "writes", "counts", "moves", "orders",
    "joins", "covers", "answers",
];

/// Sentences of about so many tokens, none of which was said in another part.
pub(super) fn sentences(part: usize, kind: &str, tokens: usize) -> String {
    let mut seed = part * 7919 + kind.len() * 31 + 17;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let mut text = String::new();
    // A sentence is about 14 tokens.
    for at in 0..tokens / 14 {
        let (one, other, verb) = (next(24), next(24), next(12));
        let (one, other, verb) = (NOUNS[one], NOUNS[other], VERBS[verb]);
        let value = next(900) + 100;
        text += &format!("The {one} {verb} the {other} {value} of {kind} {at} in part {part}. ");
    }
    text.trim_end().to_owned()
}

/// A model that writes a line of each part that it is told of, in the sections of every profile.
#[derive(Clone, Default)]
pub(super) struct Scribe {
    asked: Arc<Mutex<Vec<[usize; 2]>>>,
}

impl Scribe {
    /// Tokens that it read and wrote so far, for each question, in quarters of their characters.
    pub(super) fn asked(&self) -> Vec<[usize; 2]> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl LanguageModel for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    async fn complete(&self, ask: &ModelQuestion) -> Result<String, ModelError> {
        // It fills a third of what it may write; a finding is about 6 tokens.
        let most = ask.max_tokens.map_or(40, |most| most / 3 / 6) as usize;
        let told: Vec<_> = ask.user.split(['\n', '.']).filter_map(finding).collect();
        let step = told.len().div_ceil(most.max(1)).max(1);
        let mut parts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (part, finding) in told.into_iter().step_by(step) {
            parts.entry(part).or_default().push(finding);
        }
        // Whoever says the same in each line is taken for going round in circles.
        let mark = |at: usize| if at.is_multiple_of(4) { WRITTEN } else { "And" };
        let line = |(at, (part, found)): (usize, (usize, Vec<String>))| {
            format!("{} in src/part{part}.rs {}.\n", mark(at), found.join(", "))
        };
        let lines: String = parts.into_iter().enumerate().map(line).collect();
        // The sections of `early` and `tiered`, and what else it is asked for.
        let asked = ask.user.lines().filter(|line| line.starts_with("## "));
        let asked: String = asked.map(|heading| format!("{heading}\nnone\n\n")).collect();
        let text = format!(
            "{asked}## Session intent\n{WRITTEN} the parts are looked at.\n\n## Artifacts\nnone\n\n\
             ## Key decisions\nnone\n\n## Progress\n{lines}\n\
             ## Critical facts\nnone\n\n## Next steps\nnone\n\n\
             ## Recovery references\nnone\n\n\
             Unresolved issues\nnone\n\nCurrent state\nIt goes on."
        );
        let read = ask.user.len() + ask.system.as_deref().map_or(0, str::len);
        self.asked.lock().unwrap().push([read / 4, text.len() / 4]);
        Ok(text)
    }
}

/// What a sentence says of a part, in fewer words.
fn finding(sentence: &str) -> Option<(usize, String)> {
    let words: Vec<_> = sentence.split_whitespace().collect();
    let ["The", one, verb, "the", other, value, .., "in", "part", part] = words[..] else {
        return None;
    };
    Some((part.parse().ok()?, format!("{one} {verb} {other} {value}")))
}
