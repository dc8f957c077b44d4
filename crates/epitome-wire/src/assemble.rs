//! A request made of recorded messages: the way back from `RequestDocument::message_bytes`.
//!
//! Invariant: the messages stand in the request byte for byte. Called by hosts that push messages
//! one by one, and where a session is written out of its journal.

use crate::Format;
use crate::json::literal;

/// Anthropic's API asks for a bound on the reply; a conversation does not know one.
pub(crate) const MAX_TOKENS: u32 = 4096;

/// A request that holds these messages, each as it was recorded.
///
/// In Anthropic's format and the Responses API the first item may be the value of the top-level
/// system prompt: a string or an array, which no message is. `tools` is the JSON of the tool schemas. Items are not
/// checked; [`crate::RequestDocument::parse`] reads the same entries from the outcome that they were
/// recorded from, and refuses what is no message. A recording's format stands for its nearest
/// provider's.
pub fn assemble(
    format: Format,
    model: Option<&str>,
    tools: Option<&str>,
    messages: &[&[u8]],
) -> Vec<u8> {
    let format = format.nearest();
    let (system, messages) = match (messages.split_first(), format.system()) {
        (Some((first, rest)), Some(key)) if !is_object(first) => (Some((key, *first)), rest),
        _ => (None, messages),
    };
    let size = messages.iter().map(|message| message.len() + 2).sum::<usize>()
        + system.map_or(0, |(_, system)| system.len())
        + tools.map_or(0, str::len);
    let mut out = Vec::with_capacity(size + 128);
    out.push(b'{');
    let mut member = |key: &str, value: &[u8]| {
        out.extend_from_slice(format!("\"{key}\":").as_bytes());
        out.extend_from_slice(value);
        out.push(b',');
    };
    if let Some(model) = model {
        member("model", literal(model).as_bytes());
    }
    if format == Format::Anthropic {
        member("max_tokens", MAX_TOKENS.to_string().as_bytes());
    }
    if let Some(tools) = tools {
        member("tools", tools.as_bytes());
    }
    if let Some((key, system)) = system {
        member(key, system);
    }
    out.extend_from_slice(format!("\"{}\":[\n", format.messages()).as_bytes());
    for (place, message) in messages.iter().enumerate() {
        if place > 0 {
            out.extend_from_slice(b",\n");
        }
        out.extend_from_slice(message);
    }
    out.extend_from_slice(b"\n]}\n");
    out
}

fn is_object(value: &[u8]) -> bool {
    value.trim_ascii_start().starts_with(b"{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestDocument;

    #[track_caller]
    fn check(format: Format, body: &str, expected: &str) {
        let document = RequestDocument::parse(body.as_bytes(), format).unwrap();
        let ids = document.entries().iter().map(|entry| entry.id);
        let parts: Vec<_> = ids.map(|id| document.message_bytes(id)).collect();
        let made = assemble(format, document.model(), document.tools(), &parts);
        assert_eq!(std::str::from_utf8(&made), Ok(expected));
        let again = RequestDocument::parse(&made, format).unwrap();
        assert_eq!(again.entries(), document.entries());
        assert_eq!((again.model(), again.tools()), (document.model(), document.tools()));
    }

    #[test]
    fn messages_stand_as_they_were() {
        check(
            Format::Anthropic,
            r#"{"messages" : [ {"content":"caf\u00e9","role":"user", "x":1.0} ],"system":[ {"text":"s","type":"text"} ],"tools":[ ]}"#,
            "{\"max_tokens\":4096,\"tools\":[ ],\"system\":[ {\"text\":\"s\",\"type\":\"text\"} ],\"messages\":[\n{\"content\":\"caf\\u00e9\",\"role\":\"user\", \"x\":1.0}\n]}\n",
        );
        check(
            Format::OpenAi,
            r#"[{"role":"system","content":"s"} , {"role":"user","content":"u"}]"#,
            "{\"messages\":[\n{\"role\":\"system\",\"content\":\"s\"},\n{\"role\":\"user\",\"content\":\"u\"}\n]}\n",
        );
        check(
            Format::OpenAi,
            r#"{"messages":[],"model":"\u006d"}"#,
            "{\"model\":\"m\",\"messages\":[\n\n]}\n",
        );
        check(
            Format::Anthropic,
            r#"{"system":"s","messages":[]}"#,
            "{\"max_tokens\":4096,\"system\":\"s\",\"messages\":[\n\n]}\n",
        );
    }

    #[test]
    fn an_unknown_entry_has_no_bytes() {
        let body = br#"{"messages":[{"role":"user","content":"u"}]}"#;
        let document = RequestDocument::parse(body, Format::Anthropic).unwrap();
        assert_eq!(document.message_bytes(epitome_types::EntryId(1)), b"");
    }
}
