//! What the body of a request says about itself, besides its conversation.
//!
//! Invariant: read once and never written; a body that is not understood tells nothing. A large
//! body is not parsed for it, since whoever makes the prompt does that anyway: what decides about
//! it is searched for, and parsed where it is found. Called by `prepare`, on a thread that relays
//! nothing.

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::api::ApiDialect;

/// Bodies up to this size are parsed whole.
pub(crate) const SMALL: usize = 64 << 10;
/// What a large body may say that leaves its conversation to the provider, and how large a window
/// it asks for; the first two are all that a body of Anthropic's API may say. A quotation mark within a
/// text is escaped, so that no text holds one of these.
const DECIDING: [&[u8]; 5] = [
    b"\"context_management\"",
    b"\"thread\"",
    b"\"previous_response_id\"",
    b"\"conversation\"",
    b"\"num_ctx\"",
];

/// The top of a request's body: members as they stand there, the last of a name.
#[derive(Debug, Default)]
pub(crate) struct BodyFacts<'b> {
    model: Option<&'b RawValue>,
    max_tokens: Option<&'b RawValue>,
    tools: Option<&'b RawValue>,
    chained: bool,
    context_management: Option<&'b RawValue>,
    options: Option<&'b RawValue>,
    thread: Option<&'b RawValue>,
}

impl<'b> BodyFacts<'b> {
    /// What a body says; none where it is seen to be no JSON object.
    pub(crate) fn of(body: &'b [u8], dialect: ApiDialect) -> Option<Self> {
        let refers = dialect == ApiDialect::Responses && refers_to_items(body);
        if body.len() <= SMALL || decides(body, dialect) {
            let mut facts: Self = serde_json::from_slice(body).ok()?;
            facts.chained &= dialect != ApiDialect::Messages;
            facts.chained |= refers;
            return Some(facts);
        }
        Some(Self { model: first(body, b"\"model\""), chained: refers, ..Self::default() })
    }

    /// The model asked for.
    pub(crate) fn model(&self) -> Option<String> {
        read(self.model?)
    }

    /// The most that the answer may take, in tokens.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        read(self.max_tokens?)
    }

    /// Whether the model is given tools.
    pub(crate) fn has_tools(&self) -> bool {
        let tools: Option<Vec<IgnoredAny>> = self.tools.and_then(read);
        tools.is_some_and(|tools| !tools.is_empty())
    }

    /// Whether the conversation is kept by the provider, and what is sent is only its end
    /// (RULES 126).
    pub(crate) fn is_chained(&self) -> bool {
        self.chained
    }

    /// Whether the provider is asked to clear tool results by itself (RULES 127). Clearing its own
    /// thinking touches nothing that is ours.
    pub(crate) fn has_provider_edits(&self) -> bool {
        self.context_management.is_some_and(|edits| clears(edits.get()))
    }

    /// The thread at the provider that an Anthropic request begins or goes on with (RULES 141), as
    /// it stands in the body.
    pub(crate) fn thread(&self) -> Option<&'b RawValue> {
        self.thread.filter(|thread| thread.get() != "null")
    }

    /// The window that an Ollama model is told to run with, in tokens.
    pub(crate) fn num_ctx(&self) -> Option<u64> {
        #[derive(Deserialize)]
        struct Options {
            num_ctx: u64,
        }
        let size = read(self.options?).map(|options: Options| options.num_ctx)?;
        (size > 0).then_some(size)
    }
}

fn read<'b, T: Deserialize<'b>>(value: &'b RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

impl<'de: 'b, 'b> Deserialize<'de> for BodyFacts<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Top;
        impl<'de> Visitor<'de> for Top {
            type Value = BodyFacts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a request")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<BodyFacts<'de>, A::Error> {
                let mut facts = BodyFacts::default();
                while let Some(name) = members.next_key::<Cow<'de, str>>()? {
                    let kept = match &*name {
                        "model" => &mut facts.model,
                        "max_tokens" | "max_completion_tokens" | "max_output_tokens" => {
                            &mut facts.max_tokens
                        }
                        "tools" => &mut facts.tools,
                        "context_management" => &mut facts.context_management,
                        "options" => &mut facts.options,
                        "thread" => &mut facts.thread,
                        "previous_response_id" | "conversation" => {
                            facts.chained |= members.next_value::<Option<IgnoredAny>>()?.is_some();
                            continue;
                        }
                        _ => {
                            members.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *kept = Some(members.next_value()?);
                }
                Ok(facts)
            }
        }
        deserializer.deserialize_map(Top)
    }
}

/// Whether edits that a provider is asked for clear more than its own thinking.
fn clears(management: &str) -> bool {
    #[derive(Deserialize)]
    struct Management {
        #[serde(default)]
        edits: Vec<Edit>,
    }
    #[derive(Deserialize)]
    struct Edit {
        r#type: String,
    }
    match serde_json::from_str::<Management>(management) {
        Ok(found) => found.edits.iter().any(|edit| !edit.r#type.starts_with("clear_thinking")),
        // An edit that is not understood may be any.
        Err(_) => management != "null",
    }
}

/// Whether a body may say something that decides about its conversation.
fn decides(body: &[u8], dialect: ApiDialect) -> bool {
    let names = if dialect == ApiDialect::Messages { &DECIDING[..2] } else { &DECIDING };
    names.iter().any(|name| {
        memmem::find_iter(body, name).any(|at| {
            // The one that every request of a well-known client has is harmless.
            let is_harmless = |value: &RawValue| {
                value.get() == "null" || name.ends_with(b"management\"") && !clears(value.get())
            };
            !member(&body[at + name.len()..]).is_some_and(is_harmless)
        })
    })
}

/// Whether items of a conversation stand at the provider alone: what is sent names them by their ids.
fn refers_to_items(body: &[u8]) -> bool {
    memmem::find_iter(body, b"\"item_reference\"").any(|at| {
        let name = body[..at].trim_ascii_end().strip_suffix(b":");
        name.is_some_and(|name| name.trim_ascii_end().ends_with(b"\"type\""))
    })
}

/// The value of the first member of this name.
fn first<'b>(body: &'b [u8], name: &[u8]) -> Option<&'b RawValue> {
    member(&body[memmem::find(body, name)? + name.len()..])
}

/// The value of a member, after its name.
fn member(rest: &[u8]) -> Option<&RawValue> {
    let value = rest.trim_ascii_start().strip_prefix(b":")?;
    serde_json::Deserializer::from_slice(value).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it is chained, is edited by the provider, and has tools; `max_tokens`; `num_ctx`.
    type Read = (bool, bool, bool, Option<u64>, Option<u64>);

    #[track_caller]
    fn check(body: &str, expected: Option<Read>) {
        let found = BodyFacts::of(body.as_bytes(), ApiDialect::Responses).map(|facts| {
            let edits = facts.has_provider_edits();
            (facts.is_chained(), edits, facts.has_tools(), facts.max_tokens(), facts.num_ctx())
        });
        assert_eq!(found, expected, "{body}");
    }

    /// A client that lets its provider keep what was said names it in place of saying it.
    #[test]
    fn items_that_stand_at_the_provider_chain_a_conversation() {
        let of = |item: &str, pad: usize| {
            let said = "x".repeat(pad);
            format!(r#"{{"model":"m","input":[{{"role":"user","content":"{said}"}},{item}]}}"#)
        };
        for pad in [1, SMALL] {
            for (item, chained) in [
                (r#"{"type": "item_reference","id":"msg_1"}"#, true),
                (r#"{"role":"user","content":"{\"type\":\"item_reference\"}"}"#, false),
                (r#"{"type":"message","role":"user","content":"item_reference"}"#, false),
            ] {
                let body = of(item, pad);
                let facts = |dialect| BodyFacts::of(body.as_bytes(), dialect).unwrap();
                assert_eq!(facts(ApiDialect::Responses).is_chained(), chained, "{item}");
                assert!(!facts(ApiDialect::Messages).is_chained());
            }
        }
    }

    #[test]
    fn the_top_of_a_body_is_read() {
        check("{}", Some((false, false, false, None, None)));
        check(
            r#"{"model":"m","tools":[{}],"max_completion_tokens":7,"x":[1],"messages":[{"tools":1}]}"#,
            Some((false, false, true, Some(7), None)),
        );
        check(
            r#"{"tools":[],"options":{"num_ctx":8192,"seed":1}}"#,
            Some((false, false, false, None, Some(8192))),
        );
        check(
            r#"{"previous_response_id":null,"conversation":null,"tools":null}"#,
            Some((false, false, false, None, None)),
        );
        check(r#"{"previous_response_id":"r"}"#, Some((true, false, false, None, None)));
        check(r#"{"conversation":{"id":"c"}}"#, Some((true, false, false, None, None)));
        check(
            r#"{"max_tokens":"x","max_completion_tokens":1,"tools":7,"model":1,"tools":{}}"#,
            Some((false, false, false, Some(1), None)),
        );
        check("[]", None);
        check("{", None);
    }

    #[test]
    fn the_providers_own_edits_are_seen() {
        for (management, expected) in [
            (r#"{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}"#, false),
            (r#"{"edits":[{"type":"clear_tool_uses_20250919"}]}"#, true),
            (r#"{"edits":[{"type":"clear_thinking_1"},{"type":"compact_20260112"}]}"#, true),
            (r#"{"edits":[]}"#, false),
            ("{}", false),
            ("null", false),
            (r#"[{"type":"compaction"}]"#, true),
        ] {
            let body = format!(r#"{{"context_management":{management}}}"#);
            check(&body, Some((false, expected, false, None, None)));
        }
    }

    #[test]
    fn a_large_body_tells_the_same_of_what_decides() {
        let text = r#"\"previous_response_id\":\"r\",\"context_management\":1 "#.repeat(2_000);
        let harmless = r#""context_management":{"edits":[{"type":"clear_thinking_20251015"}]}"#;
        for (members, chained, edits, parsed) in [
            ("\"x\":1", false, false, false),
            (harmless, false, false, false),
            (r#""previous_response_id": null"#, false, false, false),
            (r#""previous_response_id" : "r""#, true, false, true),
            (r#""conversation":"c""#, true, false, true),
            (r#""context_management":{"edits":[{"type":"clear_tool_uses_1"}]}"#, false, true, true),
            (r#""tools":[{"previous_response_id":1}]"#, false, false, true),
        ] {
            let body = format!(
                r#"{{"model":"m-1","messages":[{{"role":"user","content":"{text}"}}],{members}}}"#
            );
            assert!(body.len() > SMALL);
            assert_eq!(decides(body.as_bytes(), ApiDialect::Responses), parsed, "{members}");
            let facts = BodyFacts::of(body.as_bytes(), ApiDialect::Responses).unwrap();
            assert_eq!((facts.is_chained(), facts.has_provider_edits()), (chained, edits));
            let facts = BodyFacts::of(body.as_bytes(), ApiDialect::Messages).unwrap();
            assert_eq!((facts.is_chained(), facts.has_provider_edits()), (false, edits));
            assert_eq!(facts.model().as_deref(), Some("m-1"));
        }
    }
}
