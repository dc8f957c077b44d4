//! Words as the search sees them: tokenising, stemming, and the parts of identifiers and paths.
//!
//! Invariant: a text and a query go through the same functions, so what matches depends on
//! nothing but the two strings. Called by the ranking and by the full-text index.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// A term, reduced to a hash: ranking compares terms and never shows them.
pub(crate) type Term = u64;

/// Words that say nothing about what a text is about.
const STOP: &str = "a about after again all also am an and any are as at be been before being but \
    by can cannot could did do does doing don done each either else ever for from get go going got \
    had has have having he her here hers him his how i if in into is it its just let lets like ll \
    may me might more most much must my no nor not now of off oh ok okay on once one only or other \
    our ours out over own please re really same shall she should so some such sure than thank \
    thanks that the their them then there these they this those to too under until up us ve very \
    want was we well were what when where which while who whom whose why will with would yeah yes \
    yet you your yours";

/// The words of [`STOP`]; made once, for an index is asked for with every request.
static STOPPED: LazyLock<FxHashSet<&str>> = LazyLock::new(|| STOP.split_whitespace().collect());

/// Decides which words are passed over.
pub(crate) struct TermFilter {
    stop: &'static FxHashSet<&'static str>,
}

impl TermFilter {
    /// Terms without the common English words.
    pub(crate) fn new() -> Self {
        Self { stop: &STOPPED }
    }

    /// Calls `each` with every term of a text, in order, repeated as often as it stands there.
    ///
    /// A plain word yields its stem. A compound (`snake_case`, `camelCase`, `src/lib.rs`,
    /// `2024-05-15`) yields itself in lower case, every segment of its path, and the stems of its
    /// parts.
    pub(crate) fn each(&self, text: &str, mut each: impl FnMut(&str)) {
        let mut scratch = String::new();
        for run in runs(text) {
            self.compound(run, &mut scratch, &mut each);
        }
    }

    /// The terms of one run of word characters and the connectors between them.
    fn compound(&self, run: &str, scratch: &mut String, each: &mut impl FnMut(&str)) {
        let mut parts = parts(run).peekable();
        let Some(first) = parts.next() else { return };
        if parts.peek().is_none() {
            return self.part(first, scratch, each);
        }
        let contraction = run.contains(['\'', '’']);
        if !contraction {
            lower(run, scratch);
            each(scratch);
            if run.contains('/') {
                for segment in
                    run.split('/').filter(|segment| self::parts(segment).nth(1).is_some())
                {
                    lower(segment, scratch);
                    each(scratch);
                }
            }
        }
        self.part(first, scratch, each);
        for part in parts {
            self.part(part, scratch, each);
        }
    }

    /// The stem of one plain word, unless it is a stop word or a single letter.
    fn part(&self, part: &str, scratch: &mut String, each: &mut impl FnMut(&str)) {
        lower(part, scratch);
        let single = scratch.len() == 1 && !scratch.as_bytes()[0].is_ascii_digit();
        if single || self.stop.contains(scratch.as_str()) {
            return;
        }
        stem(scratch);
        each(scratch);
    }
}

/// The runs of a text: its plain words and its compounds, as they are written.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    WordRuns { text, at: 0 }
}

/// Whether a word says nothing about what a text is about.
pub(crate) fn is_common(word: &str) -> bool {
    STOPPED.contains(word.to_lowercase().as_str())
}

/// The hash of a term.
pub(crate) fn term(word: &str) -> Term {
    xxhash_rust::xxh3::xxh3_64(word.as_bytes())
}

fn lower(word: &str, into: &mut String) {
    into.clear();
    if word.is_ascii() {
        into.push_str(word);
        into.make_ascii_lowercase();
    } else {
        into.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// Cuts a compound at connectors, at the humps of camel case (`parseHTTPBody` → `parse`, `HTTP`,
/// `Body`), and between ideographs, which are written without spaces.
pub(crate) fn parts(run: &str) -> impl Iterator<Item = &str> {
    RunParts { run, at: 0 }
}

struct WordRuns<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for WordRuns<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (mut start, mut end) = (None, 0);
        while let Some((kind, length)) = kind_at(self.text, self.at) {
            if kind == CharKind::Outer && start.is_some() {
                break;
            }
            let at = self.at;
            self.at += length;
            // Connectors before the first part and behind the last belong to neither.
            if kind.is_word() {
                start.get_or_insert(at);
                end = self.at;
            }
        }
        self.text.get(start?..end)
    }
}

struct RunParts<'a> {
    run: &'a str,
    at: usize,
}

impl<'a> Iterator for RunParts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (mut start, mut before) = (self.at, None);
        while let Some((kind, length)) = kind_at(self.run, self.at) {
            match before {
                None if kind.is_word() => start = self.at,
                None => {
                    self.at += length;
                    continue;
                }
                Some(before) if self.begins_part(before, kind, self.at + length) => break,
                Some(_) => {}
            }
            before = Some(kind);
            self.at += length;
        }
        before.and_then(|_| self.run.get(start..self.at))
    }
}

impl RunParts<'_> {
    /// Whether a character is no longer of the part that the one before it is of.
    fn begins_part(&self, before: CharKind, kind: CharKind, behind: usize) -> bool {
        use CharKind::{Ideograph, Lower, Upper};
        match (before, kind) {
            (Ideograph, _) | (_, Ideograph) | (Lower, Upper) => true,
            // The last letter of an acronym's run of capitals begins the next word.
            (Upper, Upper) => kind_at(self.run, behind).is_some_and(|(next, _)| next == Lower),
            _ => !kind.is_word(),
        }
    }
}

/// What a character is to a word.
#[derive(Clone, Copy, PartialEq)]
enum CharKind {
    /// It stands between runs.
    Outer,
    /// It holds the parts of a compound together.
    Connector,
    Upper,
    Lower,
    /// A digit, or a letter without a case.
    Word,
    /// Han, kana and hangul: each character counts as a word.
    Ideograph,
}

impl CharKind {
    /// Most of what is read is ASCII, of which each character is looked up.
    const ASCII: [Self; 128] = {
        let mut kinds = [Self::Outer; 128];
        let mut at = 0;
        while at < kinds.len() {
            kinds[at] = match at as u8 {
                b'A'..=b'Z' => Self::Upper,
                b'a'..=b'z' => Self::Lower,
                b'0'..=b'9' => Self::Word,
                b'_' | b'-' | b'.' | b'/' | b'@' | b'\'' => Self::Connector,
                _ => Self::Outer,
            };
            at += 1;
        }
        kinds
    };

    fn classify(c: char) -> Self {
        const IDEOGRAPHS: [RangeInclusive<char>; 4] = [
            '\u{3040}'..='\u{30ff}',
            '\u{3400}'..='\u{9fff}',
            '\u{ac00}'..='\u{d7af}',
            '\u{20000}'..='\u{323af}',
        ];
        match c {
            '’' => Self::Connector,
            _ if !c.is_alphanumeric() => Self::Outer,
            _ if c.is_lowercase() => Self::Lower,
            _ if c.is_uppercase() => Self::Upper,
            _ if IDEOGRAPHS.iter().any(|range| range.contains(&c)) => Self::Ideograph,
            _ => Self::Word,
        }
    }

    fn is_word(self) -> bool {
        !matches!(self, Self::Outer | Self::Connector)
    }
}

/// The kind and the length of the character that begins at a byte.
fn kind_at(text: &str, at: usize) -> Option<(CharKind, usize)> {
    let byte = usize::from(*text.as_bytes().get(at)?);
    if let Some(kind) = CharKind::ASCII.get(byte) {
        return Some((*kind, 1));
    }
    let c = text.get(at..)?.chars().next()?;
    Some((CharKind::classify(c), c.len_utf8()))
}

/// Cuts the English endings that change most often between a question and its answer.
fn stem(word: &mut String) {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    const ENDINGS: [(&str, &str); 9] = [
        ("ingly", ""),
        ("edly", ""),
        ("ing", ""),
        ("ied", "y"),
        ("ies", "y"),
        ("ed", ""),
        ("es", ""),
        ("ly", ""),
        ("s", ""),
    ];
    let ends = matches!(word.as_bytes(), [.., b'd' | b'g' | b's' | b'y']);
    for (ending, put) in ENDINGS.into_iter().filter(|_| ends) {
        if word.len() >= ending.len() + 3 && word.ends_with(ending) && !word.ends_with("ss") {
            word.truncate(word.len() - ending.len());
            word.push_str(put);
            break;
        }
    }
    let bytes = word.as_bytes();
    if let [.., a, b] = bytes
        && bytes.len() > 3
        && a == b
        && !matches!(b, b'l' | b's' | b'e')
    {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        TermFilter::new().each(text, |term| found.push(term.to_owned()));
        assert_eq!(found, expected, "terms of {text:?}");
    }

    /// What a run is, character by character.
    fn runs_by_hand(text: &str) -> Vec<&str> {
        let is_inner = |c: char| c.is_alphanumeric() || "_-./@'’".contains(c);
        let runs = text.split(|c: char| !is_inner(c));
        let trimmed = runs.map(|run| run.trim_matches(|c: char| !c.is_alphanumeric()));
        trimmed.filter(|run| !run.is_empty()).collect()
    }

    proptest! {
        #[test]
        fn runs_of_any_text_are_what_stands_between_other_signs(
            text in "[a-cX-Z0-9_./@'’ (\\-ÄßéΩ東カ・…゛]{0,40}|\\PC{0,40}"
        ) {
            prop_assert_eq!(runs(&text).collect::<Vec<_>>(), runs_by_hand(&text));
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
            prop_assert_eq!(parts(&text).collect::<String>(), words.concat());
            for part in words.iter().flat_map(|word| parts(word)) {
                prop_assert_eq!(parts(part).collect::<Vec<_>>(), [part], "of {:?}", text);
            }
        }
    }

    #[test]
    fn plain_words_are_lowered_and_stemmed() {
        check(
            "Cancelled flights, cancelling a flight",
            &["cancell", "flight", "cancell", "flight"],
        );
        check("stopped stopping stops", &["stop", "stop", "stop"]);
        check("studies studied study", &["study", "study", "study"]);
        check("The price was 42.", &["pric", "42"]);
        check("glass class", &["glass", "class"]);
    }

    #[test]
    fn identifiers_yield_themselves_and_their_parts() {
        check("gift_card_7091239", &["gift_card_7091239", "gift", "card", "7091239"]);
        check("parseHTTPBody()", &["parsehttpbody", "pars", "http", "body"]);
        check("ÄrgerÜber", &["ärgerüber", "ärger", "über"]);
        check("on 2024-05-15", &["2024-05-15", "2024", "05", "15"]);
    }

    #[test]
    fn paths_yield_their_segments_too() {
        check(
            "see `src/theme/main-view.ts`.",
            &["see", "src/theme/main-view.ts", "main-view.ts", "src", "them", "main", "view", "ts"],
        );
    }

    #[test]
    fn contractions_are_no_identifiers() {
        check("I don't know Anna's dog", &["know", "anna", "dog"]);
    }

    #[test]
    fn stop_words_and_lone_letters_are_passed_over() {
        check("the a x of 7 and", &["7"]);
        check("...", &[]);
        check("", &[]);
    }

    #[test]
    fn other_scripts_survive() {
        check("Größe ÄNDERN", &["größe", "ändern"]);
        check("東京 tower", &["東京", "東", "京", "tower"]);
    }
}
