//! Finds what a person said and later took back by saying it anew with another value.
//!
//! Invariant: a statement counts as superseded only when a newer one is about the same thing and
//! gives another value of the same type in its place. Rules that merely look alike all stay: a
//! stale rule too many costs a few tokens, a live one too few costs the user's trust.

use rustc_hash::FxHashMap;

use crate::corrected::corrects;
use crate::statement::{Statement, WordNumbers, of_unit, statements};
use crate::unit::TextUnit;
use crate::value::Type;

/// How much of the rarer words of the shorter statement both must share.
const SHARED: f64 = 0.45;

/// For each unit: whether something newer takes its place, be it another unit or one of `kept`,
/// the newer units that stay in the prompt.
pub(crate) fn superseded(units: &[TextUnit<'_>], kept: &[TextUnit<'_>]) -> Vec<bool> {
    superseded_of(units, kept, |_| true)
}

/// As [`superseded`], asked of statements with a `wanted` unit alone.
pub(crate) fn superseded_of(
    units: &[TextUnit<'_>],
    kept: &[TextUnit<'_>],
    wanted: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut stale = vec![false; units.len()];
    let mut words = WordNumbers::default();
    let mut all = statements(units, &mut words);
    let own = all.len();
    all.extend(statements(kept, &mut words));
    let rarity = StatementRarity::of(&all);
    let newest = all.iter().rposition(|it| it.next && !it.apart);
    let mut alike: FxHashMap<Subject<'_>, Vec<usize>> = FxHashMap::default();
    for (place, statement) in all.iter().enumerate().filter(|(_, it)| !it.given.is_empty()) {
        alike.entry(subject(statement)).or_default().push(place);
    }
    for (place, older) in all[..own].iter().enumerate() {
        // What corrects holds as long as what it corrects does.
        let holds = older.units.iter().any(|unit| corrects(&units[*unit].text));
        if older.apart || holds || !older.units.iter().any(|unit| wanted(*unit)) {
            continue;
        }
        let next = newest.filter(|newest| older.next && place < *newest);
        let newer = next.or_else(|| {
            let others = alike.get(&subject(older))?.iter().rev();
            let mut newer = others.take_while(|other| **other > place);
            newer.find(|other| replaces(&all[**other], older, &rarity)).copied()
        });
        if let Some(newer) = newer {
            gone(units, older, &all[newer], &mut words).into_iter().for_each(|at| stale[at] = true);
        }
    }
    stale
}

/// What must be the same of two statements that one may replace the other: the values that name
/// what they are about, and the types of those that they give to it.
type Subject<'a> = (&'a [(Type, u32)], Vec<Type>);

fn subject(statement: &Statement) -> Subject<'_> {
    (&statement.named, statement.given.iter().map(|(kind, _)| *kind).collect())
}

/// Of a statement that was replaced, the units that go: those with a value that is another one
/// now, those that the newer one says again, and what leans on them. What else was said in the
/// same breath stays.
fn gone(
    units: &[TextUnit<'_>],
    older: &Statement,
    newer: &Statement,
    words: &mut WordNumbers,
) -> Vec<usize> {
    let mut out: Vec<usize> = Vec::new();
    for &unit in &older.units {
        let part = of_unit(units, unit, words);
        let again = part.frame.iter().all(|word| newer.frame.binary_search(word).is_ok());
        let leans =
            out.last().is_some_and(|last| last + 1 == unit && units[*last].text.ends_with(';'));
        let valued = part.given.iter().any(|value| newer.given.binary_search(value).is_err());
        if older.next || leans || valued || again {
            out.push(unit);
        }
    }
    out
}

/// Whether a statement with the same [`Subject`] takes the place of an older one.
fn replaces(newer: &Statement, older: &Statement, rarity: &StatementRarity) -> bool {
    let changed = |value: &&(Type, u32)| newer.given.binary_search(value).is_err();
    let changed: Vec<Type> = older.given.iter().filter(changed).map(|(kind, _)| *kind).collect();
    let measures = |kind: &Type| matches!(kind, Type::Amount | Type::Date | Type::Number);
    let one = !newer.named.is_empty() || changed.len() == 1;
    let forbidden = newer.forbids && older.forbids && !changed.iter().all(measures);
    if newer.apart || changed.is_empty() || !one || forbidden || other_subject(newer, older) {
        return false;
    }
    let typed = match changed[..] {
        [Type::Date] => newer.rule || older.rule,
        [Type::Amount] => newer.rule && older.rule,
        _ => false,
    };
    let holds = |word: &&u32| older.frame.binary_search(word).is_ok();
    let shared: Vec<u32> = newer.frame.iter().filter(holds).copied().collect();
    if shared.len() + usize::from(typed) < 2 {
        return false;
    }
    let alike = if typed { rarity.most } else { 0.0 };
    let least = rarity.sum(&newer.frame).min(rarity.sum(&older.frame));
    rarity.sum(&shared) + alike >= SHARED * (least + alike)
}

/// The same sentence with another subject in it, another one that does something (`Miller pays`),
/// or the same noun with another modifier: `door code`, `gate code`.
fn other_subject(newer: &Statement, older: &Statement) -> bool {
    let (a, b) = (&newer.wording, &older.wording);
    let one_word = a.len() == b.len() && a.iter().zip(b).filter(|(a, b)| a != b).count() == 1;
    let says = |it: &Statement, word: &u32| it.frame.binary_search(word).is_ok();
    let unsaid = |of: &Statement, by: &Statement| of.subjects.iter().any(|word| !says(by, word));
    let modifier = || {
        newer.nouns.iter().any(|(noun, own)| {
            let others = || older.nouns.iter().filter(|(other, _)| other == noun);
            let differs = |(_, other): &(u32, u32)| !says(newer, other);
            !says(older, own) && others().any(differs)
        })
    };
    one_word || unsaid(newer, older) || unsaid(older, newer) || modifier()
}

/// How rare each word is among the statements.
struct StatementRarity {
    of: Vec<f64>,
    /// That of a word said once.
    most: f64,
}

impl StatementRarity {
    fn of(statements: &[Statement]) -> Self {
        let words =
            statements.iter().flat_map(|s| &s.frame).max().map_or(0, |most| *most as usize + 1);
        let mut counts = vec![0u32; words];
        statements.iter().flat_map(|s| &s.frame).for_each(|word| counts[*word as usize] += 1);
        let rarity = |count: u32| (1.0 + statements.len() as f64 / f64::from(count.max(1))).ln();
        Self { of: counts.into_iter().map(rarity).collect(), most: rarity(1) }
    }

    fn sum(&self, words: &[u32]) -> f64 {
        words.iter().map(|word| self.of[*word as usize]).sum()
    }
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;
    use crate::cut::units;

    /// Which sentences of the messages are stale.
    fn check(messages: &[&str], expected: &[&str]) {
        let chat = messages.iter().fold(chat(), |chat, text| chat.user(text)).entries();
        let units = units(&chat.iter().collect::<Vec<_>>());
        let stale = superseded(&units, &[]);
        let found: Vec<&str> = units
            .iter()
            .zip(stale)
            .filter(|(_, stale)| *stale)
            .map(|(unit, _)| &*unit.text)
            .collect();
        assert_eq!(found, expected, "{messages:?}");
    }

    #[test]
    fn the_newest_value_wins() {
        let replaced = |older: &str, newer: &str| check(&[older, "We talk.", newer], &[older]);
        replaced("The timeout for uploads is 30 seconds.", "Set the upload timeout to 45 seconds.");
        replaced("The release date is 2027-03-01.", "New release date: 2027-04-15.");
        replaced(
            "Only Ann Fox may approve production deploys.",
            "Production deploys need approval from Lee Wong and nobody else.",
        );
        replaced(
            "Progress: phase 4 of 7 of the migration.",
            "The data migration is at phase 5 of 7.",
        );
        replaced("The next step is the importer.", "Next up: the audit log.");
        replaced(
            "Reviews go to Dana Fox for the billing module.",
            "Billing module reviews now go to Lee Wong.",
        );
    }

    #[test]
    fn a_thing_that_is_named_gets_new_values() {
        let replaced = |older: &str, newer: &str| check(&[older, "We talk.", newer], &[older]);
        replaced(
            "Never restart the host web60 before 22:00.",
            "Never restart the host web60 before 23:30.",
        );
        replaced("The server web60 has 16 cores.", "The server web60 has 32 cores.");
        replaced("The travel budget of Ann Fox is $300.", "The travel budget of Ann Fox is $450.");
    }

    #[test]
    fn what_is_said_of_different_things_stays() {
        check(
            &[
                "Always deploy the service auth1 to host web60 on port 7023.",
                "Always deploy the service mail2 to host web53 on port 2448.",
                "The service auth1 must listen on port 7023 with version 6.4.4.",
                "The service mail2 must listen on port 2448 with version 3.1.0.",
                "Never restart the host web60 before 22:00.",
                "Never restart the host db7 before 21:15.",
            ],
            &[],
        );
        let stay = |older: &str, newer: &str| check(&[older, newer], &[]);
        stay(
            "The host web60 listens on port 7023 and runs version 6.4.4.",
            "The host web53 listens on port 2448 and runs version 3.1.0.",
        );
        stay("The server web60 has 16 cores and 64 GB.", "The server db7 has 8 cores and 32 GB.");
        stay(
            "Our customer Miller pays 300 euro on May 3.",
            "Our customer Jones pays 450 euro on June 9.",
        );
        stay("Mr. Miller has a limit of $300.", "For Mr. Jones the limit is $400.");
        stay("Miller pays rent of 300 on May 3.", "Jones always pays rent of 450 on May 9.");
        stay("Always back up the host web60.", "Always back up the host db7.");
        stay("Never open port 22 of it.", "Never open port 80 of it.");
        stay("Never use exit code 3.", "Never use exit code 7.");
        stay("Remember: web60 must be backed up.", "Remember: db7 must be backed up.");
        stay(
            "The auth service must always listen on port 7023.",
            "The mail service must listen on port 2448.",
        );
        stay("The owner of it is Ann Fox.", "Another owner of it is Lee Wong.");
    }

    /// What may be ordered or said of a thing.
    const SAID: [&str; 12] = [
        "Always deploy the service {it} to host web{a} on port {b}.",
        "The service {it} must listen on port {b} with version 1.{a}.0.",
        "Never restart the host {it} before {a}:{b}.",
        "Never touch the file src/{it}.rs.",
        "Always call {it}_{b} before the tests run.",
        "The server {it} has {a} cores and {b} GB.",
        "The module {it} calls helper_{a} because of ticket {b}.",
        "Remember: {it} must be backed up at {a}:{b}.",
        "The limit of {it} is ${b}.",
        "Please keep {it} under {b} percent load.",
        "On {it}, always set the timeout to {b} seconds.",
        "Ticket {it} goes to shelf {a}.",
    ];

    proptest::proptest! {
        #[test]
        fn orders_about_different_things_all_stay(
            picks in proptest::collection::vec((0..SAID.len(), 0..60u32, 10..60u32), 1..40),
            together: bool,
        ) {
            let say = |(at, (said, a, b)): (usize, &(usize, u32, u32))| {
                let it = format!("unit{at}");
                let values = [("{it}", it), ("{a}", a.to_string()), ("{b}", b.to_string())];
                values.iter().fold(SAID[*said].to_owned(), |text, (mark, value)| {
                    text.replace(mark, value)
                })
            };
            let said: Vec<String> = picks.iter().enumerate().map(say).collect();
            let messages: Vec<String> =
                if together { vec![said.join(" ")] } else { said };
            check(&messages.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        }
    }

    /// Messages that close alike are not about the same for that.
    #[test]
    fn a_correction_holds_as_long_as_what_it_corrects() {
        let close = "We keep going with the review of the plan this week.";
        check(
            &[
                "I am at home on 20 days.",
                &format!("Sorry, that was 2020. 2021 was 48,900. {close}"),
                &format!("The road has 2021 stones. 2020 was 33,100. {close}"),
            ],
            &[],
        );
    }

    #[test]
    fn what_was_said_in_the_same_breath_stays() {
        check(
            &[
                "The timeout for uploads is 30 seconds. Never log a key.",
                "Set the upload timeout to 45 seconds.",
            ],
            &["The timeout for uploads is 30 seconds."],
        );
        check(
            &[
                "The trip budget is $500. Never spend it on cars.",
                "The trip budget is $600. Never spend it on grand hotels.",
            ],
            &["The trip budget is $500."],
        );
    }

    #[test]
    fn rules_that_look_alike_both_stay() {
        check(&["Never log the session token.", "Never log the password."], &[]);
        check(&["Never touch src/main.rs.", "Never touch src/lib.rs."], &[]);
        check(&["Never touch the table ledger_1.", "Do not touch the table ledger_2, ever."], &[]);
        check(
            &[
                "Ticket 4100: the run of kettle fails at night.",
                "Ticket 4107: the run of lathe also fails.",
            ],
            &[],
        );
        check(&["The door access code is KX-431.", "The contact code is BR-220."], &[]);
        check(&["Use port 8080 for the api server.", "Use port 9090 for the metrics server."], &[]);
        check(
            &["Please cancel reservation KX4T21.", "Please cancel reservation BR2P20 as well."],
            &[],
        );
        check(&["The limit is $40 for meals.", "The limit is $90 for hotels."], &[]);
    }
}
