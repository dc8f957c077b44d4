//! Rules of OpenAI's Responses API on calls, reasoning and emptiness (RULES 105, and 106).
//!
//! Invariant: outputs answer calls by id, wherever between them other items stand; what refers to
//! items that the provider keeps is not judged (RULES 126).

use std::collections::BTreeMap;

use epitome_types::{Entry, PartBody, Role};

use super::Findings;
use crate::RequestDocument;
use crate::error::quoted;

pub(super) fn check(document: &RequestDocument<'_>, found: &mut Findings) {
    if document.is_continued() {
        return;
    }
    let items = &document.entries()[document.lead()..];
    if items.is_empty() {
        found.add(6, "input", "at least one item is needed");
    }
    pairs(items, found);
    for (place, item) in items.iter().enumerate() {
        let is_reply = |next: &&Entry| next.role == Role::Assistant;
        if is_reasoning(item) && items.get(place + 1).filter(is_reply).is_none() {
            let message = "reasoning must be followed by what it led to";
            found.add(5, format!("input[{place}]"), message);
        }
    }
}

/// Every call has one output, behind it, and every output a call.
fn pairs(items: &[Entry], found: &mut Findings) {
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, item) in items.iter().enumerate() {
        let at = || format!("input[{place}]");
        for part in &item.parts {
            let (call, answer) = match &part.body {
                PartBody::Call(call) => (Some(call.id.as_str()), None),
                PartBody::Result(result) => (None, Some(result.call.as_str())),
                PartBody::Opaque(opaque) => (opaque.calls.as_deref(), opaque.answers.as_deref()),
                PartBody::Text(_) | PartBody::Thinking(_) | PartBody::Image(_) => (None, None),
            };
            if let Some(id) = call
                && open.insert(id, place).is_some()
            {
                found.add(5, at(), format!("the call id `{}` is used twice", quoted(id)));
            }
            if let Some(id) = answer
                && open.remove(id).is_none()
            {
                let id = quoted(id);
                found.add(5, at(), format!("the output for `{id}` follows no such call"));
            }
        }
    }
    for (id, place) in open {
        // A person may still have to decide on it.
        let asks = matches!(items[place].parts.as_slice(), [part] if matches!(&part.body, PartBody::Opaque(opaque) if opaque.kind == "mcp_approval_request"));
        if !asks {
            let message =
                format!("the call `{}` has no output; it must stand behind it", quoted(id));
            found.add(5, format!("input[{place}]"), message);
        }
    }
}

fn is_reasoning(item: &Entry) -> bool {
    !item.parts.is_empty()
        && item.parts.iter().all(|part| matches!(part.body, PartBody::Thinking(_)))
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::validate::tests::check as check_format;

    /// `u` and `a` messages, `r` reasoning, `c` compacted, `1` a call, `!` its output, `2` and `"`
    /// others.
    fn items(items: &str) -> String {
        let items = items.chars().map(|item| match item {
            'u' => r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
            'a' => r#"{"role":"assistant","content":"hi"}"#,
            'r' => r#"{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}"#,
            'c' => r#"{"type":"compaction","encrypted_content":"x"}"#,
            'f' => r#"{"type":"item_reference","id":"x"}"#,
            '1' => r#"{"type":"function_call","call_id":"1","name":"t","arguments":"{}"}"#,
            '!' => r#"{"type":"function_call_output","call_id":"1","output":"x"}"#,
            '2' => r#"{"type":"computer_call","call_id":"2","action":{}}"#,
            _ => r#"{"type":"computer_call_output","call_id":"2","output":{"type":"computer_screenshot"}}"#,
        });
        items.collect::<Vec<_>>().join(",")
    }

    fn check(sequence: &str, expected: &[(u8, &str)]) {
        let body = format!(r#"{{"input":[{}]}}"#, items(sequence));
        check_format(Format::Responses, &body, expected);
    }

    #[test]
    fn every_call_has_its_output_and_every_output_its_call() {
        check("cu1!a", &[]);
        check("u12\"!a", &[]);
        check("u1!2\"r1!", &[]);
        check("u1", &[(5, "input[1]")]);
        check("u2u", &[(5, "input[1]")]);
        check("!u", &[(5, "input[0]")]);
        check("u!1", &[(5, "input[1]"), (5, "input[2]")]);
        check("u11!", &[(5, "input[2]")]);
        check("u1!!", &[(5, "input[3]")]);
    }

    #[test]
    fn reasoning_keeps_what_it_led_to() {
        check("ura", &[]);
        check("urr1!", &[]);
        check("uru", &[(5, "input[1]")]);
        check("ur", &[(5, "input[1]")]);
        check("ur!", &[(5, "input[2]"), (5, "input[1]")]);
    }

    #[test]
    fn what_the_provider_keeps_is_not_judged() {
        check("", &[(6, "input")]);
        check("f!", &[]);
        let body = format!(r#"{{"previous_response_id":"r","input":[{}]}}"#, items("!"));
        check_format(Format::Responses, &body, &[]);
        let body = format!(r#"{{"conversation":{{"id":"c"}},"input":[{}]}}"#, items(""));
        check_format(Format::Responses, &body, &[]);
        let body = format!(r#"{{"previous_response_id":null,"input":[{}]}}"#, items("!"));
        check_format(Format::Responses, &body, &[(5, "input[0]")]);
        check_format(Format::Responses, r#"{"input":"hi"}"#, &[]);
    }
}
