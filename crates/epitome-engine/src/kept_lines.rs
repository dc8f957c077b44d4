//! The lines that a profile keeps, as a plan states them and as a result that is made smaller has them.
//!
//! Invariant: a line is a slice of what was said; of what a policy masked nothing is said again. Called
//! by live sessions and by the compressor of single conversations.

use epitome_config::profile::Profile;
use epitome_kernel::Thread;
use epitome_plan::{ConstraintState, KeptStatement, StatedLine};
use epitome_types::hook::{ToolResultAnswer, Way};
use epitome_types::{Budget, BudgetUnit, Entry, PartBody, PartId};

/// What a profile keeps of a conversation.
pub(crate) fn kept(profile: &Profile, thread: &Thread) -> KeptStatement {
    let said = thread.entries().iter().map(|entry| thread.original(entry.id).unwrap_or(entry));
    let lines = profile.keep().lines(&said.collect::<Vec<&Entry>>());
    let lines = lines.into_iter().map(|line| {
        let sent = match thread.part(line.part).map(|part| &part.body) {
            Some(PartBody::Text(text)) => text.contains(&line.text),
            Some(PartBody::Result(result)) => result.text.contains(&line.text),
            // Arguments spell a text otherwise.
            Some(_) => true,
            None => false,
        };
        StatedLine { part: line.part, text: line.text, sent }
    });
    let options = &profile.options.work_state;
    let (heading, share) = (options.kept.clone(), options.keep);
    KeptStatement { lines: lines.collect(), heading, share }
}

/// What a profile keeps of results that are made smaller.
pub(crate) fn arriving_lines(
    profile: &Profile,
    thread: &Thread,
    decided: &[(PartId, ToolResultAnswer)],
) -> Vec<StatedLine> {
    let made = decided.iter().filter(|(_, answer)| answer.how != Way::Keep);
    let parts = made.flat_map(|(part, _)| {
        let alone = thread.alone(*part);
        let lines = alone.map(|entry| profile.keep().lines(&[&entry])).unwrap_or_default();
        lines.into_iter().map(|line| StatedLine { part: *part, text: line.text, sent: false })
    });
    parts.collect()
}

/// What is stated of a conversation that stands by itself, within a budget.
pub(crate) fn alone(profile: &Profile, thread: &Thread, most: Budget) -> ConstraintState {
    let label = profile.options.work_state.label.clone();
    let most = if most.unit == BudgetUnit::Tokens { most.most } else { 0 };
    ConstraintState { label, most, kept: kept(profile, thread), ..ConstraintState::default() }
}
