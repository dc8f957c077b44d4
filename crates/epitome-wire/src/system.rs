//! The system prompt of a request: what it says, and the same request with another one.
//!
//! Invariant: nothing but the system prompt changes, and a cache mark at its end stays there.
//! Called by hosts that own a prompt; behind the proxy nobody touches a client's.

use crate::json::{self, JsonValue, JsonValueKind, literal};
use crate::scan::RequestScan;
use crate::{Format, WireError};

/// Where a system prompt stands, or would.
enum Seat<'a> {
    /// It is there, as this value.
    Taken(JsonValue<'a>),
    /// There is none; these bytes belong at this place, with the text between them.
    Free(usize, [String; 2]),
}

/// What the system prompt of a scanned request says; `None` where it has none.
///
/// # Errors
///
/// When the body is no JSON.
pub fn system(
    body: &[u8],
    format: Format,
    scan: &RequestScan,
) -> Result<Option<String>, WireError> {
    let Seat::Taken(value) = seat(json::text(body)?, format, scan)? else { return Ok(None) };
    let texts = match value.kind() {
        JsonValueKind::Array => value.items()?.into_iter().filter_map(text_of).collect(),
        _ => vec![value],
    };
    let texts: Vec<_> = texts.into_iter().filter_map(JsonValue::as_str).collect();
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// A scanned request whose system prompt says this. Of one in several blocks the last keeps its
/// place and its cache mark; where there is none, it is added.
///
/// # Errors
///
/// When the body is no JSON.
pub fn with_system(
    body: &[u8],
    format: Format,
    scan: &RequestScan,
    text: &str,
) -> Result<Vec<u8>, WireError> {
    let (whole, text) = (json::text(body)?, literal(text));
    let (range, with) = match seat(whole, format, scan)? {
        Seat::Taken(value) => {
            let span = value.span();
            (span.range(), reworded(whole, value, &text)?)
        }
        Seat::Free(at, [before, after]) => (at..at, [&before, &*text, &after].concat()),
    };
    let mut out = Vec::with_capacity(body.len() + with.len());
    out.extend_from_slice(body.get(..range.start).unwrap_or_default());
    out.extend_from_slice(with.as_bytes());
    out.extend_from_slice(body.get(range.end..).unwrap_or_default());
    Ok(out)
}

fn seat<'a>(body: &'a str, format: Format, scan: &RequestScan) -> Result<Seat<'a>, WireError> {
    let value = |range: &std::ops::Range<usize>| json::Cursor::new(body, range.start).value();
    if let Some(system) = &scan.system {
        return Ok(Seat::Taken(value(&system.range)?));
    }
    if let Some(key) = format.nearest().system() {
        let whole = json::parse(body)?;
        // The member may be there and say nothing.
        return Ok(match whole.object()?.get(key) {
            Some(empty) => Seat::Taken(empty),
            None => Seat::Free(whole.span().start() + 1, [format!("\"{key}\":"), ",".to_owned()]),
        });
    }
    let Some(first) = scan.messages.first() else {
        let at = scan.list.end.saturating_sub(1);
        return Ok(Seat::Free(at, [opening(), "}".to_owned()]));
    };
    let message = value(&first.range)?.object()?;
    let is_system = matches!(message.text("role").as_deref(), Some("system" | "developer"));
    match message.some("content").filter(|_| is_system) {
        Some(content) => Ok(Seat::Taken(content)),
        None => Ok(Seat::Free(first.range.start, [opening(), "},\n".to_owned()])),
    }
}

/// The beginning of a message that is a system prompt.
fn opening() -> String {
    r#"{"role":"system","content":"#.to_owned()
}

/// A value that says this instead: a JSON string, or the last of its blocks with it.
fn reworded(body: &str, value: JsonValue<'_>, text: &str) -> Result<String, WireError> {
    if value.kind() != JsonValueKind::Array {
        return Ok(text.to_owned());
    }
    let last = value.items()?.into_iter().rev().find_map(|block| Some((block, text_of(block)?)));
    let Some((block, old)) = last else {
        return Ok(format!(r#"[{{"type":"text","text":{text}}}]"#));
    };
    let (block, old) = (block.span(), old.span());
    let [before, after] = [block.start()..old.start(), old.end()..block.end()];
    let part = |range| body.get(range).unwrap_or_default();
    Ok(format!("[{}{text}{}]", part(before), part(after)))
}

/// The text of a block.
fn text_of(block: JsonValue<'_>) -> Option<JsonValue<'_>> {
    block.as_object()?.get("text").filter(|text| text.kind() == JsonValueKind::String)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::scan;
    use crate::validate;

    /// What a system prompt says, and the request with another one.
    #[track_caller]
    fn check(format: Format, body: &str, says: Option<&str>, expected: &str) {
        let of = |body: &str| system(body.as_bytes(), format, &scan(body.as_bytes(), format)?);
        assert_eq!(of(body), Ok(says.map(str::to_owned)), "{body}");
        let known = scan(body.as_bytes(), format).unwrap();
        let made = with_system(body.as_bytes(), format, &known, "Say \"no\".").unwrap();
        let made = String::from_utf8(made).unwrap();
        assert_eq!(made, expected);
        assert_eq!(of(&made), Ok(Some("Say \"no\".".to_owned())), "{made}");
        assert_eq!(
            validate(format, made.as_bytes()).is_ok(),
            validate(format, body.as_bytes()).is_ok()
        );
    }

    #[test]
    fn a_member_is_set_or_added() {
        let messages = r#""messages":[{"role":"user","content":"Hi"}]}"#;
        let with = |system: &str| format!("{{\"max_tokens\":9,{system}{messages}");
        let [string, none] = [with(r#""system":"Be brief.","#), with("")];
        let made = with(r#""system":"Say \"no\".","#);
        check(Format::Anthropic, &string, Some("Be brief."), &made);
        let added = format!(r#"{{"system":"Say \"no\".",{}"#, &none[1..]);
        check(Format::Anthropic, &none, None, &added);
        let made = r#"{"instructions":"Say \"no\".","input":"Hi"}"#;
        check(Format::Responses, r#"{"instructions":"Old.","input":"Hi"}"#, Some("Old."), made);
        check(Format::Responses, r#"{"instructions":null,"input":"Hi"}"#, None, made);
    }

    #[test]
    fn of_blocks_the_last_keeps_its_mark() {
        let with = |blocks: &str| {
            format!(
                r#"{{"max_tokens":9,"system":[{blocks}],"messages":[{{"role":"user","content":"Hi"}}]}}"#
            )
        };
        let marked = |text: &str| {
            format!(r#"{{"type":"text","text":{text},"cache_control":{{"type":"ephemeral"}}}}"#)
        };
        let two = format!(r#"{{"type":"text","text":"One."}},{}"#, marked("\"Two.\""));
        let made = with(&marked(r#""Say \"no\".""#));
        check(Format::Anthropic, &with(&two), Some("One.\n\nTwo."), &made);
    }

    #[test]
    fn a_message_is_set_or_added() {
        let user = r#"{"role":"user","content":"Hi"}"#;
        let system = r#"{"role":"system","content":"Say \"no\"."}"#;
        let made = format!("{{\"messages\":[{system},\n{user}]}}");
        for format in [Format::OpenAi, Format::Ollama] {
            check(format, &format!(r#"{{"messages":[{user}]}}"#), None, &made);
            let old =
                format!("{{\"messages\":[{},\n{user}]}}", system.replace(r#"Say \"no\"."#, "Old."));
            check(format, &old, Some("Old."), &made);
        }
        let developer =
            r#"{"messages":[{"role":"developer","content":[{"type":"text","text":"Old."}]}]}"#;
        let expected = developer.replace("Old.", r#"Say \"no\"."#);
        check(Format::OpenAi, developer, Some("Old."), &expected);
    }
}
