//! Whether a sentence demands something of whoever goes on, or tells how things are.
//!
//! Invariant: a demand orders, forbids or wishes in words of its own ([`directive::order`]); a story, what
//! a third person wants, and hearsay that its speaker stands back from are none. Read by what is stated
//! as rules and by what must be kept.

use crate::directive::{self, DirectiveStrength};

/// Whether a sentence demands something.
pub(crate) fn demands(sentence: &str) -> bool {
    match directive::order(sentence) {
        DirectiveStrength::Direct => true,
        DirectiveStrength::Plain => {
            let text = directive::spaced(sentence);
            demands_itself(&text) && !is_account(&text) && !is_hearsay(&text) && !is_dropped(&text)
        }
        _ => false,
    }
}

/// Whether it still orders without the words that say no more than how something is, unless it begins
/// with one of them.
fn demands_itself(text: &str) -> bool {
    if OFTEN_TOLD.iter().any(|word| text.starts_with(word)) {
        return true;
    }
    let mut rest = text.to_owned();
    for told in OFTEN_TOLD.iter().chain(WANTED_BY_OTHERS) {
        // What follows keeps the blank before it.
        while let Some(at) = rest.find(told) {
            rest.replace_range(at..at + told.len() - 1, "");
        }
    }
    rest.len() == text.len() || directive::order(&rest) >= DirectiveStrength::Plain
}

/// Whether it tells a story or how things are, and orders in no words that could not stand in one.
fn is_account(text: &str) -> bool {
    let holds = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    let words = || text.split_whitespace();
    let is_past =
        || words().skip(1).take(3).any(|word| word.ends_with("ed") || PAST.contains(&word));
    let tells = match words().next().unwrap_or_default() {
        "i" | "we" => is_past(),
        "he" | "she" | "they" | "it" | "there" => true,
        _ => false,
    };
    tells && !holds(STRONG)
}

/// Whether it says what others say in the mood of who does not vouch for it.
pub(crate) fn is_hearsay(text: &str) -> bool {
    let holds = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    holds(SAID_BY_OTHERS) && holds(REPORTED)
}

/// Whether it takes back what it says, and demands nothing behind that.
fn is_dropped(text: &str) -> bool {
    let turn = TURNS.iter().find_map(|turn| Some(text.find(turn)? + turn.len()));
    turn.is_some_and(|behind| directive::order(&text[behind..]) < DirectiveStrength::Plain)
}

/// Words that order where a sentence begins with them or orders in other words too, and mostly tell
/// how something is elsewhere.
pub(crate) const OFTEN_TOLD: &[&str] =
    &[" nicht ", " nie ", " immer ", " kein ", " nunca ", " siempre ", " jamais ", " toujours "];

/// What a third person wants.
const WANTED_BY_OTHERS: &[&str] = &[
    " he wants ",
    " she wants ",
    " it wants ",
    " who wants ",
    " he prefers ",
    " she prefers ",
    " it prefers ",
    " who prefers ",
];

/// What orders or wishes in a story as well.
const STRONG: &[&str] = &[
    " must ",
    " mustnt ",
    " never ",
    " always ",
    " do not ",
    " dont ",
    " make sure ",
    " should ",
    " shouldnt ",
    " not allowed ",
    " ensure ",
    " forbidden ",
    " please ",
    " i want ",
    " i need ",
    " id like ",
    " i would like ",
    " we need ",
    " we want ",
    " i prefer ",
    " we prefer ",
    " bitte ",
    " muss ",
    " debe ",
    " doit ",
];

/// Verbs that tell of what is past and do not end in `ed`.
const PAST: &[&str] = &[
    "ate", "bought", "came", "did", "felt", "found", "got", "had", "heard", "knew", "left", "lost",
    "made", "met", "paid", "ran", "read", "said", "sat", "saw", "sent", "slept", "spent", "spoke",
    "stood", "thought", "told", "took", "was", "went", "were", "wrote",
];

/// Verbs by which others are quoted, where German has a mood for that.
const SAID_BY_OTHERS: &[&str] = &[
    " sagt ",
    " sagte ",
    " sagen ",
    " meint ",
    " meinte ",
    " meinen ",
    " behauptet ",
    " behauptete ",
    " findet ",
    " fand ",
    " glaubt ",
    " glaubte ",
];

/// That mood.
const REPORTED: &[&str] = &[
    " sei ",
    " seien ",
    " habe ",
    " hätten ",
    " solle ",
    " sollten ",
    " dürfe ",
    " dürften ",
    " müsse ",
    " müssten ",
    " könne ",
    " könnten ",
    " werde ",
    " würden ",
];

/// Behind these a sentence says something else than it began with.
const TURNS: &[&str] = &[
    " no wait ",
    " wait no ",
    " scratch that ",
    " on second thought ",
    " nein warte ",
    " ach nein ",
    " nein doch nicht ",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_told_from_accounts() {
        let check = |text: &str, expected: bool| assert_eq!(demands(text), expected, "{text}");
        for demand in [
            "Never touch src/main.rs.",
            "The lock file must stay as it is.",
            "No caching of prices at all, legal says so.",
            "The security review wants no JWT.",
            "My boss prefers the short form.",
            "I want the tests to pass.",
            "He said that we must never call the old API.",
            "I looked at it, and you should use the other parser.",
            "We keep the public API stable, at least until the release.",
            "Bitte nie ohne Tests pushen.",
            "Nie ohne Tests pushen, das ging schief.",
            "Nutze bitte die Tabelle und nie den Cache.",
            "I want the blue one, no wait, I want the red one.",
            "This must not cost more than 200 euro in all.",
        ] {
            check(demand, true);
        }
        for account in [
            "She wants to learn the drums now.",
            "He had bread for lunch and slept an hour, without a blanket.",
            "I also read the notes, where the point came up twice without an owner.",
            "We looked at others: some teams keep the service small.",
            "There are other reasons: one keeps fewer parts, instead of many.",
            "Montag geht nicht, da bin ich verreist.",
            "Das kann nicht stimmen, ich war nicht da.",
            "Die Tonnen stehen immer noch vor der Tür.",
            "Der Nachbar sagt, Katzen seien nur im Hof erlaubt.",
            "I want the early one, no wait, that leaves in the middle of the night.",
        ] {
            check(account, false);
        }
    }
}
