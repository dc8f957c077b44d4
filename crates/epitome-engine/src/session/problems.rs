//! The problems of a session that the host was told of.
//!
//! Invariant: a problem is told once, however many prompts it lasts. Asked by the steps of a turn.

use std::collections::{BTreeMap, BTreeSet};

/// So many different failures of one hook are told.
const TOLD_OF_HOOK: u32 = 4;

/// The problems that the host was told of.
#[derive(Default)]
pub(super) struct ToldProblems {
    /// The errors of policies.
    policies: BTreeSet<String>,
    /// How often each hook of a policy was told of.
    hooks: BTreeMap<String, u32>,
    /// Why files could not be written.
    files: BTreeSet<String>,
    /// Whether the conversation can hardly be relied on.
    low: bool,
}

impl ToldProblems {
    /// Whether an error of a policy is to be told: it was not yet.
    pub(super) fn tells_policy(&mut self, what: String) -> bool {
        self.policies.insert(what)
    }

    /// Whether one more failure of a hook is to be told: one that fails in other words each time is
    /// told of [`TOLD_OF_HOOK`] times.
    pub(super) fn hears(&mut self, author: String) -> bool {
        let told = self.hooks.entry(author).or_default();
        *told += 1;
        *told <= TOLD_OF_HOOK
    }

    /// A policy or plugin is another one now: what it fails at is new.
    pub(super) fn start_over(&mut self) {
        self.policies.clear();
        self.hooks.clear();
    }

    /// Whether it is to be told why a file could not be written: it was not yet.
    pub(super) fn tells_file(&mut self, cause: &str) -> bool {
        self.files.insert(cause.to_owned())
    }

    /// Whether it is to be told that the conversation can hardly be relied on: it could be so far.
    pub(super) fn tells_low(&mut self, is_low: bool) -> bool {
        let before = std::mem::replace(&mut self.low, is_low);
        is_low && !before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_told_of_four_times_and_anew_once_its_policy_is_another_one() {
        let mut told = ToldProblems::default();
        let hear = |told: &mut ToldProblems| {
            let fails =
                (0..9).map(|n| told.tells_policy(format!("line {n}")) && told.hears("a".into()));
            fails.filter(|is_told| *is_told).count()
        };
        assert_eq!([hear(&mut told), hear(&mut told)], [4, 0]);
        told.start_over();
        assert_eq!([hear(&mut told), hear(&mut told)], [4, 0]);
    }
}
