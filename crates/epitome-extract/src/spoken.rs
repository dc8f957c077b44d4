//! What people said last, as far back as it is compared with what is said anew.
//!
//! Invariant: no older unit could be superseded by any, so nothing is lost by not holding it; an
//! entry is there whole unless it is larger than what is cut at once. Called wherever it is asked
//! what of a whole conversation still holds.

use epitome_kernel::types::{Entry, Speaker};
use rustc_hash::FxHashSet;

use crate::cut::of_slices;
use crate::slice::{self, Slice, slices};
use crate::statement::{STATEMENTS, stated};
use crate::supersede::superseded_of;
use crate::unit::TextUnit;

/// The units of the entries in which people said something last, in reading order. Of a part that
/// nobody typed the first unit stands for all.
pub(crate) fn newest<'a>(entries: &[&'a Entry]) -> Vec<TextUnit<'a>> {
    let mut found: Vec<Vec<TextUnit<'a>>> = Vec::new();
    let mut statements = 0;
    let spoken = entries.iter().enumerate().rev().filter(|(_, it)| it.has_speaker(Speaker::Human));
    for (place, entry) in spoken {
        if statements >= STATEMENTS {
            break;
        }
        let all = slices(&[*entry]);
        let is_large = all.iter().filter(|it| it.speaker == Speaker::Human);
        let is_large = is_large.map(Slice::bytes).sum::<usize>() > slice::MOST;
        let mut own: Vec<Vec<TextUnit<'a>>> = Vec::new();
        let mut rest = all.iter().rev();
        for slice in rest.by_ref() {
            let mut units = of_slices(std::slice::from_ref(slice));
            if slice.speaker != Speaker::Human {
                units.truncate(1);
            }
            statements += joined(&units, own.last().map(Vec::as_slice));
            own.push(units.into_iter().map(|unit| unit.in_entry(place)).collect());
            if is_large && statements >= STATEMENTS {
                break;
            }
        }
        if rest.next().is_some() {
            // Something else is said there, whatever becomes of this.
            own.push(vec![TextUnit::bare("".into()).in_entry(place)]);
        }
        found.append(&mut own);
    }
    found.into_iter().rev().flatten().collect()
}

/// How many statements units are at least, in front of others of the same entry: at most one of them
/// goes on there.
fn joined(units: &[TextUnit<'_>], next: Option<&[TextUnit<'_>]>) -> usize {
    let next = next.and_then(<[_]>::first).is_some_and(TextUnit::is_spoken);
    let goes_on = next && units.last().is_some_and(TextUnit::is_spoken);
    stated(units).len() - usize::from(goes_on)
}

/// The sentences of people that something newer takes the place of: the entry of each, by place, and
/// its number among that entry's. Only of those that are `wanted` it is asked.
pub(crate) fn stale(
    entries: &[&Entry],
    wanted: impl Fn(&TextUnit<'_>) -> bool,
) -> FxHashSet<(usize, usize)> {
    let units = newest(entries);
    let stale = superseded_of(&units, &[], |unit| wanted(&units[unit]));
    let mut last = (usize::MAX, 0);
    let spoken = units.iter().zip(stale).filter(|(unit, _)| unit.is_spoken());
    let numbered = spoken.map(|(unit, stale)| {
        last = if last.0 == unit.entry() { (last.0, last.1 + 1) } else { (unit.entry(), 0) };
        (last, stale)
    });
    numbered.filter(|(_, stale)| *stale).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;
    use crate::cut::units;

    /// Asked of all units or of the newest, what is superseded is the same.
    #[test]
    fn what_is_older_than_all_that_is_compared_is_not_held() {
        let mut chat = chat();
        for number in 0..900 {
            let rule = format!("The limit of shelf{} is ${number}.", number % 400);
            chat = chat.user(&rule).assistant("I see it now.");
        }
        let entries = chat.entries();
        let entries: Vec<&Entry> = entries.iter().collect();
        let all = units(&entries);
        let flags = superseded_of(&all, &[], |_| true);
        let expected: Vec<usize> = all
            .iter()
            .zip(flags)
            .filter(|(_, stale)| *stale)
            .map(|(unit, _)| unit.entry())
            .collect();
        let mut found: Vec<usize> = stale(&entries, |_| true).iter().map(|it| it.0).collect();
        found.sort_unstable();
        assert!(!found.is_empty());
        assert_eq!(found, expected);
        assert_eq!(newest(&entries).len(), STATEMENTS);
    }

    #[test]
    fn of_a_large_text_its_end_is_held() {
        let long = "Never touch the file on any shelf. ".repeat(3 * slice::MOST / 30);
        let entries = chat().user(&long).entries();
        let found = newest(&entries.iter().collect::<Vec<_>>());
        assert!(found.len() <= slice::MOST / 30);
        assert!(found[0].text.is_empty() && found.len() > STATEMENTS);
    }
}
