//! What a checkpoint's record lists: orders, decisions, files, failures, what is done and what is open.
//!
//! Invariant: pure; each item was said or done in an entry that the checkpoint stands for, and names it.
//! Called by `checkpoints`.

use epitome_extract::MustKeepFacts;
use epitome_extract::ledger::{FileChange, PlanItemState, WorkLedger};
use epitome_plan::{MarkerWords, markers};
use epitome_types::hook::FoundKind;
use epitome_types::{Entry, EntryId, Role, ToolCall};
use serde::Serialize;
use serde_json::Value;

/// What an item of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointField {
    /// What a person asked for.
    Intent,
    /// What a person ordered or forbade.
    Constraint,
    /// What was decided.
    Decision,
    /// What was decided against.
    Rejected,
    /// A file that calls touched.
    File,
    /// The name or code of an error.
    Failure,
    /// What was done.
    Done,
    /// What is not done yet.
    Open,
    /// What is to be done next.
    Next,
}

/// Who an item is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemOrigin {
    /// A person said it.
    Person,
    /// The model said it.
    Model,
    /// The model said it by a marker.
    Marker,
    /// It follows from calls of tools and their results.
    Calls,
}

/// An item of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointItem {
    /// What it is.
    pub field: CheckpointField,
    /// What it says.
    pub text: String,
    /// What is known besides: what became of a file, why, how far.
    pub detail: Option<String>,
    /// Who it is from.
    pub by: ItemOrigin,
    /// The entries that say it.
    pub sources: Vec<String>,
}

/// The items of these entries, by field. Markers begin with these words.
pub(super) fn items(covered: &[(EntryId, &Entry)], words: &MarkerWords) -> Vec<CheckpointItem> {
    let entries: Vec<_> = covered.iter().map(|(_, entry)| *entry).collect();
    let ledger = WorkLedger::of(&entries);
    let mut list = ItemList { covered, items: Vec::new() };
    list.said(CheckpointField::Intent, ItemOrigin::Person, ledger.deliverables);
    list.said(CheckpointField::Constraint, ItemOrigin::Person, ledger.constraints);
    list.marked(words);
    for option in ledger.rejected {
        list.add(CheckpointField::Rejected, ItemOrigin::Model, option.what, option.reason);
    }
    for file in ledger.files {
        let times = if file.times > 1 { format!(", {} times", file.times) } else { String::new() };
        let detail = format!("{}{times}", change(file.how));
        list.add(CheckpointField::File, ItemOrigin::Calls, file.path, Some(detail));
    }
    list.said(CheckpointField::Failure, ItemOrigin::Calls, MustKeepFacts::of(&entries).errors);
    list.said(CheckpointField::Done, ItemOrigin::Model, ledger.done);
    for item in ledger.plan {
        let (field, detail) = match item.state {
            PlanItemState::Done => (CheckpointField::Done, None),
            PlanItemState::InProgress => (CheckpointField::Open, Some("in progress".to_owned())),
            PlanItemState::Pending => (CheckpointField::Open, None),
            PlanItemState::Dropped => (CheckpointField::Rejected, Some("given up".to_owned())),
        };
        list.add(field, ItemOrigin::Calls, item.text, detail);
    }
    list.said(CheckpointField::Open, ItemOrigin::Model, ledger.in_progress);
    list.said(CheckpointField::Next, ItemOrigin::Model, ledger.next);
    list.items
}

fn change(how: FileChange) -> &'static str {
    match how {
        FileChange::Read => "read",
        FileChange::Modified => "modified",
        FileChange::Created => "created",
        FileChange::Deleted => "deleted",
    }
}

/// Items in the making.
struct ItemList<'a> {
    covered: &'a [(EntryId, &'a Entry)],
    items: Vec<CheckpointItem>,
}

impl ItemList<'_> {
    fn said(
        &mut self,
        field: CheckpointField,
        by: ItemOrigin,
        texts: impl IntoIterator<Item = String>,
    ) {
        texts.into_iter().for_each(|text| self.add(field, by, text, None));
    }

    /// Adds an item with the entries that say it, unless it is there.
    fn add(
        &mut self,
        field: CheckpointField,
        by: ItemOrigin,
        text: String,
        detail: Option<String>,
    ) {
        if self.items.iter().any(|item| item.field == field && item.text == text) {
            return;
        }
        let is_said =
            |said: &str| said.match_indices(&text).any(|(at, _)| is_alone(said, at, &text));
        let says = |entry: &Entry| match (by, field) {
            (ItemOrigin::Person, _) => entry.role == Role::User && entry.texts().any(is_said),
            (ItemOrigin::Model | ItemOrigin::Marker, _) => {
                entry.role == Role::Assistant && entry.texts().any(is_said)
            }
            (ItemOrigin::Calls, CheckpointField::File) => {
                entry.calls().any(|call| names(call, &text))
            }
            (ItemOrigin::Calls, _) => {
                entry.calls().any(|call| names(call, &text))
                    || entry.results().any(|result| is_said(&result.text))
                    || entry.texts().any(is_said)
            }
        };
        let sources = self.covered.iter().filter(|(_, entry)| says(entry));
        let sources = sources.map(|(id, _)| id.to_string()).collect();
        self.items.push(CheckpointItem { field, text, detail, by, sources });
    }

    /// Adds what the model marked.
    fn marked(&mut self, words: &MarkerWords) {
        for (_, entry) in self.covered.iter().filter(|(_, entry)| entry.role == Role::Assistant) {
            for found in entry.texts().flat_map(|text| markers(text, words)) {
                let field = match (found.kind, found.state.as_deref()) {
                    (FoundKind::Goal, _) => CheckpointField::Intent,
                    (FoundKind::Decision, _) => CheckpointField::Decision,
                    (FoundKind::Artifact, _) => CheckpointField::File,
                    (FoundKind::Milestone, Some("completed")) => CheckpointField::Done,
                    (FoundKind::Milestone, _) => CheckpointField::Open,
                    (FoundKind::Next, _) => CheckpointField::Next,
                };
                let state = found.state.map(|state| state.replace('_', " "));
                self.add(field, ItemOrigin::Marker, found.text, state);
            }
        }
    }
}

/// Whether a text that stands at a place of another is no part of a longer name.
fn is_alone(said: &str, at: usize, text: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (before, behind) = (&said[..at], &said[at + text.len()..]);
    let joins = |outer: Option<char>, inner: Option<char>| {
        outer.is_some_and(is_name) && inner.is_some_and(is_name)
    };
    !joins(before.chars().next_back(), text.chars().next())
        && !joins(behind.chars().next(), text.chars().next_back())
}

/// Whether a call says a text in one of its arguments.
fn names(call: &ToolCall, text: &str) -> bool {
    fn says(value: &Value, text: &str) -> bool {
        match value {
            Value::String(said) => said.match_indices(text).any(|(at, _)| is_alone(said, at, text)),
            Value::Array(items) => items.iter().any(|item| says(item, text)),
            Value::Object(fields) => fields.values().any(|field| says(field, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    serde_json::from_str(&call.arguments).is_ok_and(|arguments| says(&arguments, text))
        || call.arguments.match_indices(text).any(|(at, _)| is_alone(&call.arguments, at, text))
}

#[cfg(test)]
mod tests {
    use epitome_testkit::chat;

    use super::*;

    fn read(entries: &[Entry]) -> Vec<CheckpointItem> {
        let covered: Vec<_> = (3..).map(EntryId).zip(entries).collect();
        items(&covered, &MarkerWords::default())
    }

    #[test]
    fn each_item_names_the_entries_that_say_it() {
        let talk = chat()
            .user("Mend the parser. Never touch vendor/lib.rs.")
            .assistant("[DECISION] Spans are byte ranges - LOCKED\n[NEXT] write the tests")
            .entries();
        let items = read(&talk);
        let found = |field| {
            let of = items.iter().filter(move |item: &&CheckpointItem| item.field == field);
            of.map(|item| (&*item.text, item.by, item.sources.join(" "))).collect::<Vec<_>>()
        };
        assert_eq!(
            found(CheckpointField::Constraint),
            [("Never touch vendor/lib.rs.", ItemOrigin::Person, "e3".to_owned())]
        );
        assert_eq!(
            found(CheckpointField::Decision),
            [("Spans are byte ranges", ItemOrigin::Marker, "e4".to_owned())]
        );
        assert_eq!(
            found(CheckpointField::Next),
            [("write the tests", ItemOrigin::Marker, "e4".to_owned())]
        );
        let locked = items.iter().find(|item| item.field == CheckpointField::Decision);
        assert_eq!(locked.and_then(|item| item.detail.as_deref()), Some("locked"));
    }

    #[test]
    fn nothing_said_lists_nothing() {
        assert_eq!(read(&chat().assistant("So it is.").entries()), []);
    }
}
