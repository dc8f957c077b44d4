//! What a cassette holds: one line of JSON for each request with its answer.
//!
//! Invariant: no header of a request is kept, so no key; the address is kept without its host.
//! Written by the recorder, read by the player.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HttpRequest;
use crate::address;

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassetteExchange {
    pub(super) request: CassetteRequest,
    pub(super) response: CassetteReply,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassetteRequest {
    pub(super) method: String,
    pub(super) path: String,
    /// The body; null where there is none.
    pub(super) body: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CassetteReply {
    pub(super) status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after: Option<String>,
    /// The body, as it came.
    pub(super) chunks: Vec<String>,
    /// Why it broke off, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) broke_off: Option<String>,
}

impl CassetteRequest {
    pub(super) fn of(call: &HttpRequest) -> Self {
        let path = address::path(&call.url);
        let body = match call.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&call.body).unwrap_or_else(|_| {
                Value::String(String::from_utf8_lossy(&call.body).into_owned())
            }),
        };
        Self { method: call.method.name().to_owned(), path, body }
    }
}
