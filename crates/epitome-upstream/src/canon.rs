//! One text for each JSON value, whatever the order of its members; the cache and the sizes of
//! prompts are worked out on it.
//!
//! Invariant: it is what Python's `json.dumps(value, sort_keys=True)` writes, so figures can be
//! compared with those of scripts. Used by `cache` and `server`.

use serde_json::Value;

/// Writes a value with sorted members, without its own `cache_control` member.
pub(crate) fn without_marker(value: &Value) -> String {
    let mut out = String::new();
    write(value, true, &mut out);
    out
}

/// Writes a value with sorted members.
pub(crate) fn whole(value: &Value) -> String {
    let mut out = String::new();
    write(value, false, &mut out);
    out
}

fn write(value: &Value, bare: bool, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().filter(|(key, _)| !(bare && *key == "cache_control")).collect();
            members.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                text(key, out);
                out.push_str(": ");
                write(value, false, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, value) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write(value, false, out);
            }
            out.push(']');
        }
        Value::String(value) => text(value, out),
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

fn text(value: &str, out: &mut String) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_sorted_and_letters_escaped() {
        let value = json!({"b": [1, 2.5, null], "a": {"é": "x\n😀"}, "cache_control": {"t": 1}});
        assert_eq!(
            without_marker(&value),
            "{\"a\": {\"\\u00e9\": \"x\\n\\ud83d\\ude00\"}, \"b\": [1, 2.5, null]}"
        );
        assert!(whole(&value).contains("cache_control"));
    }
}
