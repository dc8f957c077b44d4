//! What a proxy is told when it starts.
//!
//! Invariant: what is set here never changes while it runs.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use epitome::{CachePrices, SessionRouter};
use epitome_mcp::McpHttp;
use epitome_page::CockpitPage;

use crate::access::ProxyAccess;
use crate::api::UpstreamApi;
use crate::arms::ArmChooser;
use crate::ledger::{LedgerKeeper, LedgerOptions};
use crate::shared_page::SharedPage;
#[cfg(feature = "otel")]
use crate::telemetry_target::TelemetryTarget;
use crate::url::UpstreamUrl;

/// What a proxy is told when it starts.
#[derive(Clone)]
pub struct ProxySettings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where requests go.
    pub upstreams: Upstreams,
    /// Who may use it.
    pub access: ProxyAccess,
    /// Makes and figures prompts, and sends what came.
    pub shadow: bool,
    /// Where each request, what was sent for it, and what is known about it are written.
    pub dump: Option<PathBuf>,
    /// The conversations.
    pub hub: Arc<SessionRouter>,
    /// Who says which of them belong to an experiment, and to which of its arms.
    pub arms: Option<Arc<dyn ArmChooser>>,
    /// What it answers by itself.
    pub own: OwnServices,
    /// The least share of the raw tokens that a count answers with once they exceed the client's
    /// window, so that the client compacts by itself in the end: 0.25 makes a conversation of four
    /// windows look full.
    pub floor_share: f64,
    /// How its figures are kept.
    pub ledger: LedgerSettings,
    /// How much it takes.
    pub limits: ProxyLimits,
    /// How long it waits.
    pub deadlines: ProxyDeadlines,
}

/// What a proxy answers by itself, beside figures.
#[derive(Clone, Default)]
pub struct OwnServices {
    /// The levers of sessions, for agents, at `/mcp`; without them that is a path like any other.
    pub mcp: Option<Arc<McpHttp>>,
    /// The page for people, at `/` of a browser.
    pub page: Option<Arc<CockpitPage>>,
    /// Where it stands besides, for all proxies of the store.
    pub shared: Option<SharedPage>,
}

/// How figures are kept.
#[derive(Clone)]
pub struct LedgerSettings {
    /// On what terms; its `shadow` and `run` are taken from the proxy's own settings.
    pub terms: LedgerOptions,
    /// How many requests may be skipped one after the other before that is an alarm.
    pub alarm_after: u32,
    /// Where figures are kept for the next proxy; without it they end with this one.
    pub keeper: Option<Arc<dyn LedgerKeeper>>,
    /// Where they are exported to besides.
    #[cfg(feature = "otel")]
    pub telemetry: Option<TelemetryTarget>,
}

/// How much a proxy takes.
#[derive(Clone, Copy, Debug)]
pub struct ProxyLimits {
    /// The largest body of a conversation, in bytes as it comes.
    pub body: usize,
    /// The largest body of a conversation, in bytes without its encodings.
    pub decoded: usize,
    /// How many requests are served at the same time; more wait.
    pub connections: usize,
    /// How many connections may be open on which nothing is asked. Where one more would be, the one
    /// that waits longest is closed.
    pub waiting: usize,
}

/// How long a proxy waits.
#[derive(Clone, Copy, Debug)]
pub struct ProxyDeadlines {
    /// How long making a prompt may take before the request goes on without it.
    pub prepare: Duration,
    /// How long reaching an upstream may take.
    pub connect: Duration,
    /// How long a client may take for the head of a request, and stay connected without one.
    pub head: Duration,
    /// How long a client may pause in the middle of a body, and how long one may take that hardly
    /// comes.
    pub body: Duration,
}

impl ProxySettings {
    /// The usual settings: port 8787 on loopback, and no upstream.
    pub fn new(hub: Arc<SessionRouter>) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            upstreams: Upstreams::default(),
            access: ProxyAccess::default(),
            shadow: false,
            dump: None,
            hub,
            arms: None,
            own: OwnServices::default(),
            floor_share: 0.25,
            ledger: LedgerSettings {
                terms: LedgerOptions::new(CachePrices { read: 0.1, write: 1.25 }),
                alarm_after: 5,
                keeper: None,
                #[cfg(feature = "otel")]
                telemetry: None,
            },
            limits: ProxyLimits::default(),
            deadlines: ProxyDeadlines::default(),
        }
    }
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self { body: 64 << 20, decoded: 64 << 20, connections: 1024, waiting: 1024 }
    }
}

impl Default for ProxyDeadlines {
    fn default() -> Self {
        Self {
            prepare: Duration::from_secs(10),
            connect: Duration::from_secs(15),
            head: Duration::from_secs(120),
            body: Duration::from_secs(60),
        }
    }
}

/// Where requests go, by API. Each has an address of its own, `/to/NAME`. At the bare address a path
/// that several APIs have goes to the one among them that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstreams {
    /// For Anthropic's API.
    pub anthropic: Option<UpstreamUrl>,
    /// For OpenAI's API and what is compatible with it.
    pub openai: Option<UpstreamUrl>,
    /// For Ollama's API.
    pub ollama: Option<UpstreamUrl>,
    /// Those that stand above because nobody said otherwise. Once one is chosen, these are reached
    /// at their own addresses alone.
    pub defaults: BTreeSet<UpstreamApi>,
}

/// Why a path at the bare address goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unchosen {
    /// None of the APIs that have it has an upstream.
    Unset,
    /// Some have, and nobody chose between them.
    Undecided,
}

impl Upstreams {
    /// The upstream that an API's own address leads to.
    pub(crate) fn own(&self, api: UpstreamApi) -> Option<&UpstreamUrl> {
        match api {
            UpstreamApi::Anthropic => self.anthropic.as_ref(),
            UpstreamApi::OpenAi => self.openai.as_ref(),
            UpstreamApi::Ollama => self.ollama.as_ref(),
        }
    }

    /// The upstream of a path at the bare address, and its API, among those that have the path.
    pub(crate) fn bare(
        &self,
        apis: &[UpstreamApi],
    ) -> Result<(UpstreamApi, &UpstreamUrl), Unchosen> {
        let set = || apis.iter().filter_map(|api| Some((*api, self.own(*api)?)));
        if let Some(chosen) = set().find(|(api, _)| !self.defaults.contains(api)) {
            return Ok(chosen);
        }
        let first = *apis.first().ok_or(Unchosen::Unset)?;
        if let Some(sole) = self.sole() {
            return Ok((first, sole));
        }
        // Where nobody chose anything the bare address is Anthropic's, and Ollama's for what only
        // it has. Paths of OpenAI's are spoken by too many to say whose they are.
        let nothing_chosen = self.all().count() == self.defaults.len();
        let own = self.own(first).filter(|_| nothing_chosen && first != UpstreamApi::OpenAi);
        match own {
            Some(own) => Ok((first, own)),
            None if set().next().is_some() => Err(Unchosen::Undecided),
            None => Err(Unchosen::Unset),
        }
    }

    /// The upstream of an API, which where only one is set, and was chosen, is that one.
    pub(crate) fn of(&self, api: UpstreamApi) -> Option<&UpstreamUrl> {
        self.own(api).or_else(|| self.sole())
    }

    /// The only one that is set, where somebody chose it. A default takes nothing but its own.
    fn sole(&self) -> Option<&UpstreamUrl> {
        let mut all = self.all();
        let sole = all.next().filter(|_| all.next().is_none())?;
        self.defaults.is_empty().then_some(sole)
    }

    /// All that are set.
    pub(crate) fn all(&self) -> impl Iterator<Item = &UpstreamUrl> {
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

    use UpstreamApi::{Anthropic, Ollama, OpenAi};

    const MESSAGES: [UpstreamApi; 2] = [Anthropic, Ollama];
    const CHAT: [UpstreamApi; 2] = [OpenAi, Ollama];

    fn url(host: &str) -> Option<UpstreamUrl> {
        Some(format!("http://{host}").parse().unwrap())
    }

    /// Where a path of each kind goes at the bare address, by the letter of its upstream.
    #[track_caller]
    fn check(upstreams: &Upstreams, expected: [&str; 3]) {
        let found = [&MESSAGES[..], &CHAT, &[Ollama]].map(|apis| match upstreams.bare(apis) {
            Ok((_, url)) => url.to_string().trim_start_matches("http://").to_owned(),
            Err(why) => format!("{why:?}"),
        });
        assert_eq!(found, expected, "{upstreams:?}");
    }

    #[test]
    fn a_sole_upstream_takes_everything() {
        check(&Upstreams { openai: url("o"), ..Upstreams::default() }, ["o", "o", "o"]);
        check(&Upstreams::default(), ["Unset", "Unset", "Unset"]);
        let two = Upstreams { openai: url("o"), anthropic: url("a"), ..Upstreams::default() };
        check(&two, ["a", "o", "Unset"]);
    }

    #[test]
    fn nothing_goes_to_a_provider_that_nobody_chose() {
        let usual = |defaults: &[UpstreamApi]| Upstreams {
            anthropic: url("a"),
            openai: url("o"),
            ollama: url("l"),
            defaults: defaults.iter().copied().collect(),
        };
        check(&usual(&[Anthropic, OpenAi, Ollama]), ["a", "Undecided", "l"]);
        check(&usual(&[Anthropic, OpenAi]), ["l", "l", "l"]);
        check(&usual(&[Anthropic, Ollama]), ["Undecided", "o", "Undecided"]);
        check(&usual(&[OpenAi, Ollama]), ["a", "Undecided", "Undecided"]);
        check(&usual(&[OpenAi]), ["a", "l", "l"]);
        check(&usual(&[]), ["a", "o", "l"]);
        assert_eq!(usual(&[OpenAi]).own(OpenAi), url("o").as_ref());
        // The others were taken away, and it was not put in their place.
        let left = Upstreams {
            openai: url("o"),
            defaults: [OpenAi].into_iter().collect(),
            ..Upstreams::default()
        };
        check(&left, ["Unset", "Undecided", "Unset"]);
        assert_eq!((left.of(Ollama), left.of(OpenAi)), (None, url("o").as_ref()));
    }
}
