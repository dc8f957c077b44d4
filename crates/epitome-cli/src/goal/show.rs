//! Goals in words, for a terminal.
//!
//! Invariant: pure; every text is one line, and every decision has the number that `lock` takes.

use epitome::SessionGoals;
use epitome::types::{Decision, DecisionKind, Goal, Priority};

use super::numbered;
use crate::text::{counted, on_one_line, plain};

/// All goals of a session.
pub(crate) fn all(of: &SessionGoals) -> String {
    let SessionGoals { session, goals } = of;
    if goals.goals.is_empty() && goals.decisions.is_empty() {
        return format!("session {session}: no goal is set; `epitome goal set TEXT` sets one");
    }
    let mut lines =
        vec![format!("session {session}: {}", counted(goals.goals.len() as u64, "goal"))];
    let mut decisions = numbered(goals).map(|(number, decision)| decided(&number, decision));
    for goal in &goals.goals {
        lines.push(format!("{} {}: {}", goal.id, standing(goal), said(&goal.text)));
        if goal.objective != goal.text {
            lines.push(indented("first stated as", &goal.objective));
        }
        for milestone in &goal.milestones {
            lines.push(indented(&milestone.state.word().replace('_', " "), &milestone.text));
        }
        lines.extend(decisions.by_ref().take(goal.decisions.len()));
        for file in &goal.artifacts {
            lines.push(indented(file.change.word(), &file.path));
        }
        lines.extend(goal.next.iter().map(|step| indented("next", step)));
    }
    if !goals.decisions.is_empty() {
        lines.push("decided while no goal was active".to_owned());
        lines.extend(decisions);
    }
    lines.join("\n")
}

/// `active, high priority`.
fn standing(goal: &Goal) -> String {
    let status = goal.status.word();
    match goal.priority {
        Priority::Medium => status.to_owned(),
        other => format!("{status}, {} priority", other.word()),
    }
}

fn decided(number: &str, decision: &Decision) -> String {
    let kept = match (decision.locked, decision.kind) {
        (true, _) => "locked",
        (false, DecisionKind::Architecture) => "architecture",
        (false, DecisionKind::Plain) => "decided",
    };
    let why = decision.rationale.as_deref().map(|why| format!(" (because {why})"));
    let text = format!("{}{}", decision.text, why.unwrap_or_default());
    indented(&format!("{number} {kept}"), &text)
}

fn indented(name: &str, text: &str) -> String {
    format!("   {name:<16} {}", said(text))
}

fn said(text: &str) -> String {
    plain(&on_one_line(text))
}
