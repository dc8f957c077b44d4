//! Grounding: of what a model wrote, that which names nothing but what its source names (RULES 15).
//!
//! Invariant: a text is only ever made shorter, by whole sentences, and what stays of a line is that line's
//! own words. Called with what models write of a conversation.

use std::borrow::Cow;

use epitome_kernel::types::Entry;

use crate::facts::texts;
use crate::refs::{self, RefKind};
use crate::split::whole_sentences;
use crate::wrapped::without_bullet;

/// Numbers that people write as words.
const COUNTS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];
/// Marks that open and close a quotation.
const QUOTES: [[char; 2]; 4] = [['"', '"'], ['“', '”'], ['«', '»'], ['`', '`']];

/// What a summary may name.
#[derive(Clone, Debug)]
pub struct SummarySource {
    /// All of it, spelled as by [`plain`], between blanks.
    text: String,
}

/// What stays of a text that a model wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroundedText {
    /// Its sentences that name nothing new.
    pub text: String,
    /// How many sentences it had.
    pub sentences: usize,
    /// Those that left.
    pub dropped: Vec<UngroundedSentence>,
}

/// A sentence that names what its source does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UngroundedSentence {
    /// The sentence.
    pub text: String,
    /// What it names: a path, a number, an identifier or a quotation.
    pub name: String,
}

impl SummarySource {
    /// What these messages name, and what else was told: goals, facts, the words of a question.
    pub fn from_entries<'a>(
        entries: impl IntoIterator<Item = &'a Entry>,
        told: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut text = String::from(" ");
        for entry in entries {
            for piece in texts(entry) {
                plain_into(&piece, &mut text);
            }
            // Arguments as they stand too: a number in them may be a key.
            for call in entry.calls() {
                plain_into(&call.arguments, &mut text);
            }
        }
        told.into_iter().for_each(|piece| plain_into(piece, &mut text));
        Self { text }
    }

    /// What of a text names nothing that stands nowhere in the source. Sentences that do leave, and lines
    /// of which nothing stays.
    pub fn grounded(&self, text: &str) -> GroundedText {
        let mut out = GroundedText::default();
        let mut lines = Vec::new();
        for line in text.lines() {
            let said = without_bullet(line.trim_start());
            let mark = &line[..line.len() - said.len()];
            let sentences = whole_sentences(said);
            let all = sentences.len();
            let held: Vec<&str> =
                sentences.into_iter().filter(|one| out.takes(self, one)).collect();
            match held.len() {
                _ if held.len() == all => lines.push(Cow::Borrowed(line)),
                0 => {}
                _ => lines.push(Cow::Owned(format!("{mark}{}", held.join(" ")))),
            }
        }
        out.text = lines.join("\n");
        out
    }

    /// What a sentence names that the source does not.
    fn unknown<'s>(&self, sentence: &'s str) -> Option<&'s str> {
        let quotes = quotations(sentence).into_iter().filter(|said| !self.says(said));
        let named = refs::mentions(sentence).into_iter();
        let named = named.filter(|it| it.kind != RefKind::Name);
        let unknown = named.filter(|it| !self.names(it.canonical(sentence), it.kind));
        quotes.chain(unknown.map(|it| &sentence[it.range])).next()
    }

    /// Whether something was said in these words; what is left out of a quotation parts it.
    fn says(&self, quotation: &str) -> bool {
        quotation.replace("...", "…").split('…').all(|piece| {
            let mut words = String::new();
            plain_into(piece, &mut words);
            let words = words.trim().trim_end_matches(['.', ',', '!', '?', ';', ':', '(', ')']);
            words.is_empty() || self.holds(words)
        })
    }

    /// Whether it names this, in one of the spellings of a name.
    fn names(&self, name: &str, kind: RefKind) -> bool {
        let mut plain = String::new();
        plain_into(name, &mut plain);
        let plain = plain.trim();
        if self.holds(plain) {
            return true;
        }
        match kind {
            RefKind::Number | RefKind::Id => {
                let count = plain.parse().ok().and_then(|number: usize| COUNTS.get(number));
                let bare = plain.trim_start_matches(['$', '~', '+', '-', 'v']);
                count.is_some_and(|word| self.holds(word)) || bare != plain && self.holds(bare)
            }
            RefKind::Ident => {
                let parts = parts(name);
                ["_", "-", " ", ".", ""].iter().any(|between| self.holds(&parts.join(between)))
            }
            _ => false,
        }
    }

    /// Whether these words stand there, and no part of longer ones.
    fn holds(&self, words: &str) -> bool {
        let text = &self.text;
        let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let [first, last] = [words.chars().next(), words.chars().next_back()];
        text.match_indices(words).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let behind = text[at + words.len()..].chars().next();
            let is_inner = joins(first) && joins(before) || joins(last) && joins(behind);
            !is_inner
        })
    }
}

impl GroundedText {
    /// Counts a sentence; whether it stays.
    fn takes(&mut self, source: &SummarySource, sentence: &str) -> bool {
        self.sentences += 1;
        let unknown = source.unknown(sentence);
        self.dropped.extend(
            unknown.map(|name| UngroundedSentence {
                text: sentence.to_owned(),
                name: name.to_owned(),
            }),
        );
        unknown.is_none()
    }
}

/// The parts of an identifier, in lower case.
fn parts(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || was_lower && c.is_uppercase();
        if begins && out.last().is_some_and(|part| !part.is_empty()) {
            out.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(part) = out.last_mut()
        {
            part.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    out.retain(|part| !part.is_empty());
    out
}

/// What stands between marks of quotation in a sentence.
fn quotations(sentence: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = sentence[at..].chars().next() {
        let start = at + c.len_utf8();
        let opens = QUOTES.iter().find(|[open, _]| *open == c);
        let is_free = !sentence[..at].ends_with(|c: char| c.is_alphanumeric() || c == '`');
        let close = opens.filter(|_| is_free).and_then(|[_, close]| {
            let length = sentence[start..].find(*close)?;
            Some((length, close.len_utf8()))
        });
        at = match close {
            Some((length, mark)) => {
                out.push(&sentence[start..start + length]);
                start + length + mark
            }
            None => start,
        };
    }
    out.retain(|said| said.contains(char::is_alphanumeric));
    out
}

/// Adds a text in lower case, without marks of emphasis and code, with straight marks of quotation, blanks
/// for what stands between words, and numbers without marks of thousands; a blank behind it.
fn plain_into(text: &str, out: &mut String) {
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let behind_digit = out.ends_with(|c: char| c.is_ascii_digit());
        match c {
            // Between words it parts them.
            '*' | '`' => {
                let is_inner = rest.peek().is_some_and(|next| next.is_alphanumeric());
                if is_inner && out.ends_with(char::is_alphanumeric) {
                    out.push(' ');
                }
            }
            ',' if behind_digit && rest.peek().is_some_and(char::is_ascii_digit) => {}
            '’' | '‘' => out.push('\''),
            '“' | '”' | '«' | '»' => out.push('"'),
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            c => out.extend(c.to_lowercase()),
        }
    }
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;
    use proptest::prelude::*;

    use super::*;

    fn source() -> SummarySource {
        let entries = chat()
            .user("Mend the parser in src/json/value.rs: run_once fails with E0308. Never use \"unsafe\" there.")
            .call("read", r#"{"path":"src/json/value.rs","limit":1200}"#)
            .result("fn run_once() -> bool { retries(3) }\nerror: mismatched types")
            .assistant("I changed two functions; the limit is 1,500 now, and **each error** is kept.")
            .entries();
        SummarySource::from_entries(&entries, ["Ship version 2.1 by Friday."])
    }

    #[track_caller]
    fn check(text: &str, expected: &str, names: &[&str]) {
        let found = source().grounded(text);
        let dropped: Vec<&str> = found.dropped.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((&*found.text, &dropped[..]), (expected, names));
    }

    #[test]
    fn what_the_source_names_stays() {
        for text in [
            "## Done\n- Changed `run_once` in json/value.rs and value.rs; 2 functions.\n\nOpen: E0308.",
            "The limit was 1200, now it is 1500. Retries: 3. Version 2.1 ships on Friday.",
            "The person said “never use \"unsafe\" there” and \"Mend the parser … fails with E0308.\"",
            "runOnce (run-once) fails: `fn run_once() -> bool`",
            "A sentence that names nothing, about JSON and the Parser.",
        ] {
            check(text, text, &[]);
        }
    }

    #[test]
    fn a_sentence_that_names_something_new_leaves() {
        check(
            "The parser is mended. It stands in src/json/lexer.rs now. Retries stay.",
            "The parser is mended. Retries stay.",
            &["src/json/lexer.rs"],
        );
        check("- The limit is 1501.\n- It ships.", "- It ships.", &["1501"]);
        check("run_twice fails.\nSo it goes.", "So it goes.", &["run_twice"]);
        check("He said “always use it there”.", "", &["always use it there"]);
        check("It fails with E0309.", "", &["E0309"]);
        check("It fails with ValueError. It ran 30 times.", "", &["ValueError", "30"]);
    }

    proptest! {
        #[test]
        fn a_text_only_grows_shorter_and_its_own_words_are_held(
            text in "[a-z0-9_./`\"“” \n-]{0,120}",
        ) {
            let found = source().grounded(&text);
            prop_assert!(found.text.len() <= text.len());
            let entries = chat().user(&text).entries();
            let own = SummarySource::from_entries(&entries, []).grounded(&text);
            prop_assert_eq!(own.dropped, Vec::new(), "{}", text);
            let again = source().grounded(&found.text);
            prop_assert_eq!(again.dropped, Vec::new());
        }
    }
}
