//! Rules of Anthropic's Messages API on calls, order and reasoning (RULES 101, 102, 103, 106, 107).
//!
//! Invariant: system messages in mid-conversation are transparent to all rules but the one on their
//! own place: "the next message" is the next one that is not a system message.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{Entry, PartBody, Role};

use super::{Findings, path};
use crate::RequestDocument;
use crate::error::quoted;
use crate::site::Site;

/// One message of a turn.
#[derive(Clone, Copy)]
struct TurnMessage<'d> {
    place: usize,
    entry: &'d Entry,
    site: &'d Site,
}

impl<'d> TurnMessage<'d> {
    fn calls(self) -> impl Iterator<Item = (usize, &'d str)> {
        self.entry.parts.iter().enumerate().filter_map(|(part, body)| match &body.body {
            PartBody::Call(call) => Some((part, call.id.as_str())),
            _ => None,
        })
    }

    fn results(self) -> impl Iterator<Item = (usize, &'d str)> {
        self.entry.parts.iter().enumerate().filter_map(|(part, body)| match &body.body {
            PartBody::Result(result) => Some((part, result.call.as_str())),
            _ => None,
        })
    }

    fn path(self, part: usize) -> String {
        path(self.place, self.site, part)
    }

    fn own(self) -> String {
        format!("messages[{}]", self.place)
    }
}

pub(super) fn check(document: &RequestDocument<'_>, found: &mut Findings) {
    let entries = document.entries().iter().skip(document.lead());
    let all = entries.zip(document.sites()).enumerate();
    let all: Vec<_> =
        all.map(|(place, (entry, site))| TurnMessage { place, entry, site }).collect();
    seats(&all, found);
    let turns: Vec<_> = all.into_iter().filter(|turn| turn.entry.role != Role::System).collect();
    order(&turns, found);
    pairs(&turns, found);
    server_pairs(&turns, found);
}

/// RULES 106: system messages, in a row or alone, stand behind the user, or behind what a server's
/// tool brought, and before the assistant or at the end.
fn seats(all: &[TurnMessage<'_>], found: &mut Findings) {
    let role = |turn: &TurnMessage<'_>| turn.entry.role;
    for (at, turn) in all.iter().enumerate().filter(|(_, turn)| role(turn) == Role::System) {
        let before = all[..at].iter().rev().find(|turn| role(turn) != Role::System);
        let follows = before.is_some_and(|before| {
            let last = before.entry.parts.last().map(|part| &part.body);
            role(before) == Role::User
                || matches!(last, Some(PartBody::Opaque(block)) if block.answers.is_some())
        });
        let next = all.get(at + 1).map(role);
        if !follows || next == Some(Role::User) {
            let message = "a system message must follow the user and precede the assistant";
            found.add(6, turn.own(), message);
        }
    }
}

/// RULES 106: who comes first, and that something is said at all. RULES 107: reasoning never last.
fn order(turns: &[TurnMessage<'_>], found: &mut Findings) {
    match turns.first() {
        None => found.add(6, "messages", "at least one message is needed"),
        Some(first) if first.entry.role != Role::User => {
            found.add(6, first.own(), "the first message must be the user's");
        }
        Some(_) => {}
    }
    for (at, turn) in turns.iter().enumerate() {
        let parts = &turn.entry.parts;
        if parts.is_empty() && (turn.entry.role == Role::User || at + 1 < turns.len()) {
            found.add(6, turn.own(), "the content is empty");
        }
        for (part, body) in parts.iter().enumerate() {
            if matches!(&body.body, PartBody::Text(text) if text.trim().is_empty() && body.within.is_none())
            {
                found.add(6, turn.path(part), "a text must hold more than white space");
            }
        }
        if parts.last().is_some_and(|part| matches!(part.body, PartBody::Thinking(_))) {
            found.add(7, turn.own(), "a message must not end with reasoning");
        }
    }
}

/// RULES 101 and 102: every call is answered in the next message, every result answers a call of
/// the message before.
fn pairs(turns: &[TurnMessage<'_>], found: &mut Findings) {
    let all_results: BTreeSet<_> =
        turns.iter().flat_map(|turn| turn.results()).map(|(_, id)| id).collect();
    let mut seen = BTreeSet::new();
    for (at, turn) in turns.iter().enumerate() {
        let next = turns.get(at + 1).filter(|next| next.entry.role == Role::User);
        let answered: BTreeSet<_> =
            next.into_iter().flat_map(|next| next.results()).map(|(_, id)| id).collect();
        for (part, id) in turn.calls() {
            if turn.entry.role != Role::Assistant {
                found.add(1, turn.path(part), "only the assistant calls tools");
            } else if !answered.contains(id) {
                let (hazard, missing) = match all_results.contains(id) {
                    true => (2, "has its result elsewhere"),
                    false => (1, "has no result"),
                };
                let message = format!(
                    "the call `{}` {missing}; it must stand in the next message",
                    quoted(id)
                );
                found.add(hazard, turn.path(part), message);
            }
            if !seen.insert(id) {
                found.add(
                    1,
                    turn.path(part),
                    format!("the call id `{}` is used twice", quoted(id)),
                );
            }
        }
        let before = at.checked_sub(1).and_then(|before| turns.get(before));
        results(*turn, before, found);
    }
}

fn results(turn: TurnMessage<'_>, before: Option<&TurnMessage<'_>>, found: &mut Findings) {
    let called: BTreeSet<_> =
        before.into_iter().flat_map(|turn| turn.calls()).map(|(_, id)| id).collect();
    let mut seen = BTreeSet::new();
    for (part, id) in turn.results() {
        if turn.entry.role != Role::User || !called.contains(id) {
            found.add(
                1,
                turn.path(part),
                format!("the result for `{}` follows no such call", quoted(id)),
            );
        } else if !seen.insert(id) {
            found.add(1, turn.path(part), format!("the call `{}` has two results", quoted(id)));
        }
        let mut before = turn.entry.parts.iter().take(part).filter(|part| part.within.is_none());
        if before.any(|part| !matches!(part.body, PartBody::Result(_))) {
            found.add(2, turn.path(part), "tool results stand before other content");
        }
    }
}

/// RULES 103: calls that the provider's side runs have their results too, though not always in the
/// same message; those of the last reply may still be under way.
fn server_pairs(turns: &[TurnMessage<'_>], found: &mut Findings) {
    let last = turns.iter().rposition(|turn| turn.entry.role == Role::Assistant);
    let mut open: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for (at, turn) in turns.iter().enumerate() {
        for (part, body) in turn.entry.parts.iter().enumerate() {
            let PartBody::Opaque(block) = &body.body else { continue };
            if let Some(id) = &block.calls {
                open.insert(id, (at, turn.path(part)));
                known.insert(id.as_str());
            }
            if let Some(id) = &block.answers {
                open.remove(id.as_str());
                if !known.contains(id.as_str()) {
                    found.add(
                        3,
                        turn.path(part),
                        format!(
                            "`{}` answers no earlier call `{}`",
                            quoted(&block.kind),
                            quoted(id)
                        ),
                    );
                }
            }
        }
    }
    for (id, (at, path)) in open {
        if Some(at) != last {
            found.add(3, path, format!("the server-side call `{}` has no result", quoted(id)));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::validate::tests::check as check_format;

    /// Checks a list of messages, written `u:` or `a:` or `s:` and their content.
    fn check(messages: &[&str], expected: &[(u8, &str)]) {
        let messages = messages.iter().map(|message| {
            let (role, content) = message.split_once(':').unwrap();
            let role = match role {
                "u" => "user",
                "a" => "assistant",
                _ => "system",
            };
            format!(r#"{{"role":"{role}","content":{content}}}"#)
        });
        let body = format!(r#"{{"messages":[{}]}}"#, messages.collect::<Vec<_>>().join(","));
        check_format(Format::Anthropic, &body, expected);
    }

    const CALL_A: &str = r#"{"type":"tool_use","id":"a","name":"t","input":{}}"#;
    const CALL_B: &str = r#"{"type":"tool_use","id":"b","name":"t","input":{}}"#;
    const RESULT_A: &str = r#"{"type":"tool_result","tool_use_id":"a","content":"x"}"#;
    const RESULT_B: &str =
        r#"{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"y"}]}"#;
    const TEXT: &str = r#"{"type":"text","text":"hi"}"#;

    #[test]
    fn calls_and_results_pair() {
        let (call, result) = (format!("a:[{CALL_A}]"), format!("u:[{RESULT_A}]"));
        check(&[r#"u:"hi""#, &call, &result], &[]);
        let between = [r#"u:"hi""#, &call, r#"s:"note""#, &result];
        check(&between, &[(6, "messages[2]")]);
        check(&[r#"u:"hi""#, &call], &[(1, "messages[1].content[0]")]);
        check(&[r#"u:"hi""#, &call, r#"u:"no""#], &[(1, "messages[1].content[0]")]);
        check(&[&result], &[(1, "messages[0].content[0]")]);
        check(&[r#"u:"hi""#, &call, &result, &result], &[(1, "messages[3].content[0]")]);
        check(
            &[r#"u:"hi""#, &call, &format!("u:[{RESULT_A},{RESULT_A}]")],
            &[(1, "messages[2].content[1]")],
        );
        check(&[r#"u:"hi""#, &call, &result, &call, &result], &[(1, "messages[3].content[0]")]);
    }

    #[test]
    fn a_batch_is_answered_at_once_and_first() {
        let calls = format!("a:[{TEXT},{CALL_A},{CALL_B}]");
        check(&[r#"u:"hi""#, &calls, &format!("u:[{RESULT_B},{RESULT_A},{TEXT}]")], &[]);
        check(
            &[r#"u:"hi""#, &calls, &format!("u:[{RESULT_A}]"), &format!("u:[{RESULT_B}]")],
            &[(2, "messages[1].content[2]"), (1, "messages[3].content[0]")],
        );
        check(
            &[r#"u:"hi""#, &calls, &format!("u:[{RESULT_B},{TEXT},{RESULT_A}]")],
            &[(2, "messages[2].content[2]")],
        );
    }

    #[test]
    fn server_calls_pair_too() {
        let call = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#;
        let result = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#;
        check(&[r#"u:"hi""#, &format!("a:[{call},{result},{TEXT}]")], &[]);
        check(&[r#"u:"hi""#, &format!("a:[{call}]")], &[]);
        check(
            &[r#"u:"hi""#, &format!("a:[{call}]"), r#"u:"go on""#, &format!("a:[{TEXT}]")],
            &[(3, "messages[1].content[0]")],
        );
        check(&[r#"u:"hi""#, &format!("a:[{result},{TEXT}]")], &[(3, "messages[1].content[0]")]);
    }

    #[test]
    fn order_and_emptiness() {
        check(&[], &[(6, "messages")]);
        check(&[r#"a:"hi""#], &[(6, "messages[0]")]);
        check(&[r#"u:"hi""#, r#"u:"hi""#], &[]);
        check(&[r#"u:[]"#], &[(6, "messages[0]")]);
        check(&[r#"u:" \n""#], &[(6, "messages[0]")]);
    }

    #[test]
    fn system_messages_have_their_place() {
        let (user, model, note) = (r#"u:"hi""#, r#"a:"hi""#, r#"s:"note""#);
        check(&[user, note, note, model, user, note], &[]);
        check(&[note, user], &[(6, "messages[0]")]);
        check(&[user, model, note, model], &[(6, "messages[2]")]);
        check(&[user, note, note, user], &[(6, "messages[2]")]);
        let call = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#;
        let result = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#;
        check(&[user, &format!("a:[{call},{result}]"), note], &[]);
    }

    #[test]
    fn reasoning_is_not_last() {
        let thinking = r#"{"type":"thinking","thinking":"hm","signature":"x"}"#;
        check(&[r#"u:"hi""#, &format!("a:[{thinking},{TEXT}]")], &[]);
        check(&[r#"u:"hi""#, &format!("a:[{TEXT},{thinking}]")], &[(7, "messages[1]")]);
    }
}
