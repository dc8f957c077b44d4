//! Export to a collector of OpenTelemetry: a span for each request of a conversation, and the figures
//! of `/metrics`.
//!
//! Invariant: nothing here holds up a request. A request that has ended goes into a queue of bounded
//! length; one that finds it full is dropped and counted, and so are those that the collector does not
//! take. Nothing that was said is in a span: names, sizes, times and the id of the session. Told of
//! each request once, by `app`.

mod client;
mod error;
mod meters;
mod span;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::runtime::Handle;

use self::client::CollectorClient;
pub(crate) use self::error::TelemetryError;
use self::span::{ParentSpan, SpanWriter};
use crate::ledger::FinishedRequest;
use crate::metrics::{MetricFamily, TelemetryCounts};
use crate::telemetry_target::TelemetryTarget;

/// Spans in a request to the collector.
const BATCH: usize = 512;

/// How long the collector may take for the last ones.
const LAST: Duration = Duration::from_secs(3);

/// What stands in the queue.
enum QueuedSpan {
    /// A request that has ended.
    Ended(Box<FinishedRequest>),
    /// No more come.
    Last,
}

/// How many spans went where.
#[derive(Debug, Default)]
struct SpanCounts {
    sent: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

impl SpanCounts {
    fn read(&self) -> TelemetryCounts {
        let Self { sent, dropped, failed } = self;
        let [sent, dropped, failed] = [sent, dropped, failed].map(|it| it.load(Ordering::Relaxed));
        TelemetryCounts { sent, dropped, failed }
    }
}

/// The export while a proxy runs.
pub(crate) struct Telemetry {
    queue: Option<SyncSender<QueuedSpan>>,
    counts: Arc<SpanCounts>,
    /// Ends when the last span is sent.
    exporting: Mutex<Option<Receiver<()>>>,
    meters: Option<SdkMeterProvider>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl Telemetry {
    /// Starts the export; `figures` are asked for now and then, off the threads that relay. `now` is the
    /// clock.
    ///
    /// # Errors
    ///
    /// When the address of a collector is none, or it is reached over TLS and this machine trusts no
    /// authority.
    pub(crate) fn start(
        target: &TelemetryTarget,
        runtime: &Handle,
        now: fn() -> SystemTime,
        figures: impl Fn(TelemetryCounts) -> Vec<MetricFamily> + Send + Sync + 'static,
    ) -> Result<Self, TelemetryError> {
        let client = CollectorClient::new(target, runtime.clone())?;
        let counts = Arc::new(SpanCounts::default());
        let (queue, exporting) = match target.spans {
            true => {
                let exporter = SpanExporter::builder().with_http().with_http_client(client.clone());
                let mut exporter = exporter.build()?;
                exporter.set_resource(&resource(target));
                let (queue, spans) = sync_channel(target.queue);
                let export = SpanExport {
                    exporter,
                    counts: Arc::clone(&counts),
                    runtime: runtime.clone(),
                    delay: target.delay,
                };
                let (done, exporting) = sync_channel(0);
                let thread = std::thread::Builder::new().name("epitome-telemetry".to_owned());
                let work = move || {
                    export.run(&spans);
                    drop(done);
                };
                thread.spawn(work).map_err(TelemetryError::Thread)?;
                (Some(queue), Some(exporting))
            }
            false => (None, None),
        };
        let meters = match target.metrics {
            true => {
                let own = Arc::clone(&counts);
                let figures = move || figures(own.read());
                Some(meters::provider(client, resource(target), now, figures)?)
            }
            false => None,
        };
        Ok(Self { queue, counts, exporting: Mutex::new(exporting), meters })
    }

    /// Hears of a request that has ended.
    pub(crate) fn ended(&self, request: &FinishedRequest) {
        let is_of_a_conversation = request.session.is_some() || request.skip.is_some();
        let parent = request.asks.parent.as_deref().and_then(ParentSpan::parse);
        let is_wanted = is_of_a_conversation && parent.is_none_or(|parent| parent.is_sampled);
        let Some(queue) = self.queue.as_ref().filter(|_| is_wanted) else { return };
        if queue.try_send(QueuedSpan::Ended(Box::new(request.clone()))).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many spans went where.
    pub(crate) fn counts(&self) -> TelemetryCounts {
        self.counts.read()
    }

    /// Sends what is left; it may block for some seconds.
    pub(crate) fn stop(&self) {
        if let Some(queue) = &self.queue {
            // Where the queue is full its reader is at work, and ends with the sender.
            drop(queue.try_send(QueuedSpan::Last));
        }
        let exporting = self.exporting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = exporting.map(|exporting| exporting.recv_timeout(LAST));
        if ended == Some(Err(RecvTimeoutError::Timeout)) {
            tracing::warn!("the last spans did not reach the collector in time");
        }
        if let Some(meters) = &self.meters
            && let Err(error) = meters.shutdown_with_timeout(LAST)
        {
            tracing::warn!(%error, "the last figures did not reach the collector");
        }
    }
}

/// Who sends spans.
struct SpanExport {
    exporter: SpanExporter,
    counts: Arc<SpanCounts>,
    runtime: Handle,
    /// How long the first of a batch waits for others.
    delay: Duration,
}

impl SpanExport {
    fn run(self, spans: &Receiver<QueuedSpan>) {
        let mut writer = SpanWriter::new();
        let mut batch: Vec<SpanData> = Vec::new();
        loop {
            let next = match batch.is_empty() {
                true => spans.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => spans.recv_timeout(self.delay),
            };
            let is_last = match next {
                Ok(QueuedSpan::Ended(request)) => {
                    batch.push(writer.span(&request));
                    if batch.len() < BATCH {
                        continue;
                    }
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Ok(QueuedSpan::Last) | Err(RecvTimeoutError::Disconnected) => true,
            };
            self.export(std::mem::take(&mut batch));
            if is_last {
                return;
            }
        }
    }

    fn export(&self, batch: Vec<SpanData>) {
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        let to = match self.runtime.block_on(self.exporter.export(batch)) {
            Ok(()) => &self.counts.sent,
            Err(error) => {
                tracing::warn!(%error, count, "spans did not reach the collector");
                &self.counts.failed
            }
        };
        to.fetch_add(count, Ordering::Relaxed);
    }
}

/// What tells this program from others.
fn resource(target: &TelemetryTarget) -> Resource {
    use opentelemetry::KeyValue;
    let resource = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    match target.is_named {
        true => resource.build(),
        false => resource.with_service_name("epitome").build(),
    }
}
