//! What a proxy is told when it starts.
//!
//! Invariant: what is set here never changes while it runs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use epitome::{CachePrices, Hub};
use epitome_mcp::Http;

use crate::access::Token;
use crate::ledger::Terms;
use crate::route::Api;
use crate::url::Url;

/// What a proxy is told when it starts.
#[derive(Clone)]
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where requests go.
    pub upstreams: Upstreams,
    /// Who may use it. None: whoever reaches it, which is allowed on a loopback address only.
    pub tokens: Option<Vec<Token>>,
    /// Makes and figures prompts, and sends what came.
    pub shadow: bool,
    /// Where each request, what was sent for it, and what is known about it are written.
    pub dump: Option<PathBuf>,
    /// The largest body of a conversation, in bytes as it comes.
    pub max_body: usize,
    /// The largest body of a conversation, in bytes without its encodings.
    pub max_decoded: usize,
    /// The conversations.
    pub hub: Arc<Hub>,
    /// The levers of their sessions, for agents, at `/mcp`; without them that is a path like any
    /// other.
    pub mcp: Option<Arc<Http>>,
    /// How long making a prompt may take before the request goes on without it.
    pub prepare_within: Duration,
    /// How many requests may be skipped one after the other before that is an alarm.
    pub alarm_after: u32,
    /// The least share of the raw tokens that a count answers with once they exceed the client's
    /// window, so that the client compacts by itself in the end: 0.25 makes a conversation of four
    /// windows look full.
    pub floor_share: f64,
    /// On what terms figures are kept; its `shadow` and `run` are taken from here.
    pub terms: Terms,
    /// How long reaching an upstream may take.
    pub connect_within: Duration,
    /// How long a client may take for the head of a request, and stay connected without one.
    pub head_within: Duration,
    /// How long a client may pause in the middle of a body.
    pub body_within: Duration,
    /// How many connections are served at the same time; more wait.
    pub max_connections: usize,
}

impl Settings {
    /// The usual settings: port 8787 on loopback, and no upstream.
    pub fn new(hub: Arc<Hub>) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            upstreams: Upstreams::default(),
            tokens: None,
            shadow: false,
            dump: None,
            max_body: 64 << 20,
            max_decoded: 64 << 20,
            hub,
            mcp: None,
            prepare_within: Duration::from_secs(10),
            alarm_after: 5,
            floor_share: 0.25,
            terms: Terms::new(CachePrices { read: 0.1, write: 1.25 }),
            connect_within: Duration::from_secs(15),
            head_within: Duration::from_secs(120),
            body_within: Duration::from_secs(60),
            max_connections: 1024,
        }
    }
}

/// Where requests go, by API. The only one that is set takes everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstreams {
    /// For Anthropic's API.
    pub anthropic: Option<Url>,
    /// For OpenAI's API and what is compatible with it.
    pub openai: Option<Url>,
    /// For Ollama's API.
    pub ollama: Option<Url>,
}

impl Upstreams {
    /// The upstream that an API's requests go to.
    pub(crate) fn of(&self, api: Api) -> Option<&Url> {
        let own = match api {
            Api::Anthropic => &self.anthropic,
            Api::OpenAi => &self.openai,
            Api::Ollama => &self.ollama,
        };
        own.as_ref().or_else(|| {
            let mut all = self.all();
            all.next().filter(|_| all.next().is_none())
        })
    }

    /// All that are set.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Url> {
        [&self.anthropic, &self.openai, &self.ollama].into_iter().flatten()
    }
}

/// Why a proxy cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// Anybody could use it.
    #[error(
        "{address} can be reached from other machines: give a token file, or listen on a loopback \
         address such as 127.0.0.1:8787"
    )]
    Open {
        /// Where it was told to listen.
        address: SocketAddr,
    },
    /// There is nowhere to send anything.
    #[error("no upstream is set: name at least one, for example `https://api.anthropic.com`")]
    NoUpstream,
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; choose another address or port 0")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The folder for dumps cannot be used.
    #[error("cannot write dumps to `{}`: {source}; name a folder that can be made", path.display())]
    Dump {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Certificates of upstreams could not be checked.
    #[error(
        "no certificate authority is known, so no https upstream can be trusted: {source}; install \
         the system's `ca-certificates`, or name a file with SSL_CERT_FILE"
    )]
    Certificates {
        /// What was found out.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sole_upstream_takes_everything() {
        let url = |host: &str| Some(format!("http://{host}").parse::<Url>().unwrap());
        let mut upstreams = Upstreams { openai: url("o"), ..Upstreams::default() };
        let found = |upstreams: &Upstreams| {
            [Api::Anthropic, Api::OpenAi, Api::Ollama].map(|api| upstreams.of(api).cloned())
        };
        assert_eq!(found(&upstreams), [url("o"), url("o"), url("o")]);
        upstreams.anthropic = url("a");
        assert_eq!(found(&upstreams), [url("a"), url("o"), None]);
        assert_eq!(found(&Upstreams::default()), [None, None, None]);
    }
}
