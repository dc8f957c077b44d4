//! What a prompt takes, by our count and by its provider's: tool schemas, images and cached tokens
//! count once, in whatever an API says of them, in each turn and over all of them.

use std::sync::Arc;

use epitome::types::TokenUsage;
use epitome::{
    Compressor, Format, LOCAL, MemoryStore, ModelResponse, Profile, RoutedRequest, SessionAdmin,
    SessionRouter, WindowSetting,
};
use epitome_testkit::{FixedCounter, now};
use epitome_wire::ResponseParser;
use serde_json::{Value, json};

/// What the counter of the tests takes an image for, and what it adds to each message.
const IMAGE: u64 = 100;
const MESSAGE: u64 = 4;
/// Words of each message of the user.
const WORDS: u64 = 400;
/// So much more counts each provider.
const FACTOR: f64 = 1.25;
/// Parts of a prompt that were read from the cache and written to it, in tenths.
const CACHED: [u64; 2] = [6, 3];

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn url() -> String {
    format!("data:image/png;base64,{PIXEL}")
}

/// A request of so many turns: a system prompt of two words, a tool, and an image in the first turn.
fn request(format: Format, turns: usize) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    let text = "word ".repeat(WORDS as usize);
    let user = |turn: usize| match (format, turn) {
        (Format::Anthropic, 0) => json!({"role": "user", "content": [
            {"type": "text", "text": text},
            {"type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]}),
        (Format::Responses, 0) => json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": text}, {"type": "input_image", "image_url": url()}]}),
        (Format::Ollama, 0) => json!({"role": "user", "content": text, "images": [PIXEL]}),
        (_, 0) => json!({"role": "user", "content": [{"type": "text", "text": text},
            {"type": "image_url", "image_url": {"url": url()}}]}),
        _ => json!({"role": "user", "content": text}),
    };
    let messages = (0..turns).flat_map(|turn| {
        let said = (turn > 0).then(|| json!({"role": "assistant", "content": "Noted."}));
        said.into_iter().chain([user(turn)])
    });
    let messages: Vec<Value> = messages.collect();
    let system = json!({"role": "system", "content": "Be brief."});
    let begun: Vec<Value> = [system].into_iter().chain(messages.clone()).collect();
    let function = json!({"name": "read", "description": "Reads", "parameters": schema});
    match format {
        Format::Anthropic => json!({"model": "m", "max_tokens": 9, "system": "Be brief.",
            "tools": [{"name": "read", "description": "Reads", "input_schema": schema}],
            "messages": messages}),
        Format::Responses => json!({"model": "m", "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "read", "parameters": schema}],
            "input": messages}),
        _ => json!({"model": "m", "tools": [{"type": "function", "function": function}],
            "messages": begun}),
    }
}

/// What an API answers to a prompt for which it counts so many tokens: as a whole and as a stream.
fn answers(format: Format, usage: TokenUsage) -> [String; 2] {
    let TokenUsage { input, cache_read: read, cache_written: written, output } = usage;
    let prompt = usage.prompt();
    let event = |value: Value| format!("data: {value}\n\n");
    match format {
        Format::Anthropic => {
            let usage = json!({"input_tokens": input, "cache_read_input_tokens": read,
                "cache_creation_input_tokens": written, "output_tokens": output,
                "cache_creation": {"ephemeral_5m_input_tokens": written,
                    "ephemeral_1h_input_tokens": 0}});
            let text = json!([{"type": "text", "text": "Noted."}]);
            let whole = json!({"type": "message", "role": "assistant", "content": text,
                "stop_reason": "end_turn", "usage": usage});
            let stream = [
                json!({"type": "message_start",
                    "message": {"role": "assistant", "content": [], "usage": usage}}),
                json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": "Noted."}}),
                json!({"type": "content_block_stop", "index": 0}),
                // The figures of the prompt are said at both ends.
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                    "usage": usage}),
                json!({"type": "message_stop"}),
            ];
            [whole.to_string(), stream.map(event).concat()]
        }
        Format::Responses => {
            let usage = json!({"input_tokens": prompt, "output_tokens": output,
                "input_tokens_details": {"cached_tokens": read}, "total_tokens": prompt + output});
            let item = json!({"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "Noted."}]});
            let response = json!({"status": "completed", "output": [item], "usage": usage});
            let stream = [
                json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                json!({"type": "response.completed", "response": response}),
            ];
            [response.to_string(), stream.map(event).concat()]
        }
        Format::Ollama => {
            let message = json!({"role": "assistant", "content": "Noted."});
            let done = json!({"message": message, "done": true, "done_reason": "stop",
                "prompt_eval_count": prompt, "eval_count": output});
            let begun = json!({"message": message, "done": false});
            let end = json!({"message": {"role": "assistant", "content": ""}, "done": true,
                "done_reason": "stop", "prompt_eval_count": prompt, "eval_count": output});
            [done.to_string(), format!("{begun}\n{end}\n")]
        }
        _ => {
            let usage = json!({"prompt_tokens": prompt, "completion_tokens": output,
                "prompt_tokens_details": {"cached_tokens": read}, "total_tokens": prompt + output});
            let said = json!({"role": "assistant", "content": "Noted."});
            let whole = json!({"choices": [
                {"index": 0, "message": said, "finish_reason": "stop"}], "usage": usage});
            let stream = [
                json!({"choices": [{"index": 0, "delta": said}]}),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": usage}),
            ];
            [whole.to_string(), stream.map(event).concat() + "data: [DONE]\n\n"]
        }
    }
}

/// Plays four turns; `tools` is what the schema and its frame take.
#[track_caller]
fn check(format: Format, tools: u64) {
    let journal: Arc<MemoryStore> = Arc::default();
    let hub = SessionRouter::new(journal.clone(), move || {
        Compressor::builder().counter(FixedCounter::Words).clock(|| "2026-01-02T03:04:05Z".into())
    });
    let (mut ours, mut theirs) = (0, TokenUsage::default());
    for turn in 1..=4 {
        let ask = RoutedRequest {
            bytes: request(format, turn).to_string().into(),
            format,
            tenant: LOCAL.to_owned(),
            label: Some("one".to_owned()),
            window: None,
            told: None,
            cuts: false,
            client: None,
        };
        let sent = now(hub.prompt_for(&ask)).unwrap();
        let [_, by] = &sent.prompt.by;
        let (turns, said) = (turn as u64, turn as u64 - 1);
        assert_eq!((by.tools, by.images, by.system), (tools, IMAGE, 2 + MESSAGE), "{format}");
        assert_eq!(by.user, turns * (WORDS + MESSAGE), "{format}");
        ours = tools + IMAGE + 2 + MESSAGE + turns * (WORDS + MESSAGE) + said * (1 + MESSAGE);
        assert_eq!(sent.prompt.tokens, [ours, ours], "{format}, turn {turn}");

        let all = (ours as f64 * FACTOR) as u64;
        let [read, written] = CACHED.map(|tenths| all * tenths / 10);
        // Those that do not tell of the cache, or not of what is written to it, tell of the whole.
        let (read, written) = match format {
            Format::Anthropic => (read, written),
            Format::Ollama => (0, 0),
            _ => (read, 0),
        };
        let usage = TokenUsage {
            input: all - read - written,
            cache_read: read,
            cache_written: written,
            output: 7,
        };
        for answer in answers(format, usage) {
            let mut reply = ResponseParser::new(format);
            reply.hear(answer.as_bytes());
            let answer = reply.end();
            assert_eq!(answer.usage, Some(usage), "{format}");
            assert!(answer.complete && answer.messages.len() == 1, "{format}: {answer:?}");
        }
        let [whole, stream] = answers(format, usage);
        let mut reply = ResponseParser::new(format);
        reply.hear(if turn % 2 == 0 { &whole } else { &stream }.as_bytes());
        let answer = reply.end();
        let messages = answer.messages.into_iter().map(Into::into).collect();
        let answered = ModelResponse { usage: answer.usage.unwrap(), messages, stop: answer.stop };
        now(hub.record_response(&sent, &answered));
        theirs += usage;
    }
    let keeper = SessionAdmin::new(journal, Profile::default());
    let info = keeper.session(None).unwrap();
    assert_eq!((info.figures.answers, info.figures.usage), (4, theirs), "{format}");
    let lessons = keeper.learned_limits().unwrap();
    let counted = lessons[0].counted.unwrap();
    assert!((counted.factor - FACTOR).abs() < 0.001, "{format}: {counted:?}");
    // Of one conversation only: another may be a tenth off.
    assert!((counted.band - 0.1).abs() < 0.001 && counted.samples >= 3, "{format}: {counted:?}");
    let status = keeper.status(None).unwrap();
    assert_eq!(status.sums.tokens, [ours, ours], "{format}");
}

#[test]
fn schemas_images_and_cached_tokens_are_counted_once() {
    // A schema is one word as compact JSON; the rest is what the API adds to tools.
    check(Format::Anthropic, 1 + 346);
    check(Format::OpenAi, 1 + 12 + 7);
    check(Format::Responses, 1 + 12 + 7);
    check(Format::Ollama, 1 + 40 + 4);
}

/// Where prompts are only looked at, its provider counts the requests.
#[test]
fn a_request_that_is_only_watched_is_what_its_provider_counts() {
    let journal: Arc<MemoryStore> = Arc::default();
    let hub = SessionRouter::new(journal.clone(), move || {
        let clock = || "2026-01-02T03:04:05Z".into();
        let builder = Compressor::builder().counter(FixedCounter::Words).clock(clock);
        builder.window(WindowSetting::Limit(2_000))
    });
    let mut compressed = 0;
    for turn in 1..=12 {
        let ask = RoutedRequest {
            bytes: request(Format::OpenAi, turn).to_string().into(),
            format: Format::OpenAi,
            tenant: LOCAL.to_owned(),
            label: Some("one".to_owned()),
            window: None,
            told: None,
            cuts: false,
            client: None,
        };
        let mut sent = now(hub.prompt_for(&ask)).unwrap();
        let [came, prompt] = sent.prompt.tokens;
        compressed += u32::from(prompt < came);
        sent.is_only_watched();
        let input = (came as f64 * FACTOR) as u64;
        let usage = TokenUsage { input, output: 7, ..TokenUsage::default() };
        now(hub.record_response(&sent, &ModelResponse { usage, ..ModelResponse::default() }));
    }
    assert!(compressed > 3, "{compressed}");
    let lessons = SessionAdmin::new(journal, Profile::default()).learned_limits().unwrap();
    let counted = lessons[0].counted.unwrap();
    assert!((counted.factor - FACTOR).abs() < 0.001, "{counted:?}");
}
