//! Plays a cassette: what a model said once, without the model.
//!
//! Invariant: a request that is not the recorded one is an error that says where they differ, so a
//! cassette asserts what is asked as well. Called by the client.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

use super::tape::{CassetteExchange, CassetteReply, CassetteRequest};
use super::{BodyChunks, HttpRequest, HttpResponse, SendError, Transport};

/// A transport that answers from a cassette, in its order.
#[derive(Debug)]
pub struct CassettePlayer(Mutex<VecDeque<CassetteExchange>>);

/// A text is no cassette.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the cassette is not what a recorder writes: {cause}")]
pub struct PlayerError {
    line: usize,
    cause: serde_json::Error,
}

impl CassettePlayer {
    /// Plays a cassette from its beginning.
    ///
    /// # Errors
    ///
    /// When a line is not what a [`super::CassetteRecorder`] writes.
    pub fn new(cassette: &str) -> Result<Self, PlayerError> {
        let lines = cassette.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = lines.map(|(at, line)| {
            serde_json::from_str(line).map_err(|cause| PlayerError { line: at + 1, cause })
        });
        Ok(Self(Mutex::new(read.collect::<Result<_, _>>()?)))
    }

    /// How many requests were not made yet.
    pub fn left(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[async_trait]
impl Transport for CassettePlayer {
    async fn send(&self, call: &HttpRequest) -> Result<HttpResponse, SendError> {
        let asked = CassetteRequest::of(call);
        let mut tape = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(next) = tape.front() else {
            return Err(unexpected(format!("the cassette is at its end; asked: {}", asked.path)));
        };
        if let Some(difference) = difference(&next.request, &asked) {
            return Err(unexpected(difference));
        }
        let Some(CassetteExchange { response, .. }) = tape.pop_front() else {
            return Err(unexpected("the cassette is at its end".to_owned()));
        };
        let CassetteReply { status, retry_after, chunks, broke_off } = response;
        let body = Box::new(PlayedExchange { chunks: chunks.into(), broke_off });
        Ok(HttpResponse { status, retry_after, body })
    }
}

struct PlayedExchange {
    chunks: VecDeque<String>,
    broke_off: Option<String>,
}

#[async_trait]
impl BodyChunks for PlayedExchange {
    async fn next(&mut self) -> Result<Option<Bytes>, SendError> {
        match (self.chunks.pop_front(), self.broke_off.take()) {
            (Some(chunk), broke_off) => {
                self.broke_off = broke_off;
                Ok(Some(chunk.into()))
            }
            (None, Some(cause)) => Err(SendError { cause, passes: true }),
            (None, None) => Ok(None),
        }
    }
}

fn unexpected(cause: String) -> SendError {
    SendError { cause, passes: false }
}

/// Where two requests differ first.
fn difference(recorded: &CassetteRequest, asked: &CassetteRequest) -> Option<String> {
    if (&recorded.method, &recorded.path) != (&asked.method, &asked.path) {
        let told = |it: &CassetteRequest| format!("{} {}", it.method, it.path);
        return Some(format!("recorded was {}, asked is {}", told(recorded), told(asked)));
    }
    apart("", &recorded.body, &asked.body)
}

fn apart(path: &str, recorded: &Value, asked: &Value) -> Option<String> {
    match (recorded, asked) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
                let [one, other] = [of(one), of(other)].map(Option::unwrap_or_default);
                apart(&format!("{path}.{key}"), &one, &other)
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (one, other))| apart(&format!("{path}[{at}]"), one, other))
        }
        _ if recorded == asked => None,
        _ => Some(format!("`{path}` was recorded as {}, and is {}", brief(recorded), brief(asked))),
    }
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> CassetteRequest {
        let (method, path) = ("POST".to_owned(), "/api/chat".to_owned());
        CassetteRequest { method, path, body: serde_json::from_str(body).unwrap() }
    }

    #[track_caller]
    fn check(recorded: &str, asked: &str, expected: Option<&str>) {
        let found = difference(&request(recorded), &request(asked));
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_difference_is_named_by_its_place() {
        check(r#"{"a":[1,{"b":"c"}]}"#, r#"{ "a": [1, {"b":"c"}] }"#, None);
        let expected = r#"`.a[1].b` was recorded as "c", and is "d""#;
        check(r#"{"a":[1,{"b":"c"}]}"#, r#"{"a":[1,{"b":"d"}]}"#, Some(expected));
        check(r#"{"a":1}"#, "{}", Some("`.a` was recorded as 1, and is null"));
        check("[1]", "[1,2]", Some("`` was recorded as [1], and is [1,2]"));
    }

    #[test]
    fn what_is_no_cassette_is_told_by_its_line() {
        let error = CassettePlayer::new("\n{}\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2 of the cassette is not what"), "{error}");
    }
}
