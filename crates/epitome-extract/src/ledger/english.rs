//! How an English sentence orders, forbids and asks.
//!
//! Invariant: an account of how things are, a question and an idiom are no orders. Called by
//! [`super::rules`].

mod lists;

use lists::{
    ACCOUNTS, HOPES, IDIOMS, LEADS, MAKES, ONLY_TALK, OPENERS, OPENINGS, PAIRS, PHRASES, POLITE,
    SHORT, STORIES,
};

use crate::directive;

/// A word in lower case without apostrophes, and whether a clause begins with it.
struct Word {
    text: String,
    begins: bool,
}

/// A sentence, cut into words.
pub(super) struct EnglishSentence {
    words: Vec<Word>,
    asks: bool,
}

impl EnglishSentence {
    /// Reads a sentence.
    pub(super) fn of(text: &str) -> Self {
        Self { words: words(text), asks: text.ends_with(['?', '？']) }
    }

    /// Whether it says how its reader must work from now on.
    pub(super) fn is_rule(&self) -> bool {
        let words = without_openers(&self.words);
        let [first, second, ..] = words else { return false };
        let (first, second) = (first.text.as_str(), second.text.as_str());
        if self.asks || begins_as_idiom(first, second) {
            return false;
        }
        if OPENINGS.contains(&first) || PAIRS.contains(&[first, second]) {
            return true;
        }
        let bare = words.iter().fold(String::from(" "), |bare, word| bare + &word.text + " ");
        directive::is_direct(&bare) && !tells(&bare)
            || PHRASES.iter().any(|phrase| bare.contains(phrase))
            || (1..words.len()).any(|place| commands(words, place))
    }

    /// Whether it asks for something to be made.
    pub(super) fn is_request(&self) -> bool {
        let mut rest = without_openers(&self.words);
        let mut wished = false;
        while let Some((wish, length)) = politeness(rest) {
            wished |= wish;
            rest = &rest[length..];
        }
        let [verb, next, ..] = rest else { return false };
        let (verb, next) = (verb.text.as_str(), next.text.as_str());
        if verb == "make" && next == "sure" || verb == "fix" && next == "is" {
            return false;
        }
        MAKES.contains(&verb) || wished && verb.len() > 2 && !ONLY_TALK.contains(&verb)
    }
}

/// The words of a sentence.
fn words(text: &str) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    let (mut within, mut begins) = (false, true);
    for c in text.chars() {
        match c {
            '\'' | '’' => {}
            c if c.is_alphanumeric() || c == '_' => {
                if !within {
                    out.push(Word { text: String::new(), begins });
                }
                if let Some(word) = out.last_mut() {
                    word.text.extend(c.to_lowercase());
                }
                (within, begins) = (true, false);
            }
            c => {
                within = false;
                begins |= matches!(c, ',' | ';' | ':' | '—' | '–' | '(' | '!');
            }
        }
    }
    out
}

/// Without `ok, `, `no, `, `please ` and the like before what is said.
fn without_openers(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let [first, second, ..] = rest {
        let answer = matches!(first.text.as_str(), "no" | "yes" | "nope") && second.begins;
        if !answer && !OPENERS.contains(&first.text.as_str()) {
            break;
        }
        rest = &rest[1..];
    }
    rest
}

/// What asks politely at the beginning, how many words it has, and whether it wishes.
fn politeness(words: &[Word]) -> Option<(bool, usize)> {
    let begins = |phrase: &[&str]| {
        words.len() >= phrase.len() && words.iter().zip(phrase).all(|(word, it)| word.text == *it)
    };
    POLITE
        .iter()
        .filter(|(phrase, _)| begins(phrase))
        .map(|(phrase, wish)| (*wish, phrase.len()))
        .max_by_key(|(_, length)| *length)
}

/// Whether the word there commands, be it that a clause begins with it, or that what stands before
/// it leads to it. Where a person tells a story, only a prohibition does.
fn commands(words: &[Word], place: usize) -> bool {
    let at = |place: usize| words.get(place).map_or("", |word| word.text.as_str());
    let (before, word, next) = (at(place - 1), at(place), at(place + 1));
    let leads = words[place].begins || LEADS.contains(&before);
    let forbids = match word {
        "never" | "dont" => Some(next),
        "do" if next == "not" => Some(at(place + 2)),
        _ => None,
    };
    if let Some(then) = forbids {
        return leads && !begins_as_idiom("dont", then) && !begins_as_idiom(word, then);
    }
    if STORIES.contains(&at(0)) {
        return false;
    }
    match word {
        "always" | "avoid" => leads && !begins_as_idiom(word, next),
        "no" => words[place].begins && words.len() <= SHORT && forbids_things(words, place),
        "ensure" => leads,
        "only" => words[place].begins || matches!(before, "please" | "should" | "must" | "may"),
        "make" => next == "sure" && leads,
        "must" | "mustnt" | "should" | "shouldnt" | "shall" => {
            let told = ACCOUNTS.contains(&before) && !matches!(next, "never" | "always" | "not");
            !told && !HOPES.contains(&next) && !hopes(next, at(place + 2))
        }
        _ => false,
    }
}

/// Whether a `no` there forbids what follows: `no indices!`, but not `no big deal`, `no file found`.
fn forbids_things(words: &[Word], place: usize) -> bool {
    let at = |place: usize| words.get(place).map_or("", |word| word.text.as_str());
    let there = ["provided", "included", "given", "found", "available"];
    let next = at(place + 1);
    !next.is_empty() && !begins_as_idiom("no", next) && !there.contains(&at(place + 2))
}

/// `should be fine`: a guess rather than an order.
fn hopes(next: &str, after: &str) -> bool {
    next == "be"
        && matches!(after, "good" | "fine" | "ok" | "okay" | "enough" | "able" | "done" | "easy")
}

fn begins_as_idiom(first: &str, second: &str) -> bool {
    IDIOMS.iter().any(|(word, then)| *word == first && then.contains(&second))
}

/// "Your answer was wrong" and "No files included" tell how things are and order nothing.
fn tells(bare: &str) -> bool {
    let holds = |marks: &[&str]| marks.iter().any(|mark| bare.contains(mark));
    let there = [" provided ", " included ", " given ", " found ", " available ", " exists "];
    holds(&[" was ", " were ", " thanks ", " thank ", " is wrong ", " wasnt "])
        || bare.starts_with(" no ") && holds(&there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_told_from_talk() {
        let check = |text: &str, rule: bool| {
            assert_eq!(EnglishSentence::of(text).is_rule(), rule, "{text}")
        };
        for rule in [
            "Never commit without asking me.",
            "Please don’t touch the lock file.",
            "No new dependencies.",
            "no console logs!",
            "Use pnpm.",
            "ok, use rgb values in the themes, no indices!",
            "invalid themes must NEVER explode",
            "The public API must stay as it is.",
            "Run the tests, but do not push.",
            "When you cite something, use the primary source.",
            "Keep every answer under 80 words",
            "You may only edit files below src/.",
            "Everything in vendor/ is off limits.",
            "Make sure that the build passes.",
            "link text should be the same as accent",
        ] {
            check(rule, true);
        }
        for talk in [
            "I don't understand why it fails.",
            "the theme should work now",
            "that should do it",
            "should we keep this?",
            "no, that's not it.",
            "No idea what this does.",
            "The build always fails at night.",
            "users never see that page",
            "i think there's only one file left to fix up",
            "Keep going.",
            "continue",
            "Thanks for your reply.",
            "Your answer was wrong.",
            "it never worked",
        ] {
            check(talk, false);
        }
    }

    #[test]
    fn requests_are_told_from_talk() {
        let check = |text: &str, asked: bool| {
            assert_eq!(EnglishSentence::of(text).is_request(), asked, "{text}")
        };
        check("ok, create a new theme for me", true);
        check("Can you please write a simple test?", true);
        check("we need to fix the tui test sources.", true);
        check("I'd like to change my flight to Boston.", true);
        check("Your task is to port the parser.", true);
        check("I want to know why.", false);
        check("make sure it works", false);
        check("read the docs", false);
        check("The fix is good.", false);
        check("continue", false);
    }
}
