//! Which summarizer is asked next, and how small its summary must come out.
//!
//! Invariant: a summarizer that gave up is not asked again, and none is asked for one text more
//! often than its retries allow. Called by the planner between its steps.

use std::collections::BTreeSet;

/// How often a summary that came out too large is asked for again, smaller.
const RETRIES: u32 = 3;

/// The summarizers of one plan, in their order.
#[derive(Debug, Default)]
pub(crate) struct SummarizerChain {
    count: usize,
    /// The one that is asked; all of them are used up where it is `count`.
    at: usize,
    given_up: BTreeSet<usize>,
    /// By how much a summary must be smaller than the room that was computed, and how often that
    /// was found out.
    excess: u64,
    retries: u32,
    /// What went wrong, for the user.
    pub(crate) warnings: Vec<String>,
}

impl SummarizerChain {
    pub(crate) fn new(count: usize) -> Self {
        Self { count, ..Self::default() }
    }

    /// The number of the summarizer that is asked, from 0; none where the kernel has to find words
    /// itself.
    pub(crate) fn asked(&self) -> Option<usize> {
        (self.at < self.count).then_some(self.at)
    }

    /// Whether no other one follows.
    pub(crate) fn is_last(&self) -> bool {
        self.at + 1 >= self.count
    }

    /// By how much a summary must be smaller than its room.
    pub(crate) fn excess(&self) -> u64 {
        self.excess
    }

    /// Turns to the first one that has not given up.
    pub(crate) fn restart(&mut self) {
        self.turn_to(0);
    }

    /// Turns to the next one; this one is asked again after a restart.
    pub(crate) fn turn_to_next(&mut self) {
        self.turn_to(self.at + 1);
    }

    /// Never asks the present one again.
    pub(crate) fn give_up(&mut self, why: &str) {
        self.warnings.push(format!("summariser {} gave up: {why}", self.at + 1));
        self.given_up.insert(self.at);
        self.turn_to_next();
    }

    /// Asks none any more.
    pub(crate) fn stop(&mut self) {
        self.given_up.extend(0..self.count);
        self.turn_to(self.count);
    }

    /// Has the same one asked for less; false where it was asked too often.
    pub(crate) fn ask_less(&mut self, over: u64) -> bool {
        self.excess += over;
        self.retries += 1;
        self.retries <= RETRIES
    }

    fn turn_to(&mut self, from: usize) {
        let of_use = |number: &usize| !self.given_up.contains(number);
        self.at = (from..self.count).find(of_use).unwrap_or(self.count);
        (self.excess, self.retries) = (0, 0);
    }
}
