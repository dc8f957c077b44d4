//! Plans and to-do lists that tools keep.
//!
//! Invariant: the newest list stands whole; what an older list had done and the newest does not
//! name is done, not open. Called by [`super::WorkLedger::of`], call by call in order.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call::{Tool, field};

/// How far a point of a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanItemState {
    /// Nobody began it.
    #[default]
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Done,
    /// It was given up.
    Dropped,
}

/// One point of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    /// What is to be done, as the tool was told.
    pub text: String,
    /// How far it is.
    pub state: PlanItemState,
}

/// The plans of a conversation in the making.
#[derive(Default)]
pub(super) struct Plans {
    items: Vec<PlanItem>,
    /// For lists that are kept point by point: the id of each item.
    ids: Vec<String>,
    /// What older lists had done.
    done: Vec<String>,
    approved: Option<String>,
}

/// What the plans come to.
#[derive(Default)]
pub(super) struct PlanSummary {
    pub(super) items: Vec<PlanItem>,
    pub(super) done: Vec<String>,
    pub(super) approved: Option<String>,
}

impl Plans {
    /// Takes a call that was not refused; `answer` is its result.
    pub(super) fn take(&mut self, tool: &Tool, answer: Option<&str>) {
        if tool.is_list() {
            if let Some(items) = list(tool) {
                self.replace(items);
            }
        } else if tool.is(&["task", "create"]) {
            if let Some(text) = tool.text(TEXTS) {
                let id = answer.and_then(task_number).unwrap_or_else(|| self.next_id());
                self.items.push(PlanItem { text: one_line(text), state: PlanItemState::Pending });
                self.ids.push(id);
            }
        } else if tool.is(&["task", "update"]) {
            self.update(tool);
        } else if tool.is(&["exit", "plan", "mode"]) && answer.is_some() {
            self.approved = tool.text(&["plan"]).map(|plan| plan.trim().to_owned());
        }
    }

    /// What is left at the end.
    pub(super) fn finish(mut self) -> PlanSummary {
        self.done.retain(|text| self.items.iter().all(|item| item.text != *text));
        PlanSummary { items: self.items, done: self.done, approved: self.approved }
    }

    fn replace(&mut self, items: Vec<PlanItem>) {
        let before = std::mem::replace(&mut self.items, items);
        self.ids.clear();
        for item in before.into_iter().filter(|item| item.state == PlanItemState::Done) {
            if !self.done.contains(&item.text) {
                self.done.push(item.text);
            }
        }
    }

    fn update(&mut self, tool: &Tool) {
        let id =
            ["taskId", "task_id", "id"].iter().find_map(|key| match tool.arguments.get(*key)? {
                Value::String(id) => Some(id.trim_start_matches('#').to_owned()),
                Value::Number(id) => Some(id.to_string()),
                _ => None,
            });
        let Some(place) = id.and_then(|id| self.ids.iter().position(|it| *it == id)) else {
            return;
        };
        let Some(item) = self.items.get_mut(place) else { return };
        if let Some(text) = tool.text(TEXTS) {
            item.text = one_line(text);
        }
        if let Some(state) = tool.text(STATES) {
            item.state = self::state(state);
        }
    }

    /// Tasks are numbered from 1 where no answer names a number.
    fn next_id(&self) -> String {
        (self.ids.len() + 1).to_string()
    }
}

/// The points of a whole list; `None` where the call holds none.
fn list(tool: &Tool) -> Option<Vec<PlanItem>> {
    if let Some(items) = tool.list(LIST_KEYS) {
        return Some(items.iter().filter_map(item).collect());
    }
    let text = tool.text(LIST_KEYS)?;
    Some(text.lines().filter_map(checked).collect())
}

fn item(value: &Value) -> Option<PlanItem> {
    let object: &Map<String, Value> = match value {
        Value::String(text) => {
            let bare = PlanItem { text: one_line(text), state: PlanItemState::Pending };
            return Some(checked(text).unwrap_or(bare)).filter(|item| !item.text.is_empty());
        }
        other => other.as_object()?,
    };
    let text = one_line(field(object, TEXTS)?);
    let flag = ["completed", "done"].iter().find_map(|key| object.get(*key)?.as_bool());
    let state = match (field(object, STATES), flag) {
        (Some(state), _) => self::state(state),
        (None, Some(true)) => PlanItemState::Done,
        (None, _) => PlanItemState::Pending,
    };
    (!text.is_empty()).then_some(PlanItem { text, state })
}

/// A line such as `- [x] text`.
fn checked(line: &str) -> Option<PlanItem> {
    let line = line.trim().trim_start_matches(['-', '*', ' ']);
    let (mark, text) = line.strip_prefix('[')?.split_once(']')?;
    let state = match mark.trim() {
        "" => PlanItemState::Pending,
        "x" | "X" | "✓" => PlanItemState::Done,
        "-" | "~" | ">" | "/" => PlanItemState::InProgress,
        _ => return None,
    };
    let text = one_line(text);
    (!text.is_empty()).then_some(PlanItem { text, state })
}

fn state(word: &str) -> PlanItemState {
    let word: String =
        word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    match word.as_str() {
        "completed" | "complete" | "done" | "finished" | "closed" => PlanItemState::Done,
        "inprogress" | "active" | "doing" | "current" | "started" | "running" => {
            PlanItemState::InProgress
        }
        "cancelled" | "canceled" | "deleted" | "skipped" | "dropped" | "abandoned" => {
            PlanItemState::Dropped
        }
        _ => PlanItemState::Pending,
    }
}

/// The number in `Task #3 created …`.
fn task_number(answer: &str) -> Option<String> {
    let rest = &answer[answer.find('#')? + 1..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const LIST_KEYS: &[&str] = &["todos", "plan", "items", "todoList", "todo_list", "tasks", "steps"];
const TEXTS: &[&str] =
    &["content", "step", "subject", "text", "title", "task", "description", "name"];
const STATES: &[&str] = &["status", "state"];

#[cfg(test)]
mod tests {
    use PlanItemState::{Done, Dropped, InProgress, Pending};
    use epitome_kernel::types::ToolCall;

    use super::*;

    fn planned(calls: &[(&str, &str, &str)]) -> PlanSummary {
        let mut plans = Plans::default();
        for (tool, arguments, answer) in calls {
            let call =
                ToolCall { id: "1".into(), tool: (*tool).into(), arguments: (*arguments).into() };
            plans.take(&Tool::of(&call), Some(*answer));
        }
        plans.finish()
    }

    fn check(calls: &[(&str, &str, &str)], expected: &[(&str, PlanItemState)]) {
        let found = planned(calls).items;
        let found: Vec<(&str, PlanItemState)> =
            found.iter().map(|it| (&*it.text, it.state)).collect();
        assert_eq!(found, expected, "{calls:?}");
    }

    #[test]
    fn lists_of_every_client_are_known() {
        check(
            &[(
                "TodoWrite",
                r#"{"todos":[{"content":"a b","status":"completed","activeForm":"x"},{"content":"c","status":"in_progress"}]}"#,
                "",
            )],
            &[("a b", Done), ("c", InProgress)],
        );
        check(
            &[(
                "update_plan",
                r#"{"explanation":"x","plan":[{"step":"a","status":"pending"}]}"#,
                "",
            )],
            &[("a", Pending)],
        );
        check(
            &[("todowrite", r#"{"todos":[{"id":"1","content":"a","status":"cancelled"}]}"#, "")],
            &[("a", Dropped)],
        );
        check(
            &[("write_todos", r#"{"todos":[{"description":"a","status":"completed"}]}"#, "")],
            &[("a", Done)],
        );
        check(
            &[("update_todo_list", r#"{"todos":"[x] a\n[-] b\n[ ] c\nnoise"}"#, "")],
            &[("a", Done), ("b", InProgress), ("c", Pending)],
        );
        check(&[("todo", r#"{"todos":["[x] a","b"," ",7]}"#, "")], &[("a", Done), ("b", Pending)]);
        check(&[("TodoWrite", "nonsense", ""), ("TodoWrite", r#"{"todos":7}"#, "")], &[]);
    }

    #[test]
    fn tasks_are_kept_point_by_point() {
        check(
            &[
                ("TaskCreate", r#"{"subject":"a","description":"long"}"#, "Task #4 created"),
                ("TaskCreate", r#"{"subject":"b"}"#, "Task #5 created"),
                ("TaskUpdate", r#"{"taskId":"5","status":"in_progress"}"#, ""),
                ("TaskUpdate", r#"{"taskId":4,"status":"completed","subject":"a2"}"#, ""),
                ("TaskUpdate", r#"{"taskId":"9","status":"completed"}"#, ""),
            ],
            &[("a2", Done), ("b", InProgress)],
        );
    }

    #[test]
    fn the_newest_list_stands_and_older_work_stays_done() {
        let calls = [
            ("TodoWrite", r#"{"todos":[{"content":"a","status":"completed"}]}"#, ""),
            ("TodoWrite", r#"{"todos":[{"content":"b","status":"pending"}]}"#, ""),
            ("ExitPlanMode", r##"{"plan":"# Plan\n1. a"}"##, "User has approved your plan."),
        ];
        check(&calls, &[("b", Pending)]);
        let planned = planned(&calls);
        assert_eq!(planned.done, ["a"]);
        assert_eq!(planned.approved.as_deref(), Some("# Plan\n1. a"));
    }
}
