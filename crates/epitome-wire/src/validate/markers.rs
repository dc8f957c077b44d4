//! Rules of Anthropic's Messages API on reasoning blocks and cache markers (RULES 107 to 110).
//!
//! Invariant: markers are counted in the order that the provider caches in: tools, system,
//! messages, then the body's own field, which stands for the last block.

use super::Findings;
use crate::json::{self, JsonValue, JsonValueKind, Object};
use crate::{RequestDocument, WireError};

/// How many markers a request may hold.
const MOST: usize = 4;

pub(super) fn check(document: &RequestDocument<'_>, found: &mut Findings) -> Result<(), WireError> {
    let body = json::parse(document.text())?.object()?;
    let mut markers = Markers { found, all: Vec::new() };
    for key in ["tools", "system"] {
        if let Some(list) = body.some(key).filter(|list| list.kind() == JsonValueKind::Array) {
            markers.blocks(list, key)?;
        }
    }
    if let Some(messages) = body.some("messages") {
        for (place, message) in messages.items()?.into_iter().enumerate() {
            if let Some(content) =
                message.object()?.some("content").filter(|it| it.kind() == JsonValueKind::Array)
            {
                markers.blocks(content, &format!("messages[{place}].content"))?;
            }
        }
    }
    markers.note(&body, "cache_control");
    markers.judge();
    Ok(())
}

struct Markers<'f> {
    found: &'f mut Findings,
    /// Each marker's path and whether it lasts an hour.
    all: Vec<(String, bool)>,
}

impl Markers<'_> {
    /// Looks at each block of a list and at the blocks inside tool results.
    fn blocks(&mut self, list: JsonValue<'_>, path: &str) -> Result<(), WireError> {
        for (place, value) in list.items()?.into_iter().enumerate() {
            if value.kind() != JsonValueKind::Object {
                continue;
            }
            let block = value.object()?;
            let path = format!("{path}[{place}]");
            if let Some(inner) =
                block.some("content").filter(|inner| inner.kind() == JsonValueKind::Array)
            {
                self.blocks(inner, &format!("{path}.content"))?;
            }
            let marked = self.note(&block, &path);
            self.reasoning(&block, &path, marked);
        }
        Ok(())
    }

    fn note(&mut self, block: &Object<'_>, path: &str) -> bool {
        let Some(marker) = block.some("cache_control") else { return false };
        let lasts = marker.as_object().and_then(|marker| marker.text("ttl"));
        let hour = lasts.as_deref() == Some("1h");
        self.all.push((path.to_owned(), hour));
        true
    }

    /// RULES 107: the provider signs its reasoning. RULES 108: no marker inside it.
    fn reasoning(&mut self, block: &Object<'_>, path: &str, marked: bool) {
        let proof = match block.text("type").as_deref() {
            Some("thinking") => "signature",
            Some("redacted_thinking") => "data",
            _ => return,
        };
        if block.text(proof).is_none_or(|proof| proof.is_empty()) {
            self.found.add(7, path, format!("reasoning without its `{proof}`"));
        }
        if marked {
            self.found.add(8, path, "no `cache_control` inside reasoning");
        }
    }

    /// RULES 109 and 110.
    fn judge(&mut self) {
        if self.all.len() > MOST {
            let message = format!("{} cache markers, at most {MOST} are taken", self.all.len());
            self.found.add(9, "cache_control", message);
        }
        let short = self.all.iter().position(|(_, hour)| !hour).unwrap_or(self.all.len());
        if let Some((path, _)) = self.all.iter().skip(short).find(|(_, hour)| *hour) {
            let message = "a one-hour marker must not follow a five-minute one";
            self.found.add(10, path, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::validate::tests::check as check_format;

    /// Checks a body whose user text and further keys are given.
    fn check(block: &str, more: &str, expected: &[(u8, &str)]) {
        let body = format!(r#"{{"messages":[{{"role":"user","content":[{block}]}}]{more}}}"#);
        check_format(Format::Anthropic, &body, expected);
    }

    fn text(ttl: &str) -> String {
        format!(r#"{{"type":"text","text":"x","cache_control":{{"type":"ephemeral"{ttl}}}}}"#)
    }

    #[test]
    fn four_markers_are_taken() {
        let four = [text(""), text(""), text(""), text("")].join(",");
        check(&four, "", &[]);
        check(&four, r#","cache_control":null"#, &[]);
        check(&four, r#","cache_control":{"type":"ephemeral"}"#, &[(9, "cache_control")]);
        check(&four, &format!(r#","system":[{}]"#, text("")), &[(9, "cache_control")]);
        check(
            &four,
            r#","tools":[{"name":"t","cache_control":{"type":"ephemeral"}}]"#,
            &[(9, "cache_control")],
        );
    }

    #[test]
    fn an_hour_stands_before_five_minutes() {
        let (hour, short) = (text(r#","ttl":"1h""#), text(r#","ttl":"5m""#));
        check(&format!("{hour},{short}"), "", &[]);
        check(&format!("{short},{hour}"), "", &[(10, "messages[0].content[1]")]);
        check(&hour, &format!(r#","system":[{short}]"#), &[(10, "messages[0].content[0]")]);
        check(&short, &format!(r#","system":[{hour}]"#), &[]);
    }

    #[test]
    fn reasoning_is_signed_and_unmarked() {
        let reply = |block: &str, expected: &[(u8, &str)]| {
            let body = format!(
                r#"{{"messages":[{{"role":"user","content":"x"}},{{"role":"assistant","content":[{block},{}]}}]}}"#,
                r#"{"type":"text","text":"x"}"#
            );
            check_format(Format::Anthropic, &body, expected);
        };
        let at = "messages[1].content[0]";
        reply(r#"{"type":"thinking","thinking":"","signature":"s"}"#, &[]);
        reply(r#"{"type":"thinking","thinking":""}"#, &[(7, at)]);
        reply(r#"{"type":"redacted_thinking","data":"d"}"#, &[]);
        reply(
            r#"{"type":"redacted_thinking","data":"d","cache_control":{"type":"ephemeral"}}"#,
            &[(8, at)],
        );
    }
}
