//! Conversations as a coding agent sends them: the whole history again with each request.
//!
//! Invariant: each request is the one before with one turn more, byte for byte, or the first of a
//! new conversation; the same seed gives the same conversations. No result is so large that it would be made smaller: everybody sends the
//! same. Used by `main` and `load`.

use std::fmt::Write;

use bytes::Bytes;

/// Up to this size a conversation is a small one, which is followed by another after so many
/// requests.
const SMALL: usize = 10_000;
const REQUESTS: usize = 10;
/// Between the seeds of such conversations; no two begin with the same.
const NEXT: u64 = 1_000_000;

const WORDS: [&str; 24] = [
    "order", "parser", "ledger", "session", "cursor", "batch", "invoice", "worker", "policy",
    "socket", "window", "retry", "tenant", "digest", "queue", "lease", "load", "merge", "flush",
    "check", "resume", "split", "encode", "expire",
];

/// A conversation that grows.
#[derive(Clone)]
pub(super) struct Talk {
    /// All but what ends the list of messages.
    text: String,
    turns: usize,
    dice: u64,
    /// How it began: its seed, and its size.
    begun: (u64, usize),
    asked: usize,
}

impl Talk {
    /// A conversation of about so many bytes.
    pub(super) fn new(seed: u64, bytes: usize) -> Self {
        let text = format!(
            r#"{{"model":"claude-sonnet-4-5","max_tokens":1024,"system":[{{"type":"text","text":"You are a coding agent. Work on task {seed}.","cache_control":{{"type":"ephemeral"}}}}],"tools":[{{"name":"run","description":"Runs a command.","input_schema":{{"type":"object","properties":{{"command":{{"type":"string"}}}}}}}}],"messages":[{{"role":"user","content":"Mend what is broken in task {seed}."}}"#
        );
        let dice = seed.wrapping_mul(0x9e37_79b9).wrapping_add(1);
        let mut talk = Self { text, turns: 0, dice, begun: (seed, bytes), asked: 0 };
        let size = if bytes < SMALL { 40 } else { 220 };
        while talk.text.len() < bytes {
            talk.turn(size);
        }
        talk
    }

    /// The next request, one turn longer than the last.
    pub(super) fn next(&mut self, stream: bool) -> Bytes {
        let (seed, bytes) = self.begun;
        if bytes < SMALL && self.asked == REQUESTS {
            *self = Self::new(seed + NEXT, bytes);
        }
        self.asked += 1;
        self.turn(12);
        let end = if stream { r#"],"stream":true}"# } else { "]}" };
        [&*self.text, end].concat().into()
    }

    /// A call with its result of so many words.
    fn turn(&mut self, words: usize) {
        self.turns += 1;
        let turn = self.turns;
        let (said, result) = (self.words(words / 10 + 3), self.words(words));
        let written = write!(
            self.text,
            r#",{{"role":"assistant","content":[{{"type":"text","text":"{said}"}},{{"type":"tool_use","id":"toolu_{turn}","name":"run","input":{{"command":"step {turn}"}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{turn}","content":"{result}"}}]}}"#
        );
        debug_assert!(written.is_ok());
    }

    fn words(&mut self, count: usize) -> String {
        let mut out = String::new();
        for place in 0..count {
            self.dice ^= self.dice << 13;
            self.dice ^= self.dice >> 7;
            self.dice ^= self.dice << 17;
            let word = WORDS[self.dice as usize % WORDS.len()];
            let end = if place % 9 == 8 { "\\n" } else { " " };
            out.push_str(word);
            out.push_str(end);
        }
        out
    }
}
