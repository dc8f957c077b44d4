//! The client to the upstreams.
//!
//! Invariant: a request goes to the address that it names and nowhere else: no redirect is
//! followed. Reaching an upstream is bounded in time; what it then takes to answer is not, since a
//! model may think for long. Called by `call`.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::body::Sending;
use crate::settings::{ProxyError, ProxySettings};
use crate::url::UpstreamUrl;

/// How long a connection may wait for the next request. Shorter than what servers usually allow,
/// so that none is used that its other end is just closing.
const IDLE: Duration = Duration::from_secs(30);

/// A boxed error of any layer below.
type BoxedCause = Box<dyn StdError + Send + Sync>;

/// Sends requests to the upstreams, over connections that are kept.
#[derive(Clone)]
pub(crate) struct UpstreamClient {
    client: Client<Timed, Sending>,
}

impl UpstreamClient {
    /// # Errors
    ///
    /// When an upstream is reached over TLS and this machine trusts no authority.
    pub(crate) fn new(settings: &ProxySettings) -> Result<Self, ProxyError> {
        let is_tls = settings.upstreams.all().any(UpstreamUrl::is_tls);
        Ok(Self { client: client(is_tls, settings.deadlines.connect)? })
    }

    /// Sends a request; gives the head of its answer as soon as it is there.
    ///
    /// # Errors
    ///
    /// When the upstream cannot be reached or hangs up before it answers; the words say which.
    pub(crate) async fn send(
        &self,
        request: Request<Sending>,
    ) -> Result<Response<Incoming>, Unreachable> {
        self.client.request(request).await.map_err(|error| Unreachable {
            connected: !error.is_connect(),
            reason: innermost(&error),
        })
    }
}

/// A client for bodies of a kind, over connections that are kept; `within` bounds reaching a server.
///
/// # Errors
///
/// When servers are reached over TLS and this machine trusts no authority.
pub(crate) fn client<B>(is_tls: bool, within: Duration) -> Result<Client<Timed, B>, ProxyError>
where
    B: Body + Send,
    B::Data: Send,
{
    let provider = Arc::new(ring::default_provider());
    let tls = if is_tls {
        HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(provider)
            .map_err(|source| ProxyError::Certificates { source })?
    } else {
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ProxyError::Certificates { source: io::Error::other(error) })?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        HttpsConnectorBuilder::new().with_tls_config(config)
    };
    let mut direct = HttpConnector::new();
    direct.enforce_http(false);
    direct.set_nodelay(true);
    let route = ProxyRoute { direct, matcher: Arc::new(Matcher::from_env()) };
    let tls = tls.https_or_http().enable_http1().wrap_connector(route);
    let connector = Timed { tls, within };
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector);
    Ok(client)
}

/// An upstream that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreachable {
    /// Whether there was a connection, on which no answer came.
    pub(crate) connected: bool,
    /// Why, in the words of whoever knows best.
    pub(crate) reason: String,
}

/// What the first of a chain of errors says: the others only say that something went wrong.
pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Reaches https upstreams through the proxy that `HTTPS_PROXY` names, unless `NO_PROXY` names the
/// upstream.
#[derive(Clone)]
struct ProxyRoute {
    direct: HttpConnector,
    matcher: Arc<Matcher>,
}

impl Service<Uri> for ProxyRoute {
    type Response = TokioIo<TcpStream>;
    type Error = BoxedCause;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxedCause>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxedCause>> {
        self.direct.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let through = match to.scheme_str() {
            Some("https") => self.matcher.intercept(&to),
            _ => None,
        };
        let Some(through) = through else {
            let connecting = self.direct.call(to);
            return Box::pin(async move { Ok(connecting.await?) });
        };
        let mut tunnel = Tunnel::new(through.uri().clone(), self.direct.clone());
        if let Some(credential) = through.basic_auth() {
            tunnel = tunnel.with_auth(credential.clone());
        }
        let connecting = tunnel.call(to);
        Box::pin(async move { Ok(connecting.await?) })
    }
}

/// Bounds the time that a connection takes, name and handshake included.
#[derive(Clone)]
pub(crate) struct Timed {
    tls: HttpsConnector<ProxyRoute>,
    within: Duration,
}

impl Service<Uri> for Timed {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxedCause;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxedCause>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxedCause>> {
        self.tls.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.tls.call(to);
        let within = self.within;
        Box::pin(async move {
            tokio::time::timeout(within, connecting).await.unwrap_or_else(|_| {
                let seconds = within.as_secs();
                Err(format!("no connection within {seconds} seconds").into())
            })
        })
    }
}
