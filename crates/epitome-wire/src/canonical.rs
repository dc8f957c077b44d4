//! One spelling for all ways to write a JSON value down.
//!
//! Invariant: two texts have the same spelling exactly where they are the same value, numbers
//! compared digit by digit. It is what a value is known by, never what is sent: clients write their
//! history anew with other spaces, escapes and orders of members (RULES 116).

use crate::WireError;
use crate::json::{Cursor, JsonValueKind, literal};

/// The one spelling of a JSON text, where that is not the text itself. What is no JSON has none.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let mut spelled = String::with_capacity(text.len());
    let mut cursor = Cursor::new(text, 0);
    spell(&mut cursor, &mut spelled).and_then(|()| cursor.end()).ok()?;
    (spelled != text).then_some(spelled)
}

/// Steps over one value and spells it. Recursion is bounded by the depth of sound JSON.
fn spell(cursor: &mut Cursor<'_>, out: &mut String) -> Result<(), WireError> {
    match cursor.peek_kind()? {
        JsonValueKind::Object => {
            let mut members = Vec::new();
            cursor.members(|key, cursor| {
                let mut value = String::new();
                spell(cursor, &mut value)?;
                members.push((key.str()?, value));
                Ok(())
            })?;
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            let members = members.into_iter().map(|(key, value)| literal(&key) + ":" + &value);
            enclose(out, ['{', '}'], members.collect());
        }
        JsonValueKind::Array => {
            let mut items = Vec::new();
            cursor.items(|cursor| {
                let mut item = String::new();
                spell(cursor, &mut item)?;
                items.push(item);
                Ok(())
            })?;
            enclose(out, ['[', ']'], items);
        }
        JsonValueKind::String => out.push_str(&literal(&cursor.value()?.str()?)),
        _ => out.push_str(cursor.value()?.raw()),
    }
    Ok(())
}

fn enclose(out: &mut String, [open, close]: [char; 2], items: Vec<String>) {
    out.push(open);
    out.push_str(&items.join(","));
    out.push(close);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[track_caller]
    fn check(text: &str, spelled: Option<&str>) {
        assert_eq!(canonical(text).as_deref(), spelled, "{text}");
    }

    #[test]
    fn spaces_escapes_and_order_make_no_other_value() {
        check(r#"{"a":[1,"x"],"b":null}"#, None);
        check(r#" { "b" : null, "a":[ 1 ,"x"] }"#, Some(r#"{"a":[1,"x"],"b":null}"#));
        check(r#"{"caf\u00e9":"\/"}"#, Some(r#"{"café":"/"}"#));
        check("{}", None);
        check("[ ]", Some("[]"));
        // Which of two members of one name counts is for the reader to say.
        check(r#"{"b":1,"a":2,"a":1}"#, Some(r#"{"a":2,"a":1,"b":1}"#));
    }

    #[test]
    fn numbers_keep_their_digits_and_no_json_has_no_spelling() {
        check("[2.50,12345678901234567890123]", None);
        check("", None);
        check("{\"a\":", None);
        check("ls -la", None);
        check(&"[".repeat(100_000), None);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..4)
                    .prop_map(|members| { Value::Object(members.into_iter().collect()) }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_spelling_says_the_same_and_is_its_own(value in value()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let compact = value.to_string();
            let spelled = |text: &str| canonical(text).unwrap_or_else(|| text.to_owned());
            prop_assert_eq!(spelled(&pretty), spelled(&compact));
            prop_assert_eq!(canonical(&spelled(&pretty)), None);
            prop_assert_eq!(serde_json::from_str::<Value>(&spelled(&pretty)).unwrap(), value);
        }

        #[test]
        fn any_text_is_taken(text in ".{0,40}") {
            if let Some(spelled) = canonical(&text) {
                prop_assert_eq!(canonical(&spelled), None);
            }
        }
    }
}
