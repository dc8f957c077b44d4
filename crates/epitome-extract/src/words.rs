//! Words of a text: their places, their stems, and which of them carry no content.
//!
//! Invariant: byte ranges returned here always fall on character boundaries. Used by every other
//! module of this crate.

use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// The words of a text in order: runs of letters and digits, with `'`, `_` and `-` inside them;
/// each ideograph or kana is a word of its own.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let start = at + rest.find(char::is_alphanumeric)?;
        at = end_of_word(text, start);
        Some(start..at)
    })
}

fn end_of_word(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = start;
    while end < bytes.len() {
        let byte = bytes[end];
        if byte.is_ascii_alphanumeric() || (end > start && matches!(byte, b'\'' | b'_' | b'-')) {
            end += 1;
        } else if byte.is_ascii() {
            break;
        } else {
            let Some(next) = text[end..].chars().next() else { break };
            if !next.is_alphanumeric() {
                break;
            }
            if is_ideograph(next) {
                return if end == start { end + next.len_utf8() } else { end };
            }
            end += next.len_utf8();
        }
    }
    end
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Whether most letters of a text are ideographs or kana, which no spaces part into words.
pub(crate) fn is_unspaced(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let own = text.chars().filter(|c| is_ideograph(*c) && !matches!(c, '\u{AC00}'..='\u{D7AF}'));
    // Each says as much as some letters do.
    let own = own.count() * 3;
    let letters = text.chars().filter(|c| c.is_alphabetic() && !is_ideograph(*c)).count();
    own > letters
}

/// The number of words in a text.
pub(crate) fn word_count(text: &str) -> usize {
    words(text).count()
}

/// The stem of a word, written into `out`: lower case without common English endings.
pub(crate) fn stem_into(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
    } else {
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    let trimmed = out.trim_end_matches(['\'', '-', '_']).len();
    out.truncate(trimmed);
    if out.ends_with("'s") {
        out.truncate(out.len() - 2);
    }
    for ending in ["ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s"] {
        if out.ends_with(ending) && out.len() - ending.len() >= 3 {
            out.truncate(out.len() - ending.len());
            if matches!(ending, "ied" | "ies") {
                out.push('y');
            }
            break;
        }
    }
    let bytes = out.as_bytes();
    if let [.., before, last] = bytes
        && bytes.len() > 3
        && before == last
        && last.is_ascii_alphabetic()
        && !matches!(last, b'l' | b's')
    {
        out.pop();
    }
    if out.len() > 3 && out.ends_with('e') {
        out.pop();
    }
}

/// Whether a word carries no content of its own. Expects lower case.
pub(crate) fn is_stop_word(word: &str) -> bool {
    /// Each word of a conversation is asked for.
    static FOUND: LazyLock<FxHashSet<&str>> =
        LazyLock::new(|| STOP_WORDS.iter().copied().collect());

    FOUND.contains(word)
}

const STOP_WORDS: &[&str] = &[
    "a", "about", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "been", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "down",
    "each", "even", "ever", "every", "for", "from", "get", "go", "going", "got", "had", "has",
    "have", "having", "he", "hello", "her", "here", "hey", "hi", "him", "his", "how", "i", "i'd",
    "i'll", "i'm", "i've", "if", "in", "into", "is", "it", "it's", "its", "just", "let", "let's",
    "like", "lot", "many", "may", "me", "might", "more", "most", "much", "my", "no", "nor", "not",
    "now", "of", "off", "oh", "ok", "okay", "on", "one", "or", "other", "our", "out", "over",
    "own", "please", "really", "same", "shall", "she", "should", "so", "some", "still", "such",
    "sure", "than", "thank", "thanks", "that", "that's", "the", "their", "them", "then", "there",
    "these", "they", "thing", "things", "this", "those", "to", "too", "under", "up", "us", "very",
    "was", "we", "well", "were", "what", "when", "where", "which", "who", "whom", "whose", "why",
    "will", "with", "would", "yeah", "yes", "yet", "you", "you're", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = words(text).map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn words_keep_inner_marks_and_split_ideographs() {
        check("Don't re-run `read_file`, ok?", &["Don't", "re-run", "read_file", "ok"]);
        check("größer als 3,5", &["größer", "als", "3", "5"]);
        check("日本go語", &["日", "本", "go", "語"]);
        check("--- …", &[]);
    }

    #[test]
    fn stems_join_forms_of_a_word() {
        let stem = |word: &str| {
            let mut out = String::new();
            stem_into(word, &mut out);
            out
        };
        assert_eq!(stem("running"), stem("runs"));
        assert_eq!(stem("Policies"), stem("policy"));
        assert_eq!(stem("cache"), stem("caches"));
        assert_eq!(stem("user's"), "user");
        assert_eq!(stem("ÄRGER"), "ärger");
    }

    #[test]
    fn stop_words_carry_no_content() {
        assert!(is_stop_word("the") && !is_stop_word("cache"));
    }
}
