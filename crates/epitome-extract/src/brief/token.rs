//! Words and marks of a sentence, and which of them say too much to go.
//!
//! Invariant: the tokens of a sentence and the spaces between them are the sentence. Called by `unit`
//! and by `shorten`.

use std::borrow::Cow;
use std::ops::Range;

use super::lists::{WordList, WordTraits, traits};

/// What a token may be told by, beside its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TokenClass {
    /// A mark between words.
    Mark,
    /// A word that may go.
    Plain,
    /// One that goes only with all that it governs.
    Preposition,
    /// One that tells how a clause hangs together with another.
    Link,
    /// What never goes: negations, modal verbs, numbers, names, code and what is quoted.
    Kept,
}

/// A word or a mark.
#[derive(Clone, Debug)]
pub(crate) struct BriefToken<'a> {
    /// Where it stands in the sentence.
    pub(crate) range: Range<usize>,
    /// Its spelling in lower case, with straight apostrophes.
    pub(crate) word: Cow<'a, str>,
    /// Whether a space stands before it.
    pub(crate) spaced: bool,
    pub(crate) class: TokenClass,
    /// The lists that it is in.
    pub(crate) traits: WordTraits,
    /// Whether it is kept as a word of a closed list, and not as a name, code or quoted.
    pub(crate) closed: bool,
    /// Whether a negation stands before it in its clause.
    pub(crate) negated: bool,
}

impl BriefToken<'_> {
    /// Whether it is in a list.
    pub(crate) fn is(&self, list: WordList) -> bool {
        self.traits.is(list)
    }

    /// Whether it is a number.
    pub(crate) fn is_figure(&self) -> bool {
        self.is(WordList::Number) || self.word.contains(char::is_numeric)
    }

    pub(crate) fn is_mark(&self) -> bool {
        self.class == TokenClass::Mark
    }
}

/// The tokens of a sentence.
pub(crate) fn tokens(sentence: &str) -> Vec<BriefToken<'_>> {
    let mut out: Vec<BriefToken<'_>> = Vec::new();
    let mut quotes = OpenQuotes::default();
    let mut since_negation = usize::MAX;
    let mut at = 0;
    while at < sentence.len() {
        let rest = &sentence[at..];
        let start = at + (rest.len() - rest.trim_start().len());
        let Some(first) = sentence[start..].chars().next() else { break };
        let end =
            if is_mark(first) { start + first.len_utf8() } else { end_of_word(sentence, start) };
        let text = &sentence[start..end];
        let is_first = out.iter().all(BriefToken::is_mark);
        let word = spelled(text);
        let traits = traits(&word);
        let closed = !quotes.is_open() && is_closed(traits);
        let class = match () {
            () if is_mark(first) => TokenClass::Mark,
            () if quotes.is_open() || says_much(text, traits, is_first) => TokenClass::Kept,
            () if traits.is(WordList::Preposition) => TokenClass::Preposition,
            () if traits.is(WordList::Link) => TokenClass::Link,
            () => TokenClass::Plain,
        };
        quotes.pass(first, at < start || at == 0, &sentence[end..]);
        if is_mark(first) && !matches!(first, '\'' | '’' | '"') {
            since_negation = usize::MAX;
        }
        let negated = since_negation < NEGATED;
        since_negation = match traits.is(WordList::Negation) {
            true => 0,
            false => since_negation.saturating_add(1),
        };
        out.push(BriefToken {
            range: start..end,
            word,
            spaced: at < start,
            class,
            traits,
            closed,
            negated,
        });
        at = end;
    }
    out
}

/// How many words behind a negation it may be about.
const NEGATED: usize = 8;

/// What is open while the tokens of a sentence pass.
#[derive(Default)]
struct OpenQuotes {
    code: bool,
    double: bool,
    single: bool,
}

impl OpenQuotes {
    fn is_open(&self) -> bool {
        self.code || self.double || self.single
    }

    /// Sees a mark; `spaced` says that a space or nothing stands before it.
    fn pass(&mut self, first: char, spaced: bool, rest: &str) {
        match first {
            '`' => self.code = !self.code,
            '"' => self.double = !self.double,
            '“' => self.double = true,
            '”' => self.double = false,
            '\'' | '‘' if spaced && rest.contains(['\'', '’']) => self.single = true,
            '\'' | '’' => self.single = false,
            _ => {}
        }
    }
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        ',' | ';'
            | ':'
            | '.'
            | '!'
            | '?'
            | '('
            | ')'
            | '"'
            | '“'
            | '”'
            | '‘'
            | '’'
            | '\''
            | '`'
            | '—'
            | '–'
            | '…'
    )
}

/// Where a word ends: marks inside of numbers, names and paths are theirs.
fn end_of_word(sentence: &str, start: usize) -> usize {
    let mut chars = sentence[start..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c.is_whitespace() {
            return start + at;
        }
        if is_mark(c) {
            let inner =
                !matches!(c, '(' | ')' | '"' | '“' | '”' | '`' | '—' | '–' | '…' | '!' | '?');
            let goes_on =
                chars.peek().is_some_and(|(_, next)| next.is_alphanumeric() || *next == '/');
            if !(inner && goes_on) {
                return start + at;
            }
        }
    }
    sentence.len()
}

fn spelled(text: &str) -> Cow<'_, str> {
    match text.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'' || b == b'-') {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.to_lowercase().replace('’', "'")),
    }
}

/// Whether a word never goes: a name, a number, code, a negation or a modal verb.
fn says_much(text: &str, traits: WordTraits, is_first: bool) -> bool {
    let is_sign = |c: char| !c.is_alphabetic() && !matches!(c, '\'' | '’' | '-');
    let is_name = text.chars().next().is_some_and(char::is_uppercase)
        && (!is_first || text.chars().skip(1).any(char::is_uppercase))
        && !traits.is(WordList::Myself);
    text.contains(is_sign) || is_name || is_closed(traits)
}

/// Whether a word denies, counts, or says what can or must be.
fn is_closed(traits: WordTraits) -> bool {
    [WordList::Negation, WordList::Modal, WordList::Number].into_iter().any(|it| traits.is(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sentence: &str, expected: &str) {
        let shown = |it: BriefToken<'_>| {
            let sign = match it.class {
                TokenClass::Mark => "",
                TokenClass::Plain => "-",
                TokenClass::Preposition => "p",
                TokenClass::Link => "l",
                TokenClass::Kept => "k",
            };
            format!("{}{sign}", &sentence[it.range])
        };
        let found: Vec<String> = tokens(sentence).into_iter().map(shown).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn words_know_what_they_are() {
        check("Pay $8.6B to Ana, but do not stop.", "Pay- $8.6Bk top Anak , butl do- notk stop- .");
        check(
            "It can’t read `the file` of src/a.rs!",
            "It- can’tk read- ` thek filek ` ofp src/a.rsk !",
        );
        check("He said 'very nice' twice—really.", "He- said- ' veryk nicek ' twicek — really- .");
        check("The users' \"best day\" was 10:30.", "The- users- ' \" bestk dayk \" was- 10:30k .");
    }

    #[test]
    fn a_negation_reaches_to_the_next_mark() {
        let found = tokens("I do not really like it, really.");
        let really: Vec<bool> =
            found.iter().filter(|it| it.word == "really").map(|it| it.negated).collect();
        assert_eq!(really, [true, false]);
    }
}
