//! Jobs and answers in short, for people and for lines of JSON.
//!
//! Invariant: no text of a conversation and no list of messages is in it, only how many there are.

use epitome::types::hook::TableShape;
use epitome::{HOOKS, Job};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::text::clipped;

/// The most characters of a text.
const MOST: usize = 60;

/// What every event says, beside what happened.
const OF_EVERY_EVENT: [&str; 3] = ["session", "at", "tokens"];

/// What a job says, but for what every job says and what is no news to the hook.
pub(super) fn job(job: &Job<'_>) -> Map<String, Value> {
    let common = job.common();
    let mut brief = Map::new();
    brief.insert("tokens".to_owned(), json!(common.tokens.total));
    brief.insert("limit".to_owned(), json!(common.model.limit));
    let Ok(Value::Object(whole)) = serde_json::to_value(job) else { return brief };
    let fields = HOOKS.iter().find(|hook| hook.name == job.hook()).map(|hook| own(hook.job));
    for name in fields.into_iter().flatten().filter(|name| *name != "budgets") {
        if let Some(value) = whole.get(name).and_then(short) {
            brief.insert(name.to_owned(), value);
        }
    }
    if let Some(Value::Object(event)) = brief.get_mut("event") {
        OF_EVERY_EVENT.iter().for_each(|name| drop(event.shift_remove(*name)));
    }
    brief
}

/// The fields of a job that other jobs do not have.
fn own(table: &'static TableShape) -> impl Iterator<Item = &'static str> {
    table.own_fields().map(|field| field.name)
}

/// An answer, without what it leaves open; its texts are clipped.
pub(super) fn answer(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).ok().as_ref().and_then(stated).unwrap_or_default()
}

/// A value without what is not there; texts are clipped.
fn stated(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Value::String(clipped(text, MOST))),
        Value::Array(values) => Some(values.iter().filter_map(stated).collect()),
        Value::Object(fields) => {
            let fields =
                fields.iter().filter_map(|(name, value)| Some((name.clone(), stated(value)?)));
            Some(Value::Object(fields.collect()))
        }
        other => Some(other.clone()),
    }
}

/// The same, with lists and columns as their length.
fn short(value: &Value) -> Option<Value> {
    match value {
        Value::Array(values) => Some(json!(values.len())),
        Value::Object(fields) => match fields.get("count") {
            Some(count) => Some(count.clone()),
            None => {
                let fields = fields.iter();
                let short = fields.filter_map(|(name, value)| Some((name.clone(), short(value)?)));
                Some(Value::Object(short.collect()))
            }
        },
        value => stated(value),
    }
}

/// A value as people read it: `soft 4410, hard 6800`.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => "nothing".to_owned(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::Object(_) => format!("{name} {{{}}}", words(value)),
                value => format!("{name} {}", words(value)),
            };
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        Value::Array(values) => {
            let item = |value: &Value| match value {
                Value::Object(_) => format!("{{{}}}", words(value)),
                value => words(value),
            };
            let numbers: Option<Vec<u64>> = values.iter().map(Value::as_u64).collect();
            match numbers {
                Some(numbers) => format!("[{}]", runs(&numbers)),
                None => format!("[{}]", values.iter().map(item).collect::<Vec<_>>().join(", ")),
            }
        }
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            let digits = format!("{number:.3}");
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        other => other.to_string(),
    }
}

/// Numbers with their runs in short: `2-9 12`.
fn runs(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[u64]| match run {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(u64::to_string).collect(),
    };
    runs.map(run).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use epitome::types::hook::{BudgetsJob, Columns, Common, TriggerJob};

    use super::*;

    #[track_caller]
    fn check(value: Value, expected: &str) {
        assert_eq!(words(&answer(&value)), expected);
    }

    #[test]
    fn answers_are_read_without_what_they_leave_open() {
        check(json!({ "soft": 4410, "hard": null }), "soft 4410");
        check(json!(false), "false");
        check(json!({}), "nothing");
        check(json!([]), "[]");
        let ops = json!({ "ops": [{ "op": "drop", "entries": [2, 3, 4, 9] }], "reason": "room" });
        check(ops, "ops [{op drop, entries [2-4 9]}], reason room");
        check(json!("x".repeat(90)), &("x".repeat(59) + "…"));
        check(json!({ "used": 0.034_85, "all": 1.0 }), "used 0.035, all 1");
    }

    #[test]
    fn jobs_say_what_is_theirs() {
        let common = Common::default();
        let trigger = TriggerJob {
            common: common.clone(),
            cause: epitome::types::hook::Occasion::Turn,
            new_model_message: true,
            floor: 12,
            budgets: Default::default(),
            cache: Default::default(),
            stalled_at: None,
            new_results: Vec::new(),
            requested_by: None,
            recall_pending: false,
            watermark: None,
        };
        let brief = words(&Value::Object(job(&Job::Trigger(&trigger))));
        assert!(
            brief.starts_with("tokens 0, limit 0, cause turn, new_model_message true, floor 12"),
            "{brief}"
        );
        assert!(!brief.contains("stalled") && !brief.contains("budgets"), "{brief}");
        let budgets = BudgetsJob { common };
        assert_eq!(words(&Value::Object(job(&Job::Budgets(&budgets)))), "tokens 0, limit 0");
        let columns = Columns { count: 7, ..Columns::default() };
        assert_eq!(short(&serde_json::to_value(columns).unwrap()), Some(json!(7)));
    }
}
