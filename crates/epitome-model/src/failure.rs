//! Why a model did not answer.
//!
//! Invariant: it says who failed, in the provider's own words where there are some, and what to do
//! about what the user can change; no key stands in it. Made by the client.

use epitome_kernel::types::ContextOverflow;
use epitome_wire::ResponseInfo;
use serde_json::Value;

/// A model did not answer, or not to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFailure {
    /// Nobody is there.
    #[error("nobody answers at {address}: {cause}; {remedy}")]
    Unreachable {
        /// The server's address.
        address: String,
        /// Why.
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// The prompt is larger than the model's window.
    #[error("the prompt is too long for the model{}", figures(.0))]
    Overflow(ContextOverflow),
    /// The provider refuses.
    #[error("the provider refuses with {status}: {says}{remedy}")]
    Refused {
        /// The status.
        status: u16,
        /// What it says.
        says: String,
        /// What to do, where that is known.
        remedy: String,
    },
    /// The answer broke off.
    #[error("the answer broke off: {cause}")]
    BrokeOff {
        /// Why.
        cause: String,
        /// What came of it.
        answer: Box<ResponseInfo>,
    },
    /// It took too long.
    #[error("no whole answer within {after_ms} ms")]
    Deadline {
        /// Milliseconds that were waited.
        after_ms: u64,
        /// What came of it.
        answer: Box<ResponseInfo>,
    },
    /// It answered what cannot be read.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    /// The request could not be made.
    #[error("the request cannot be made: {0}")]
    Request(String),
}

fn figures(overflow: &ContextOverflow) -> String {
    match (overflow.size, overflow.limit) {
        (Some(size), Some(limit)) => format!(": {size} tokens of {limit}"),
        (None, Some(limit)) => format!(", which takes {limit} tokens"),
        _ => String::new(),
    }
}

/// What an error says, in a line.
pub(crate) fn message(body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let said = ["/error/message", "/message", "/error", "/detail"]
        .iter()
        .find_map(|path| json.as_ref()?.pointer(path)?.as_str().map(str::to_owned));
    let text = said.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None if line.is_empty() => "nothing".to_owned(),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_said_in_a_line() {
        let check = |body: &str, expected: &str| assert_eq!(message(body.as_bytes()), expected);
        check(r#"{"error":{"message":"no\nsuch model"}}"#, "no such model");
        check(r#"{"error":"model 'x' not found"}"#, "model 'x' not found");
        check("<html>bad gateway</html>", "<html>bad gateway</html>");
        check("", "nothing");
    }
}
