//! What is known of each client: how it names its sessions, and what it asks besides.
//!
//! Invariant: in doubt a request is one of a conversation: only small ones of a known client are
//! taken for side requests. Called by `prepare`.

use http::HeaderMap;
use http::header::USER_AGENT;
use serde_json::Value;

use crate::facts::{BodyFacts, SMALL};

/// The headers that name a session, the user's own first: Claude Code, Codex (twice), opencode.
const LABELS: [&str; 5] =
    ["x-epitome-session", "x-claude-code-session-id", "session-id", "thread-id", "x-session-id"];
/// A name that is longer is none.
const LONGEST: usize = 128;
/// What Claude Code grants the answers of such requests, at most.
const SHORT: u64 = 1024;

/// The name that a client gives the session.
pub(crate) fn label(headers: &HeaderMap) -> Option<String> {
    let named = LABELS.iter().find_map(|name| headers.get(*name));
    let label = named?.to_str().ok()?.trim();
    (!label.is_empty() && label.len() <= LONGEST).then(|| label.to_owned())
}

/// The program that asks, without its version: `claude-cli` of `claude-cli/2.1.197 (cli)`.
pub(crate) fn program(agent: &str) -> Option<String> {
    let name = agent.split(['/', ' ', '(']).next().unwrap_or_default();
    (!name.is_empty()).then(|| name.to_ascii_lowercase())
}

/// The program that the headers of a request name.
pub(crate) fn asking_program(headers: &HeaderMap) -> Option<String> {
    program(headers.get(USER_AGENT)?.to_str().ok()?)
}

/// The window, in tokens, that the headers of a request ask for.
pub(crate) fn window(headers: &HeaderMap) -> Option<u64> {
    let betas = headers.get_all("anthropic-beta").iter();
    let mut betas = betas.filter_map(|beta| beta.to_str().ok()).flat_map(|beta| beta.split(','));
    betas.any(|beta| beta.trim().starts_with("context-1m-")).then_some(1_000_000)
}

/// Whether a request is none of the conversation's turns: a probe of the quota, or a title. The
/// client's own compaction is not one: it goes the way of the conversation that it ends.
pub(crate) fn is_side_request(headers: &HeaderMap, facts: &BodyFacts<'_>, body: &[u8]) -> bool {
    if facts.has_tools() || body.len() > SMALL {
        return false;
    }
    if facts.max_tokens() == Some(1) {
        return true;
    }
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    if agent.starts_with("claude-cli/") {
        facts.max_tokens().is_some_and(|most| most <= SHORT)
    } else if agent.starts_with("opencode/") {
        opening(body).is_some_and(|text| text.starts_with("You are a title generator"))
    } else {
        false
    }
}

/// The text that a request opens with.
fn opening(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let first = match body.get("system") {
        Some(system) => system,
        None => body.get("messages")?.get(0)?.get("content")?,
    };
    let text = match first {
        Value::Array(blocks) => blocks.first()?.get("text")?,
        text => text,
    };
    text.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ApiDialect;

    fn map(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn sessions_have_the_name_that_the_client_gives() {
        let check = |fields: &[(&'static str, &str)], expected: Option<&str>| {
            assert_eq!(label(&map(fields)).as_deref(), expected, "{fields:?}");
        };
        check(&[("x-claude-code-session-id", "a")], Some("a"));
        check(&[("thread-id", "t"), ("session-id", "s")], Some("s"));
        check(&[("x-session-id", "o"), ("x-session-affinity", "p")], Some("o"));
        check(&[("x-claude-code-session-id", "a"), ("x-epitome-session", "mine")], Some("mine"));
        check(&[("x-session-id", " ")], None);
        check(&[("x-session-id", &"x".repeat(129))], None);
        check(&[], None);
    }

    #[test]
    fn a_beta_tells_of_a_larger_window() {
        let beta = |value| window(&map(&[("anthropic-beta", "a"), ("anthropic-beta", value)]));
        assert_eq!(beta("claude-code-20250219, context-1m-2025-08-07,x"), Some(1_000_000));
        assert_eq!(beta("context-management-2025-06-27"), None);
    }

    #[track_caller]
    fn check(agent: &str, body: &str, expected: bool) {
        let facts = BodyFacts::of(body.as_bytes(), ApiDialect::Messages).unwrap();
        let found = is_side_request(&map(&[("user-agent", agent)]), &facts, body.as_bytes());
        assert_eq!(found, expected, "{agent} {body}");
    }

    #[test]
    fn probes_and_titles_are_no_turns() {
        check("any", r#"{"max_tokens":1,"messages":[{"role":"user","content":"quota"}]}"#, true);
        let title = r#"[{"role":"system","content":"You are a title generator. You output"}]"#;
        check("opencode/1.18", &format!(r#"{{"max_tokens":4096,"messages":{title}}}"#), true);
        let system = r#"[{"type":"text","text":"You are a title generator."}]"#;
        check("opencode/1.18", &format!(r#"{{"system":{system},"messages":[]}}"#), true);
        check("claude-cli/2.1.197 (external)", r#"{"max_tokens":512,"messages":[]}"#, true);
    }

    #[test]
    fn everything_else_is() {
        let title = r#"[{"role":"system","content":"You are a title generator. You output"}]"#;
        check("curl/8", &format!(r#"{{"messages":{title}}}"#), false);
        check("curl/8", r#"{"max_tokens":100,"messages":[]}"#, false);
        check("claude-cli/2.1", r#"{"max_tokens":64000,"messages":[]}"#, false);
        check("claude-cli/2.1", r#"{"max_tokens":512,"tools":[{}],"messages":[]}"#, false);
        check("opencode/1.18", r#"{"messages":[{"role":"user","content":"hi"}]}"#, false);
        check("any", r#"{"max_tokens":1,"tools":[{}],"messages":[]}"#, false);
    }
}
