//! What arrived: each request as it came, and what became of it.
//!
//! Invariant: a record is made before its request is answered, so that a request which hangs is
//! there too. Filled by `server`, read by tests and through `/__log`.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::cache::Usage;
use crate::script::Fault;

/// One request.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Its number, from 1.
    pub number: u64,
    /// `GET`, `POST` ...
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in small letters, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body as it came; empty where the script says to forget.
    pub raw: Bytes,
    /// The size of the body as it came.
    pub size: usize,
    /// The body as JSON, unpacked before if it was compressed; null if it is none.
    pub body: Value,
    /// The status of the answer; 0 while there is none.
    pub status: u16,
    /// Why it was refused: a rule of the provider, or its limit.
    pub refused: Option<String>,
    /// Whether the refusal was for its length.
    pub too_long: bool,
    /// What went wrong on purpose.
    pub fault: Fault,
    /// What the prompt cost; zero where it was refused.
    pub usage: Usage,
    /// Whether it is longer than the limit of an API that cuts in silence.
    pub cut_short: bool,
    /// The places of reasoning that was dropped, since what stood before it had changed.
    pub dropped: Vec<String>,
    /// How the answer went out.
    pub ended: Ended,
}

/// How an answer went out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ended {
    /// It has not ended, or there is none.
    #[default]
    Open,
    /// To its end.
    Whole,
    /// The other side left before its end.
    Left,
}

impl Record {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The path without the query.
    #[must_use]
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Whether it asks for an answer of the model.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        self.method == "POST" && crate::api::Api::of(self.route()).is_some()
    }

    /// The record as one JSON value.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let headers: serde_json::Map<String, Value> =
            self.headers.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        json!({"number": self.number, "method": self.method, "path": self.path,
            "headers": headers, "bytes": self.size, "body": self.body, "status": self.status,
            "refused": self.refused, "too_long": self.too_long, "fault": self.fault,
            "usage": self.usage, "cost": self.usage.cost() / 100, "cut_short": self.cut_short,
            "dropped": self.dropped,
            "ended": format!("{:?}", self.ended).to_lowercase()})
    }
}
