//! Finds what a person said and later took back by saying it anew with another value.
//!
//! Invariant: a statement counts as superseded only when a newer one is about the same thing and
//! gives another value of the same type in its place. Rules that merely look alike all stay: a
//! stale rule too many costs a few tokens, a live one too few costs the user's trust.

use crate::statement::{Statement, Type, Words, of_unit, statements};
use crate::unit::Unit;

/// How much of the rarer words of the shorter statement both must share.
const SHARED: f64 = 0.45;

/// For each unit: whether something newer takes its place, be it another unit or one of `kept`,
/// the newer units that stay in the prompt.
pub(crate) fn superseded(units: &[Unit], kept: &[Unit]) -> Vec<bool> {
    superseded_of(units, kept, |_| true)
}

/// As [`superseded`], asked of statements with a `wanted` unit alone.
pub(crate) fn superseded_of(
    units: &[Unit],
    kept: &[Unit],
    wanted: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut stale = vec![false; units.len()];
    let mut words = Words::default();
    let mut all = statements(units, &mut words);
    let own = all.len();
    all.extend(statements(kept, &mut words));
    let rarity = Rarity::of(&all);
    let says = |it: &Statement| it.next || !it.values.is_empty();
    let asked = |place: &usize| {
        let statement = &all[*place];
        says(statement) && statement.units.iter().any(|unit| wanted(*unit))
    };
    let asked: Vec<usize> = (0..own).filter(asked).collect();
    for (index, newer) in all.iter().enumerate().rev().filter(|(_, newer)| says(newer)) {
        for older in asked.iter().take_while(|place| **place < index).map(|place| &all[*place]) {
            if replaces(newer, older, &rarity) {
                for unit in gone(units, older, newer, &mut words) {
                    stale[unit] = true;
                }
            }
        }
    }
    stale
}

/// Of a statement that was replaced, the units that go: those with a value, those that the newer
/// one says again, and what leans on them. What else was said in the same breath stays.
fn gone(units: &[Unit], older: &Statement, newer: &Statement, words: &mut Words) -> Vec<usize> {
    let mut out: Vec<usize> = Vec::new();
    for &unit in &older.units {
        let part = of_unit(units, unit, words);
        let said = part.frame.iter().filter(|word| newer.frame.contains(word)).count();
        let leans =
            out.last().is_some_and(|last| last + 1 == unit && units[*last].text.ends_with(';'));
        let valued = part.values.iter().any(|value| older.values.contains(value));
        if older.next || leans || valued || 2 * said > part.frame.len() {
            out.push(unit);
        }
    }
    out
}

fn replaces(newer: &Statement, older: &Statement, rarity: &Rarity) -> bool {
    if newer.request || older.request {
        return false;
    }
    if newer.next && older.next {
        return true;
    }
    if newer.values.is_empty() || older.values.is_empty() || newer.topic || older.topic {
        return false;
    }
    let Some(changed) = changed(newer, older) else { return false };
    let bound = matches!(changed[..], [Type::Amount | Type::Date | Type::Number]);
    if newer.forbids && older.forbids && !bound {
        return false;
    }
    if other_subject(newer, older) {
        return false;
    }
    let typed = match changed[..] {
        [Type::Name | Type::Number] => false,
        [Type::Date] => newer.rule || older.rule,
        _ => newer.rule && older.rule,
    };
    let shared: Vec<u32> =
        newer.frame.iter().copied().filter(|word| older.frame.contains(word)).collect();
    if shared.len() + usize::from(typed) < 2 {
        return false;
    }
    let alike = if typed { rarity.most } else { 0.0 };
    let least = rarity.sum(&newer.frame).min(rarity.sum(&older.frame));
    rarity.sum(&shared) + alike >= SHARED * (least + alike)
}

/// The types of the values that differ, where those of both statements match.
fn changed(newer: &Statement, older: &Statement) -> Option<Vec<Type>> {
    let own = |a: &Statement, b: &Statement| -> Vec<Type> {
        a.values.iter().filter(|value| !b.values.contains(value)).map(|(kind, _)| *kind).collect()
    };
    let types = own(newer, older);
    (!types.is_empty() && types == own(older, newer)).then_some(types)
}

/// The same sentence with another subject in it, or the same noun with another modifier: `door
/// code`, `gate code`.
fn other_subject(newer: &Statement, older: &Statement) -> bool {
    let (a, b) = (&newer.wording, &older.wording);
    let one_word = a.len() == b.len() && a.iter().zip(b).filter(|(a, b)| a != b).count() == 1;
    let modifier = match (newer.head, older.head) {
        ([Some(a), noun @ Some(_)], [Some(b), other]) => noun == other && a != b,
        _ => false,
    };
    one_word || modifier
}

/// How rare each word is among the statements.
struct Rarity {
    of: Vec<f64>,
    /// That of a word said once.
    most: f64,
}

impl Rarity {
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
    use crate::unit::units;

    /// Which sentences of the messages are stale.
    fn check(messages: &[&str], expected: &[&str]) {
        let chat = messages.iter().fold(chat(), |chat, text| chat.user(text)).entries();
        let units = units(&chat.iter().collect::<Vec<_>>());
        let stale = superseded(&units, &[]);
        let found: Vec<&str> = units
            .iter()
            .zip(stale)
            .filter(|(_, stale)| *stale)
            .map(|(unit, _)| unit.text.as_str())
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
    fn what_was_said_in_the_same_breath_stays() {
        check(
            &[
                "The timeout for uploads is 30 seconds. Never log a key.",
                "Set the upload timeout to 45 seconds.",
            ],
            &["The timeout for uploads is 30 seconds."],
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
