//! How bytes get to a model and back.
//!
//! Invariant: a transport moves a request and its answer as they are, and decides nothing. Called
//! by the client.

#[cfg(feature = "http")]
mod http;
mod player;
mod recorder;
mod tape;

use async_trait::async_trait;
use bytes::Bytes;

#[cfg(feature = "http")]
pub use http::HttpTransport;
pub use player::{CassettePlayer, PlayerError};
pub use recorder::CassetteRecorder;

/// How a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Asks.
    Get,
    /// Sends a body.
    Post,
}

impl HttpMethod {
    /// Its name in HTTP.
    pub fn name(self) -> &'static str {
        match self {
            HttpMethod::Get => "GET",
            HttpMethod::Post => "POST",
        }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// How.
    pub method: HttpMethod,
    /// Where.
    pub url: String,
    /// Credentials and what else the API wants to be told.
    pub headers: Vec<(&'static str, String)>,
    /// JSON; empty for [`HttpMethod::Get`].
    pub body: Bytes,
}

/// The beginning of an answer, and the rest as it comes.
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// What `retry-after` says.
    pub retry_after: Option<String>,
    /// The body.
    pub body: Box<dyn BodyChunks>,
}

/// A body that comes piece by piece.
#[async_trait]
pub trait BodyChunks: Send {
    /// The next piece, `None` at the end.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    async fn next(&mut self) -> Result<Option<Bytes>, SendError>;
}

/// Moves requests.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and gives the answer as soon as its head is there.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    async fn send(&self, call: &HttpRequest) -> Result<HttpResponse, SendError>;
}

/// No answer came, or it broke off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct SendError {
    /// Why.
    pub cause: String,
    /// Whether it may be different soon.
    pub passes: bool,
}
