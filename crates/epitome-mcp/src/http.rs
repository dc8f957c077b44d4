//! Requests that a host took in: streamable HTTP, one answer for each.
//!
//! Invariant: no request leaves anything behind, since there are no sessions of the protocol: what
//! a client does is in the journal. Whether it may ask at all is the host's to say, before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use epitome::SessionControls;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use crate::server::McpServer;

/// The server behind a host that listens.
pub struct McpHttp {
    levers: Box<LeversOf>,
    /// The session that each tenant's client asked for last.
    heard: Mutex<HashMap<String, HeardSession>>,
}

/// The levers of a tenant; in the sessions of a profile, where it is not the usual one.
type LeversOf = dyn Fn(&str, Option<&str>) -> SessionControls + Send + Sync;

/// A session that a client asked for.
#[derive(Clone)]
struct HeardSession {
    /// The profile that it is recorded under, where that is not the usual one.
    profile: Option<String>,
    name: String,
}

impl std::fmt::Debug for McpHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpHttp").finish_non_exhaustive()
    }
}

impl McpHttp {
    /// A server over the levers that a tenant has; of sessions with a profile, where one is named.
    pub fn new(
        levers: impl Fn(&str, Option<&str>) -> SessionControls + Send + Sync + 'static,
    ) -> Self {
        Self { levers: Box::new(levers), heard: Mutex::default() }
    }

    /// The host sent a request of a session on: calls that come now and say nothing of where they
    /// are from are of that one. `profile` is the one that it is recorded under, where that is not the
    /// usual one.
    pub fn heard(&self, tenant: &str, profile: Option<&str>, session: &str) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match heard.get_mut(tenant) {
            Some(known) => {
                if known.name != session {
                    session.clone_into(&mut known.name);
                }
                known.profile = profile.map(str::to_owned);
            }
            None => {
                let (name, profile) = (session.to_owned(), profile.map(str::to_owned));
                heard.insert(tenant.to_owned(), HeardSession { profile, name });
            }
        }
    }

    /// Answers a request of a tenant whose body is there.
    pub async fn answer(&self, tenant: &str, request: Request<Bytes>) -> Response<Bytes> {
        if request.method() == Method::POST
            && let Err((code, message)) = checked(request.body())
        {
            return refused(code, &message);
        }
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).get(tenant).cloned();
        let profile = heard.as_ref().and_then(|it| it.profile.clone());
        let levers = (self.levers)(tenant, profile.as_deref());
        let server = McpServer::new(levers, heard.map(|it| it.name));
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts();
        let sessions = Arc::new(NeverSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
        let (head, body) = service.handle(request.map(Full::new)).await.into_parts();
        // Without sessions and notices an answer is one message.
        let Ok(body) = body.collect().await;
        Response::from_parts(head, body.to_bytes())
    }
}

/// Whether a body is one message of JSON-RPC; if not, the error's code and what was expected.
fn checked(body: &[u8]) -> Result<(), (i32, String)> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| (-32700, format!("the body is no JSON: {error}")))?;
    match &value {
        Value::Object(message) if message.get("jsonrpc") == Some(&json!("2.0")) => Ok(()),
        Value::Array(_) => Err((-32600, "batches are not taken; send one message".to_owned())),
        _ => Err((-32600, "the body is no message of JSON-RPC 2.0".to_owned())),
    }
}

fn refused(code: i32, message: &str) -> Response<Bytes> {
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
