//! Finds what a person said and later took back by saying it anew with another value.
//!
//! Invariant: a statement counts as superseded only when a newer one is about the same thing and
//! gives another value of the same type in its place. Rules that merely look alike both stay.

use std::collections::BTreeSet;

use epitome_kernel::types::Speaker;
use rustc_hash::FxHashMap;

use crate::directive;
use crate::refs::{self, RefKind};
use crate::unit::{Kind, Unit};
use crate::words;

/// Longer messages are read sentence by sentence, shorter ones as one statement (bytes).
const ONE_STATEMENT: usize = 240;
/// How much of the rarer words of the shorter statement both must share.
const SHARED: f64 = 0.45;
/// Only the newest statements are compared (each with every older one).
const STATEMENTS: usize = 600;
/// Words of a frame are compared by this many letters: `approval` is `approve`.
const FRAME_LETTERS: usize = 6;

/// What a value is, so that only like replaces like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Type {
    Address,
    Amount,
    Date,
    Code,
    Number,
    Name,
}

#[derive(Debug, Default)]
struct Statement {
    units: Vec<usize>,
    frame: BTreeSet<String>,
    values: BTreeSet<(Type, String)>,
    /// The two words before the value: `access code`.
    head: [Option<String>; 2],
    /// All words in order, values left out.
    wording: Vec<String>,
    /// Whether it orders or forbids something.
    rule: bool,
    /// Whether it asks for something to be done once: the next request does not replace it.
    request: bool,
    /// Whether it says what comes next: of such statements the newest alone counts.
    next: bool,
}

/// For each unit: whether something newer takes its place, be it another unit or one of `kept`,
/// the newer units that stay in the prompt.
pub(crate) fn superseded(units: &[Unit], kept: &[Unit]) -> Vec<bool> {
    let mut stale = vec![false; units.len()];
    let mut statements = statements(units);
    let own = statements.len();
    statements.extend(self::statements(kept));
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    statements.iter().flat_map(|s| &s.frame).for_each(|word| *counts.entry(word).or_default() += 1);
    let rarity = |word: &String| {
        let count = counts.get(word.as_str()).copied().unwrap_or(1);
        (1.0 + statements.len() as f64 / count as f64).ln()
    };
    for (index, newer) in statements.iter().enumerate().rev() {
        for older in &statements[..index.min(own)] {
            if replaces(newer, older, &rarity) {
                older.units.iter().for_each(|unit| stale[*unit] = true);
            }
        }
    }
    stale
}

fn replaces(newer: &Statement, older: &Statement, rarity: &dyn Fn(&String) -> f64) -> bool {
    if newer.request || older.request {
        return false;
    }
    if newer.next && older.next {
        return true;
    }
    let own = |a: &Statement, b: &Statement| -> Vec<Type> {
        a.values.difference(&b.values).map(|(kind, _)| *kind).collect()
    };
    let changed = own(older, newer);
    if changed.is_empty() || changed != own(newer, older) {
        return false;
    }
    if let ([Some(a), Some(b)], [Some(c), Some(d)]) = (&newer.head, &older.head)
        && b == d
        && a != c
    {
        return false;
    }
    let weight = |words: &mut dyn Iterator<Item = &String>| words.map(rarity).sum::<f64>();
    if same_but_one(&newer.wording, &older.wording) {
        return false; // one sentence with another subject in it, not another wording
    }
    let mut shared = newer.frame.intersection(&older.frame);
    let typed = match changed[..] {
        [Type::Name | Type::Number] => false,
        [Type::Date] => newer.rule || older.rule,
        _ => newer.rule && older.rule,
    };
    if shared.clone().count() + usize::from(typed) < 2 {
        return false;
    }
    let least = weight(&mut newer.frame.iter()).min(weight(&mut older.frame.iter()));
    let alike = if typed { rarity(&String::new()) } else { 0.0 };
    weight(&mut shared) + alike >= SHARED * (least + alike)
}

fn same_but_one(a: &[String], b: &[String]) -> bool {
    a.len() == b.len() && a.iter().zip(b).filter(|(a, b)| a != b).count() == 1
}

/// The statements of people, oldest first.
fn statements(units: &[Unit]) -> Vec<Statement> {
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
            out.push(statement(units, (at..end).collect()));
        } else {
            out.extend((at..end).map(|index| statement(units, vec![index])));
        }
        at = end;
    }
    out.split_off(out.len().saturating_sub(STATEMENTS))
}

fn statement(units: &[Unit], indices: Vec<usize>) -> Statement {
    let mut out = Statement::default();
    for &index in &indices {
        read(&units[index].text, &mut out);
        out.request |= is_request(&units[index].text);
        out.next |= says_next(&units[index].text);
        out.rule |= directive::strength(&units[index].text) > 0.0;
    }
    out.units = indices;
    out
}

fn read(text: &str, out: &mut Statement) {
    let values: Vec<(Type, std::ops::Range<usize>)> = values(text);
    let mut stem = String::new();
    let mut before = [None, None];
    let mut last = 0;
    for range in words::words(text) {
        if let Some((_, value)) = values.iter().find(|(_, value)| value.contains(&range.start)) {
            if value.start == range.start
                && out.head[1].is_none()
                && text[last..value.start] == *" "
            {
                out.head = before.clone();
            }
            continue;
        }
        if !text[last..range.start].chars().all(|c| c == ' ') {
            before = [None, None];
        }
        last = range.end;
        let word = text[range.clone()].to_lowercase();
        words::stem_into(&word, &mut stem);
        out.wording.push(stem.clone());
        let plain = words::is_stop_word(&word);
        before = [before[1].take(), (!plain).then(|| stem.clone())];
        stem.truncate(stem.char_indices().nth(FRAME_LETTERS).map_or(stem.len(), |(at, _)| at));
        if words::is_stop_word(&word) || stem.is_empty() || SAYS_NOTHING.contains(&stem.as_str()) {
            continue;
        }
        out.frame.insert(stem.clone());
    }
    out.values.extend(values.into_iter().map(|(kind, range)| (kind, text[range].to_lowercase())));
}

/// The values in a text; neighbouring names are one.
fn values(text: &str) -> Vec<(Type, std::ops::Range<usize>)> {
    let mut out: Vec<(Type, std::ops::Range<usize>)> = Vec::new();
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

/// Stems that tell how something is said rather than what it is about.
const SAYS_NOTHING: &[&str] = &[
    "want", "need", "use", "set", "send", "keep", "mak", "giv", "chang", "updat", "switch",
    "prefer", "user", "new", "current", "writ", "must", "always", "never", "only", "without",
    "first", "els", "nobody", "past", "unles", "befor", "after",
];

fn is_request(text: &str) -> bool {
    let lower = text.to_lowercase();
    let asks = ["like to ", "want to ", "need to ", "can you", "could you", "let's "];
    let mut words = words::words(&lower).map(|range| &lower[range]);
    let first = words
        .find(|word| !matches!(*word, "yes" | "please" | "now" | "then" | "and" | "also" | "ok"));
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

fn is_acronym(name: &str) -> bool {
    name.chars().all(char::is_uppercase)
}

fn starts_sentence(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    before.is_empty() || before.ends_with(['.', '!', '?', '-', '*', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(statements: &[&str], stale: &[usize]) {
        let units: Vec<Unit> = statements
            .iter()
            .enumerate()
            .map(|(entry, text)| Unit {
                entry,
                speaker: Speaker::Human,
                kind: Kind::Sentence,
                text: (*text).to_owned(),
                fields: Vec::new(),
            })
            .collect();
        let found: Vec<usize> = superseded(&units, &[])
            .iter()
            .enumerate()
            .filter(|(_, stale)| **stale)
            .map(|(index, _)| index)
            .collect();
        assert_eq!(found, stale, "{statements:?}");
    }

    #[test]
    fn the_newest_value_wins() {
        check(
            &["The timeout for uploads is 30 seconds.", "Set the upload timeout to 45 seconds."],
            &[0],
        );
        check(
            &["The release date is 2027-03-01.", "We ship later.", "New release date: 2027-04-15."],
            &[0],
        );
        check(
            &[
                "Only Ann Fox may approve production deploys.",
                "Production deploys need approval from Lee Wong and nobody else.",
            ],
            &[0],
        );
        check(
            &[
                "Progress: phase 4 of 7 of the migration.",
                "We talk.",
                "The data migration is at phase 5 of 7.",
            ],
            &[0],
        );
        check(&["The next step is the importer.", "Next up: the audit log."], &[0]);
        check(
            &[
                "Reviews go to Dana Fox for the billing module.",
                "Billing module reviews now go to Lee Wong.",
            ],
            &[0],
        );
    }

    #[test]
    fn rules_that_look_alike_both_stay() {
        check(&["Never log the session token.", "Never log the password."], &[]);
        check(&["The door access code is KX-431.", "The contact code is BR-220."], &[]);
        check(&["Use port 8080 for the api server.", "Use port 9090 for the metrics server."], &[]);
        check(
            &["Please cancel reservation KX4T21.", "Please cancel reservation BR2P20 as well."],
            &[],
        );
        check(&["The limit is $40 for meals.", "The limit is $90 for hotels."], &[]);
    }
}
