//! When two calls of a tool ask for the same.
//!
//! Invariant: the order of arguments and `./` before a path make no difference. Which lines of a file
//! are asked for makes one only where that is asked.

use serde_json::Value;

/// Arguments that say which part of something is asked for.
const RANGES: &[&str] = &[
    "offset",
    "limit",
    "start",
    "end",
    "start_line",
    "end_line",
    "line_start",
    "line_end",
    "lines",
    "max_lines",
    "view_range",
    "range",
];

/// A call without the order of its arguments.
#[cfg(any(test, feature = "experiments"))]
pub(crate) fn same_call(tool: &str, arguments: &str) -> String {
    written(tool, arguments, &[])
}

/// The same, whichever part of a thing it asks for.
pub(crate) fn same_subject(tool: &str, arguments: &str) -> String {
    written(tool, arguments, RANGES)
}

fn written(tool: &str, arguments: &str, without: &[&str]) -> String {
    let arguments = match serde_json::from_str(arguments) {
        Ok(Value::Object(mut fields)) => {
            fields.retain(|key, _| !without.contains(&key.as_str()));
            sorted(Value::Object(fields)).to_string()
        }
        Ok(value) => sorted(value).to_string(),
        Err(_) => arguments.trim().to_owned(),
    };
    format!("{tool} {arguments}")
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::String(text) => match text.strip_prefix("./") {
            Some(path) => Value::String(path.to_owned()),
            None => Value::String(text),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_counts_and_not_how() {
        let check = |one: &str, other: &str, same: bool, of_one: bool| {
            assert_eq!(same_call("read", one) == same_call("read", other), same, "{one} {other}");
            let subjects = [one, other].map(|arguments| same_subject("read", arguments));
            assert_eq!(subjects[0] == subjects[1], of_one, "{one} {other}");
        };
        check(r#"{"path":"a","limit":9}"#, r#"{"limit":9,"path":"./a"}"#, true, true);
        check(r#"{"path":"a","limit":9}"#, r#"{"path":"a","offset":3}"#, false, true);
        check(r#"{"path":"a"}"#, r#"{"path":"b"}"#, false, false);
        check("not JSON", " not JSON ", true, true);
        assert_ne!(same_call("read", "{}"), same_call("list", "{}"));
    }
}
