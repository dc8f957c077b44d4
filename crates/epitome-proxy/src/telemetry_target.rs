//! Whether and where figures and spans are exported, by the variables that OpenTelemetry has for it.
//!
//! Invariant: without an address nothing is exported. The variables are read by the host and by the
//! exporter; none is read here by itself.

use std::time::Duration;

/// The addresses of collectors: for all, for spans, for metrics.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const OF_SPANS: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const OF_METRICS: &str = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";

/// Spans that wait, and how long the first of them does, unless it is said otherwise.
const QUEUE: usize = 2_048;
const DELAY: Duration = Duration::from_secs(5);
/// How long the collector may take, unless it is said otherwise.
const WITHIN: Duration = Duration::from_secs(10);

/// What is exported, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetryTarget {
    /// Whether spans are exported.
    pub spans: bool,
    /// Whether metrics are.
    pub metrics: bool,
    /// Whether an address is one of TLS.
    pub is_tls: bool,
    /// Whether the user named the service.
    pub is_named: bool,
    /// Spans that may wait; others are dropped.
    pub queue: usize,
    /// How long the first span of a batch waits for others.
    pub delay: Duration,
    /// How long the collector may take.
    pub within: Duration,
}

/// The protocol to the collector is none that is spoken here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "OTEL_EXPORTER_OTLP_PROTOCOL is `{protocol}`; expected `http/protobuf` or `http/json`, at the \
     port of the collector for HTTP, usually 4318"
)]
pub struct UnspokenProtocol {
    /// The one that is asked for.
    pub protocol: String,
}

impl TelemetryTarget {
    /// Reads the standard variables; `None` where they name no collector, or switch the export off.
    ///
    /// # Errors
    ///
    /// [`UnspokenProtocol`].
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, UnspokenProtocol> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let is = |name: &str, word: &str| set(name).is_some_and(|it| it.eq_ignore_ascii_case(word));
        let [all, spans, metrics] = [ENDPOINT, OF_SPANS, OF_METRICS].map(set);
        let target = Self {
            spans: (all.is_some() || spans.is_some()) && !is("OTEL_TRACES_EXPORTER", "none"),
            metrics: (all.is_some() || metrics.is_some()) && !is("OTEL_METRICS_EXPORTER", "none"),
            is_tls: [all, spans, metrics].iter().flatten().any(|it| it.starts_with("https")),
            is_named: set("OTEL_SERVICE_NAME").is_some()
                || set("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|it| it.contains("service.name=")),
            queue: number(set("OTEL_BSP_MAX_QUEUE_SIZE"))
                .map_or(QUEUE, |it| usize::try_from(it).unwrap_or(QUEUE)),
            delay: number(set("OTEL_BSP_SCHEDULE_DELAY")).map_or(DELAY, Duration::from_millis),
            within: number(set("OTEL_EXPORTER_OTLP_TIMEOUT")).map_or(WITHIN, Duration::from_millis),
        };
        if is("OTEL_SDK_DISABLED", "true") || !target.spans && !target.metrics {
            return Ok(None);
        }
        let protocols = ["", "_TRACES", "_METRICS"];
        let protocols = protocols.map(|of| set(&format!("OTEL_EXPORTER_OTLP{of}_PROTOCOL")));
        match protocols.into_iter().flatten().find(|protocol| !protocol.starts_with("http/")) {
            Some(protocol) => Err(UnspokenProtocol { protocol }),
            None => Ok(Some(target)),
        }
    }
}

/// A whole number above 0.
fn number(text: Option<String>) -> Option<u64> {
    text?.trim().parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<TelemetryTarget>, UnspokenProtocol> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        TelemetryTarget::from_variables(variable)
    }

    #[test]
    fn without_an_address_nothing_is_exported() {
        let check = |variables: &[(&str, &str)], expected: Option<[bool; 2]>| {
            let target = read(variables).unwrap();
            assert_eq!(target.map(|it| [it.spans, it.metrics]), expected, "{variables:?}");
        };
        let here = (ENDPOINT, "http://127.0.0.1:4318");
        check(&[], None);
        check(&[(ENDPOINT, " ")], None);
        check(&[here], Some([true, true]));
        check(&[(OF_SPANS, "http://a/v1/traces")], Some([true, false]));
        check(&[(OF_METRICS, "http://a/v1/metrics")], Some([false, true]));
        check(&[here, ("OTEL_METRICS_EXPORTER", "none")], Some([true, false]));
        check(&[here, ("OTEL_SDK_DISABLED", "TRUE")], None);
    }

    #[test]
    fn what_is_not_spoken_here_is_refused() {
        let here = (ENDPOINT, "https://collector:4318");
        let json = read(&[here, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]).unwrap().unwrap();
        assert!(json.is_tls && !json.is_named);
        assert_eq!((json.queue, json.delay), (QUEUE, DELAY));
        let error = read(&[here, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err();
        assert!(error.to_string().contains("`grpc`; expected `http/protobuf`"), "{error}");
        let set = [here, ("OTEL_BSP_MAX_QUEUE_SIZE", "7"), ("OTEL_BSP_SCHEDULE_DELAY", "soon")];
        let set = read(&set).unwrap().unwrap();
        assert_eq!((set.queue, set.delay), (7, DELAY));
    }
}
