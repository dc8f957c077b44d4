//! Rules that a person takes back: `you may now …`, `forget the rule about …`, `X instead of Y`.
//!
//! Invariant: a rule is struck only where the newer sentence speaks of the same thing, names
//! included. Called by [`super::rules`].

use rustc_hash::FxHashSet;

use super::marks::Marks;
use crate::directive::spaced;
use crate::refs;
use crate::unit::TextUnit;
use crate::words;

/// Only so many of the newest rules are asked for.
const MOST: usize = 600;

/// Marks in `stale` the rules that a newer sentence takes back.
pub(super) fn strike(units: &[TextUnit<'_>], rules: &[bool], marks: &Marks, stale: &mut [bool]) {
    let standing: Vec<usize> = (0..rules.len()).filter(|unit| rules[*unit]).collect();
    let Some(first) = standing.first() else { return };
    let standing = &standing[standing.len().saturating_sub(MOST)..];
    let mut topics: Vec<(usize, Topic)> = Vec::new();
    for (index, unit) in units.iter().enumerate().skip(first + 1) {
        let text = spaced(&unit.text);
        let released = releases(&text, marks);
        let replaced = text.split_once(" instead of ").filter(|_| rules[index]);
        if !released && replaced.is_none() && !is_bare(&text) {
            continue;
        }
        if is_bare(&text) {
            let said = |older: &usize| units[*older].entry() < unit.entry();
            let last = (0..index).rev().find(said).map(|older| units[older].entry());
            let of_last = |rule: &&usize| **rule < index && Some(units[**rule].entry()) == last;
            let own: Vec<usize> = standing.iter().filter(of_last).copied().collect();
            if let [only] = own[..] {
                stale[only] = true;
            }
            continue;
        }
        let newer = Topic::of(&unit.text);
        let instead = replaced.map(|(_, rest)| Topic::of(rest));
        if topics.is_empty() {
            topics.extend(standing.iter().map(|rule| (*rule, Topic::of(&units[*rule].text))));
        }
        for (older, topic) in topics.iter().take_while(|(older, _)| *older < index) {
            let gone = instead.as_ref().is_some_and(|it| topic.holds(it) && !topic.forbids);
            stale[*older] |= gone || released && newer.speaks_of(topic);
        }
    }
}

/// Whether a sentence takes something back.
fn releases(text: &str, marks: &Marks) -> bool {
    let holds = |list: &[&str]| list.iter().any(|mark| text.contains(mark));
    holds(marks.releases)
        || holds(RELEASES)
        || PERMITS.iter().any(|permit| {
            text.split_once(permit).is_some_and(|(_, rest)| {
                !["not ", "only ", "never "].iter().any(|word| rest.starts_with(word))
            })
        })
}

/// Whether it does nothing but take back what was said last.
fn is_bare(text: &str) -> bool {
    let text = text.trim();
    let text = ["actually ", "ok ", "no ", "oh "]
        .iter()
        .find_map(|opener| text.strip_prefix(opener))
        .unwrap_or(text);
    ["scratch that", "never mind", "nevermind", "forget that", "forget it", "ignore that"]
        .contains(&text)
}

const RELEASES: &[&str] = &[
    " no longer ",
    " any more ",
    " anymore ",
    " forget about ",
    " forget the ",
    " forget what ",
    " ignore the rule ",
    " ignore what i ",
    " drop the rule ",
    " drop the requirement ",
    " drop the constraint ",
    " is now allowed ",
    " are now allowed ",
    " is allowed now ",
    " are allowed now ",
    " is allowed again ",
    " are allowed again ",
    " not needed after all ",
    " feel free to ",
    " after all ",
];
const PERMITS: &[&str] = &[
    " you can now ",
    " you may now ",
    " you can ",
    " you may ",
    " its ok to ",
    " its okay to ",
    " its fine to ",
    " it is ok to ",
    " it is okay to ",
    " it is fine to ",
];

/// What a sentence is about.
struct Topic {
    /// Stems of the words with content.
    words: FxHashSet<String>,
    /// Paths, identifiers and other names.
    names: FxHashSet<String>,
    forbids: bool,
}

impl Topic {
    fn of(text: &str) -> Self {
        let mut stem = String::new();
        let mut out =
            Self { words: FxHashSet::default(), names: FxHashSet::default(), forbids: false };
        let mentions = refs::mentions(text);
        for mention in mentions.iter().filter(|it| it.kind != refs::RefKind::Name) {
            out.names.insert(text[mention.range.clone()].to_lowercase());
        }
        for range in words::words(text) {
            let inside = |it: &refs::Mention| it.range.contains(&range.start);
            let word = text[range.clone()].to_lowercase().replace('\'', "");
            out.forbids |= matches!(word.as_str(), "never" | "dont" | "not" | "no" | "avoid");
            let named = mentions.iter().any(|it| it.kind != refs::RefKind::Name && inside(it));
            if !named && !words::is_stop_word(&word) && !ORDERING.contains(&word.as_str()) {
                words::stem_into(&word, &mut stem);
                out.words.insert(stem.clone());
            }
        }
        out
    }

    /// Whether all that another is about is in this one.
    fn holds(&self, other: &Self) -> bool {
        let some = !other.words.is_empty() || !other.names.is_empty();
        some && other.words.is_subset(&self.words) && other.names.is_subset(&self.names)
    }

    /// Whether this is about the same thing as an older one: the same names, where that has any,
    /// and at least half of its words.
    fn speaks_of(&self, older: &Self) -> bool {
        let named = !older.names.is_empty() && older.names.is_subset(&self.names);
        let shared = older.words.intersection(&self.words).count();
        let all = older.words.len();
        if !older.names.is_empty() {
            return named;
        }
        all > 0 && 2 * shared >= all && (shared >= 2 || shared == all)
    }
}

/// Words that order rather than say what about.
const ORDERING: &[&str] = &[
    "anything",
    "everything",
    "nothing",
    "something",
    "ever",
    "yet",
    "never",
    "always",
    "dont",
    "must",
    "mustnt",
    "shouldnt",
    "only",
    "avoid",
    "ensure",
    "use",
    "make",
    "keep",
    "longer",
    "anymore",
    "rule",
    "forget",
    "instead",
    "ignore",
    "drop",
    "now",
];

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use crate::ledger::WorkLedger;

    /// The rules that stand at the end.
    fn check(messages: &[&str], expected: &[&str]) {
        let entries = messages.iter().fold(chat(), |chat, text| chat.user(text)).entries();
        let ledger = WorkLedger::of(&entries.iter().collect::<Vec<_>>());
        assert_eq!(ledger.constraints, expected, "{messages:?}");
    }

    #[test]
    fn what_was_taken_back_is_out() {
        check(&["Never touch src/main.rs.", "You may now edit src/main.rs."], &[]);
        check(&["Don't commit anything.", "You can commit now."], &[]);
        check(&["Never push to main.", "Pushing to main is allowed now."], &[]);
        check(&["Always answer in French.", "No, forget about the French answers."], &[]);
        check(&["Never run the slow tests.", "scratch that"], &[]);
        check(&["Use tabs.", "Use spaces instead of tabs."], &["Use spaces instead of tabs."]);
        check(
            &["The limit must be 30 seconds.", "The limit must be 45 seconds."],
            &["The limit must be 45 seconds."],
        );
    }

    #[test]
    fn what_is_about_something_else_stays() {
        check(
            &["Never touch src/main.rs.", "You may edit src/lib.rs."],
            &["Never touch src/main.rs."],
        );
        check(
            &["Never commit without asking me first.", "You can read the commit."],
            &["Never commit without asking me first."],
        );
        check(
            &["No new dependencies.", "You may not push."],
            &["No new dependencies.", "You may not push."],
        );
    }
}
