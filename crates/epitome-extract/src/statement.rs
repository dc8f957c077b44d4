//! What people state: the subject of a sentence, the values it gives, and in which manner.
//!
//! Invariant: only sentences that a person typed are read. Called by [`crate::supersede`].

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::directive::{self, DirectiveStrength};
use crate::unit::TextUnit;
use crate::value::{self, Manner, StatedValue, Type};
use crate::words;

/// Longer messages are read sentence by sentence, shorter ones as one statement (bytes).
const ONE_STATEMENT: usize = 240;
/// Only so many of the newest statements are compared.
pub(crate) const STATEMENTS: usize = 600;
/// Words of a frame are compared by this many letters: `approval` is `approve`.
const FRAME_LETTERS: usize = 6;

/// One statement; words are numbers of one [`WordNumbers`].
#[derive(Debug, Default)]
pub(crate) struct Statement {
    /// The units it is made of.
    pub(crate) units: Vec<usize>,
    /// What it is about: the content words beside values, ascending.
    pub(crate) frame: Vec<u32>,
    /// The values that name what it is about, ascending.
    pub(crate) named: Vec<(Type, u32)>,
    /// The values that it gives to that, ascending.
    pub(crate) given: Vec<(Type, u32)>,
    /// What its sentences begin with, where that does something: `Miller pays …`.
    pub(crate) subjects: Vec<u32>,
    /// Each noun with the word right before it, ascending: `access code`.
    pub(crate) nouns: Vec<(u32, u32)>,
    /// All words in order, values left out.
    pub(crate) wording: Vec<u32>,
    /// Whether it orders or forbids something.
    pub(crate) rule: bool,
    /// Whether it forbids what its value names, a secret's telling excepted.
    pub(crate) forbids: bool,
    /// Whether it asks for something to be done once, or says what holds beside the rest.
    pub(crate) apart: bool,
    /// Whether it says what comes next.
    pub(crate) next: bool,
}

/// Numbers the words of statements.
#[derive(Debug, Default)]
pub(crate) struct WordNumbers(FxHashMap<String, u32>);

impl WordNumbers {
    fn id(&mut self, word: &str) -> u32 {
        let next = self.0.len() as u32;
        match self.0.get(word) {
            Some(id) => *id,
            None => *self.0.entry(word.to_owned()).or_insert(next),
        }
    }
}

/// The newest statements of people, oldest first. Older ones are not even read.
pub(crate) fn statements(units: &[TextUnit<'_>], words: &mut WordNumbers) -> Vec<Statement> {
    let all = stated(units);
    let newest = all.len().saturating_sub(STATEMENTS);
    all.into_iter().skip(newest).map(|range| statement(units, range, words)).collect()
}

/// The units of each statement of people, oldest first.
pub(crate) fn stated(units: &[TextUnit<'_>]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < units.len() {
        if !units[at].is_spoken() {
            at += 1;
            continue;
        }
        let own = |unit: &&TextUnit<'_>| unit.entry() == units[at].entry() && unit.is_spoken();
        let end = at + units[at..].iter().take_while(own).count();
        let length: usize = units[at..end].iter().map(|unit| unit.text.len()).sum();
        match length <= ONE_STATEMENT {
            true => out.push(at..end),
            false => out.extend((at..end).map(|index| index..index + 1)),
        }
        at = end;
    }
    out
}

/// The statement of one unit alone.
pub(crate) fn of_unit(units: &[TextUnit<'_>], index: usize, words: &mut WordNumbers) -> Statement {
    statement(units, index..index + 1, words)
}

fn statement(units: &[TextUnit<'_>], range: Range<usize>, words: &mut WordNumbers) -> Statement {
    let mut out = Statement { units: range.clone().collect(), ..Statement::default() };
    for unit in &units[range] {
        let order = directive::order(&unit.text);
        let (forbids, hides) = forbids(&unit.text);
        let manner = Manner { orders: order >= DirectiveStrength::Plain, forbids, hides };
        let valued = read(&unit.text, manner, &mut out, words);
        out.rule |= order >= DirectiveStrength::Faint;
        out.forbids |= valued && forbids;
        out.apart |= is_apart(&unit.text);
        out.next |= says_next(&unit.text);
    }
    let Statement { frame, named, given, nouns, .. } = &mut out;
    frame.sort_unstable();
    frame.dedup();
    named.sort_unstable();
    named.dedup();
    given.sort_unstable();
    given.dedup();
    given.retain(|value| named.binary_search(value).is_err());
    nouns.sort_unstable();
    nouns.dedup();
    out
}

/// Reads a sentence; says whether it holds a value.
fn read(text: &str, manner: Manner, out: &mut Statement, words: &mut WordNumbers) -> bool {
    let values = value::values(text, manner);
    let is_value = |at: usize| values.iter().any(|value| value.range.contains(&at));
    let places: Vec<Range<usize>> = words::words(text).collect();
    let mut before = None;
    let mut last = 0;
    let mut stem = String::new();
    for (place, range) in places.iter().enumerate() {
        let touches = text[last..range.start].chars().all(|c| c == ' ');
        last = range.end;
        if is_value(range.start) {
            before = None;
            continue;
        }
        let word = text[range.clone()].to_lowercase();
        words::stem_into(&word, &mut stem);
        out.wording.push(words.id(&stem));
        let plain = words::is_stop_word(&word) || stem.is_empty();
        stem.truncate(stem.char_indices().nth(FRAME_LETTERS).map_or(stem.len(), |(at, _)| at));
        if plain || SAYS_NOTHING.contains(&stem.as_str()) {
            before = None;
            continue;
        }
        let id = words.id(&stem);
        out.frame.push(id);
        if let Some(modifier) = before.filter(|_| touches) {
            out.nouns.push((id, modifier));
        }
        before = Some(id);
        let next = places.get(place + 1).filter(|next| text[range.end..next.start] == *" ");
        if place == 0 && next.is_some_and(|next| is_value(next.start) || acts(&text[next.clone()]))
        {
            out.subjects.push(id);
        }
    }
    for StatedValue { kind, range, names } in &values {
        let value = (*kind, words.id(&text[range.clone()].to_lowercase()));
        if *names { &mut out.named } else { &mut out.given }.push(value);
    }
    !values.is_empty()
}

/// Whether a word behind the first one of a sentence may be what that one does.
fn acts(word: &str) -> bool {
    let helps = ["had", "will", "can", "may", "must", "should"];
    helps.contains(&word) || word.ends_with('s') && !word.ends_with("ss")
}

/// Stems that tell how something is said rather than what it is about.
const SAYS_NOTHING: &[&str] = &[
    "want", "need", "use", "set", "send", "keep", "mak", "giv", "chang", "updat", "switch",
    "prefer", "user", "new", "curren", "writ", "must", "always", "never", "only", "withou",
    "first", "els", "nobody", "past", "unles", "befor", "after",
];

/// Whether a sentence forbids something, and whether that is to tell a secret. Two things that are
/// forbidden are two prohibitions, whatever they share; of a secret the newest is the one in force.
fn forbids(text: &str) -> (bool, bool) {
    let lower = text.to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    let never = has(&[
        "never", "not ", "n't ", "don’t", "no ", "avoid", "without", "forbid", "nie ", "kein",
    ]);
    let secret = has(&["code", "password", "passphrase", "secret", " token", "codename"])
        && !has(&["error", "exit", "status"]);
    let tells = has(&["disclos", "share", "reveal", "tell", "told", "show", "give ", "mention"]);
    let hides = never && secret && tells;
    (never && !hides, hides)
}

/// Whether a sentence asks for something to be done once, or says what holds beside the rest.
fn is_apart(text: &str) -> bool {
    let lower = text.to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    let mut words = words::words(&lower).map(|range| &lower[range]);
    let polite = ["yes", "please", "now", "then", "and", "also", "ok"];
    let first = words.find(|word| !polite.contains(word));
    first.is_some_and(|verb| ONCE.contains(&verb))
        || has(&["like to ", "want to ", "need to ", "can you", "could you", "let's "])
        || has(&["another ", "also ", " too.", "as well", "addition", "one more "])
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
