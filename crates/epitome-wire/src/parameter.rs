//! Parameters of a request: what stands in it beside the conversation.
//!
//! Invariant: of a request nothing changes but the one number. Called by whoever asks models, and by
//! the proxy.

use crate::json::{self, Object};

/// What a request says of a parameter, as JSON, unless that is `null`. `path` leads to it from member
/// to member.
pub fn parameter<'b>(body: &'b [u8], path: &[&str]) -> Option<&'b str> {
    let (last, outer) = path.split_last()?;
    let mut object = whole(body)?;
    for key in outer {
        object = object.some(key)?.as_object()?;
    }
    Some(object.some(last)?.raw())
}

/// The request with this number for a parameter; one that says nothing of it gets the member at the
/// end of the object that it belongs in, so that all before it stays where it is. `None` where the request is no object, or it cannot be
/// told which member counts.
pub fn with_parameter(body: &[u8], path: &[&str], number: u64) -> Option<Vec<u8>> {
    let spliced = |start: usize, end: usize, with: &str| {
        Some([body.get(..start)?, with.as_bytes(), body.get(end..)?].concat())
    };
    let mut object = whole(body)?;
    for (depth, key) in path.iter().enumerate() {
        let value = match object.places(key)[..] {
            [] => {
                let inside = object.value.span().end() - 1;
                let comma = if object.members.is_empty() { "" } else { "," };
                let member = format!("{comma}{}", member(path.get(depth..)?, number));
                return spliced(inside, inside, &member);
            }
            [place] => object.members.get(place)?.1,
            _ => return None,
        };
        if depth + 1 == path.len() {
            let span = value.span();
            return spliced(span.start(), span.end(), &number.to_string());
        }
        object = value.as_object()?;
    }
    None
}

fn whole(body: &[u8]) -> Option<Object<'_>> {
    json::parse(json::text(body).ok()?).ok()?.as_object()
}

/// A member that leads to the number.
fn member(path: &[&str], number: u64) -> String {
    match path {
        [] => String::new(),
        [key] => format!("\"{key}\":{number}"),
        [key, rest @ ..] => format!("\"{key}\":{{{}}}", member(rest, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: [&str; 2] = ["options", "num_ctx"];

    #[track_caller]
    fn check(body: &str, known: Option<&str>, expected: Option<&str>) {
        assert_eq!(parameter(body.as_bytes(), &PATH), known);
        let made = with_parameter(body.as_bytes(), &PATH, 8192);
        let made = made.map(|made| String::from_utf8(made).unwrap());
        assert_eq!(made.as_deref(), expected);
    }

    #[test]
    fn nothing_changes_but_the_number() {
        check("{}", None, Some(r#"{"options":{"num_ctx":8192}}"#));
        check(
            r#" {"model" : "m","messages":[{"options":{}}]}"#,
            None,
            Some(r#" {"model" : "m","messages":[{"options":{}}],"options":{"num_ctx":8192}}"#),
        );
        check(
            r#"{"options": { "seed":1.0 } ,"model":"m"}"#,
            None,
            Some(r#"{"options": { "seed":1.0 ,"num_ctx":8192} ,"model":"m"}"#),
        );
        check(r#"{"options":{ }}"#, None, Some(r#"{"options":{ "num_ctx":8192}}"#));
        check(
            r#"{"options":{"a":{"num_ctx":1},"num_ctx": 2048}}"#,
            Some("2048"),
            Some(r#"{"options":{"a":{"num_ctx":1},"num_ctx": 8192}}"#),
        );
        check(r#"{"options":{"num_ctx":null}}"#, None, Some(r#"{"options":{"num_ctx":8192}}"#));
    }

    #[test]
    fn what_cannot_be_told_is_left_alone() {
        check(r#"{"options":[8]}"#, None, None);
        check(r#"{"options":null}"#, None, None);
        check(r#"{"options":{"num_ctx":1},"options":{"num_ctx":2}}"#, Some("2"), None);
        check(r#"{"options":{"num_ctx":1,"num_ctx":2}}"#, Some("2"), None);
        check("[{}]", None, None);
        check("{", None, None);
    }
}
