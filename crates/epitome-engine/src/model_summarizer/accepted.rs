//! What models wrote of a plan, and how far it can be relied on.
//!
//! Invariant: only what was taken is here. Filled by the writers, read once the plan is made.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_types::{Op, Plan};

/// A text that a policy took.
#[derive(Clone, Debug, Default)]
pub(crate) struct AcceptedSummary {
    text: String,
    /// What the model wrote of it, without what was said beside it.
    pub(crate) words: String,
    /// How far it can be relied on, where a policy said so.
    pub(crate) confidence: Option<f64>,
}

/// All texts that policies took.
#[derive(Default)]
pub(crate) struct AcceptedSummaries(Mutex<Vec<AcceptedSummary>>);

impl AcceptedSummaries {
    pub(super) fn add(&self, text: &str, words: &str, confidence: Option<f64>) {
        let confidence = confidence.map(|confidence| confidence.clamp(0.0, 1.0));
        let (text, words) = (text.to_owned(), words.to_owned());
        self.all().push(AcceptedSummary { text, words, confidence });
    }

    fn all(&self) -> MutexGuard<'_, Vec<AcceptedSummary>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a text that was taken.
    pub(crate) fn of_text(&self, text: &str) -> Option<AcceptedSummary> {
        self.all().iter().find(|taken| taken.text == text).cloned()
    }

    /// What stands in a plan of it: the words, and how far the plan can be relied on, which is as
    /// far as the least of them.
    pub(crate) fn within(&self, plan: &Plan) -> (Vec<String>, Option<f64>) {
        let mut there = self.all().clone();
        there.retain(|taken| says(plan, &taken.words));
        let confidence = there.iter().filter_map(|taken| taken.confidence).reduce(f64::min);
        (there.into_iter().map(|taken| taken.words).collect(), confidence)
    }
}

/// Whether a checkpoint of a plan says these words. Passages may stand behind them.
pub(crate) fn says(plan: &Plan, words: &str) -> bool {
    !words.is_empty() && checkpoints(plan).any(|text| text.contains(words))
}

/// The lines of a text that no checkpoint of a plan says. What those say of goals was heard when they were
/// written, and may have been taken back since. Where code begins and ends is told all the same.
pub(crate) fn lines_unsaid(text: &str, plan: &Plan) -> String {
    let said: BTreeSet<&str> = checkpoints(plan).flat_map(str::lines).map(str::trim).collect();
    let is_new = |line: &&str| line.trim_start().starts_with("```") || !said.contains(line.trim());
    text.lines().filter(is_new).collect::<Vec<_>>().join("\n")
}

fn checkpoints(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.ops.iter().filter_map(|op| match op {
        Op::Summarize(checkpoint) => Some(&*checkpoint.text),
        _ => None,
    })
}
