//! Shortens prose: drops the words that carry grammar but no meaning.
//!
//! Invariant: negations, prepositions, numbers, what can, may, must or should be, and everything inside
//! backticks stay.

use crate::words;

/// The sentence without articles, fillers and auxiliary verbs.
pub(crate) fn shorten(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut from = 0;
    let mut quoted = false;
    for range in words::words(sentence) {
        let gap = &sentence[from..range.start];
        quoted ^= gap.matches('`').count() % 2 == 1;
        let word = &sentence[range.clone()];
        from = range.end;
        if !quoted && DROPPED.binary_search(&word.to_ascii_lowercase().as_str()).is_ok() {
            push_gap(gap, &mut out);
        } else {
            push_gap(gap, &mut out);
            out.push_str(word);
        }
    }
    push_gap(&sentence[from..], &mut out);
    out.trim().to_owned()
}

/// Appends what stands between two words, without doubling spaces.
fn push_gap(gap: &str, out: &mut String) {
    let gap = if out.is_empty() || out.ends_with(' ') { gap.trim_start_matches(' ') } else { gap };
    if gap.starts_with([',', '.', ';', ':', '!', '?']) && out.ends_with(' ') {
        out.pop();
    }
    out.push_str(gap);
}

/// Sorted, so that it can be searched.
const DROPPED: &[&str] = &[
    "a",
    "actually",
    "am",
    "an",
    "are",
    "basically",
    "be",
    "been",
    "being",
    "currently",
    "did",
    "do",
    "does",
    "had",
    "has",
    "have",
    "is",
    "just",
    "kindly",
    "maybe",
    "perhaps",
    "please",
    "quite",
    "rather",
    "really",
    "simply",
    "so",
    "that",
    "the",
    "then",
    "there",
    "these",
    "this",
    "those",
    "very",
    "was",
    "well",
    "were",
    "will",
    "would",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sentence: &str, expected: &str) {
        assert_eq!(shorten(sentence), expected);
    }

    #[test]
    fn meaning_survives() {
        check("The tests are not run before the build.", "tests not run before build.");
        check(
            "Please do not send it to the 3 users, it was a test!",
            "not send it to 3 users, it test!",
        );
        check("Call `is the_one` for the list.", "Call `is the_one` for list.");
    }

    #[test]
    fn dropped_words_are_sorted() {
        assert!(DROPPED.is_sorted());
    }
}
