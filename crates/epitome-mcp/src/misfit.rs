//! What is wrong with an argument, by the schema of what a tool takes.
//!
//! Invariant: what is said names the argument, what it was, and what it may be. Nothing is said of what
//! the schema allows. Called where arguments cannot be read.

use rmcp::model::JsonObject;
use serde_json::Value;

/// So many characters of a value are repeated.
const SHOWN: usize = 60;

/// The first argument that is not what a schema wants, and what it may be.
pub(crate) fn misfit(schema: &JsonObject, arguments: &JsonObject) -> Option<String> {
    let properties = schema.get("properties")?;
    arguments.iter().find_map(|(name, given)| {
        let expected = expected(properties.get(name)?, given)?;
        Some(format!("`{name}` is {}; {expected}", shown(given)))
    })
}

/// What is expected in the place of a value that does not fit.
fn expected(declared: &Value, given: &Value) -> Option<String> {
    if given.is_null() {
        return None;
    }
    if let Some(words) = declared["enum"].as_array() {
        let names = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`"));
        let names = || names.collect::<Vec<_>>().join(", ");
        return (!words.contains(given)).then(|| format!("it may be {}", names()));
    }
    match declared["type"].as_str()? {
        "string" => (!given.is_string()).then(|| "expected a text".to_owned()),
        "boolean" => (!given.is_boolean()).then(|| "expected true or false".to_owned()),
        "integer" => {
            let [least, most] = ["minimum", "maximum"].map(|bound| declared[bound].as_u64());
            let range = least.unwrap_or(0)..=most.unwrap_or(u64::MAX);
            let fits = given.as_u64().is_some_and(|number| range.contains(&number));
            (!fits).then(|| match most {
                Some(most) => format!("it may be {} to {most}", range.start()),
                None => format!("expected a whole number from {} up", range.start()),
            })
        }
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::args::{GoalToolArgs, RecallToolArgs};
    use crate::schema::of_input;

    #[test]
    fn arguments_that_do_not_fit_are_named_with_what_they_may_be() {
        let check = |schema: JsonObject, arguments: Value, expected: Option<&str>| {
            let arguments = arguments.as_object().unwrap();
            assert_eq!(misfit(&schema, arguments).as_deref(), expected, "{arguments:?}");
        };
        let recall = of_input::<RecallToolArgs>;
        check(recall(), json!({"query": "x", "max_tokens": 8000, "id": null}), None);
        check(recall(), json!({"query": 5}), Some("`query` is 5; expected a text"));
        let most = Some("`max_tokens` is -1; it may be 1 to 8000");
        check(recall(), json!({"query": "x", "max_tokens": -1}), most);
        let much = Some("`max_tokens` is \"much\"; it may be 1 to 8000");
        check(recall(), json!({"max_tokens": "much"}), much);
        let pinned = Some("`locked` is \"yes\"; expected true or false");
        check(of_input::<GoalToolArgs>(), json!({"locked": "yes"}), pinned);
        let long = json!({"query": ["x".repeat(90)]});
        let said = misfit(&recall(), long.as_object().unwrap()).unwrap();
        assert!(said.ends_with("x…; expected a text") && said.len() < 100, "{said}");
        let said =
            misfit(&of_input::<GoalToolArgs>(), json!({"action": "fly"}).as_object().unwrap());
        assert!(said.unwrap().starts_with("`action` is \"fly\"; it may be `list`, `set`, "));
    }
}
