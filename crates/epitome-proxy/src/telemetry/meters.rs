//! The figures of `/metrics` as instruments.
//!
//! Invariant: the names are those of `/metrics`, without the `_total` that counters get there, and the
//! values are read from the same families; nothing is counted here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, MeterProvider};
use opentelemetry_otlp::{MetricExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};

use super::client::CollectorClient;
use super::error::TelemetryError;
use crate::metrics::{FamilyKind, MetricFamily, SampleValue};

/// Figures that are so fresh are not made again: all instruments are asked one after the other.
const FRESH: Duration = Duration::from_millis(50);

/// Figures, and when they were made.
struct FreshFigures<F> {
    make: F,
    now: fn() -> SystemTime,
    made: Mutex<Option<(SystemTime, Arc<Vec<MetricFamily>>)>>,
}

impl<F: Fn() -> Vec<MetricFamily>> FreshFigures<F> {
    fn read(&self) -> Arc<Vec<MetricFamily>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh =
            |at: &SystemTime| (self.now)().duration_since(*at).is_ok_and(|age| age < FRESH);
        match &*made {
            Some((at, families)) if is_fresh(at) => Arc::clone(families),
            _ => {
                let families = Arc::new((self.make)());
                *made = Some(((self.now)(), Arc::clone(&families)));
                families
            }
        }
    }

    /// Tells an instrument its samples.
    fn observe(&self, name: &str, suffix: &str, observer: &dyn AsyncInstrument<f64>) {
        let families = self.read();
        let Some(family) = families.iter().find(|family| family.name == name) else { return };
        for sample in family.samples.iter().filter(|sample| sample.suffix == suffix) {
            let labels = sample.labels.iter();
            let labels: Vec<_> =
                labels.map(|(label, value)| KeyValue::new(*label, value.clone())).collect();
            let value = match sample.value {
                SampleValue::Count(count) => count as f64,
                SampleValue::Amount(amount) => amount,
            };
            observer.observe(value, &labels);
        }
    }
}

/// Exports the figures now and then.
pub(super) fn provider(
    client: CollectorClient,
    resource: Resource,
    now: fn() -> SystemTime,
    figures: impl Fn() -> Vec<MetricFamily> + Send + Sync + 'static,
) -> Result<SdkMeterProvider, TelemetryError> {
    let exporter = MetricExporter::builder().with_http().with_http_client(client);
    let exporter = exporter.build()?;
    let reader = PeriodicReader::builder(exporter).build();
    let provider = SdkMeterProvider::builder().with_resource(resource).with_reader(reader).build();
    let meter = provider.meter("epitome");
    let figures = Arc::new(FreshFigures { make: figures, now, made: Mutex::new(None) });
    for MetricFamily { name, kind, help, .. } in &(figures.make)() {
        let (name, help, kind) = (*name, *help, *kind);
        let suffixes: &[&'static str] = match kind {
            FamilyKind::Histogram => &["_bucket", "_sum", "_count"],
            FamilyKind::Counter | FamilyKind::Gauge => &[""],
        };
        for suffix in suffixes.iter().copied() {
            let full = format!("epitome_{}{suffix}", name.strip_suffix("_total").unwrap_or(name));
            let figures = Arc::clone(&figures);
            let tell = move |observer: &dyn AsyncInstrument<f64>| {
                figures.observe(name, suffix, observer);
            };
            match kind {
                FamilyKind::Gauge => {
                    let gauge = meter.f64_observable_gauge(full).with_description(help);
                    gauge.with_callback(tell).build();
                }
                FamilyKind::Counter | FamilyKind::Histogram => {
                    let counter = meter.f64_observable_counter(full).with_description(help);
                    counter.with_callback(tell).build();
                }
            }
        }
    }
    Ok(provider)
}
