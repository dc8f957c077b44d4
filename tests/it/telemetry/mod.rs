//! The figures for programs: `/metrics`, `/status.json`, `epitome savings` and what a collector of
//! OpenTelemetry gets say the same.

#![expect(clippy::disallowed_methods, reason = "a test measures what users wait for")]

mod collector;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use epitome_upstream::Script;
use serde_json::{Value, json};

use self::collector::{Collector, attributes};
use crate::conversation::openai;
use crate::proxy::{Ask, Serving};

/// Requests of the conversation.
const TURNS: usize = 40;

/// A proxy with a collector.
fn exporting(collector: &Collector, args: &[&str], more: &[(&'static str, &str)]) -> Serving {
    let mut serving = Serving::start(Script::default(), args);
    serving.stop();
    serving.variables = collector.variables();
    serving.variables.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    serving.go_on();
    serving
}

/// A conversation that has to be compressed.
fn talk(serving: &Serving) {
    for turns in 0..TURNS {
        let ask = Ask::post("/v1/chat/completions", openai(turns).to_string());
        let answer = serving.send(ask.header("x-epitome-session", "one"));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

/// The samples of `/metrics`, by name and labels as they stand there.
fn samples(serving: &Serving) -> BTreeMap<String, f64> {
    let text = serving.send(Ask::new("GET", "/metrics")).text().to_owned();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.trim_start_matches("epitome_").to_owned(), value.parse().unwrap())
    };
    lines.map(sample).collect()
}

/// The samples once everything is in the store's ledger.
#[track_caller]
fn settled(serving: &Serving) -> BTreeMap<String, f64> {
    for _ in 0..200 {
        let samples = samples(serving);
        if samples["ledger_answers_total"] == samples["answers_total"] {
            return samples;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the ledger lacks answers: {:?}", samples(serving));
}

/// A number of a document, to compare with; a state is one or nothing.
fn figure(document: &Value, path: &str) -> f64 {
    match document.pointer(path) {
        Some(Value::Bool(state)) => f64::from(u8::from(*state)),
        Some(Value::Array(all)) => all.len() as f64,
        Some(Value::Object(all)) => all.values().filter_map(Value::as_f64).sum(),
        Some(number) => number.as_f64().unwrap_or_else(|| panic!("{path}: {number}")),
        None => panic!("no {path} in {document:#}"),
    }
}

/// A sample for each figure of `/status.json`, with its path there and the parts of its unit that it
/// is rounded to.
const OF_STATUS: &[(&str, &str, f64)] = &[
    ("conversation_requests_total", "/all/requests", 1.0),
    ("side_requests_total", "/all/side_requests", 1.0),
    ("raw_tokens_total", "/all/tokens/raw", 1.0),
    ("sent_tokens_total", "/all/tokens/sent", 1.0),
    ("raw_tokens_total{category=\"user\"}", "/all/tokens/raw_by/user", 1.0),
    ("sent_tokens_total{category=\"checkpoints\"}", "/all/tokens/sent_by/checkpoints", 1.0),
    ("epochs_total", "/all/compressions", 1.0),
    ("arrivals_total", "/all/arrivals", 1.0),
    ("answers_total", "/all/provider/answers", 1.0),
    ("provider_tokens_total{kind=\"input\"}", "/all/provider/input", 1.0),
    ("provider_tokens_total{kind=\"cache_read\"}", "/all/provider/cache_read", 1.0),
    ("provider_tokens_total{kind=\"cache_written\"}", "/all/provider/cache_written", 1.0),
    ("provider_tokens_total{kind=\"output\"}", "/all/provider/output", 1.0),
    ("cost_tokens_total{prompt=\"paid\"}", "/all/net/paid", 1.0),
    ("cost_tokens_total{prompt=\"raw\"}", "/all/net/raw", 1.0),
    ("net_saving_tokens", "/all/net/saved", 1.0),
    ("cost_dollars_total{prompt=\"paid\"}", "/all/net/dollars/paid", 1e6),
    ("cost_dollars_total{prompt=\"raw\"}", "/all/net/dollars/raw", 1e6),
    ("net_saving_dollars", "/all/net/dollars/saved", 1e6),
    ("priced_answers_total", "/all/net/priced_answers", 1.0),
    ("unpriced_answers_total", "/all/net/unpriced_answers", 1.0),
    ("skips_total", "/all/skips", 1.0),
    ("skip_alarms_total", "/all/alarms", 1.0),
    ("skip_alarms", "/alarms", 1.0),
    ("overflows_total", "/all/overflows", 1.0),
    ("input_transformations_total", "/all/input_transformations", 1.0),
    ("errors_total", "/all/errors", 1.0),
    ("body_bytes_total{side=\"raw\"}", "/all/bytes/raw", 1.0),
    ("body_bytes_total{side=\"sent\"}", "/all/bytes/sent", 1.0),
    ("own_calls_total", "/own_calls/calls", 1.0),
    ("own_calls_cost_tokens_total", "/own_calls/paid", 1.0),
    ("own_calls_cost_dollars_total", "/own_calls/dollars", 1e6),
    ("own_calls_unpriced_total", "/own_calls/unpriced", 1.0),
    ("passed_total", "/passed", 1.0),
    ("conversations_total", "/sessions", 1.0),
    ("store_writable", "/store/writable", 1.0),
    ("shadow", "/shadow", 1.0),
];

/// The same for `epitome savings --json`.
const OF_SAVINGS: &[(&str, &str)] = &[
    ("ledger_answers_total", "/all/answers"),
    ("ledger_uncounted_answers_total", "/all/uncounted"),
    ("ledger_unpriced_answers_total", "/all/unpriced"),
    ("ledger_tokens_total{prompt=\"raw\"}", "/all/raw"),
    ("ledger_tokens_total{prompt=\"sent\"}", "/all/sent"),
    ("ledger_provider_tokens_total{kind=\"input\"}", "/all/provider/input"),
    ("ledger_provider_tokens_total{kind=\"cache_read\"}", "/all/provider/cache_read"),
    ("ledger_provider_tokens_total{kind=\"cache_written\"}", "/all/provider/cache_written"),
    ("ledger_provider_tokens_total{kind=\"output\"}", "/all/provider/output"),
    ("ledger_paid_dollars_total", "/all/paid"),
    ("ledger_saved_dollars{estimate=\"least\"}", "/all/saved/least"),
    ("ledger_saved_dollars{estimate=\"most\"}", "/all/saved/most"),
    ("ledger_saved_tokens{estimate=\"least\"}", "/all/saved_tokens/least"),
    ("ledger_saved_tokens{estimate=\"most\"}", "/all/saved_tokens/most"),
    ("ledger_summaries_total", "/all/summaries/answers"),
    ("ledger_summaries_dollars_total", "/all/summaries/paid"),
];

/// A sample; of a name without labels all that it has, together.
fn sampled(samples: &BTreeMap<String, f64>, name: &str) -> f64 {
    let is_of = |key: &str| key == name || key.split('{').next() == Some(name);
    samples.iter().filter(|(key, _)| is_of(key)).map(|(_, value)| value).sum()
}

/// One conversation, and every figure of it in four places.
#[test]
fn every_figure_is_the_same_wherever_it_is_read() {
    let collector = Collector::start();
    let table = "[[model]]\nname = 'gpt-4o'\ninput = 2\nread = 0.5\nwrite = 2\noutput = 8\n";
    let mut serving = exporting(&collector, &["--prompt-limit", "8000"], &[]);
    serving.stop();
    serving.place.write("prices.toml", table);
    serving.place.write("x.toml", "prices = 'prices.toml'\n");
    serving.go_on_with(&["--config", "x.toml"]);
    talk(&serving);
    let samples = settled(&serving);
    let status = serving.send(Ask::new("GET", "/status.json")).json();
    assert!(figure(&status, "/all/compressions") > 0.0, "{status:#}");
    for (name, path, parts) in OF_STATUS {
        let (told, expected) = (sampled(&samples, name), figure(&status, path));
        assert_eq!((told * parts).round(), (expected * parts).round(), "{name}: {samples:#?}");
    }
    let savings = serving.place.run(["savings", "--store", "s.db", "--json"]).json();
    for (name, path) in OF_SAVINGS {
        let (told, expected) = (sampled(&samples, name), figure(&savings, path));
        assert!((told - expected).abs() < 1e-9, "{name}: {told}, {expected}: {savings:#}");
    }
    let said = serving.stop();
    assert!(!said.contains("collector"), "{said}");
    check_meters(&collector, &samples);
    check_spans(&collector, &status);
}

/// The newest points of the collector are the samples of the page.
#[track_caller]
fn check_meters(collector: &Collector, samples: &BTreeMap<String, f64>) {
    let all = collector.received("/v1/metrics");
    let newest = all.last().unwrap_or_else(|| panic!("no metrics came"));
    let resource = attributes(&newest["resourceMetrics"][0]["resource"]);
    assert_eq!(resource["service.name"], "epitome", "{resource:?}");
    let mut points = BTreeMap::new();
    for metric in newest["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap() {
        let name = metric["name"].as_str().unwrap();
        let kind = if metric["sum"].is_object() { "sum" } else { "gauge" };
        for point in metric[kind]["dataPoints"].as_array().unwrap() {
            let mut labels: Vec<_> = attributes(point)
                .into_iter()
                .map(|(label, value)| format!("{label}=\"{}\"", value.as_str().unwrap()))
                .collect();
            labels.sort();
            let value = point["asDouble"].as_f64().unwrap();
            points.insert((name.to_owned(), labels.join(",")), value);
        }
    }
    let mut compared = 0;
    for (name, value) in samples.iter().filter(|(name, _)| !name.starts_with("telemetry_")) {
        let (bare, labels) = name.split_once('{').unwrap_or((name, ""));
        let bare = bare.strip_suffix("_total").unwrap_or(bare);
        let mut labels: Vec<_> = labels.trim_end_matches('}').split(',').collect();
        labels.sort_unstable();
        let point = points.get(&(format!("epitome_{bare}"), labels.join(",")));
        let point = point.unwrap_or_else(|| panic!("no {name} in {points:#?}"));
        assert!((point - value).abs() < 1e-9, "{name}: {point} and {value}");
        compared += 1;
    }
    assert!(compared > 60, "{compared}");
}

/// The spans that came.
fn spans(collector: &Collector) -> Vec<Value> {
    let batches = collector.received("/v1/traces");
    let all = |of: &Value, key: &str| of[key].as_array().unwrap().clone();
    let resources = batches.iter().flat_map(|batch| all(batch, "resourceSpans"));
    let scopes = resources.flat_map(|of| all(&of, "scopeSpans"));
    scopes.flat_map(|of| all(&of, "spans")).collect()
}

/// There is a span for each turn, with the provider's own counts, and nothing that was said.
#[track_caller]
fn check_spans(collector: &Collector, status: &Value) {
    let spans = spans(collector);
    assert_eq!(spans.len(), TURNS);
    let told: Vec<_> = spans.iter().map(attributes).collect();
    for (span, told) in spans.iter().zip(&told) {
        let model = told["gen_ai.request.model"].as_str().unwrap();
        assert_eq!(span["name"], format!("chat {model}"), "{span:#}");
        assert_eq!(span["kind"], 3, "{span:#}");
        for (key, expected) in [
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!("openai")),
            ("http.response.status_code", json!(200)),
        ] {
            assert_eq!(told[key], expected, "{span:#}");
        }
        assert_eq!(told["gen_ai.response.model"], model, "{span:#}");
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32, "{span:#}");
        assert_eq!(span["parentSpanId"].as_str().unwrap_or_default(), "", "{span:#}");
        let [start, end] = ["startTimeUnixNano", "endTimeUnixNano"]
            .map(|key| span[key].as_str().unwrap().parse::<u64>().unwrap());
        assert!(start < end, "{span:#}");
    }
    let sum = |key: &str| told.iter().map(|it| it[key].as_f64().unwrap()).sum::<f64>();
    let provider = |key: &str| figure(status, &format!("/all/provider/{key}"));
    let prompt = provider("input") + provider("cache_read") + provider("cache_written");
    assert_eq!(sum("gen_ai.usage.input_tokens"), prompt);
    assert_eq!(sum("gen_ai.usage.output_tokens"), provider("output"));
    assert_eq!(sum("gen_ai.usage.cache_read.input_tokens"), provider("cache_read"));
    assert_eq!(sum("epitome.tokens.raw"), figure(status, "/all/tokens/raw"));
    let events = spans.iter().flat_map(|span| span["events"].as_array().unwrap());
    let events: Vec<_> =
        events.filter(|event| event["name"] == "epitome.compression").map(attributes).collect();
    assert_eq!(events.len() as f64, figure(status, "/all/compressions"));
    for tokens in &events {
        let [before, after] = ["before", "after"]
            .map(|side| tokens[&format!("epitome.tokens.{side}")].as_i64().unwrap());
        assert!(after < before, "{tokens:?}");
    }
    let said = Value::from(spans.clone()).to_string();
    let body = openai(1);
    let texts = body["messages"].as_array().unwrap().iter().filter_map(|it| it["content"].as_str());
    for text in texts.filter(|text| text.len() > 12) {
        let words: String = text.chars().take(40).collect();
        assert!(!said.contains(&words), "a prompt is exported: {words}");
    }
}

/// What a client traces goes on here, in the words of W3C's trace context.
#[test]
fn a_request_is_a_part_of_its_clients_span() {
    let collector = Collector::start();
    let mut serving = exporting(&collector, &[], &[]);
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    for (turns, flags) in [(1, "01"), (2, "00"), (3, "no")] {
        let ask = Ask::post("/v1/chat/completions", openai(turns).to_string());
        let ask = ask.header("traceparent", &format!("00-{trace}-{span}-{flags}"));
        assert_eq!(serving.send(ask.header("x-epitome-session", "one")).status, 200);
    }
    serving.stop();
    let spans = spans(&collector);
    // The second is none that its client keeps.
    let [first, third] = &spans[..] else { panic!("{spans:#?}") };
    assert_eq!((&first["traceId"], &first["parentSpanId"]), (&json!(trace), &json!(span)));
    assert_ne!(first["spanId"], span);
    assert_ne!(third["traceId"], trace);
}

/// A collector that never answers holds up nobody; what finds no place is dropped and counted.
#[test]
fn a_collector_that_hangs_holds_up_nobody() {
    let collector = Collector::start_mute();
    let few = [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "4"),
        ("OTEL_BSP_SCHEDULE_DELAY", "1"),
        ("OTEL_METRICS_EXPORTER", "none"),
    ];
    let mut serving = exporting(&collector, &[], &few);
    let begun = Instant::now();
    talk(&serving);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    let samples = samples(&serving);
    let [sent, dropped] = ["sent", "dropped"]
        .map(|outcome| samples[&format!("telemetry_spans_total{{outcome=\"{outcome}\"}}")]);
    assert_eq!(sent, 0.0, "{samples:?}");
    assert!(dropped >= 10.0 && dropped < TURNS as f64, "{samples:?}");
    let begun = Instant::now();
    let said = serving.stop();
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}: {said}", begun.elapsed());
}

/// What cannot be used is said, and the proxy serves without it.
#[test]
fn a_protocol_that_is_not_spoken_here_is_said() {
    let collector = Collector::start();
    let grpc = [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    let mut serving = exporting(&collector, &[], &grpc);
    talk(&serving);
    let said = serving.stop();
    assert!(said.contains("`grpc`; expected `http/protobuf` or `http/json`"), "{said}");
    assert_eq!(collector.received("/v1/traces"), Vec::<Value>::new());
}
