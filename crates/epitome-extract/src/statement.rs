//! What people state: the subject of a sentence, the values it gives, and in which manner.
//!
//! Invariant: only sentences that a person typed are read. Called by [`crate::supersede`].

use std::ops::Range;

use epitome_kernel::types::Speaker;
use rustc_hash::FxHashMap;

use crate::directive::{self, Order};
use crate::refs::{self, RefKind};
use crate::unit::{Kind, Unit};
use crate::words;

/// Longer messages are read sentence by sentence, shorter ones as one statement (bytes).
const ONE_STATEMENT: usize = 240;
/// Only so many of the newest statements are compared.
const STATEMENTS: usize = 600;
/// Words of a frame are compared by this many letters: `approval` is `approve`.
const FRAME_LETTERS: usize = 6;
/// A value this early in a sentence says what the sentence is about.
const TOPIC_WORDS: usize = 2;

/// What a value is, so that only like replaces like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Type {
    Address,
    Amount,
    Date,
    Code,
    Number,
    Name,
}

/// One statement; words are numbers of one [`Words`].
#[derive(Debug, Default)]
pub(crate) struct Statement {
    /// The units it is made of.
    pub(crate) units: Vec<usize>,
    /// What it is about: the content words beside values, ascending.
    pub(crate) frame: Vec<u32>,
    /// The values it gives, ascending.
    pub(crate) values: Vec<(Type, u32)>,
    /// The two words right before the first value: `access code`.
    pub(crate) head: [Option<u32>; 2],
    /// All words in order, values left out.
    pub(crate) wording: Vec<u32>,
    /// Whether it orders or forbids something.
    pub(crate) rule: bool,
    /// Whether it forbids what its value names, a secret's telling excepted.
    pub(crate) forbids: bool,
    /// Whether its value says what it is about: `Ticket 41: …`.
    pub(crate) topic: bool,
    /// Whether it asks for something to be done once.
    pub(crate) request: bool,
    /// Whether it says what comes next.
    pub(crate) next: bool,
}

/// Numbers the words of statements.
#[derive(Debug, Default)]
pub(crate) struct Words(FxHashMap<String, u32>);

impl Words {
    fn id(&mut self, word: &str) -> u32 {
        let next = self.0.len() as u32;
        match self.0.get(word) {
            Some(id) => *id,
            None => *self.0.entry(word.to_owned()).or_insert(next),
        }
    }
}

/// The newest statements of people, oldest first.
pub(crate) fn statements(units: &[Unit], words: &mut Words) -> Vec<Statement> {
    let human = |unit: &Unit| unit.speaker == Speaker::Human && unit.kind == Kind::Sentence;
    let mut out = Vec::new();
    let mut at = 0;
    while at < units.len() {
        if !human(&units[at]) {
            at += 1;
            continue;
        }
        let end =
            at + units[at..].iter().take_while(|u| u.entry == units[at].entry && human(u)).count();
        let length: usize = units[at..end].iter().map(|unit| unit.text.len()).sum();
        if length <= ONE_STATEMENT {
            out.push(statement(units, at..end, words));
        } else {
            out.extend((at..end).map(|index| statement(units, index..index + 1, words)));
        }
        at = end;
    }
    out.split_off(out.len().saturating_sub(STATEMENTS))
}

/// The statement of one unit alone.
pub(crate) fn of_unit(units: &[Unit], index: usize, words: &mut Words) -> Statement {
    statement(units, index..index + 1, words)
}

fn statement(units: &[Unit], range: Range<usize>, words: &mut Words) -> Statement {
    let mut out = Statement { units: range.clone().collect(), ..Statement::default() };
    for unit in &units[range] {
        let before = out.values.len();
        read(&unit.text, &mut out, words);
        out.rule |= directive::order(&unit.text) > Order::No;
        out.forbids |= out.values.len() > before && forbids(&unit.text);
        out.request |= is_request(&unit.text);
        out.next |= says_next(&unit.text);
    }
    out.frame.sort_unstable();
    out.frame.dedup();
    out.values.sort_unstable();
    out.values.dedup();
    out
}

fn read(text: &str, out: &mut Statement, words: &mut Words) {
    let values = values(text);
    let mut before = [None, None];
    let mut last = 0;
    let mut stem = String::new();
    for (place, range) in words::words(text).enumerate() {
        let touches = text[last..range.start].chars().all(|c| c == ' ');
        last = range.end;
        if !touches {
            before = [None, None];
        }
        if let Some((kind, value)) = values.iter().find(|(_, value)| value.contains(&range.start)) {
            if value.start == range.start && out.head == [None, None] {
                out.head = before;
                out.topic |= place < TOPIC_WORDS
                    && out.frame.len() == place
                    && !matches!(kind, Type::Name | Type::Amount);
            }
            continue;
        }
        let word = text[range].to_lowercase();
        words::stem_into(&word, &mut stem);
        out.wording.push(words.id(&stem));
        let plain = words::is_stop_word(&word) || stem.is_empty();
        before = [before[1], (!plain).then(|| words.id(&stem))];
        if !plain {
            stem.truncate(stem.char_indices().nth(FRAME_LETTERS).map_or(stem.len(), |(at, _)| at));
            if !SAYS_NOTHING.contains(&stem.as_str()) {
                out.frame.push(words.id(&stem));
            }
        }
    }
    for (kind, range) in values {
        out.values.push((kind, words.id(&text[range].to_lowercase())));
    }
}

/// Stems that tell how something is said rather than what it is about.
const SAYS_NOTHING: &[&str] = &[
    "want", "need", "use", "set", "send", "keep", "mak", "giv", "chang", "updat", "switch",
    "prefer", "user", "new", "curren", "writ", "must", "always", "never", "only", "withou",
    "first", "els", "nobody", "past", "unles", "befor", "after",
];

/// The values in a text; neighbouring names are one.
fn values(text: &str) -> Vec<(Type, Range<usize>)> {
    let mut out: Vec<(Type, Range<usize>)> = Vec::new();
    for mention in refs::mentions(text) {
        let name = &text[mention.range.clone()];
        let kind = match mention.kind {
            RefKind::Url | RefKind::Email | RefKind::Path | RefKind::File => Type::Address,
            RefKind::Id if name.starts_with('$') => Type::Amount,
            RefKind::Id if refs::is_date(name) => Type::Date,
            RefKind::Number if name.bytes().all(|b| b.is_ascii_digit()) => Type::Number,
            RefKind::Ident if name.bytes().all(|b| b.is_ascii_alphabetic()) => Type::Name,
            RefKind::Id | RefKind::Number | RefKind::Ident | RefKind::Error => Type::Code,
            RefKind::Name if starts_sentence(text, mention.range.start) || is_acronym(name) => {
                continue;
            }
            RefKind::Name => Type::Name,
            RefKind::Flag => continue,
        };
        match out.last_mut() {
            Some((Type::Name, last))
                if kind == Type::Name && &text[last.end..mention.range.start] == " " =>
            {
                last.end = mention.range.end;
            }
            _ => out.push((kind, mention.range)),
        }
    }
    out
}

fn starts_sentence(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    before.is_empty() || before.ends_with(['.', '!', '?', '-', '*', '\n'])
}

fn is_acronym(name: &str) -> bool {
    name.chars().all(char::is_uppercase)
}

/// Two things that are forbidden are two prohibitions, whatever they share. A secret that must not
/// be told is no thing but a value, and the newest is the one in force.
fn forbids(text: &str) -> bool {
    let lower = text.to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    let never = has(&[
        "never", "not ", "n't ", "don’t", "no ", "avoid", "without", "forbid", "nie ", "kein",
    ]);
    never && !has(&["code", "password", "passphrase", "secret", " token", "codename"])
}

fn is_request(text: &str) -> bool {
    let lower = text.to_lowercase();
    let asks = ["like to ", "want to ", "need to ", "can you", "could you", "let's "];
    let mut words = words::words(&lower).map(|range| &lower[range]);
    let polite = ["yes", "please", "now", "then", "and", "also", "ok"];
    let first = words.find(|word| !polite.contains(word));
    first.is_some_and(|verb| ONCE.contains(&verb)) || asks.iter().any(|mark| lower.contains(mark))
}

/// Verbs of orders that are carried out once: the next such order is another one.
const ONCE: &[&str] = &[
    "add",
    "book",
    "cancel",
    "check",
    "commit",
    "compare",
    "confirm",
    "continue",
    "create",
    "delete",
    "explain",
    "find",
    "fix",
    "go",
    "help",
    "implement",
    "look",
    "move",
    "open",
    "port",
    "proceed",
    "read",
    "remove",
    "rename",
    "review",
    "run",
    "show",
    "start",
    "tell",
    "test",
    "try",
    "update",
    "upgrade",
];

fn says_next(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["next step is ", "next up: ", "next up is "].iter().any(|mark| lower.contains(mark))
}
