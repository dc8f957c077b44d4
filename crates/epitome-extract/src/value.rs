//! The values in a sentence, and which of them name the thing that the sentence is about.
//!
//! Invariant: in doubt a value names a thing. Called by [`crate::statement`].

use std::ops::Range;

use crate::refs::{self, RefKind};
use crate::words;

/// What a value is, so that only like replaces like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Type {
    Address,
    Amount,
    /// A date or a time of day.
    Date,
    Code,
    Number,
    Name,
}

/// A value of a sentence.
#[derive(Debug)]
pub(crate) struct StatedValue {
    pub(crate) kind: Type,
    /// Where it stands.
    pub(crate) range: Range<usize>,
    /// Whether it names what the sentence is about (`host web60`, `ticket 41`) rather than being
    /// what is said of that (`on port 7023`, `is 30 seconds`).
    pub(crate) names: bool,
}

/// In what manner a sentence speaks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// It orders, forbids or wishes.
    pub(crate) orders: bool,
    /// It forbids.
    pub(crate) forbids: bool,
    /// It forbids to tell a secret: that one is no thing but a value, whatever is said of it.
    pub(crate) hides: bool,
}

/// The values in a sentence. Neighbouring names are one (`Ann Fox`, `May 3`), and so are `4 of 7`
/// and `22:00`.
pub(crate) fn values(text: &str, manner: Manner) -> Vec<StatedValue> {
    let mut found: Vec<(Type, Range<usize>)> = Vec::new();
    for mention in refs::mentions(text) {
        let name = &text[mention.range.clone()];
        let kind = match mention.kind {
            RefKind::Url | RefKind::Email | RefKind::Path | RefKind::File => Type::Address,
            RefKind::Id if name.starts_with('$') => Type::Amount,
            RefKind::Id if refs::is_date(name) => Type::Date,
            RefKind::Number if name.bytes().all(|b| b.is_ascii_digit()) => Type::Number,
            RefKind::Ident if name.bytes().all(|b| b.is_ascii_alphabetic()) => Type::Name,
            RefKind::Id | RefKind::Number | RefKind::Ident | RefKind::Error => Type::Code,
            RefKind::Name if starts_sentence(text, &mention.range) || is_acronym(name) => {
                continue;
            }
            RefKind::Name => Type::Name,
            RefKind::Flag => continue,
        };
        let joined = found.last().and_then(|(last, before)| {
            let between = &text[before.end..mention.range.start];
            Some(match (last, between, kind) {
                (Type::Name, " ", Type::Name | Type::Number) => Type::Name,
                (Type::Name, "/", Type::Name) => Type::Name,
                (Type::Number, " of ", Type::Number) => Type::Number,
                (Type::Number, ":", Type::Number) => Type::Date,
                _ => return None,
            })
        });
        match (joined, found.last_mut()) {
            (Some(kind), Some(last)) => *last = (kind, last.1.start..mention.range.end),
            _ => found.push((kind, mention.range)),
        }
    }
    let places: Vec<Range<usize>> = found.iter().map(|(_, range)| range.clone()).collect();
    let sentence =
        ValueSentence { text, words: words::words(text).collect(), values: &places, manner };
    let value = |(kind, range): (Type, Range<usize>)| {
        let names = !sentence.gives(kind, &range);
        StatedValue { kind, range, names }
    };
    found.into_iter().map(value).collect()
}

fn starts_sentence(text: &str, name: &Range<usize>) -> bool {
    let before = text[..name.start].trim_end();
    let titled = ["Mr.", "Mrs.", "Ms.", "Dr.", "Prof."].iter().any(|title| before.ends_with(title));
    let goes_on = text[name.end..].trim_start_matches(' ').starts_with(char::is_lowercase);
    before.is_empty()
        || before.ends_with(['.', '!', '?', '-', '*', '\n']) && !titled
        || before.ends_with(':') && goes_on
}

fn is_acronym(name: &str) -> bool {
    name.chars().all(char::is_uppercase)
}

struct ValueSentence<'a> {
    text: &'a str,
    words: Vec<Range<usize>>,
    /// Where its values stand.
    values: &'a [Range<usize>],
    manner: Manner,
}

/// What leads to a value.
enum ValueLead<'a> {
    /// Words that say what something is: `is`, `use`, a colon.
    Is,
    /// A preposition.
    Preposition(&'a str),
    /// Anything else.
    Other,
}

impl ValueSentence<'_> {
    /// Whether a value is said of what the sentence is about.
    fn gives(&self, kind: Type, value: &Range<usize>) -> bool {
        if kind == Type::Amount {
            return true;
        }
        let first = self.words.partition_point(|word| word.end <= value.start);
        let behind = self.words.partition_point(|word| word.start < value.end);
        let opens = !(0..first).any(|place| self.is_content(place));
        if kind == Type::Date && !opens {
            return true;
        }
        let noun = first.checked_sub(1).filter(|before| {
            self.is_next(*before) && self.is_content(*before) && !self.is_lead(*before)
        });
        let noun_behind = (behind < self.words.len() && self.is_next(behind - 1))
            .then_some(behind)
            .filter(|behind| noun.is_none() && ATTRIBUTES.contains(&&*self.word(*behind)));
        let labels = noun.or(noun_behind).is_some_and(|n| ATTRIBUTES.contains(&&*self.word(n)));
        if noun.is_some() && !labels {
            return false;
        }
        if labels && self.manner.hides {
            return true;
        }
        match self.lead(first, behind, kind) {
            ValueLead::Is => true,
            ValueLead::Preposition(_) if opens => false,
            ValueLead::Preposition(_) if labels => kind == Type::Name || !self.manner.orders,
            ValueLead::Preposition(word) => match kind {
                Type::Number => true,
                Type::Name => word != "to" || !self.manner.orders,
                _ => word == "at" && !self.manner.orders || word == "to" && self.sets(),
            },
            ValueLead::Other => false,
        }
    }

    /// What leads to the words that end with the value whose words these are.
    fn lead(&self, first: usize, behind: usize, kind: Type) -> ValueLead<'_> {
        let ends = behind == self.words.len() || !self.is_next(behind - 1);
        for place in (0..first).rev().take(NOUN_WORDS) {
            let between = &self.text[self.words[place].end..self.words[place + 1].start];
            if between.contains([':', '=']) {
                return if ends || kind == Type::Number { ValueLead::Is } else { ValueLead::Other };
            }
            if !self.is_next(place) || self.is_value(place) {
                return ValueLead::Other;
            }
            let word = self.word(place);
            if let Some(preposition) = PREPOSITIONS.iter().find(|known| **known == word) {
                return ValueLead::Preposition(preposition);
            }
            let sets = SETS.contains(&&*word) && !self.manner.forbids;
            let has = matches!(&*word, "has" | "have") && kind == Type::Number;
            let only = word == "only" && kind == Type::Name;
            if COPULAS.contains(&&*word) || sets || has || only {
                return ValueLead::Is;
            }
            if words::is_stop_word(&word) && !SKIPPED.contains(&&*word) {
                return ValueLead::Other;
            }
        }
        ValueLead::Other
    }

    fn word(&self, place: usize) -> String {
        self.text[self.words[place].clone()].to_lowercase()
    }

    /// Whether nothing but spaces and quotes parts a word from the next one.
    fn is_next(&self, place: usize) -> bool {
        let Some(next) = self.words.get(place + 1) else { return false };
        let between = &self.text[self.words[place].end..next.start];
        between.chars().all(|c| c == ' ' || "`'\"*_“”‘’".contains(c))
    }

    fn is_value(&self, place: usize) -> bool {
        self.values.iter().any(|value| value.contains(&self.words[place].start))
    }

    fn is_content(&self, place: usize) -> bool {
        !words::is_stop_word(&self.word(place)) && !self.is_value(place)
    }

    /// Whether a word leads to values by its own.
    fn is_lead(&self, place: usize) -> bool {
        let word = &*self.word(place);
        [COPULAS, SETS, PREPOSITIONS, SKIPPED, &["only"]].iter().any(|list| list.contains(&word))
    }

    fn sets(&self) -> bool {
        !self.manner.forbids && (0..self.words.len()).any(|at| SETS.contains(&&*self.word(at)))
    }
}

/// A value belongs to so many words before it at most.
const NOUN_WORDS: usize = 5;

/// What says of something what it is.
const COPULAS: &[&str] =
    &["is", "are", "be", "was", "were", "now", "ist", "sind", "est", "es", "son"];

/// What makes something what it is from now on.
const SETS: &[&str] = &[
    "use",
    "set",
    "change",
    "switch",
    "prefer",
    "prefers",
    "preferred",
    "update",
    "wants",
    "want",
];

const PREPOSITIONS: &[&str] = &[
    "above", "after", "at", "before", "below", "between", "by", "every", "for", "from", "in",
    "into", "of", "on", "over", "past", "per", "since", "to", "under", "until", "with", "within",
    "without",
];

/// What may stand between those and a value.
const SKIPPED: &[&str] = &[
    "a", "about", "an", "exactly", "least", "more", "most", "my", "our", "than", "the", "their",
    "this", "your",
];

/// Nouns whose values are what is said of something, not things by themselves.
const ATTRIBUTES: &[&str] = &[
    "branch", "code", "codename", "color", "colour", "commit", "date", "day", "deadline", "format",
    "language", "level", "mode", "password", "phase", "port", "priority", "region", "sprint",
    "stage", "style", "timezone", "token", "url", "version", "zone",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a sentence: those that name what it is about, and those said of it.
    #[track_caller]
    fn check(text: &str, named: &[&str], given: &[&str]) {
        let manner = Manner { orders: text.contains("must"), ..Manner::default() };
        let found = values(text, manner);
        let of = |names: bool| -> Vec<&str> {
            let own = found.iter().filter(|value| value.names == names);
            own.map(|value| &text[value.range.clone()]).collect()
        };
        assert_eq!((of(true), of(false)), (named.to_vec(), given.to_vec()), "{text}");
    }

    #[test]
    fn things_are_told_from_what_is_said_of_them() {
        check("Host web60 listens on port 7023.", &["web60"], &["7023"]);
        check("The service auth1 must run on web60.", &["auth1", "web60"], &[]);
        check("Our customer Miller pays $30 on May 3.", &["Miller"], &["$30", "May 3"]);
        check("Ticket 41: the run fails at 22:00.", &["41"], &["22:00"]);
        check(
            "helper_558 calls helper_2 of src/a.rs.",
            &["helper_558", "helper_2", "src/a.rs"],
            &[],
        );
        check("On 2027-03-01 it ends.", &["2027-03-01"], &[]);
        check("Remember: web60 must stay.", &["web60"], &[]);
    }

    #[test]
    fn what_something_is_names_nothing() {
        check("The limit is 30 seconds.", &[], &["30"]);
        check("We are in phase 4 of 7 of it.", &[], &["4 of 7"]);
        check("Use port 8080 from now on.", &[], &["8080"]);
        check("The codename of it: KX-431.", &[], &["KX-431"]);
        check("The staging API lives at https://a.b/v2.", &[], &["https://a.b/v2"]);
        check("It must be in the Zone/Abc timezone.", &[], &["Zone/Abc"]);
        check("Only Ann Fox may approve it.", &[], &["Ann Fox"]);
    }
}
