//! The context size that Ollama is told to make room for, where its user chose one.
//!
//! Invariant: of a request nothing changes but `options.num_ctx`, and that only ever grows: one that
//! asks for more goes as it came. The same size is told with each request, so that no model is loaded
//! anew and what its server has cached stays of use (SPEC 3.1, hazard 9). Called by `prepare`.

use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Request<'b> {
    #[serde(borrow, default, deserialize_with = "said")]
    options: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct Options<'b> {
    #[serde(borrow, default, deserialize_with = "said")]
    num_ctx: Option<&'b RawValue>,
}

/// What is said, `null` too.
fn said<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// A request that asks for at least so many tokens of context; `None` where it does already, or
/// cannot be read.
pub(crate) fn with_room(body: &[u8], size: u64) -> Option<Bytes> {
    let whole = std::str::from_utf8(body).ok().filter(|it| it.trim_start().starts_with('{'))?;
    let Request { options } = serde_json::from_str(whole).ok()?;
    let Some(options) = options else {
        return Some(begun(whole, 0, &format!("\"options\":{{\"num_ctx\":{size}}}")));
    };
    let (at, object) = (place(whole, options), options.get());
    let Options { num_ctx } =
        serde_json::from_str(object).ok().filter(|_| object.starts_with('{'))?;
    let Some(known) = num_ctx else {
        return Some(begun(whole, at, &format!("\"num_ctx\":{size}")));
    };
    if known.get().parse::<u64>().is_ok_and(|known| known >= size) {
        return None;
    }
    let start = place(whole, known);
    let (before, after) = (&whole[..start], &whole[start + known.get().len()..]);
    Some(format!("{before}{size}{after}").into())
}

/// The text with a member at the beginning of the object that begins at this byte or shortly after.
fn begun(whole: &str, at: usize, member: &str) -> Bytes {
    let inside = whole[at..].find('{').map_or(at, |brace| at + brace + 1);
    let (before, after) = whole.split_at(inside);
    let comma = if after.trim_start().starts_with('}') { "" } else { "," };
    format!("{before}{member}{comma}{after}").into()
}

/// Where a value stands in the text that it was read from.
fn place(whole: &str, value: &RawValue) -> usize {
    value.get().as_ptr() as usize - whole.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Option<&str>) {
        let told = with_room(body.as_bytes(), 8192);
        assert_eq!(told.as_deref().map(|it| std::str::from_utf8(it).unwrap()), expected);
    }

    #[test]
    fn nothing_changes_but_the_context_size() {
        check(r#"{}"#, Some(r#"{"options":{"num_ctx":8192}}"#));
        check(
            r#" {"model" : "m","messages":[{"options":{}}]}"#,
            Some(r#" {"options":{"num_ctx":8192},"model" : "m","messages":[{"options":{}}]}"#),
        );
        check(
            r#"{"options": { "seed":1.0 } ,"model":"m"}"#,
            Some(r#"{"options": {"num_ctx":8192, "seed":1.0 } ,"model":"m"}"#),
        );
        check(r#"{"options":{ }}"#, Some(r#"{"options":{"num_ctx":8192 }}"#));
        check(
            r#"{"options":{"a":{"num_ctx":1},"num_ctx": 2048}}"#,
            Some(r#"{"options":{"a":{"num_ctx":1},"num_ctx": 8192}}"#),
        );
    }

    #[test]
    fn whoever_asks_for_more_or_cannot_be_read_is_left_alone() {
        check(r#"{"options":{"num_ctx":8192}}"#, None);
        check(r#"{"options":{"num_ctx":131072}}"#, None);
        check(r#"{"options":[8]}"#, None);
        check(r#"{"options":{"num_ctx":1},"options":{}}"#, None);
        check(r#"{"options":null}"#, None);
        check("[]", None);
        check("[{}]", None);
    }
}
