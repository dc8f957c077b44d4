//! Who decided what, a line each, turn by turn.
//!
//! Invariant: what is decided as it was the last time is not said again.

use std::collections::BTreeMap;

use epitome::types::EventKind;
use epitome_lab::ReplayTurn;
use epitome_page::{LineKind, TrialLine};

use super::short_form::words;
use super::trace::happened;
use super::watcher::{Note, TracedAnswer, TracedOutcome};
use crate::text::plain;

/// The hooks of which it is shown who decides, whoever that is; of the others only what the policy that
/// is tried says.
const ALWAYS: [&str; 2] = ["trigger", "plan"];

/// What was decided last, by hook.
pub(super) struct DecisionLines {
    /// The policy that is tried.
    policy: String,
    said: BTreeMap<&'static str, String>,
}

impl DecisionLines {
    /// Nothing was decided yet.
    pub(super) fn new(policy: &str) -> Self {
        Self { policy: policy.to_owned(), said: BTreeMap::new() }
    }

    /// What was decided in a turn otherwise than before, and what came of it.
    pub(super) fn lines(&mut self, turn: &ReplayTurn, notes: &[Note]) -> Vec<TrialLine> {
        let decided = notes.iter().filter_map(|note| self.news(note)).collect::<Vec<_>>();
        let events = turn.events.iter().filter_map(|event| {
            let kind = match &event.what {
                EventKind::Compressed { .. } => LineKind::Done,
                EventKind::CompressionError { .. } | EventKind::PolicyError { .. } => {
                    LineKind::Failed
                }
                EventKind::CompressionSkipped { .. }
                | EventKind::AnswerBounded { .. }
                | EventKind::PolicyWarning { .. } => LineKind::Passed,
                _ => return None,
            };
            let (name, what) = happened(event);
            Some(TrialLine { kind, name, what })
        });
        let refused = turn.refused.iter().map(|why| TrialLine {
            kind: LineKind::Failed,
            name: "refused".to_owned(),
            what: why.clone(),
        });
        decided.into_iter().chain(events).chain(refused).collect()
    }

    /// What is new of a hook: what was decided and by whom, and what failed on the way.
    fn news(&mut self, note: &Note) -> Option<TrialLine> {
        let is_its = note.winner.as_ref() == Some(&self.policy);
        let failed = |said: &TracedAnswer| matches!(said.what, TracedOutcome::Error(_));
        let is_shown = is_its || ALWAYS.contains(&note.hook) || note.asked.iter().any(failed);
        if !is_shown {
            return None;
        }
        let said = note.asked.iter().filter_map(|said| {
            let what = match &said.what {
                TracedOutcome::Answer(answer) if note.winner.as_ref() == Some(&said.policy) => {
                    format!("→ {}", words(answer))
                }
                TracedOutcome::Ask(id) => format!("asks a model: {id}"),
                TracedOutcome::Error(what) => format!("failed: {what}"),
                TracedOutcome::Answer(_) | TracedOutcome::Passed(_) => return None,
            };
            Some(format!("{} {what}", plain(&said.policy)))
        });
        let mut said = said.collect::<Vec<_>>();
        said.dedup();
        let said = said.join("; ");
        let is_known = self.said.get(note.hook) == Some(&said);
        // That nothing is done at first is no news.
        let is_idle = !is_its && said.ends_with("→ false") && !self.said.contains_key(note.hook);
        (!said.is_empty() && !is_known && !is_idle).then(|| {
            self.said.insert(note.hook, said.clone());
            TrialLine { kind: LineKind::Decision, name: note.hook.to_owned(), what: said }
        })
    }
}
