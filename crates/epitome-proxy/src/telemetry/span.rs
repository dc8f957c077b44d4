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
        let parent = request.asks.parent.as_deref().and_then(ParentSpan::parse);
        SpanData {
            span_context: self.context(parent.as_ref()),
            parent_span_id: parent.as_ref().map_or(SpanId::INVALID, |parent| parent.span),
            parent_span_is_remote: parent.is_some(),
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

    /// The ids of a span: in the trace of its parent, where it has one.
    fn context(&mut self, parent: Option<&ParentSpan>) -> SpanContext {
        self.count += 1;
        let drawn = |part: u64| self.drawn.hash_one((self.count, part));
        let own = || (u128::from(drawn(0)) << 64 | u128::from(drawn(1))).max(1);
        let trace = parent.map_or_else(|| TraceId::from(own()), |parent| parent.trace);
        let span = SpanId::from(drawn(2).max(1));
        SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE)
    }
}

/// The span of a client that a request is a part of.
pub(super) struct ParentSpan {
    trace: TraceId,
    span: SpanId,
    /// Whether its client keeps it; where it does not, nobody wants its parts.
    pub(super) is_sampled: bool,
}

impl ParentSpan {
    /// Reads the header `traceparent` of W3C's trace context; none where it is no such header.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let mut parts = header.trim().split('-');
        let [version, trace, span, flags] = [(); 4].map(|()| parts.next().unwrap_or_default());
        let is_hex = |part: &str, size| {
            part.len() == size
                && part.bytes().all(|it| it.is_ascii_hexdigit() && !it.is_ascii_uppercase())
        };
        let is_whole = [(version, 2), (trace, 32), (span, 16), (flags, 2)]
            .into_iter()
            .all(|(part, size)| is_hex(part, size));
        // A later version may have more parts, and never this one's.
        if !is_whole || version == "ff" || version == "00" && parts.next().is_some() {
            return None;
        }
        let trace = TraceId::from_hex(trace).ok().filter(|id| *id != TraceId::INVALID)?;
        let span = SpanId::from_hex(span).ok().filter(|id| *id != SpanId::INVALID)?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        Some(Self { trace, span, is_sampled: flags & 1 == 1 })
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
    text("gen_ai.response.model", answer.model.as_deref());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_what_the_standard_says() {
        let check = |header: &str, expected: Option<bool>| {
            let found = ParentSpan::parse(header).map(|parent| parent.is_sampled);
            assert_eq!(found, expected, "{header}");
        };
        let ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        check(&format!("00-{ids}-01"), Some(true));
        check(&format!("00-{ids}-00"), Some(false));
        check(&format!("cc-{ids}-03-more"), Some(true));
        for wrong in [
            String::new(),
            format!("00-{ids}"),
            format!("00-{ids}-01-more"),
            format!("ff-{ids}-01"),
            format!("00-{}-01", ids.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{}-{}-01", &ids[..32], "0".repeat(16)),
            format!("00-{ids}ä-01"),
        ] {
            check(&wrong, None);
        }
    }
}
