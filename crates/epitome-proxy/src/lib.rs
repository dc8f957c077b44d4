//! The HTTP proxy that compresses what clients send, and breaks nothing.
//!
//! A request comes in at `server`; `route` says which API it speaks and what is to be done with
//! it, `prepare` makes what is sent for a conversation, `upstream` sends it, and `stream` relays
//! the answer while `tee` listens. What we have to say ourselves is a `fault` in the client's
//! protocol.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use epitome::{Compressor, SessionRouter, MemoryStore};
//! use epitome_proxy::{Proxy, ProxyError, ProxySettings};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let hub = Arc::new(SessionRouter::new(Arc::new(MemoryStore::new()), Compressor::builder));
//! let mut settings = ProxySettings::new(hub);
//! settings.upstreams.anthropic = Some("https://api.anthropic.com".parse()?);
//! let running = Proxy::bind(settings).await?;
//! println!("http://{}", running.address());
//! running.stop(Duration::from_secs(30)).await;
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: nothing here decides about a conversation; that is the facade's. What cannot be
//! compressed goes out as it came, and says why. Per request at most its body as it came, decoded,
//! and the prompt made of it are held, each within a bound; of an answer, what a line takes.

mod access;
mod api;
mod app;
mod arms;
mod arrivals;
mod body;
mod call;
mod clients;
mod cockpit;
mod controls;
mod count;
mod decode;
mod dump;
mod facts;
mod fault;
mod handler;
mod headers;
mod ledger;
mod lobby;
mod local_page;
mod metrics;
mod ollama_context;
mod page;
mod pages;
mod prepare;
mod recording;
mod response;
mod route;
mod server;
mod settings;
mod shared_page;
mod skip;
mod status;
mod stray;
mod stream;
mod tee;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(feature = "otel")]
mod telemetry_target;
mod tether;
mod upstream;
mod url;
mod windows;

pub use access::{AccessToken, PathToken, ProxyAccess, TokenError};
pub use api::UpstreamApi;
pub use arms::{ArmChooser, ArmRequest, ChosenArm};
pub use ledger::{
    BOUNDS, ConversationFigures, CostSums, LatencyHistogram, LedgerKeeper, LedgerOptions,
    LedgerSnapshot, OlderConversations, OwnCost, OwnModelCost, PaidPage, PromptCost, Rates,
    ReplyTimes, RequestSums, TrafficSums, TroubleSums, UsageLedger,
};
pub use local_page::LocalPage;
pub use server::{Proxy, RunningProxy};
pub use settings::{
    LedgerSettings, OwnServices, ProxyDeadlines, ProxyError, ProxyLimits, ProxySettings, Upstreams,
};
pub use shared_page::{PortListener, SharedPage};
#[cfg(feature = "otel")]
pub use telemetry_target::{TelemetryTarget, UnspokenProtocol};
pub use url::{UpstreamUrl, UrlError};
