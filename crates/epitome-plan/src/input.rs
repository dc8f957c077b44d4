//! Arguments of calls that wrote what is on disk, shortened.
//!
//! Invariant: an object keeps its names, their order, and every value but long texts, byte for
//! byte; what is no object is one text and becomes another. Called where a policy orders it, by the
//! ladder, and for the originals.

use std::ops::Range;

use serde_json::value::RawValue;

/// The length of an ordinary line, in bytes: what is no longer stays, and so do the paths and names
/// among the arguments.
const LINE: usize = 120;

/// Stands for long texts beside the one that is replaced.
const GONE: &str = "…";

/// The arguments with a text in the place of the longest of theirs, and little in the place of
/// other long ones; `None` where no text among them is long.
pub(crate) fn truncated(arguments: &str, with: &str) -> Option<String> {
    let Some(mut texts) = texts(arguments) else { return Some(with.to_owned()) };
    texts.retain(|one| is_long(&one.text));
    let longest = texts.iter().max_by_key(|one| one.text.len())?.at.start;
    let mut out = String::with_capacity(arguments.len() / 2);
    let mut from = 0;
    for ArgumentText { at, .. } in &texts {
        let new = if at.start == longest { with } else { GONE };
        out.push_str(&arguments[from..at.start]);
        out.push_str(&serde_json::Value::from(new).to_string());
        from = at.end;
    }
    out.push_str(&arguments[from..]);
    Some(out)
}

/// The texts among the arguments that may leave them, as they are without their escapes.
pub(crate) fn long_texts(arguments: &str) -> Vec<String> {
    let Some(texts) = texts(arguments) else { return vec![arguments.to_owned()] };
    texts.into_iter().map(|one| one.text).filter(|text| is_long(text)).collect()
}

fn is_long(text: &str) -> bool {
    text.len() > LINE || text.contains('\n')
}

/// A text among arguments: where its literal stands, and what it says.
struct ArgumentText {
    at: Range<usize>,
    text: String,
}

/// The texts among the values of an object, in order; `None` where the arguments are none.
fn texts(arguments: &str) -> Option<Vec<ArgumentText>> {
    let whole: &RawValue = serde_json::from_str(arguments).ok()?;
    if !whole.get().starts_with('{') {
        return None;
    }
    let bytes = arguments.as_bytes();
    let mut texts = Vec::new();
    let mut at = 0;
    while let Some(more) = bytes.get(at..)?.iter().position(|byte| *byte == b'"') {
        let start = at + more;
        at = end_of_literal(bytes, start);
        let next = bytes.get(at..)?.iter().find(|byte| !byte.is_ascii_whitespace());
        if next != Some(&b':') {
            let text = serde_json::from_str(arguments.get(start..at)?).ok()?;
            texts.push(ArgumentText { at: start..at, text });
        }
    }
    Some(texts)
}

/// The place behind the literal that begins at `start`.
fn end_of_literal(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn check(arguments: &str, expected: Option<&str>) {
        assert_eq!(truncated(arguments, "on \"disk\"").as_deref(), expected, "{arguments}");
    }

    #[test]
    fn the_longest_text_is_replaced_and_the_rest_stays() {
        check(
            r#"{ "path" : "a.rs", "n":1.0, "content":"one\ntwo\u00e9", "ok":[true,null] }"#,
            Some(r#"{ "path" : "a.rs", "n":1.0, "content":"on \"disk\"", "ok":[true,null] }"#),
        );
        check(
            r#"{"file_path":"a","old_string":"x\ny","new_string":"x\ny\nz","note":"a note"}"#,
            Some(
                r#"{"file_path":"a","old_string":"…","new_string":"on \"disk\"","note":"a note"}"#,
            ),
        );
        check(
            r#"{"edits":[{"new":"a \"quoted\"\n text\\"},{"new":"b\n"}]}"#,
            Some(r#"{"edits":[{"new":"on \"disk\""},{"new":"…"}]}"#),
        );
    }

    #[test]
    fn what_is_no_object_is_one_text() {
        check("*** Begin Patch", Some("on \"disk\""));
        check("[\"a\"]", Some("on \"disk\""));
        check(r#"{"n":1,"path":"a/long/path/of/a/short/file.rs","content":"x"}"#, None);
        assert_eq!(long_texts("*** Begin"), ["*** Begin"]);
    }

    #[test]
    fn long_texts_are_told_without_their_escapes() {
        let arguments = json!({ "path": "a.rs", "content": "one\ntwo", "old": "x".repeat(121) });
        assert_eq!(long_texts(&arguments.to_string()), ["one\ntwo".to_owned(), "x".repeat(121)]);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\\n:{}é]{0,200}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z\":]{0,5}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same value, the texts left out.
    fn shape(value: &Value) -> Value {
        match value {
            Value::String(_) => Value::from(""),
            Value::Array(items) => items.iter().map(shape).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, value)| (key.clone(), shape(value))).collect()
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn an_object_keeps_its_shape(
            map in prop::collection::btree_map("[a-z\":]{0,5}", value(), 0..5),
            with in "[a-z\"\\\\\n]{0,30}",
            pretty: bool,
        ) {
            let object = Value::Object(map.into_iter().collect());
            let text = if pretty { format!("{object:#}") } else { object.to_string() };
            let Some(short) = truncated(&text, &with) else { return Ok(()) };
            let short: Value = serde_json::from_str(&short).unwrap();
            prop_assert_eq!(shape(&short), shape(&object));
            let said = short.to_string();
            prop_assert!(said.contains(&Value::from(with.as_str()).to_string()), "{}", said);
        }
    }
}
