//! What the agent asked the user and nobody answered.
//!
//! Invariant: whatever a person says, and whatever the agent does next, answers. Called by
//! [`super::WorkLedger::of`]: nothing may begin that a person has not agreed to.

use epitome_kernel::types::{Entry, Part, PartBody, Role, Speaker};

use super::call::Tool;
use super::{Answers, account, typed};
use crate::split;

/// A longer question (in bytes) is cut out of something else.
const LONG: usize = 600;

/// The open question at the end of the conversation.
pub(super) fn of(entries: &[&Entry], answers: &Answers<'_>) -> Option<String> {
    let last = entries.iter().rev().find(|entry| speaks(entry))?;
    if last.role != Role::Assistant {
        return None;
    }
    let mut calls = last.calls().peekable();
    if calls.peek().is_some() {
        let open = |call: &&_| !answers.has(call);
        return calls.filter(open).find_map(|call| asked_by(&Tool::of(call)));
    }
    account::written(last).last().and_then(question)
}

/// Whether a person or the agent speaks in an entry; notes of the harness answer nothing.
fn speaks(entry: &Entry) -> bool {
    entry.role != Role::System
        && entry.parts.iter().any(|part| match part.speaker {
            Speaker::Human => true,
            Speaker::Model => matches!(part.body, PartBody::Text(_) | PartBody::Call(_)),
            Speaker::Tool | Speaker::Harness => false,
        })
}

/// What a tool asks the user.
fn asked_by(tool: &Tool) -> Option<String> {
    if tool.is(&["exit", "plan", "mode"]) {
        return tool.text(&["plan"]).map(|plan| plan.trim().to_owned());
    }
    if !tool.has(&["ask", "question", "followup"]) && !tool.is(&["request", "user", "input"]) {
        return None;
    }
    let list = tool.list(&["questions"]).unwrap_or_default();
    let first = list.iter().find_map(|one| one.get("question")?.as_str());
    first.or_else(|| tool.text(&["question", "prompt", "message", "text"])).map(str::to_owned)
}

/// The question that ends a part: in its last line, or in a short one before it.
fn question(part: &Part) -> Option<String> {
    let sentences: Vec<&str> =
        typed::lines(part).flat_map(|line| split::whole_sentences(line.point)).collect();
    let last = sentences.iter().rev().take(2).find(|sentence| {
        sentence.trim_end_matches(['*', '_', '"', ')', ' ']).ends_with(['?', '？'])
    })?;
    let lower = last.to_lowercase();
    let idle = IDLE.iter().any(|phrase| lower.contains(phrase)) || last.len() > LONG;
    (!idle).then(|| last.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Questions that wait for nothing.
const IDLE: &[&str] = &[
    "anything else",
    "something else",
    "how can i help",
    "how can i assist",
    "how may i",
    "what would you like to",
    "what else",
    "what do you want to do next",
    "noch etwas",
    "sonst noch",
    "autre chose",
    "algo más",
    "altro?",
    "algo mais",
    "nog iets",
    "что нибудь ещё",
];

#[cfg(test)]
mod tests {
    use epitome_testkit::{Chat, chat};

    use crate::ledger::WorkLedger;

    fn check(chat: Chat, expected: Option<&str>) {
        let entries = chat.entries();
        let ledger = WorkLedger::of(&entries.iter().collect::<Vec<_>>());
        assert_eq!(ledger.awaiting.as_deref(), expected);
    }

    #[test]
    fn a_question_is_open_until_somebody_goes_on() {
        let asked = || chat().user("Look at it.").assistant("It is broken. Shall I fix **it**?");
        check(asked(), Some("Shall I fix **it**?"));
        check(asked().note("<system-reminder>x</system-reminder>"), Some("Shall I fix **it**?"));
        check(asked().user("yes"), None);
        check(asked().call("Edit", "{}").result("ok"), None);
        check(chat().user("x").assistant("Done. Is there anything else I can do?"), None);
        check(chat().user("x").assistant("Why does it fail? The port is taken. I freed it."), None);
        check(chat().user("x").assistant("直しますか？"), Some("直しますか？"));
    }

    #[test]
    fn tools_that_ask_are_open_until_they_are_answered() {
        let plan = || chat().user("Plan it.").call("ExitPlanMode", r#"{"plan":"1. a"}"#);
        check(plan(), Some("1. a"));
        check(plan().result("User has approved your plan."), None);
        let ask = r#"{"questions":[{"question":"Which port?"}]}"#;
        check(chat().user("Go.").call("AskUserQuestion", ask), Some("Which port?"));
        check(chat().user("Go.").call("Read", r#"{"file_path":"a"}"#), None);
    }
}
