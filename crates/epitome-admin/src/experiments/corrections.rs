//! Messages in which people say again what they said before.
//!
//! Invariant: counted by words alone, so that it is the same for every arm. Who writes at length repeats
//! words in any case: only what an arm adds to that counts.

use std::collections::HashSet;

use epitome_types::{Entry, Part, PartBody, Role, Speaker};

/// Words in a row by which texts are compared.
const RUN: usize = 5;
/// The least share of the runs of an earlier message that has to stand in a later one.
const AGAIN: f64 = 0.7;
/// A message of fewer words repeats nothing that could be told: "Go on, please."
const LEAST_WORDS: usize = 8;

/// By which people say that something was said before.
const REPROACHES: &[&str] = &[
    "i told you",
    "i already told",
    "i already said",
    "i already asked",
    "i said that",
    "as i said",
    "like i said",
    "you forgot",
    "you've forgotten",
    "you have forgotten",
    "did you forget",
    "i asked you not to",
    "again, please do not",
    "hab ich dir gesagt",
    "habe ich dir gesagt",
    "habe ich schon gesagt",
    "hatte ich gesagt",
    "wie gesagt",
    "hast du vergessen",
    "du hast vergessen",
    "je t'ai dit",
    "je t’ai dit",
    "je vous ai dit",
    "j'ai déjà dit",
    "comme je l'ai dit",
    "tu as oublié",
    "vous avez oublié",
    "te dije",
    "ya te he dicho",
    "como dije",
    "olvidaste",
    "te olvidaste",
    "te l'ho detto",
    "come ho detto",
    "hai dimenticato",
    "eu disse",
    "já te disse",
    "esqueceste",
    "você esqueceu",
    "我说过",
    "我告诉过你",
    "你忘了",
    "言いましたよね",
    "忘れていませんか",
];

/// Counts over what people said in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypedCounts {
    /// Messages that a person typed.
    pub(super) typed: u64,
    /// Those of them that say again what an earlier one says, or that it was said.
    pub(super) corrections: u64,
}

/// Counts the messages of people.
pub(super) fn typed_counts(entries: &[Entry]) -> TypedCounts {
    let mut counts = TypedCounts::default();
    let mut before: Vec<HashSet<Vec<String>>> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.role == Role::User) {
        let said: Vec<&str> = entry.parts.iter().filter_map(typed).collect();
        if said.is_empty() {
            continue;
        }
        let text = said.join("\n").to_lowercase();
        let own = runs(&text);
        let is_again = |before: &HashSet<Vec<String>>| {
            let shared = before.iter().filter(|run| own.contains(*run)).count();
            shared as f64 >= before.len() as f64 * AGAIN
        };
        let is_reproach = REPROACHES.iter().any(|cue| text.contains(cue));
        counts.typed += 1;
        counts.corrections += u64::from(is_reproach || before.iter().any(is_again));
        before.extend((!own.is_empty()).then_some(own));
    }
    counts
}

/// What a person typed in a part.
fn typed(part: &Part) -> Option<&str> {
    let is_typed = part.speaker == Speaker::Human && part.within.is_none();
    match &part.body {
        PartBody::Text(text) if is_typed && !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// The runs of words of a text; none of a short one.
fn runs(text: &str) -> HashSet<Vec<String>> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    match words.len() < LEAST_WORDS {
        true => HashSet::new(),
        false => words.windows(RUN).map(<[String]>::to_vec).collect(),
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    #[track_caller]
    fn check(said: &[&str], expected: [u64; 2]) {
        let chat = said.iter().fold(chat(), |chat, text| chat.user(text).assistant("Very well."));
        let TypedCounts { typed, corrections } = typed_counts(&chat.entries());
        assert_eq!([typed, corrections], expected);
    }

    #[test]
    fn what_is_said_again_is_counted() {
        let order =
            "Never write to the production database, and take the copy of last night instead.";
        check(&[order, "Go on with the next table."], [2, 0]);
        check(&[order, "Go on.", &format!("Please: {order} Then go on.")], [3, 1]);
        check(&[order, "Take the copy of last night instead."], [2, 0]);
        check(&["Go on, please.", "Go on, please."], [2, 0]);
    }

    #[test]
    fn a_reproach_is_counted() {
        check(&["Mend it.", "I told you to use tabs.", "Das hatte ich gesagt."], [3, 2]);
        check(&["你忘了不要早餐。"], [1, 1]);
    }

    #[test]
    fn what_tools_bring_is_typed_by_nobody() {
        let chat = chat().user("Look.").call("read", "{}").result("You forgot it. I told you.");
        assert_eq!(typed_counts(&chat.entries()), TypedCounts { typed: 1, corrections: 0 });
    }
}
