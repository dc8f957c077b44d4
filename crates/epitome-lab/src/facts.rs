//! Which facts of a conversation its last prompt still holds, and which of the others come back.
//!
//! Invariant: what is recallable was found by a search in the store, not by looking at what was
//! put there. Called at the end of a replay.

use std::collections::BTreeSet;

use epitome::types::{Entry, EntryId, MustKeep, Passage};
use epitome::{Counter, Facts, Store, StoreError};

/// So many facts are asked for at a time.
const ASKED: usize = 16;

/// Tokens that an answer may take for each fact that is asked for.
const ANSWER: u64 = 250;

/// How many facts are neither in the prompt nor found by a search.
pub fn lost(kept: &MustKeep) -> u64 {
    let all = [kept.constraints, kept.paths, kept.errors, kept.identifiers];
    let left: u64 = all.iter().map(|[here, all]| u64::from(all - here)).sum();
    left.saturating_sub(u64::from(kept.recallable))
}

/// Looks for the facts of a conversation in a prompt, and for those that are gone in the store.
pub(crate) fn must_keep(
    said: &[Entry],
    prompt: &[Entry],
    store: &dyn Store,
    scope: &str,
    counter: &dyn Counter,
) -> Result<MustKeep, StoreError> {
    let [said, prompt] = [said, prompt].map(|all| all.iter().collect::<Vec<_>>());
    let (facts, here) = (Facts::of(&said), Facts::of(&prompt));
    let kinds = [
        (&facts.constraints, &here.constraints),
        (&facts.paths, &here.paths),
        (&facts.errors, &here.errors),
        (&facts.identifiers, &here.identifiers),
    ];
    let gone: Vec<&str> =
        kinds.iter().flat_map(|(all, here)| all.difference(here)).map(String::as_str).collect();
    let mut found = BTreeSet::new();
    for asked in gone.chunks(ASKED) {
        let budget = ANSWER * asked.len() as u64;
        let excerpts = store.search(scope, &asked.join("\n"), budget, counter)?;
        found.extend(excerpts.into_iter().map(|excerpt| excerpt.text));
    }
    let found: Vec<_> = found.into_iter().map(|text| Passage { entry: EntryId(0), text }).collect();
    Ok(facts.kept(&prompt, &found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_is_what_is_neither_here_nor_found() {
        let kept = MustKeep {
            constraints: [2, 3],
            paths: [1, 5],
            errors: [0, 0],
            identifiers: [4, 4],
            recallable: 3,
        };
        assert_eq!(lost(&kept), 1 + 4 - 3);
        assert_eq!(lost(&MustKeep::default()), 0);
    }
}
