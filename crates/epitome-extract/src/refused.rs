//! What a result in JSON says of a failure, by its fields.
//!
//! Invariant: what is told are whole rows of the result. Called by [`crate::calls`].

use std::rc::Rc;

use serde_json::{Map, Value};

use crate::row_object;
use crate::rows::{self, FieldRow};

/// What is told of a failure has about so many bytes at most.
const MOST: usize = 240;
/// No larger result is asked.
const LARGEST: usize = 1 << 16;

/// Fields that are false where something failed.
const FLAGS: [&str; 3] = ["ok", "success", "succeeded"];
/// Fields that say how something ended, and how they do where it failed.
const STATES: [&str; 4] = ["status", "state", "result", "outcome"];
const FAILED: [&str; 10] = [
    "rejected",
    "failed",
    "failure",
    "error",
    "denied",
    "refused",
    "declined",
    "aborted",
    "cancelled",
    "timeout",
];
/// Fields with a number other than 0 where something failed.
const CODES: [&str; 4] = ["exit_code", "exitcode", "exit_status", "returncode"];
/// Fields that say nothing unless something failed.
const ERRORS: [&str; 2] = ["error", "errors"];

/// The rows that say that a call failed, where its result does at its own level or below `summary`.
pub(crate) fn told(text: &str) -> Option<String> {
    let map = object(text)?;
    if !fails(&map) {
        return None;
    }
    let rows = rows::of(text)?;
    let own = is_whole(text);
    let failed: Vec<_> = rows.iter().filter(|row| says(row)).collect();
    let is_told =
        |row: &&FieldRow| own || failed.iter().any(|it| *it == *row || is_beside(row, it));
    let mut out = String::new();
    let mut last: Option<&FieldRow> = None;
    for row in rows.iter().filter(is_told) {
        let goes_on = last.is_some_and(|last| is_beside(row, last));
        let line = if goes_on { row.text.clone() } else { line(row) };
        if !out.is_empty() && out.len() + line.len() > MOST {
            continue;
        }
        out.push_str(match (out.is_empty(), goes_on) {
            (true, _) => "",
            (false, true) => ", ",
            (false, false) => "; ",
        });
        out.push_str(&line);
        last = Some(row);
    }
    Some(out).filter(|out| !out.is_empty())
}

/// Whether a result says little but that: then nothing came of its call.
pub(crate) fn is_whole(text: &str) -> bool {
    text.len() <= MOST && object(text).is_some_and(|map| fails(&map))
}

fn object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    if !text.starts_with('{') || text.len() > LARGEST {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn fails(map: &Map<String, Value>) -> bool {
    map.iter().any(|(key, value)| match value {
        Value::Object(inner) if key == "summary" => fails(inner),
        Value::Object(inner) if ERRORS.contains(&&**key) => !inner.is_empty(),
        Value::Array(_) => false,
        value => is_failure(key, value),
    })
}

fn is_failure(key: &str, value: &Value) -> bool {
    let key = key.to_ascii_lowercase();
    let key = &*key;
    match value {
        Value::Bool(flag) => !flag && FLAGS.contains(&key) || *flag && ERRORS.contains(&key),
        Value::Number(number) => CODES.contains(&key) && number.as_i64() != Some(0),
        Value::String(text) => {
            STATES.contains(&key) && FAILED.contains(&&*text.to_ascii_lowercase())
                || ERRORS.contains(&key) && !text.trim().is_empty()
        }
        _ => false,
    }
}

/// Whether two rows are of one object: what failed may be told in several.
fn is_beside(row: &FieldRow, other: &FieldRow) -> bool {
    match (&row.object, &other.object) {
        (Some(of), Some(other_of)) => Rc::ptr_eq(of, other_of) && row.path == other.path,
        _ => false,
    }
}

/// Whether a row says that something failed.
fn says(row: &FieldRow) -> bool {
    row.path.as_deref().is_some_and(|path| ERRORS.contains(&path))
        || row.fields.iter().any(|(key, range)| {
            let text = &row.text[range.clone()];
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            is_failure(key, &value)
        })
}

fn line(row: &FieldRow) -> String {
    let objects: Vec<_> = row.object.iter().collect();
    let named = objects.first().is_some_and(|it| it.is_said(&row.fields, &row.text));
    let mut out = String::new();
    row_object::tell(if named { &[] } else { &objects }, row.path.as_deref(), &mut out);
    out + &row.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_by_its_fields_that_its_call_failed() {
        let refused = r#"{"status": "rejected", "code": "TOO_LATE", "charged": 0}"#;
        assert_eq!(told(refused).as_deref(), Some("status rejected, code TOO_LATE, charged 0"));
        assert!(is_whole(refused));
        let steps = |code: u32| {
            format!(
                r#"{{"service":"web","steps":[{{"name":"build","ok":true,"log":"{}"}},
                {{"name":"switch","ok":{},"exit_code":{code},"stderr":"port in use"}}],
                "summary":{{"finished":true,"exit_code":{code}}}}}"#,
                "a ".repeat(120),
                code == 0
            )
        };
        let told_of_steps = "steps: name switch, ok false, exit_code 1, stderr port in use; summary: finished true, exit_code 1";
        assert_eq!(told(&steps(1)).as_deref(), Some(told_of_steps));
        assert_eq!(told(&steps(0)), None);
        assert_eq!(told(r#"{"status": "delayed", "errors": null}"#), None);
        assert_eq!(told("Error: no"), None);
    }
}
