//! Records what goes over a transport.
//!
//! Invariant: what passes is not changed; an answer that nobody heard to its end is recorded as far
//! as it was heard. Called by the client; hosts keep the text.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use super::tape::{CassetteExchange, CassetteReply, CassetteRequest};
use super::{BodyChunks, HttpRequest, HttpResponse, SendError, Transport};

/// A transport that remembers. Clones remember together.
#[derive(Clone)]
pub struct CassetteRecorder {
    inner: Arc<dyn Transport>,
    tape: Arc<Mutex<Vec<CassetteExchange>>>,
}

impl CassetteRecorder {
    /// Records what goes over another transport.
    pub fn new(inner: Arc<dyn Transport>) -> Self {
        Self { inner, tape: Arc::default() }
    }

    /// The cassette so far: a line of JSON for each request, without keys and hosts.
    pub fn cassette(&self) -> String {
        let tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = tape.iter().filter_map(|exchange| serde_json::to_string(exchange).ok());
        lines.map(|line| line + "\n").collect()
    }
}

#[async_trait]
impl Transport for CassetteRecorder {
    async fn send(&self, call: &HttpRequest) -> Result<HttpResponse, SendError> {
        let HttpResponse { status, retry_after, body } = self.inner.send(call).await?;
        let reply = CassetteReply {
            status,
            retry_after: retry_after.clone(),
            chunks: Vec::new(),
            broke_off: None,
        };
        let exchange = CassetteExchange { request: CassetteRequest::of(call), response: reply };
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        let at = tape.len();
        tape.push(exchange);
        drop(tape);
        let heard = RecordedBody { inner: body, tape: Arc::clone(&self.tape), at, cut: Vec::new() };
        Ok(HttpResponse { status, retry_after, body: Box::new(heard) })
    }
}

/// A body that is written down while it passes.
struct RecordedBody {
    inner: Box<dyn BodyChunks>,
    tape: Arc<Mutex<Vec<CassetteExchange>>>,
    at: usize,
    /// The beginning of a character whose end is in the next piece.
    cut: Vec<u8>,
}

#[async_trait]
impl BodyChunks for RecordedBody {
    async fn next(&mut self) -> Result<Option<Bytes>, SendError> {
        let next = self.inner.next().await;
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exchange) = tape.get_mut(self.at) {
            let reply = &mut exchange.response;
            match &next {
                Ok(Some(bytes)) => reply.chunks.extend(text(&mut self.cut, bytes)),
                Ok(None) => {}
                Err(error) => reply.broke_off = Some(error.cause.clone()),
            }
        }
        next
    }
}

/// The whole characters of a piece; what is cut waits for the next one.
fn text(cut: &mut Vec<u8>, bytes: &[u8]) -> Option<String> {
    cut.extend_from_slice(bytes);
    let whole = match str::from_utf8(cut) {
        Ok(_) => cut.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => cut.len(),
    };
    let rest = cut.split_off(whole);
    let text = String::from_utf8_lossy(cut).into_owned();
    *cut = rest;
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        let mut cut = Vec::new();
        let all = "aé🦀".as_bytes();
        let said: String = all.chunks(1).filter_map(|byte| text(&mut cut, byte)).collect();
        assert_eq!((said.as_str(), cut.len()), ("aé🦀", 0));
    }
}
