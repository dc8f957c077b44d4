//! A request of a conversation as a span, in the words of the conventions for generative AI.
//!
//! Invariant: pure but for the drawn ids; nothing that anybody said is in it.

use std::hash::{BuildHasher, RandomState};

use opentelemetry::trace::{
    Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::api::UpstreamApi;
use crate::ledger::FinishedRequest;

/// Makes spans of requests.
pub(super) struct SpanWriter {
    scope: InstrumentationScope,
    drawn: RandomState,
    count: u64,
}

impl SpanWriter {
    pub(super) fn new() -> Self {
        let scope = InstrumentationScope::builder("epitome");
        let scope = scope.with_version(env!("CARGO_PKG_VERSION")).build();
        Self { scope, drawn: RandomState::new(), count: 0 }
    }

    /// The span of a request.
    pub(super) fn span(&mut self, request: &FinishedRequest) -> SpanData {
        let name = match &request.asks.model {
            Some(model) => format!("chat {model}"),
            None => "chat".to_owned(),
        };
        let status = match request.answer.was_taken() {
            true => Status::Unset,
            false => Status::error(""),
        };
        let mut events = SpanEvents::default();
        events.events = compressions(request);
        SpanData {
            span_context: self.context(),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Client,
            name: name.into(),
            start_time: request.times.started,
            end_time: request.times.ended,
            attributes: attributes(request),
            dropped_attributes_count: 0,
            events,
            links: SpanLinks::default(),
            status,
            instrumentation_scope: self.scope.clone(),
        }
    }

    fn context(&mut self) -> SpanContext {
        self.count += 1;
        let drawn = |part: u64| self.drawn.hash_one((self.count, part));
        let trace = u128::from(drawn(0)) << 64 | u128::from(drawn(1));
        let (trace, span) = (TraceId::from(trace.max(1)), SpanId::from(drawn(2).max(1)));
        SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE)
    }
}

/// Each compression as an event, at the time at which the prompt was ready.
fn compressions(request: &FinishedRequest) -> Vec<Event> {
    let at = request.times.started + request.times.prepared;
    let event = |[before, after]: &[u64; 2]| {
        let tokens = vec![
            KeyValue::new("epitome.tokens.before", whole(*before)),
            KeyValue::new("epitome.tokens.after", whole(*after)),
        ];
        Event::new("epitome.compression", at, tokens, 0)
    };
    request.acts.compressions.iter().map(event).collect()
}

fn attributes(request: &FinishedRequest) -> Vec<KeyValue> {
    let FinishedRequest { asks, answer, sizes, times, .. } = request;
    let provider = match asks.api {
        UpstreamApi::Anthropic => "anthropic",
        UpstreamApi::OpenAi => "openai",
        UpstreamApi::Ollama => "ollama",
    };
    let mut all = vec![
        KeyValue::new("gen_ai.operation.name", "chat"),
        KeyValue::new("gen_ai.provider.name", provider),
        KeyValue::new("http.response.status_code", i64::from(answer.status)),
        KeyValue::new("epitome.tokens.raw", whole(sizes.raw.sum())),
        KeyValue::new("epitome.tokens.sent", whole(sizes.sent.sum())),
        KeyValue::new("epitome.compressions", whole(request.acts.compressions.len() as u64)),
        KeyValue::new("epitome.prepared_seconds", times.prepared.as_secs_f64()),
        KeyValue::new("epitome.side", request.side),
    ];
    let mut text = |key: &'static str, value: Option<&str>| {
        all.extend(value.map(|value| KeyValue::new(key, value.to_owned())));
    };
    text("gen_ai.request.model", asks.model.as_deref());
    text("gen_ai.conversation.id", request.session.as_deref());
    text("epitome.client", asks.client.as_deref());
    text("epitome.skip", request.skip.map(|skip| skip.word()));
    text("epitome.experiment", request.arm.as_ref().map(|arm| arm.experiment.as_str()));
    text("epitome.arm", request.arm.as_ref().map(|arm| arm.arm.as_str()));
    if !answer.was_taken() {
        let kind = match answer.status {
            0 => "unreachable".to_owned(),
            status => status.to_string(),
        };
        text("error.type", Some(&kind));
    }
    if let Some(first) = times.first_byte {
        all.push(KeyValue::new("epitome.first_byte_seconds", first.as_secs_f64()));
    }
    // The input holds what is cached, too.
    if let Some(usage) = answer.usage {
        for (key, tokens) in [
            ("gen_ai.usage.input_tokens", usage.prompt()),
            ("gen_ai.usage.output_tokens", usage.output),
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_written),
        ] {
            all.push(KeyValue::new(key, whole(tokens)));
        }
    }
    all
}

/// A count as the format has it.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
