//! Rules of chat completions APIs on calls and emptiness (RULES 104 and 106; 101 and 102 are part
//! of 104 here).
//!
//! Invariant: the messages right behind a reply with calls are their results, each call once,
//! nothing between them.

use epitome_types::{PartBody, Role};

use super::{Findings, path};
use crate::RequestDocument;
use crate::error::quoted;
use crate::site::Content;

pub(super) fn check(document: &RequestDocument<'_>, found: &mut Findings) {
    // The calls that wait for their results, and where they stand.
    let mut open: Vec<(&str, String)> = Vec::new();
    for (place, (entry, site)) in document.entries().iter().zip(document.sites()).enumerate() {
        if entry.role == Role::Tool {
            for result in entry.results() {
                match open.iter().position(|(id, _)| *id == result.call) {
                    Some(call) => drop(open.remove(call)),
                    None => {
                        let message = format!(
                            "the result for `{}` follows no such call",
                            quoted(&result.call)
                        );
                        found.add(4, format!("messages[{place}]"), message);
                    }
                }
            }
            continue;
        }
        report(&mut open, found);
        for (part, body) in entry.parts.iter().enumerate() {
            let PartBody::Call(call) = &body.body else { continue };
            if open.iter().any(|(id, _)| *id == call.id) {
                found.add(
                    4,
                    path(place, site, part),
                    format!("the call id `{}` is used twice", quoted(&call.id)),
                );
            } else {
                open.push((&call.id, path(place, site, part)));
            }
        }
        let says_nothing = match &site.content {
            Content::Absent | Content::Null(_) => true,
            Content::Blocks(blocks) => blocks.items.is_empty(),
            Content::Text(_) => false,
        };
        // A reply may consist of a refusal or of audio, which stand beside the content.
        let bare = site.members.items.len() <= 2;
        if says_nothing && entry.parts.is_empty() && (entry.role != Role::Assistant || bare) {
            found.add(6, format!("messages[{place}]"), "neither content nor calls");
        }
    }
    report(&mut open, found);
}

/// Reports the calls that no result followed.
fn report(open: &mut Vec<(&str, String)>, found: &mut Findings) {
    for (id, path) in open.drain(..) {
        let id = quoted(id);
        let message =
            format!("the call `{id}` has no result; it must stand in the messages right behind");
        found.add(4, path, message);
    }
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::validate::tests::check as check_format;

    /// `u` a text of the user, `a` one of the model, a digit a result, `(…)` a reply with calls.
    fn check(messages: &str, expected: &[(u8, &str)]) {
        let mut out = Vec::new();
        let mut calls: Option<Vec<String>> = None;
        for message in messages.chars() {
            match (message, &mut calls) {
                ('(', _) => calls = Some(Vec::new()),
                (')', Some(list)) => {
                    let list = list.join(",");
                    out.push(format!(r#"{{"role":"assistant","content":null,"tool_calls":[{list}]}}"#));
                    calls = None;
                }
                (id, Some(list)) => list.push(format!(
                    r#"{{"id":"{id}","type":"function","function":{{"name":"t","arguments":"{{}}"}}}}"#
                )),
                ('u', None) => out.push(r#"{"role":"user","content":"hi"}"#.to_owned()),
                ('a', None) => out.push(r#"{"role":"assistant","content":"hi"}"#.to_owned()),
                ('-', None) => out.push(r#"{"role":"assistant","content":null}"#.to_owned()),
                (id, None) => out.push(format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"x"}}"#)),
            }
        }
        check_format(Format::OpenAi, &format!("[{}]", out.join(",")), expected);
    }

    #[test]
    fn every_call_is_answered_directly() {
        check("u(12)21u(1)1a", &[]);
        check("u(12)1u", &[(4, "messages[1].tool_calls[1]")]);
        check("u(12)1u2", &[(4, "messages[1].tool_calls[1]"), (4, "messages[4]")]);
        check("u(1)", &[(4, "messages[1].tool_calls[0]")]);
        check("1u", &[(4, "messages[0]")]);
        check("u(1)11", &[(4, "messages[3]")]);
        check("u(11)1", &[(4, "messages[1].tool_calls[1]")]);
    }

    #[test]
    fn a_reply_says_something() {
        check("u-", &[(6, "messages[1]")]);
        check("ua", &[]);
    }
}
