//! What people demand of whoever goes on, sentence by sentence.
//!
//! Invariant: every text is a slice of what a person typed and did not take back, spaces folded, and says
//! something that no other one of its message says. Called where something leaves a prompt.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::types::{Entry, EntryId, Role};
use rustc_hash::FxHashSet;

use crate::directive::{self, DirectiveStrength};
use crate::facts::{constraints, plain};
use crate::ledger::{self, Language};

/// A sentence in which a person demands something that still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserConstraint {
    /// The last message that says it.
    pub entry: EntryId,
    /// The sentence, word for word, on one line.
    pub text: String,
    /// Which of all outlives the others: 0 is the last to go.
    pub rank: usize,
}

/// What people demand in a conversation, in its order, and the language that they type in: what
/// [`MustKeepFacts`](crate::Facts) calls constraints and a [`WorkLedger`](crate::Ledger) rules.
pub fn demands(entries: &[&Entry]) -> (Vec<UserConstraint>, Language) {
    let talk: Vec<&Entry> =
        entries.iter().copied().filter(|entry| entry.role != Role::System).collect();
    let (rules, language) = ledger::rules(&talk);
    let (stale, rules): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| rule.stale);
    let spoken = |text: &str| format!(" {}", plain(text));
    let stale: BTreeSet<_> = stale.iter().map(|rule| (rule.entry, spoken(&rule.text))).collect();
    let mut of_others: BTreeMap<usize, String> = BTreeMap::new();
    let orders = constraints(&talk).into_iter().map(|(text, entry)| (entry, text));
    let orders = orders.filter(|(entry, text)| {
        let of_others =
            of_others.entry(*entry).or_insert_with(|| spoken(&ledger::of_others(talk[*entry])));
        ledger::demands_itself(text) && !of_others.contains(&spoken(text))
    });
    let rules = rules.into_iter().map(|rule| (rule.entry, rule.text));

    // Of sentences of one message that say each other, the longest stays.
    let mut said: BTreeMap<usize, Vec<MessageSentence>> = BTreeMap::new();
    for (entry, text) in orders.chain(rules) {
        let words = spoken(&text);
        let own = said.entry(entry).or_default();
        let is_stale = || stale.range((entry, String::new())..).take_while(|it| it.0 == entry);
        if is_stale().any(|(_, gone)| words.contains(gone.as_str()))
            || own.iter().any(|other| other.words.contains(&words))
        {
            continue;
        }
        own.retain(|other| !words.contains(&other.words));
        own.push(MessageSentence { at: 0, text, words });
    }
    let mut all = Vec::new();
    for (place, mut own) in said {
        let whole = plain(&talk[place].readable());
        own.iter_mut().for_each(|one| one.at = whole.find(one.words.trim()).unwrap_or_default());
        own.sort_by_key(|one| one.at);
        let entry = talk[place].id;
        all.extend(own.into_iter().map(|one| UserConstraint { entry, text: one.text, rank: 0 }));
    }
    keep_last(&mut all);
    rank(&mut all);
    (all, language)
}

/// A sentence of a message.
struct MessageSentence {
    /// Where it stands in what the message says.
    at: usize,
    text: String,
    /// Its words, each between spaces.
    words: String,
}

/// Of what was said again only the last stays.
fn keep_last(all: &mut Vec<UserConstraint>) {
    let mut seen = FxHashSet::default();
    let mut last: Vec<bool> = all.iter().rev().map(|one| seen.insert(plain(&one.text))).collect();
    all.retain(|_| last.pop() == Some(true));
}

/// What is addressed to its reader outlives the rest, and what is newer outlives what is older.
fn rank(all: &mut [UserConstraint]) {
    let indirect = |one: &UserConstraint| directive::order(&one.text) != DirectiveStrength::Direct;
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_cached_key(|&place| (indirect(&all[place]), Reverse(place)));
    for (rank, place) in places.into_iter().enumerate() {
        all[place].rank = rank;
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;
    use proptest::prelude::*;

    use super::*;
    use crate::MustKeepFacts;

    /// What people demand in these messages, each with the number of its message.
    #[track_caller]
    fn check(messages: &[&str], expected: &[(u32, &str)]) {
        let entries = messages.iter().fold(chat(), |chat, text| chat.user(text)).entries();
        let (found, _) = demands(&entries.iter().collect::<Vec<_>>());
        let found: Vec<_> = found.iter().map(|one| (one.entry.0, one.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn it_is_what_facts_and_ledgers_call_rules_each_once() {
        check(
            &[
                "Never touch src/main.rs. The build is slow.",
                "## Rules\n\n- tabs only\n1. Never push.",
            ],
            &[(0, "Never touch src/main.rs."), (1, "tabs only"), (1, "Never push.")],
        );
        check(&["Is it true that you must not use goto?"], &[]);
        check(&["The wiki says \"Never use Redis\", which is wrong."], &[]);
        check(&["Answer him:\n> You must never call us.\n> Always write."], &[]);
        check(
            &["Never answer with \"as you wish\"."],
            &[(0, "Never answer with \"as you wish\".")],
        );
        for order in [
            "Could you never push to main?",
            "Do not touch config/prod.yml, right?",
            "My rule: \"Never deploy on Fridays.\"",
            "/srv is read only: never write there.",
        ] {
            check(&[order], &[(0, order)]);
        }
        check(&["1. Never push at all."], &[(0, "Never push at all.")]);
        check(
            &["Please never write to the production database from a test, and never\nrun the \
               migrations by hand."],
            &[(
                0,
                "Please never write to the production database from a test, and never run the \
                 migrations by hand.",
            )],
        );
        check(&["Never push.", "It works.", "Never push!"], &[(2, "Never push!")]);
    }

    #[test]
    fn a_long_description_is_read_and_a_pasted_document_is_not() {
        let told = |from: usize| -> String {
            let tell = |at| format!("The importer reads table {at} and writes a report of it. ");
            (from..from + 50).map(tell).collect()
        };
        let rule = "Never touch migrations/.";
        check(&[&format!("{}{rule} {}", told(0), told(50))], &[(0, rule)]);
        let must = |at: usize| format!("Clients must send table {at} in one request. {}", told(at));
        let article: Vec<String> = (0..4).map(must).collect();
        check(&[&format!("Sum up this article.\n\n{}", article.join("\n\n"))], &[]);
        check(&[&format!("Sum up this article: {}", article.concat())], &[]);
    }

    #[test]
    fn what_was_taken_back_is_not_demanded() {
        let rule = "Never use the network in tests.";
        check(&[rule, "You may now use the network in tests."], &[]);
        check(
            &["The upload timeout must be 30 seconds.", "The upload timeout must be 45 seconds."],
            &[(1, "The upload timeout must be 45 seconds.")],
        );
    }

    #[test]
    fn what_is_direct_and_new_lasts_longest() {
        let chat =
            chat().user("The lock file must stay. Never push.").user("Always run the tests.");
        let entries = chat.entries();
        let (found, _) = demands(&entries.iter().collect::<Vec<_>>());
        let found: Vec<_> = found.iter().map(|one| (one.text.as_str(), one.rank)).collect();
        let expected =
            [("The lock file must stay.", 2), ("Never push.", 1), ("Always run the tests.", 0)];
        assert_eq!(found, expected);
    }

    /// Sentences that order, twice in other words, and some that do not.
    const SAID: [&str; 9] = [
        "Never touch src/main.rs.",
        "2) Always run run_once first!",
        "Set the upload timeout to 45 seconds. Keep every answer under 80 words",
        "## Rules\n- keep the public API\n- tabs only",
        "I saw a ValueError in run_once.",
        "must never stop",
        "Bitte nie ohne Tests pushen.",
        "Please keep it short;\nnever guess",
        "",
    ];

    proptest! {
        #[test]
        fn stated_they_say_all_constraints(
            picks in proptest::collection::vec((0..SAID.len(), 0..SAID.len(), any::<bool>()), 1..12),
        ) {
            let say = |chat: epitome_testkit::Chat, &(one, other, human): &(usize, usize, bool)| {
                let text = format!("{}\n{}", SAID[one], SAID[other]);
                if human { chat.user(&text) } else { chat.assistant(&text) }
            };
            let entries = picks.iter().fold(chat().system("Never lie."), say).entries();
            let all: Vec<&Entry> = entries.iter().collect();
            let (found, _) = demands(&all);
            let texts: Vec<_> = found.iter().map(|one| format!("- {}", one.text)).collect();
            let stated = chat().note(&texts.join("\n")).entries();
            let lost = MustKeepFacts::of(&all).lost(&stated.iter().collect::<Vec<_>>());
            prop_assert!(lost.constraints.is_empty(), "{:?}", lost.constraints);
            for one in &found {
                let entry = all.iter().find(|entry| entry.id == one.entry);
                let said = entry.map(|it| it.readable().replace('\n', " "));
                prop_assert!(said.is_some_and(|it| it.contains(&one.text)), "{one:?}");
            }
            let mut ranks: Vec<_> = found.iter().map(|one| one.rank).collect();
            ranks.sort_unstable();
            prop_assert_eq!(ranks, (0..found.len()).collect::<Vec<_>>());
        }
    }
}
