//! What all requests of one proxy share.
//!
//! Invariant: nothing here holds a conversation or a credential. Made by `server`, used by
//! `handler`, `call` and `tee`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use epitome::model::HttpTransport;
use epitome::{ModelResponse, SessionRouter};
use epitome_wire::ResponseInfo;
use http::StatusCode;
use http::request::Parts;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::api::UpstreamApi;
use crate::dump::{Dump, Dumped, Meta};
use crate::ledger::{FigureSaver, FinishedRequest, LedgerKeeper, UsageLedger};
use crate::metrics::{self, MetricSources, TelemetryCounts};
use crate::prepare::{IncomingRequest, LargeBodies, Prepare, Prepared, ReadyPrompt};
use crate::recording::RecordingTicket;
use crate::settings::{ProxyError, ProxySettings};
use crate::skip::ProxySkip;
#[cfg(feature = "otel")]
use crate::telemetry::Telemetry;
use crate::upstream::UpstreamClient;
use crate::url::UpstreamUrl;
use crate::windows::ServerWindows;

/// The part of the time for a prompt that Ollama has to say how large it may be.
const PART: u32 = 4;

/// What all requests of one proxy share.
pub(crate) struct App {
    pub(crate) settings: ProxySettings,
    pub(crate) upstream: UpstreamClient,
    pub(crate) prepare: Prepare,
    pub(crate) ledger: Arc<UsageLedger>,
    pub(crate) dump: Option<Arc<Dump>>,
    /// Requests that were skipped by a failure, one after the other.
    run: AtomicU32,
    pub(crate) saver: Arc<FigureSaver>,
    #[cfg(feature = "otel")]
    pub(crate) telemetry: Option<Arc<Telemetry>>,
    runtime: Handle,
    /// Whoever holds one of these has work to finish before the proxy has stopped.
    working: mpsc::Sender<()>,
}

impl App {
    pub(crate) fn new(
        settings: ProxySettings,
        working: mpsc::Sender<()>,
    ) -> Result<Self, ProxyError> {
        let dump = settings.dump.as_ref().map(|folder| {
            let path = folder.clone();
            Dump::open(folder).map_err(|source| ProxyError::Dump { path, source })
        });
        let mut terms = settings.ledger.terms;
        (terms.shadow, terms.run) = (settings.shadow, settings.ledger.alarm_after.into());
        let prepare = Prepare {
            hub: Arc::clone(&settings.hub),
            arms: settings.arms.clone(),
            within: settings.deadlines.prepare,
            max_decoded: settings.limits.decoded,
            windows: windows(&settings).map(Arc::new),
            large: LargeBodies::default(),
            recordings: Arc::default(),
        };
        let keeper = settings.ledger.keeper.clone();
        let ledger = Arc::new(match &keeper {
            Some(books) => UsageLedger::new(terms, now()).after(&books.earlier()),
            None => UsageLedger::new(terms, now()),
        });
        Ok(Self {
            #[cfg(feature = "otel")]
            telemetry: telemetry(&settings, &ledger),
            upstream: UpstreamClient::new(&settings)?,
            prepare,
            saver: Arc::new(FigureSaver::new(Arc::clone(&ledger), keeper)),
            ledger,
            dump: dump.transpose()?.map(Arc::new),
            run: AtomicU32::new(0),
            runtime: Handle::current(),
            working,
            settings,
        })
    }

    /// The time.
    pub(crate) fn now(&self) -> SystemTime {
        now()
    }

    /// A client is about to have the whole of an answer that is still to be recorded.
    pub(crate) fn recording(&self) -> RecordingTicket {
        self.prepare.recordings.begin()
    }

    /// Puts a request down that has ended.
    pub(crate) fn put(&self, exchange: &FinishedRequest) {
        let skip = exchange.skip.map_or("none", ProxySkip::word);
        if let Some(session) = exchange.session.as_deref() {
            let (raw, sent) = (exchange.sizes.raw.sum(), exchange.sizes.sent.sum());
            tracing::info!(session, raw, sent, status = exchange.answer.status, skip, "a prompt");
        } else {
            tracing::debug!(status = exchange.answer.status, skip, "a request passed");
        }
        self.ledger.record(exchange);
        self.keep();
        #[cfg(feature = "otel")]
        if let Some(telemetry) = &self.telemetry {
            telemetry.ended(exchange);
        }
    }

    /// The figures of all, or those of a tenant, as metrics. The store is read for them.
    pub(crate) fn metrics(&self, tenant: Option<&str>) -> String {
        let (figures, now) = (FigureSources::new(&self.settings, &self.ledger), now());
        #[cfg(feature = "otel")]
        let telemetry = self.telemetry.as_ref().map(|it| it.counts()).filter(|_| tenant.is_none());
        #[cfg(not(feature = "otel"))]
        let telemetry = None;
        figures.with(tenant, telemetry, now, metrics::text)
    }

    /// Keeps the figures in the store. Requests that end meanwhile are kept along.
    fn keep(&self) {
        if self.saver.begins() {
            let saver = Arc::clone(&self.saver);
            self.work(move || saver.save(now()));
        }
    }

    /// Tells how a conversation's request was prepared, `None` for as it should be; a run of
    /// failures is an alarm (RULES 136).
    pub(crate) fn prepared(&self, skip: Option<ProxySkip>) {
        match skip {
            None => self.run.store(0, Ordering::Relaxed),
            Some(skip) if skip.is_failure() => {
                let run = self.run.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                tracing::warn!(skip = skip.word(), run, "a request was not compressed");
                if run >= self.settings.ledger.alarm_after {
                    let message = "one request after the other is not compressed: every prompt \
                        costs what it would without this proxy";
                    tracing::error!(skip = skip.word(), run, "{message}");
                }
            }
            Some(skip @ ProxySkip::Oversized) => {
                let message = "a prompt is larger than its limit: what cannot shrink exceeds it";
                tracing::warn!(skip = skip.word(), "{message}");
            }
            Some(skip) => tracing::info!(skip = skip.word(), "a request was left alone"),
        }
    }

    /// Work that has to be finished before the proxy has stopped, off the threads that relay.
    pub(crate) fn work(&self, work: impl FnOnce() + Send + 'static) {
        let working = self.working.clone();
        // An answer may be dropped when the runtime already ends, and then nothing is left to do.
        self.runtime.spawn_blocking(move || {
            work();
            drop(working);
        });
    }

    /// Tells the hub what came back for a prompt.
    pub(crate) fn answered(
        &self,
        made: ReadyPrompt,
        answer: ResponseInfo,
        ticket: RecordingTicket,
    ) {
        let (ReadyPrompt { ask, sent, hub }, runtime) = (made, self.runtime.clone());
        self.work(move || {
            let overflow =
                answer.error.as_ref().and_then(|it| hub.signatures().overflow(400, it.as_bytes()));
            let ResponseInfo { usage, stop, messages, .. } = answer;
            let messages = messages.into_iter().map(Bytes::from).collect();
            let answered = ModelResponse { usage: usage.unwrap_or_default(), messages, stop };
            runtime.block_on(async {
                hub.record_response(&sent, &answered).await;
                // Too late for this prompt; the next one is made smaller.
                if let Some(told) = overflow {
                    hub.record_overflow(&ask, &sent, told).await;
                }
            });
            drop(ticket);
        });
    }

    /// Writes a request down for whoever looks into a fault, where that was asked for.
    pub(crate) fn dump(
        &self,
        head: &Parts,
        upstream: &UpstreamUrl,
        came: &IncomingRequest,
        prepared: &Prepared,
        status: StatusCode,
    ) {
        let Some(dump) = &self.dump else { return };
        let sent = prepared.sent().map(|sent| &sent.prompt);
        let meta = Meta {
            method: Meta::method(&head.method),
            target: Meta::target(&head.uri),
            headers: Meta::headers(&came.headers),
            upstream: upstream.to_string(),
            status: status.as_u16(),
            session: sent.map(|prompt| prompt.session.clone()),
            tokens: sent.map(|prompt| prompt.tokens),
            skip: prepared.skip.map(ProxySkip::word),
            side: prepared.side,
        };
        let dumped = Dumped { request: prepared.plain.clone(), sent: prepared.body.clone(), meta };
        let dump = Arc::clone(dump);
        self.work(move || dump.write(&dumped));
    }
}

/// Where metrics are read.
struct FigureSources {
    ledger: Arc<UsageLedger>,
    keeper: Option<Arc<dyn LedgerKeeper>>,
    hub: Arc<SessionRouter>,
}

impl FigureSources {
    fn new(settings: &ProxySettings, ledger: &Arc<UsageLedger>) -> Self {
        let (ledger, hub) = (Arc::clone(ledger), Arc::clone(&settings.hub));
        Self { ledger, keeper: settings.ledger.keeper.clone(), hub }
    }

    fn with<T>(
        &self,
        tenant: Option<&str>,
        telemetry: Option<TelemetryCounts>,
        now: SystemTime,
        write: impl FnOnce(&MetricSources<'_>) -> T,
    ) -> T {
        let books = match tenant {
            Some(tenant) => self.ledger.snapshot_of(tenant),
            None => self.ledger.snapshot(),
        };
        let savings = self.keeper.as_ref().and_then(|keeper| keeper.savings(tenant));
        write(&MetricSources {
            books: &books,
            savings: savings.as_ref(),
            is_writable: self.hub.outage().is_none(),
            telemetry,
            now,
        })
    }
}

/// Starts the export of figures, where it is asked for. A proxy serves without it.
#[cfg(feature = "otel")]
fn telemetry(settings: &ProxySettings, ledger: &Arc<UsageLedger>) -> Option<Arc<Telemetry>> {
    let target = settings.ledger.telemetry.as_ref()?;
    let figures = FigureSources::new(settings, ledger);
    let families = move |counts| figures.with(None, Some(counts), now(), metrics::families);
    match Telemetry::start(target, &Handle::current(), now, families) {
        Ok(telemetry) => Some(Arc::new(telemetry)),
        Err(error) => {
            tracing::warn!("nothing is exported to OpenTelemetry: {error}");
            None
        }
    }
}

/// Whoever is asked what Ollama says of its models.
fn windows(settings: &ProxySettings) -> Option<ServerWindows> {
    let base = settings.upstreams.of(UpstreamApi::Ollama)?;
    match HttpTransport::new() {
        Ok(http) => {
            Some(ServerWindows::new(base, Arc::new(http), settings.deadlines.prepare / PART))
        }
        Err(error) => {
            tracing::warn!(%error, "Ollama cannot be asked for the windows of its models");
            None
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that others are given")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
