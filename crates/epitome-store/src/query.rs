//! A query, read: its words and what each of them tells, which of them follow each other, and the
//! phrases that must occur.
//!
//! Invariant: whether a passage answers is judged by the query's own words alone, never by what
//! else the passage holds. Called by the relevance, by the index, and where nothing was found.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::common::common_in;
use crate::terms::{Term, TermFilter, is_common, parts, runs, term};

/// Words of a search. What has more, or several lines, is a question or a pasted text: it says
/// little of what it needs by name, so that the passages around those that answer it count, too.
const SEARCH_WORDS: usize = 6;

/// Words of what is written as a query. What has more, or several lines, was pasted: its quotes are
/// its own.
const ASKED_WORDS: usize = 12;

/// What a passage must hold more of than this, in units of the query's average word. A text that is pasted as a
/// question has many words, of which a passage that answers it holds few.
const NEEDED: f64 = 0.5;

/// A query.
#[derive(Debug, Default)]
pub(crate) struct Query<'q> {
    /// Its terms, numbered in the order in which they first stand there.
    terms: FxHashMap<Term, usize>,
    /// Terms that follow each other.
    pairs: FxHashSet<(usize, usize)>,
    /// Its words, each once.
    words: Vec<AskedWord<'q>>,
    /// What must occur, flattened by [`flat`].
    phrases: Vec<String>,
    /// Whether it has no more words than a search.
    is_search: bool,
}

/// A word of a query.
#[derive(Debug)]
struct AskedWord<'q> {
    /// As it is written.
    text: &'q str,
    /// The term of a compound as a whole.
    whole: Option<usize>,
    /// The other terms: the stem of a plain word, the parts of a compound.
    parts: Vec<usize>,
}

impl<'q> Query<'q> {
    /// Reads a query.
    pub(crate) fn of(text: &'q str) -> Self {
        let phrases = phrases(text);
        let is_search = !phrases.is_empty() || is_line(text, SEARCH_WORDS);
        let mut query = Self { phrases, is_search, ..Self::default() };
        let (terms, common) = (TermFilter::new(), common_in(text));
        let is_common = |run: &str| common.contains(&run.to_lowercase().as_str());
        let mut known = FxHashSet::default();
        let mut before = None;
        for run in runs(text).filter(|run| !is_common(run)) {
            let mut word = AskedWord { text: run, whole: None, parts: Vec::new() };
            let lower = term(&run.to_lowercase());
            terms.each(run, |part| {
                let next = query.terms.len();
                let part = term(part);
                let at = *query.terms.entry(part).or_insert(next);
                query.pairs.extend(before.map(|before| (before, at)));
                before = Some(at);
                match word.whole {
                    None if word.parts.is_empty() && part == lower => word.whole = Some(at),
                    _ => word.parts.push(at),
                }
            });
            if (word.whole.is_some() || !word.parts.is_empty()) && known.insert(lower) {
                query.words.push(word);
            }
        }
        if query.words.is_empty() && query.phrases.is_empty() {
            query.phrases.extend(letters(text));
        }
        query
    }

    /// How many terms it has.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// The number of a term, if it is asked for.
    pub(crate) fn term(&self, term: Term) -> Option<usize> {
        self.terms.get(&term).copied()
    }

    /// Whether two of its terms follow each other in it.
    pub(crate) fn is_pair(&self, pair: (usize, usize)) -> bool {
        self.pairs.contains(&pair)
    }

    /// How many pairs of terms follow each other in it.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Whether only what holds enough of it answers it: it names what is wanted.
    pub(crate) fn is_search(&self) -> bool {
        self.is_search
    }

    /// What must occur.
    pub(crate) fn phrases(&self) -> &[String] {
        &self.phrases
    }

    /// What a passage must hold more than, where each term tells so much.
    pub(crate) fn needed(&self, told: &[f64]) -> f64 {
        let all: f64 = self.words.iter().map(|word| word.told(told)).sum();
        NEEDED * all / (self.words.len().max(1) as f64)
    }

    /// Whether a passage with these terms names more than one of its words.
    pub(crate) fn is_said_together(&self, told: &[f64], held: &[bool]) -> bool {
        self.words.iter().filter(|word| word.share(told, held) > NEEDED).nth(1).is_some()
    }

    /// What a passage with these terms holds of it.
    pub(crate) fn held(&self, told: &[f64], held: &[bool]) -> f64 {
        self.words.iter().map(|word| word.told(told) * word.share(told, held)).sum()
    }

    /// The words of which no passage holds enough to name them.
    pub(crate) fn missing(&self, told: &[f64], held: &[bool]) -> impl Iterator<Item = &'q str> {
        let missing = self.words.iter().filter(move |word| word.share(told, held) <= NEEDED);
        missing.map(|word| word.text)
    }
}

impl AskedWord<'_> {
    /// What it tells: as much as the rarest of its terms, by the square. In a small store a word that
    /// every tenth passage holds would tell half of what one does that none holds, and so answer alone
    /// for all the words beside it.
    fn told(&self, told: &[f64]) -> f64 {
        self.whole.iter().chain(&self.parts).map(|&at| told[at]).fold(0.0, f64::max).powi(2)
    }

    /// How much of it is there: all of it, or so much of what its parts tell.
    fn share(&self, told: &[f64], held: &[bool]) -> f64 {
        if self.whole.is_some_and(|at| held[at]) {
            return 1.0;
        }
        let parts = |held: &dyn Fn(usize) -> bool| -> f64 {
            self.parts.iter().filter(|&&at| held(at)).map(|&at| told[at]).sum()
        };
        let all = parts(&|_| true);
        if all > 0.0 { parts(&|at| held[at]) / all } else { 0.0 }
    }
}

/// What a term tells that so many of the passages hold. One that none holds tells as much as one
/// that a single passage does: it may be another word for the same.
pub(crate) fn told(passages: f64, holders: f64) -> f64 {
    (1.0 + passages / holders.max(1.0)).ln()
}

/// Where a flattened text says a phrase, and not as a piece of longer words.
pub(crate) fn said_at(flat: &str, phrase: &str) -> impl Iterator<Item = usize> {
    let goes_on = |text: &str, next: &str| {
        let (last, first) = (text.chars().next_back(), next.chars().next());
        last.is_some_and(is_spaced) && first.is_some_and(is_spaced)
    };
    flat.match_indices(phrase).map(|(at, _)| at).filter(move |&at| {
        let (before, after) = (&flat[..at], &flat[at + phrase.len()..]);
        !goes_on(before, phrase) && !goes_on(phrase, after)
    })
}

/// Whether a letter or digit is of a script that parts its words by spaces. In the others a word may
/// begin behind any letter: Thai to Burmese, Khmer, and Chinese and Japanese.
fn is_spaced(c: char) -> bool {
    let unspaced = matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}');
    c.is_alphanumeric() && !unspaced
}

/// A text in small letters, with one space wherever there is white space.
pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Whether a text was pasted and not written as a query: what it has words for that nothing holds
/// tells nobody anything.
pub(crate) fn is_pasted(text: &str) -> bool {
    !is_line(text, ASKED_WORDS)
}

/// Whether a text is one line of at most so many words.
fn is_line(text: &str, words: usize) -> bool {
    !text.trim().contains('\n') && text.split_whitespace().count() <= words
}

/// A search for lone letters: they are no words, so it is taken as a phrase.
fn letters(text: &str) -> Option<String> {
    let is_named = runs(text).flat_map(parts).any(|part| !is_common(part));
    let phrase = text.trim_matches(|c: char| !c.is_alphanumeric());
    (is_named && is_line(text, SEARCH_WORDS)).then(|| flat(phrase))
}

/// The quoted phrases of a search.
fn phrases(text: &str) -> Vec<String> {
    if is_pasted(text) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once(['"', '“']) {
        let Some((phrase, after)) = inner.split_once(['"', '”']) else { break };
        let apart = |next: Option<char>| next.is_none_or(|c| !c.is_alphanumeric());
        let phrase = flat(phrase);
        let stands_apart = apart(before.chars().next_back()) && apart(after.chars().next());
        if stands_apart && runs(&phrase).next().is_some() {
            found.push(phrase);
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(Query::of(text).phrases(), expected, "phrases of {text:?}");
    }

    #[test]
    fn quotes_make_phrases() {
        check(r#""Connection  refused" port"#, &["connection refused"]);
        check("“so it is” or \"not\"", &["so it is", "not"]);
        check(r#"an "open end"#, &[]);
        check(r#""" "-""#, &[]);
    }

    #[test]
    fn lone_letters_are_a_phrase_and_common_words_are_none() {
        check("d", &["d"]);
        check("x y?", &["x y"]);
        check("the and of", &[]);
        check("go on, please", &[]);
        check("d of the drive", &[]);
    }

    #[test]
    fn quotes_of_a_pasted_text_are_its_own() {
        check("fix this:\n\"a b\"", &[]);
        check("one two three four five six seven eight nine ten eleven \"twelve thirteen\"", &[]);
    }

    #[test]
    fn a_phrase_is_no_piece_of_longer_words() {
        let says = |flat, phrase| said_at(flat, phrase).next().is_some();
        assert!(says("the cat sat", "cat") && says("cat", "cat") && says("a (cat)!", "cat"));
        assert!(!says("they concatenate", "cat"));
        assert!(says("call f(x)", "f(x)"));
        // Where words are not parted by spaces, any letter may begin one.
        for phrase in ["東京タワー", "は高い", "数据库连接", "连接被拒绝"] {
            let flat = flat("まず東京タワーは高い。数据库连接被拒绝了");
            assert_eq!(said_at(&flat, phrase).count(), 1, "{phrase}");
        }
        assert_eq!(said_at("데이터베이스 연결이", "베이스 연결이").count(), 0);
    }

    #[test]
    fn a_path_is_one_word_and_its_common_parts_are_not_it() {
        let query = Query::of("src/flurb.rs");
        let at = |word: &str| query.term(term(word)).unwrap();
        let mut told = vec![5.0; query.len()];
        told[at("src")] = 1.0;
        told[at("rs")] = 1.0;
        let mut held = vec![false; query.len()];
        held[at("src")] = true;
        held[at("rs")] = true;
        assert!(query.held(&told, &held) < query.needed(&told));
        held[at("flurb.rs")] = true;
        assert!(query.held(&told, &held) >= query.needed(&told));
    }
}
