//! The provider's prefix cache, simulated: what of a prompt was read from it and what written.
//!
//! Invariant: only whole blocks in the order tools, system, messages are cached, by the hash of
//! everything up to them without `cache_control`; a breakpoint finds what was written at most 20
//! blocks before it (RULES 111 and 112). Used by `server`.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::canon;

/// How many blocks a breakpoint looks back.
const LOOK_BACK: usize = 20;

/// The tokens of a prompt, by what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Neither read nor written: 1 unit each.
    pub uncached: u64,
    /// Written to the cache: 1.25 units each.
    pub written: u64,
    /// Read from the cache: 0.1 units each.
    pub read: u64,
    /// In the answer; not part of the cost.
    pub output: u64,
}

impl Usage {
    /// The tokens of the whole prompt.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        self.uncached + self.written + self.read
    }

    /// What the prompt cost, in hundredths of an uncached token.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.uncached * 100 + self.written * 125 + self.read * 10
    }

    /// The same of a prompt of which the provider reads so many tokens.
    pub(crate) fn at_most(self, limit: u64) -> Self {
        let read = self.read.min(limit);
        let written = self.written.min(limit - read);
        let uncached = self.uncached.min(limit - read - written);
        Self { uncached, written, read, ..self }
    }
}

/// One piece of a prompt that can be cached.
struct Block<'a> {
    /// `T` for tools, `S` for the system prompt, else the role.
    kind: &'a str,
    value: &'a Value,
}

/// What was written, for all models.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    written: HashSet<u128>,
}

impl Cache {
    /// Reads and writes what the client's markers say.
    pub(crate) fn marked(&mut self, body: &Value) -> Usage {
        let owned = system_of(body);
        let mut blocks = blocks(body, "T", "tools");
        blocks.extend(owned.iter().map(|value| Block { kind: "S", value }));
        let contents: Vec<(&str, Vec<Value>)> = items(body, "messages")
            .iter()
            .map(|message| (message["role"].as_str().unwrap_or_default(), content_of(message)))
            .collect();
        for (kind, content) in &contents {
            blocks.extend(content.iter().map(|value| Block { kind, value }));
        }
        let marks: Vec<usize> = (0..blocks.len())
            .filter(|at| blocks[*at].value.get("cache_control").is_some_and(|it| !it.is_null()))
            .collect();
        let (hashes, tokens) = chain(body, &blocks);
        let found = marks.iter().rev().filter_map(|mark| {
            let back = (mark + 1).saturating_sub(LOOK_BACK)..=*mark;
            back.rev().find(|at| self.written.contains(&hashes[*at]))
        });
        let read = found.max().map_or(0, |at| tokens[..=at].iter().sum());
        self.written.extend(marks.iter().map(|mark| hashes[*mark]));
        let upto: u64 = marks.last().map_or(0, |mark| tokens[..=*mark].iter().sum());
        let all: u64 = tokens.iter().sum();
        Usage {
            uncached: all - upto.max(read),
            written: upto.saturating_sub(read),
            read,
            output: 0,
        }
    }

    /// Reads and writes at every block, as the providers without markers do.
    pub(crate) fn unmarked(&mut self, body: &Value, messages: &str) -> Usage {
        let mut blocks = blocks(body, "T", "tools");
        blocks.extend(body.get("instructions").map(|value| Block { kind: "S", value }));
        blocks.extend(match body.get(messages) {
            Some(value @ Value::String(_)) => vec![Block { kind: "user", value }],
            _ => self::blocks(body, "", messages),
        });
        let (hashes, tokens) = chain(body, &blocks);
        let known = hashes.iter().take_while(|hash| self.written.contains(hash)).count();
        self.written.extend(hashes);
        let read = tokens[..known].iter().sum();
        Usage { uncached: tokens[known..].iter().sum(), read, ..Usage::default() }
    }
}

/// The hash of everything up to each block, and the tokens of each.
fn chain(body: &Value, blocks: &[Block<'_>]) -> (Vec<u128>, Vec<u64>) {
    let mut last = xxh3_128_with_seed(canon::whole(&body["model"]).as_bytes(), 0);
    let one = |block: &Block<'_>| {
        let text = canon::without_marker(block.value);
        let before = last.to_le_bytes();
        last = xxh3_128_with_seed(
            &[before.as_slice(), block.kind.as_bytes(), text.as_bytes()].concat(),
            1,
        );
        (last, text.len() as u64 / 4)
    };
    blocks.iter().map(one).unzip()
}

fn items<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body[key].as_array().map_or(&[], Vec::as_slice)
}

fn blocks<'a>(body: &'a Value, kind: &'a str, key: &str) -> Vec<Block<'a>> {
    items(body, key).iter().map(|value| Block { kind, value }).collect()
}

fn system_of(body: &Value) -> Vec<Value> {
    text_or_blocks(&body["system"])
}

fn content_of(message: &Value) -> Vec<Value> {
    text_or_blocks(&message["content"])
}

fn text_or_blocks(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) if !text.is_empty() => {
            vec![serde_json::json!({"type": "text", "text": text})]
        }
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str, marked: bool) -> Value {
        let mut block = json!({"type": "text", "text": text});
        if marked {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        block
    }

    /// A prompt of texts, each a message of its own, the last of them marked.
    fn prompt(texts: &[String]) -> Value {
        let mut messages: Vec<_> =
            texts.iter().map(|it| json!({"role": "user", "content": [text(it, false)]})).collect();
        let marker = json!({"type": "ephemeral"});
        messages.last_mut().unwrap()["content"][0]["cache_control"] = marker;
        json!({"model": "m", "system": [text("You help.", true)], "messages": messages})
    }

    fn texts(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("{at}: {}", "word ".repeat(20))).collect()
    }

    #[test]
    fn a_prompt_that_grew_reads_what_was_written_and_writes_the_rest() {
        let mut cache = Cache::default();
        let first = cache.marked(&prompt(&texts(3)));
        assert_eq!((first.read, first.uncached), (0, 0));
        let second = cache.marked(&prompt(&texts(5)));
        assert_eq!(second.read, first.written);
        assert!(second.written > 0 && second.uncached == 0);
    }

    #[test]
    fn a_changed_message_leaves_only_what_stands_before_it() {
        let mut cache = Cache::default();
        cache.marked(&prompt(&texts(3)));
        let mut changed = texts(5);
        changed[0] = "other".to_owned();
        let usage = cache.marked(&prompt(&changed));
        assert_eq!(usage.read, 9, "the system prompt alone: {usage:?}");
    }

    #[test]
    fn more_than_twenty_new_blocks_hide_what_was_written() {
        let mut cache = Cache::default();
        let first = cache.marked(&prompt(&texts(3)));
        assert_eq!(cache.marked(&prompt(&texts(22))).read, first.written);
        let mut cache = Cache::default();
        let first = cache.marked(&prompt(&texts(3)));
        assert!(cache.marked(&prompt(&texts(23))).read < first.written);
    }

    #[test]
    fn without_markers_the_longest_known_prefix_is_read() {
        let body = |count| json!({"model": "m", "messages": texts(count)});
        let mut cache = Cache::default();
        let first = cache.unmarked(&body(3), "messages");
        let second = cache.unmarked(&body(4), "messages");
        assert_eq!(second.read, first.uncached);
        assert_eq!(cache.unmarked(&json!({"model": "n", "input": "hi"}), "input").read, 0);
    }
}
