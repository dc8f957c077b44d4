//! What the body of a request says about itself, besides its conversation.
//!
//! Invariant: read once and never written; a body that is not understood tells nothing. Called by
//! `prepare`, on a thread that relays nothing.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The top of a request's body.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Facts<'b> {
    /// The model asked for.
    pub(crate) model: Option<String>,
    /// The most that the answer may take, in tokens.
    #[serde(alias = "max_completion_tokens", alias = "max_output_tokens")]
    max_tokens: Option<u64>,
    tools: Option<Vec<IgnoredAny>>,
    previous_response_id: Option<IgnoredAny>,
    conversation: Option<IgnoredAny>,
    #[serde(borrow)]
    context_management: Option<&'b RawValue>,
    options: Option<Options>,
}

#[derive(Debug, Default, Deserialize)]
struct Options {
    num_ctx: Option<u64>,
}

impl<'b> Facts<'b> {
    /// What a body says; none where it is no JSON object of that shape.
    pub(crate) fn of(body: &'b [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// The most that the answer may take, in tokens.
    pub(crate) fn max_tokens(&self) -> Option<u64> {
        self.max_tokens
    }

    /// Whether the model is given tools.
    pub(crate) fn has_tools(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| !tools.is_empty())
    }

    /// Whether the conversation is kept by the provider, and what is sent is only its end
    /// (hazard 26).
    pub(crate) fn is_chained(&self) -> bool {
        self.previous_response_id.is_some() || self.conversation.is_some()
    }

    /// Whether the provider is asked to clear tool results by itself (hazard 27). Clearing its own
    /// thinking touches nothing that is ours.
    pub(crate) fn has_provider_edits(&self) -> bool {
        #[derive(Deserialize)]
        struct Management {
            #[serde(default)]
            edits: Vec<Edit>,
        }
        #[derive(Deserialize)]
        struct Edit {
            r#type: String,
        }
        let Some(edits) = self.context_management else { return false };
        match serde_json::from_str::<Management>(edits.get()) {
            Ok(found) => found.edits.iter().any(|edit| !edit.r#type.starts_with("clear_thinking")),
            // An edit that is not understood may be any.
            Err(_) => edits.get() != "null",
        }
    }

    /// The window that an Ollama model is told to run with, in tokens.
    pub(crate) fn num_ctx(&self) -> Option<u64> {
        self.options.as_ref()?.num_ctx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Option<(bool, bool, bool, Option<u64>, Option<u64>)>) {
        let found = Facts::of(body.as_bytes()).map(|facts| {
            let edits = facts.has_provider_edits();
            (facts.is_chained(), edits, facts.has_tools(), facts.max_tokens(), facts.num_ctx())
        });
        assert_eq!(found, expected, "{body}");
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
}
