//! Names: the words of a text that stand for one thing, so that what else holds them is about it.
//!
//! Invariant: one pass over the text; each name comes once, as it is written first, in the order of
//! the text. Called where what was found leads to more.

use rustc_hash::FxHashSet;

use crate::refs::is_reference;
use crate::terms::{is_common, runs};

/// The names of a text: identifiers, files and dates, and words that are written with a
/// capital within a sentence.
///
/// ```
/// let text = "Ask Leif. The van is in Bergen since 2024-03-09: see src/van.rs, he says.";
/// assert_eq!(epitome_store::names(text), ["Leif", "Bergen", "2024-03-09", "src/van.rs"]);
/// ```
pub fn names(text: &str) -> Vec<&str> {
    let mut known = FxHashSet::default();
    let mut before = 0;
    let is_name = |word: &&str| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let gap = &text[before..start];
        let is_first = before == 0 || ends_sentence(gap);
        before = start + word.len();
        let is_named = word.contains(char::is_alphabetic) || is_date(word);
        is_named && (is_reference(word) || !is_first && is_proper(word))
    };
    let found = runs(text).filter(is_name).map(|word| word.trim_end_matches("'s"));
    found.filter(|word| !is_common(word) && known.insert(word.to_lowercase())).collect()
}

/// Whether a sentence, a line or a heading ends in what stands between two words.
fn ends_sentence(gap: &str) -> bool {
    gap.contains(['.', '!', '?', ':', '\n', '"', '“', '*', '#', '`', '|'])
}

/// Whether a number is one of three parts, as dates and versions are: a bare number stands for much.
fn is_date(word: &str) -> bool {
    word.split(['-', '/', '.']).filter(|part| !part.is_empty()).count() == 3
}

/// Whether a word is written with a capital, and is more than a letter.
fn is_proper(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(names(text), expected, "names in {text:?}");
    }

    #[test]
    fn a_capital_within_a_sentence_makes_a_name() {
        check("They met Nora. They went to Bergen", &["Nora", "Bergen"]);
        check("Nora came. Leif's van is old.", &[]);
        check("I took Leif's van to Leif", &["Leif"]);
        check("- First\n- Second one", &[]);
        check("then I said I did", &[]);
    }

    #[test]
    fn identifiers_files_and_dates_are_names() {
        check("run load_config in src/main.rs", &["load_config", "src/main.rs"]);
        check("on 2024-05-15 at gate B12 with 7 bags", &["2024-05-15", "B12"]);
        check("reservation ZFA04Y", &["ZFA04Y"]);
        check("it costs 11,500 or 54.20, room 112", &[]);
        check("", &[]);
    }
}
