//! Why nothing can be exported.

use std::io;

use opentelemetry_otlp::ExporterBuildError;

use crate::settings::ProxyError;

/// Why nothing can be exported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TelemetryError {
    /// The exporter cannot be made.
    #[error("the collector cannot be used: {0}; check OTEL_EXPORTER_OTLP_ENDPOINT")]
    Exporter(Box<ExporterBuildError>),
    /// The connection cannot be made safe.
    #[error(transparent)]
    Client(#[from] ProxyError),
    /// The system gives no thread.
    #[error("no thread can be started for the export: {0}")]
    Thread(io::Error),
}

impl From<ExporterBuildError> for TelemetryError {
    fn from(error: ExporterBuildError) -> Self {
        Self::Exporter(Box::new(error))
    }
}
