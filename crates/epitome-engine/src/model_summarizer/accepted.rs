//! What models wrote of a plan, and how far it can be relied on.
//!
//! Invariant: only what was taken is here. Filled by the writers, read once the plan is made.

use std::sync::{Mutex, PoisonError};

use epitome_types::{Op, Plan};

/// What models wrote and policies took, and how far each can be relied on, where they said so.
#[derive(Default)]
pub(crate) struct AcceptedSummaries(Mutex<Vec<(String, Option<f64>)>>);

impl AcceptedSummaries {
    pub(super) fn add(&self, text: &str, confidence: Option<f64>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((text.to_owned(), confidence.map(|confidence| confidence.clamp(0.0, 1.0))));
    }

    /// How far a text that was taken can be relied on, where a policy said so.
    pub(crate) fn confidence(&self, text: &str) -> Option<f64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|(taken, _)| taken == text).and_then(|(_, confidence)| *confidence)
    }

    /// What stands in a plan of it: the texts, and how far the plan can be relied on, which is as
    /// far as the least of them.
    pub(crate) fn within(&self, plan: &Plan) -> (Vec<String>, Option<f64>) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stands = |text: &str| {
            plan.ops.iter().any(|op| match op {
                Op::Summarize(checkpoint) => checkpoint.text.ends_with(text),
                _ => false,
            })
        };
        let there: Vec<_> = all.iter().filter(|(text, _)| stands(text)).cloned().collect();
        let confidence = there.iter().filter_map(|(_, confidence)| *confidence).reduce(f64::min);
        (there.into_iter().map(|(text, _)| text).collect(), confidence)
    }
}
