//! The words by which people take back, correct and limit what was said, in the languages of the ledger.
//!
//! Invariant: a word that is also said for other reasons counts only at the beginning of a sentence and
//! where a sign follows it. Called by [`super`].

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::lists::{
    ALONE, CHANGES, CHANGES_UNSPACED, LEADS, LIMITS, LIMITS_UNSPACED, OPENERS, OPENERS_UNSPACED,
    OUTCOMES,
};
use crate::words::{is_unspaced, word_count};

/// A limit in more words says of itself what it limits.
const LIMIT_WORDS: usize = 14;

/// What a sentence does to what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Correcting {
    /// It opens by taking back or correcting what was said right before, or something further up.
    Opens,
    /// It says that something is otherwise now.
    Changes,
    /// It says when, or under what condition, what the sentence before says holds.
    Limits,
    /// It says what came of what its message reports.
    Concludes,
}

/// What a sentence does to what was said before, if anything.
pub(super) fn correcting(text: &str) -> Option<Correcting> {
    let lower = text.to_lowercase().replace('’', "'");
    let said = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    if said.ends_with(['?', '？', '؟']) {
        return None;
    }
    if OUTCOMES.iter().any(|words| said.starts_with(words)) {
        return Some(Correcting::Concludes);
    }
    // "And forget the second one", "Dann lass es weg".
    let said = LEADS.iter().find_map(|lead| said.strip_prefix(lead)).unwrap_or(said);
    let ends = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    let signs = |rest: &str| {
        rest.is_empty() || rest.starts_with([',', '.', '!', ':', ';', '-', '–', '，', '。', '、'])
    };
    let begins = |list: &[&str], goes: &dyn Fn(&str) -> bool| {
        list.iter().any(|words| said.strip_prefix(words).is_some_and(goes))
    };
    if begins(ALONE, &signs) || begins(OPENERS, &ends) {
        return Some(Correcting::Opens);
    }
    if is_unspaced(text) && OPENERS_UNSPACED.iter().any(|words| said.starts_with(words)) {
        return Some(Correcting::Opens);
    }
    let found = marked(said, is_unspaced(text));
    found.filter(|kind| *kind != Correcting::Limits || word_count(text) <= LIMIT_WORDS)
}

/// What the words within a sentence do: those of a change before those of a limit.
fn marked(said: &str, is_unspaced: bool) -> Option<Correcting> {
    if is_unspaced {
        let holds = |list: &[&str]| list.iter().any(|words| said.contains(words));
        let limits = || holds(LIMITS_UNSPACED).then_some(Correcting::Limits);
        return holds(CHANGES_UNSPACED).then_some(Correcting::Changes).or_else(limits);
    }
    let padded = format!("{said} ");
    let starts = padded.match_indices(' ').map(|(space, _)| &padded[space + 1..]);
    let mut found = None;
    for rest in [&*padded].into_iter().chain(starts) {
        for (words, kind) in head(rest).and_then(|head| MARKS.get(head)).into_iter().flatten() {
            match kind {
                Correcting::Changes if rest.starts_with(words) => return Some(*kind),
                _ if rest.starts_with(words) => found = Some(*kind),
                _ => {}
            }
        }
    }
    found
}

/// The first two letters of a text.
fn head(text: &str) -> Option<&str> {
    let end = text.char_indices().nth(2).map_or(text.len(), |(at, _)| at);
    text.get(..end).filter(|head| !head.is_empty())
}

/// The words of changes and limits, by how they begin.
static MARKS: LazyLock<FxHashMap<&str, Vec<(&str, Correcting)>>> = LazyLock::new(|| {
    let mut marks: FxHashMap<&str, Vec<(&str, Correcting)>> = FxHashMap::default();
    let changes = CHANGES.iter().map(|words| (*words, Correcting::Changes));
    for (words, kind) in changes.chain(LIMITS.iter().map(|words| (*words, Correcting::Limits))) {
        if let Some(head) = head(words) {
            marks.entry(head).or_default().push((words, kind));
        }
    }
    marks
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Correcting>) {
        assert_eq!(correcting(text), expected, "{text}");
    }

    #[test]
    fn people_take_back_in_many_ways() {
        for text in [
            "Sorry, that was 2022.",
            "No, the 60 are in the 270.",
            "Corrected: both have 4.",
            "Leave it out.",
            "Then drop it.",
            "And forget the second one as well",
            "Nein, am 23. kommt Kellner.",
            "Non, le 5 mars.",
            "No, la otra.",
            "Нет, в пятницу.",
            "不对，是四号。",
            "訂正します、五日です。",
            "아니요, 5일입니다.",
        ] {
            check(text, Some(Correcting::Opens));
        }
        check("Result: rejected.", Some(Correcting::Concludes));
        check("The surgery is moved to the 18th.", Some(Correcting::Changes));
        check("Der Termin wurde verschoben.", Some(Correcting::Changes));
        check("The doctor says not before Friday.", Some(Correcting::Limits));
        check("But not before the boss has signed.", Some(Correcting::Limits));
    }

    #[test]
    fn other_sentences_correct_nothing() {
        for text in [
            "No problem at all.",
            "Sorry to hear that.",
            "Actually I like it.",
            "No idea what it is.",
            "Wait, is that so?",
            "Nobody came.",
            "The back door is open.",
        ] {
            check(text, None);
        }
    }
}
