//! Which facts of a conversation its last prompt still holds, and which of the others come back.
//!
//! Invariant: what is recallable was found by a search in the store, not by looking at what was
//! put there. Called at the end of a replay, and where somebody asks between its turns.

use std::collections::BTreeSet;

use epitome::types::{ContentId, Entry, EntryId, FactCounts, FactReport, Passage};
use epitome::{
    KeepRules, MustKeepFacts, OriginalStore, RedactionPatterns, StoreError, TokenCounter,
    kept_and_lost,
};

/// So many facts are asked for at a time.
const ASKED: usize = 16;

/// Tokens that an answer may take for each fact that is asked for.
const ANSWER: u64 = 250;

/// How many facts are neither in the prompt nor found by a search.
pub fn lost(kept: &FactCounts) -> u64 {
    let all = [kept.constraints, kept.paths, kept.errors, kept.identifiers, kept.kept];
    let left: u64 = all.iter().map(|[here, all]| u64::from(all - here)).sum();
    left.saturating_sub(u64::from(kept.recallable))
}

/// Where a conversation is recorded, and what measures what a search in it returns.
pub(crate) struct SearchedStore<'a> {
    /// What is searched for the facts that are gone; nothing is where nobody wants to know.
    pub(crate) store: Option<&'a dyn OriginalStore>,
    pub(crate) scope: &'a str,
    pub(crate) counter: &'a dyn TokenCounter,
    /// The lines that the profile keeps.
    pub(crate) keep: &'a KeepRules,
    /// What is never recorded, and not told in a report either.
    pub(crate) redaction: &'a RedactionPatterns,
}

impl SearchedStore<'_> {
    /// Looks for the facts of a conversation in a prompt, and for those that are gone in the store.
    /// `originals` says under which id an entry is kept.
    pub(crate) fn must_keep(
        &self,
        said: &[Entry],
        prompt: &[Entry],
        originals: &[(EntryId, ContentId, String)],
    ) -> Result<FactReport, StoreError> {
        let shown = [said, prompt].map(|all| self.redaction.entries(all));
        let [said, prompt] = shown.each_ref().map(|all| all.iter().collect::<Vec<_>>());
        let lines = self.keep.lost(&said, &prompt);
        let lost = MustKeepFacts::of(&said).lost(&prompt).with_lines(lines);
        let gone: Vec<&str> = lost.iter().collect();
        let found = self.found(&gone)?;
        Ok(kept_and_lost(&said, &prompt, &found, originals, self.keep))
    }

    /// What a search for each of these brings.
    fn found(&self, gone: &[&str]) -> Result<Vec<Passage>, StoreError> {
        let mut found = BTreeSet::new();
        let Some(store) = self.store else { return Ok(Vec::new()) };
        for asked in gone.chunks(ASKED) {
            let budget = ANSWER * asked.len() as u64;
            let query = asked.join("\n");
            let excerpts = store.search(self.scope, &query, budget, self.counter)?;
            found.extend(excerpts.into_iter().map(|excerpt| excerpt.text));
        }
        Ok(found.into_iter().map(|text| Passage { entry: EntryId(0), text }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_is_what_is_neither_here_nor_found() {
        let kept = FactCounts {
            constraints: [2, 3],
            paths: [1, 5],
            errors: [0, 0],
            identifiers: [4, 4],
            kept: [0, 0],
            recallable: 3,
        };
        assert_eq!(lost(&kept), 1 + 4 - 3);
        assert_eq!(lost(&FactCounts::default()), 0);
    }
}
