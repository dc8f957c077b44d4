//! The client to the collector.
//!
//! Invariant: it goes by the same connections as requests to upstreams: TLS, proxies of the
//! environment, a bounded time to connect. Called by the exporters, on threads of their own.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;

use super::error::TelemetryError;
use crate::telemetry_target::TelemetryTarget;
use crate::upstream::{self, Timed};

/// How long reaching the collector may take.
const CONNECT: Duration = Duration::from_secs(5);
/// The largest answer that is read, in bytes.
const MOST: usize = 1 << 20;

/// Sends batches to the collector.
#[derive(Clone)]
pub(super) struct CollectorClient {
    client: Client<Timed, Full<Bytes>>,
    runtime: Handle,
    within: Duration,
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectorClient").field("within", &self.within).finish_non_exhaustive()
    }
}

impl CollectorClient {
    pub(super) fn new(target: &TelemetryTarget, runtime: Handle) -> Result<Self, TelemetryError> {
        let client = upstream::client(target.is_tls, CONNECT)?;
        Ok(Self { client, runtime, within: target.within })
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sending = self.client.request(request.map(Full::new));
        let within = self.within;
        let answered = async move {
            let answer = sending.await?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, MOST).collect().await?.to_bytes();
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        // The exporters run on threads of their own, which no timer and no connection belong to.
        let task = self.runtime.spawn(async move { tokio::time::timeout(within, answered).await });
        task.await??
    }
}
