//! Words as the quality score compares them, and windows of them.
//!
//! Invariant: pure functions; what a window holds never crosses two messages. Called by the score
//! and where questions are made.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// Words in a window, and from one window to the next.
const WINDOW: usize = 80;
const STRIDE: usize = 40;

/// Words that say nothing of their own.
const STOP: &str = "a an the and or but if then else of in on at to for from by with as is are was \
    were be been being am do does did done have has had having i you he she it we they me him her us \
    them my your his its our their this that these those there here what which who whom whose when \
    where why how not no nor so too very can could will would shall should may might must just than \
    also into about over under again more most some any all each other such own same s t d ll m re \
    ve don didn doesn isn wasn aren won wouldn couldn shouldn hasn haven hadn let lets get got go \
    going went come came really like well yes yeah oh hey hi ok okay one thing things much many lot \
    up out off down now still ever even";

static STOPPED: LazyLock<BTreeSet<&str>> = LazyLock::new(|| STOP.split_whitespace().collect());

/// Endings that are taken off, the first that fits.
const ENDINGS: [&str; 9] = ["ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s"];

/// All words, by their stems.
pub(crate) fn words(text: &str) -> Vec<String> {
    raw(text).map(stem).collect()
}

/// The words that say something, by their stems.
pub(crate) fn content_words(text: &str) -> Vec<String> {
    let telling = |word: &&str| {
        let lower = word.to_ascii_lowercase();
        !STOPPED.contains(&*lower) && (word.len() > 1 || word.as_bytes()[0].is_ascii_digit())
    };
    raw(text).filter(telling).map(stem).collect()
}

/// Runs of ASCII letters, digits and what joins them, each from its first letter or digit on.
fn raw(text: &str) -> impl Iterator<Item = &str> {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '\'' | '_' | '-');
    let runs = text.split(move |c| !joins(c));
    let runs = runs.map(|run| run.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()));
    runs.filter(|run| !run.is_empty())
}

fn stem(word: &str) -> String {
    let lower = word.to_ascii_lowercase().replace("'s", "");
    let mut word = lower.trim_matches(['\'', '-', '_']).to_owned();
    if let Some(ending) =
        ENDINGS.iter().find(|it| word.ends_with(**it) && word.len() - it.len() >= 3)
    {
        word.truncate(word.len() - ending.len());
        if matches!(*ending, "ied" | "ies") {
            word.push('y');
        }
    }
    if let [.., before, last] = word.as_bytes()
        && word.len() > 3
        && before == last
        && !matches!(last, b'l' | b's')
    {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

/// Words and what each weighs, in a fixed order.
pub(crate) type Need = Vec<(String, f64)>;

/// The windows of some texts.
pub(crate) struct TextWindows {
    of: HashMap<String, Vec<usize>>,
    count: usize,
}

impl TextWindows {
    pub(crate) fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut out = Self { of: HashMap::new(), count: 0 };
        for text in texts {
            let words = words(text.as_ref());
            if words.len() <= WINDOW {
                out.add(&words);
                continue;
            }
            for start in (0..words.len() - STRIDE).step_by(STRIDE) {
                out.add(&words[start..words.len().min(start + WINDOW)]);
            }
        }
        out
    }

    fn add(&mut self, words: &[String]) {
        for word in words {
            let places = self.of.entry(word.clone()).or_default();
            if places.last() != Some(&self.count) {
                places.push(self.count);
            }
        }
        self.count += 1;
    }

    /// The largest share of what is needed that stands in one window.
    pub(crate) fn best(&self, need: &[(String, f64)]) -> f64 {
        let whole: f64 = need.iter().map(|(_, weight)| weight).sum();
        if whole == 0.0 {
            return 1.0;
        }
        let mut found = vec![0.0; self.count];
        for (word, weight) in need {
            for &place in self.of.get(word).into_iter().flatten() {
                found[place] += weight;
            }
        }
        found.into_iter().fold(0.0, f64::max) / whole
    }
}

/// How rare words are among some texts.
pub(crate) struct WordRarity {
    texts: usize,
    of: HashMap<String, usize>,
}

impl WordRarity {
    pub(crate) fn of<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut out = Self { texts: 0, of: HashMap::new() };
        for text in texts {
            out.texts += 1;
            let words: BTreeSet<_> = content_words(text.as_ref()).into_iter().collect();
            words.into_iter().for_each(|word| *out.of.entry(word).or_default() += 1);
        }
        out
    }

    /// The words of a text, each with what it weighs.
    pub(crate) fn need(&self, text: &str) -> Need {
        let words: BTreeSet<_> = content_words(text).into_iter().collect();
        let weight = |word: &str| {
            let here = self.of.get(word).copied().unwrap_or_default();
            let rare = (1.0 + self.texts as f64 / (1.0 + here as f64)).ln();
            (rare * 1e4).round() / 1e4
        };
        words.into_iter().map(|word| (word.clone(), weight(&word))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_by_their_stems() {
        let check = |text: &str, expected: &[&str]| assert_eq!(content_words(text), expected);
        check("Never retried the queries", &["never", "retry", "query"]);
        check("running stopped falls", &["run", "stop", "fall"]);
        check("it's Bob's stage_2-a, 7 b", &["it", "bob", "stage_2-a", "7"]);
        check("-x- 'tis café", &["x", "tis", "caf"]);
    }

    #[test]
    fn a_share_is_of_one_window() {
        let need = vec![("alpha".to_owned(), 1.0), ("omega".to_owned(), 3.0)];
        let check =
            |texts: &[&str], share: f64| assert_eq!(TextWindows::new(texts).best(&need), share);
        check(&[], 0.0);
        check(&["alpha omega"], 1.0);
        check(&["alpha", "omega"], 0.75);
        let far = format!("alpha {} omega", "x ".repeat(79));
        check(&[&far], 0.75);
        assert_eq!(TextWindows::new(["x"]).best(&[]), 1.0);
    }
}
