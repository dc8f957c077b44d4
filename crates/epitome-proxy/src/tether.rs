//! Message threads of Anthropic's API: a client begins one with its whole history and then sends only
//! what is new, since the provider keeps the rest.
//!
//! Invariant: what is new is never taken for the conversation (RULES 141). A request that begins a
//! thread goes on as one without; one that goes on with a thread is declined with the code at which
//! its client sends the whole history, and no thread from then on. Called by `prepare`.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The code by which clients know that they have to send the whole history.
pub(crate) const CODE: &str = "thread_unsupported_request";

/// What else they look for in the message of an error.
pub(crate) const MESSAGE: &str = "capability_rejected: beta_header:message-threads-2026-08-12: this \
    proxy sends whole conversations and keeps no message threads: send this turn again with the \
    full message history";

/// The body of a request that begins a thread, without that; none where it does anything else with
/// one. `thread` is the member of the body as it stands there.
pub(crate) fn untied(body: &Bytes, thread: &RawValue) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Thread {
        r#type: String,
    }
    let read: Thread = serde_json::from_str(thread.get()).ok()?;
    if read.r#type != "create" {
        return None;
    }
    let value = thread.get().as_bytes();
    let start = (value.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
    let (before, after) = (body.get(..start)?, body.get(start + value.len()..)?);
    let before = before.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let before = before.strip_suffix(b"\"thread\"")?;
    let rest = match after.trim_ascii_start().strip_prefix(b",") {
        Some(rest) => [before, rest],
        None => {
            let last = before.trim_ascii_end();
            [last.strip_suffix(b",").unwrap_or(last), after]
        }
    };
    Some(rest.concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ApiDialect;
    use crate::facts::BodyFacts;

    #[track_caller]
    fn check(body: &str, expected: Option<&str>) {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let facts = BodyFacts::of(&body, ApiDialect::Messages).unwrap();
        let untied = facts.thread().and_then(|thread| untied(&body, thread));
        assert_eq!(untied.as_deref().map(|it| std::str::from_utf8(it).unwrap()), expected);
    }

    #[test]
    fn a_thread_is_begun_without_it() {
        let thread = r#""thread": {"type":"create"}"#;
        check(&format!(r#"{{{thread} , "a":1}}"#), Some(r#"{ "a":1}"#));
        check(&format!(r#"{{"a":1 , {thread}}}"#), Some(r#"{"a":1 }"#));
        check(&format!("{{{thread}}}"), Some("{}"));
        check(r#"{"a":{"thread":{"type":"create"}}}"#, None);
        check(r#"{"thread":null}"#, None);
        check(r#"{"thread":{"type":"continue","previous_message_id":"msg_1"}}"#, None);
        let long = format!(r#"{{"messages":"{}",{thread}}}"#, "x".repeat(crate::facts::SMALL));
        check(&long, Some(&long.replace(&format!(",{thread}"), "")));
    }
}
