//! The network.
//!
//! Invariant: no redirect is followed, since it could carry a key elsewhere, and this machine is
//! never reached through a proxy. Called by the client.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{ClientBuilder, redirect};

use super::{BodyChunks, HttpMethod, HttpRequest, HttpResponse, SendError, Transport};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// Requests over HTTP, encrypted where the address says so. Clones share connections.
#[derive(Clone, Debug)]
pub struct HttpTransport {
    /// For other machines.
    far: reqwest::Client,
    /// For this one.
    near: reqwest::Client,
}

impl HttpTransport {
    /// A client without connections yet.
    ///
    /// # Errors
    ///
    /// When the roots of trust of this machine cannot be read.
    pub fn new() -> Result<Self, SendError> {
        // Another part of the process may have chosen already, which is as good.
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::trace!("a provider of cryptography is installed already");
        }
        let builder = || {
            let none = redirect::Policy::none();
            ClientBuilder::new().connect_timeout(CONNECT).redirect(none)
        };
        let built = |builder: ClientBuilder| builder.build().map_err(|error| failed(&error));
        Ok(Self { far: built(builder())?, near: built(builder().no_proxy())? })
    }
}

#[async_trait]
impl Transport for HttpTransport {
    async fn send(&self, call: &HttpRequest) -> Result<HttpResponse, SendError> {
        let client = if is_near(&call.url) { &self.near } else { &self.far };
        let mut request = match call.method {
            HttpMethod::Get => client.get(&call.url),
            HttpMethod::Post => client
                .post(&call.url)
                .header(CONTENT_TYPE, "application/json")
                .body(call.body.clone()),
        };
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let response = request.send().await.map_err(|error| failed(&error))?;
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let status = response.status().as_u16();
        Ok(HttpResponse { status, retry_after, body: Box::new(Stream(response)) })
    }
}

/// The rest of an answer.
struct Stream(reqwest::Response);

#[async_trait]
impl BodyChunks for Stream {
    async fn next(&mut self) -> Result<Option<Bytes>, SendError> {
        self.0.chunk().await.map_err(|error| failed(&error))
    }
}

fn is_near(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The innermost cause: the others repeat the address.
fn failed(error: &reqwest::Error) -> SendError {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let cause = cause.to_string();
    let cause = cause.split(" (os error").next().unwrap_or_default().to_owned();
    SendError { cause, passes: !error.is_builder() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_near() {
        let near = ["http://127.0.0.1:1/v1", "http://localhost:11434/api/chat", "http://[::1]:8/"];
        assert!(near.into_iter().all(is_near));
        assert!(
            !["https://api.openai.com/v1", "http://127.example/", "x"].into_iter().any(is_near)
        );
    }
}
