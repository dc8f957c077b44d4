//! What a host can rely on, and what it can bring of its own.

use std::sync::{Arc, Mutex};

use epitome::types::{ImagePart, Summary};
use epitome::{
    CompressedPrompt, CompressionTarget, Compressor, Error, Eviction, Excerpt, Format, MemoryStore,
    OriginalStore, StoreError, StoredText, Summarizer, SummaryError, SummaryStyle, TokenCounter,
    VocabularyCounter, WindowSetting, scope,
};
use epitome_testkit::{FixedCounter, Script, ScriptedSummarizer, now};
use serde_json::{Value, json};

/// A conversation about files, `turns` questions with a call, its result and an answer each.
pub(crate) fn conversation(turns: usize) -> Value {
    let mut messages = vec![json!({"role": "system", "content": "You repair pipelines."})];
    for turn in 0..turns {
        let id = format!("call_{turn}");
        let file = format!("src/stage_{turn}.rs");
        let arguments = json!({ "path": file }).to_string();
        let call = json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
        let lines: Vec<_> = (0..12)
            .map(|line| format!("{line}: let value_{turn}_{line} = load({line});"))
            .collect();
        messages.extend([
            json!({"role": "user", "content": format!("Never delete {file}. What does it do?")}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": id, "content": lines.join("\n")}),
            json!({"role": "assistant", "content": format!("Stage {turn} loads twelve values.")}),
        ]);
    }
    messages.push(json!({"role": "user", "content": "Now sum it up."}));
    Value::Array(messages)
}

pub(crate) fn bytes(conversation: &Value) -> Vec<u8> {
    serde_json::to_vec(conversation).unwrap()
}

fn compress(builder: epitome::CompressorBuilder, input: &[u8]) -> Result<CompressedPrompt, Error> {
    now(builder.build().compress(input))
}

fn text_of(compressed: &CompressedPrompt) -> String {
    String::from_utf8(compressed.bytes.clone()).unwrap()
}

#[test]
fn a_conversation_is_compressed_to_its_target_and_keeps_what_is_pinned() {
    let input = bytes(&conversation(20));
    let builder = || Compressor::builder().target(CompressionTarget::Tokens(800));
    let compressed = compress(builder(), &input).unwrap();
    let report = &compressed.report;
    assert!(report.fits && report.after.tokens <= 800, "{}", report.after.tokens);
    assert_eq!((report.budget, report.budget_unit.as_deref()), (Some(800), Some("tokens")));
    assert_eq!(report.before.by.sum(), report.before.tokens);
    assert_eq!(report.after.by.sum(), report.after.tokens);
    assert_eq!(report.after.bytes, compressed.bytes.len() as u64);
    let messages: Vec<Value> = serde_json::from_slice(&compressed.bytes).unwrap();
    assert_eq!(report.after.messages, messages.len() as u64);
    assert_eq!(messages[0]["content"], "You repair pipelines.");
    assert_eq!(messages[messages.len() - 1]["content"], "Now sum it up.");
    assert_eq!(compress(builder(), &input).unwrap().bytes, compressed.bytes);
}

#[test]
fn within_the_budget_nothing_changes() {
    let input = b"[ {\"role\":\"user\",  \"content\":\"hi\", \"x\": 2.50} ]\n";
    for target in [
        CompressionTarget::Tokens(100),
        CompressionTarget::Bytes(60),
        CompressionTarget::Chars(2),
        CompressionTarget::Trigger,
    ] {
        let compressed = compress(Compressor::builder().target(target), input).unwrap();
        assert_eq!(compressed.bytes, input);
        assert!(compressed.report.ops.is_empty() && compressed.departure.blobs.is_empty());
        assert_eq!(compressed.report.before, compressed.report.after);
    }
}

#[test]
fn a_window_is_kept_from_filling_up() {
    let input = bytes(&conversation(30));
    let compressed =
        compress(Compressor::builder().window(WindowSetting::Size(4000)), &input).unwrap();
    let report = &compressed.report;
    assert_eq!((report.limit, report.budget, report.fits), (Some(3400), None, true));
    assert!(report.after.tokens <= 1700, "{}", report.after.tokens);
    let roomy =
        compress(Compressor::builder().window(WindowSetting::Limit(1 << 20)), &input).unwrap();
    assert_eq!(roomy.bytes, input);
}

#[test]
fn tool_schemas_take_room_in_a_window_and_none_of_a_budget() {
    let schema = json!({"type": "function", "function": {"name": "read", "description": "word ".repeat(500)}});
    let body = json!({"model": "gpt-4o", "tools": [schema], "messages": conversation(10)});
    let input = bytes(&body);
    let budget =
        compress(Compressor::builder().target(CompressionTarget::Tokens(450)), &input).unwrap();
    let report = budget.report;
    assert!(report.after.by.tools > 500 && report.fits);
    assert!(report.after.tokens - report.after.by.tools <= 450);
    let window =
        compress(Compressor::builder().window(WindowSetting::Limit(2000)), &input).unwrap();
    assert!(window.report.after.tokens <= 1000, "{}", window.report.after.tokens);
}

#[test]
fn the_model_of_a_request_counts_its_window() {
    let body = json!({"model": "claude-opus-4", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
    let counter = |builder| compress(builder, &bytes(&body)).unwrap().report.counter;
    assert_eq!(counter(Compressor::builder()), "o200k_base×1.15 (estimate)");
    assert_eq!(counter(Compressor::builder().target(CompressionTarget::Tokens(9))), "o200k_base");
    assert_eq!(counter(Compressor::builder().count_as("gpt-4")), "cl100k_base");
    assert_eq!(counter(Compressor::builder().counter(FixedCounter::Words)), "words");
}

#[test]
fn what_cannot_shrink_is_named_and_a_guessed_limit_is_not_enforced() {
    struct Huge;
    impl TokenCounter for Huge {
        fn id(&self) -> &str {
            "huge"
        }
        fn count(&self, text: &str) -> u64 {
            text.len() as u64 * 1000
        }
        fn image(&self, _: &ImagePart) -> u64 {
            0
        }
    }
    let input = bytes(&json!([{"role": "user", "content": "word ".repeat(100)}]));
    let error =
        compress(Compressor::builder().target(CompressionTarget::Tokens(20)), &input).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it cannot fit into 20 tokens: 105 tokens cannot shrink, e0 user: the last text that a \
         person typed (105); allow at least 105 tokens or shorten these"
    );
    let guessed = compress(Compressor::builder().counter(Huge), &input).unwrap();
    assert_eq!((guessed.bytes, guessed.report.fits), (input.clone(), false));
    assert_eq!(guessed.report.warnings.len(), 1);
    let stated = Compressor::builder().counter(Huge).window(WindowSetting::Limit(128_000));
    assert!(matches!(compress(stated, &input), Err(Error::CannotFit { .. })));
}

#[test]
fn a_budget_above_the_limit_is_met_and_warned_of() {
    let input = bytes(&conversation(20));
    let builder = Compressor::builder()
        .target(CompressionTarget::Tokens(900))
        .window(WindowSetting::Limit(100));
    let report = compress(builder, &input).unwrap().report;
    assert_eq!((report.fits, report.limit, report.budget), (false, Some(100), Some(900)));
    assert!(report.warnings[0].contains("more than the limit of 100"), "{:?}", report.warnings);
}

/// A host may compress on any thread of its runtime.
#[test]
fn compressing_can_be_sent_to_another_thread() {
    fn check(_: &impl Send) {}
    let compressor = Compressor::builder().build();
    check(&compressor.compress(b"[]"));
    check(&compressor);
}

#[test]
fn summarisers_are_asked_in_their_order() {
    let input = bytes(&conversation(20));
    let builder = Compressor::builder()
        .target(CompressionTarget::Ratio(4.0))
        .counter(FixedCounter::Words)
        .summarizer(ScriptedSummarizer::new(Script::Fail))
        .summarizer(ScriptedSummarizer::new(Script::Say("All stages were read.".to_owned())));
    let compressed = compress(builder, &input).unwrap();
    assert!(text_of(&compressed).contains("All stages were read."));
    let warnings = compressed.report.warnings.join("\n");
    assert!(warnings.contains("summariser 1 gave up"), "{warnings}");
}

#[test]
fn options_reach_the_summariser_and_the_report() {
    struct Told(Mutex<Vec<SummaryStyle>>);
    struct Teller(Arc<Told>);
    #[async_trait::async_trait]
    impl Summarizer for Teller {
        fn name(&self) -> &str {
            "teller"
        }
        async fn summarize(&self, job: &epitome::SummaryJob<'_>) -> Result<Summary, SummaryError> {
            self.0.0.lock().unwrap().push(job.style);
            Ok(Summary { text: "Short.".to_owned(), ..Summary::default() })
        }
    }
    let told = Arc::new(Told(Mutex::default()));
    let input = bytes(&conversation(20));
    let builder = || Compressor::builder().target(CompressionTarget::Ratio(4.0));
    let brief =
        builder().style(SummaryStyle::Brief).keep_recent(3).summarizer(Teller(told.clone()));
    let brief = compress(brief, &input).unwrap();
    assert_eq!(*told.0.lock().unwrap(), [SummaryStyle::Brief]);
    assert_ne!(brief.report.config, compress(builder(), &input).unwrap().report.config);
}

#[test]
fn what_leaves_is_kept_and_found_and_named_only_then() {
    let input = bytes(&conversation(20));
    let (store, scope) = (Arc::new(MemoryStore::new()), scope("default"));
    let builder = || Compressor::builder().target(CompressionTarget::Ratio(8.0));
    let kept = compress(builder().store(store.clone(), &scope), &input).unwrap();
    let id = &kept.report.checkpoints[0].id;
    assert!(text_of(&kept).contains(&id[..8]));
    assert!(store.original(&scope, id).unwrap().text.contains("src/stage_0.rs"));
    let counter = VocabularyCounter::default();
    let found = store.search(&scope, "value_3_7", 200, &counter).unwrap();
    assert!(found.iter().any(|excerpt| excerpt.text.contains("value_3_7")), "{found:?}");
    let bare = compress(builder(), &input).unwrap();
    let named = bare.report.checkpoints[0].id[..8].to_owned();
    assert!(!text_of(&bare).contains("recall") && !text_of(&bare).contains(&named));
}

#[test]
fn a_store_that_fails_ends_the_compression() {
    struct Full;
    impl OriginalStore for Full {
        fn keep(&self, _: &str, _: &Eviction) -> Result<(), StoreError> {
            let (path, what, cause) =
                ("full.db".to_owned(), "cannot be written", "full".to_owned());
            Err(StoreError::Broken { path, what, cause })
        }
        fn original(&self, _: &str, id: &str) -> Result<StoredText, StoreError> {
            Err(StoreError::Unknown { id: id.to_owned() })
        }
        fn search(
            &self,
            _: &str,
            _: &str,
            _: u64,
            _: &dyn TokenCounter,
        ) -> Result<Vec<Excerpt>, StoreError> {
            Ok(Vec::new())
        }
    }
    let input = bytes(&conversation(20));
    let builder =
        Compressor::builder().target(CompressionTarget::Ratio(4.0)).store(Arc::new(Full), "x");
    assert!(matches!(compress(builder, &input), Err(Error::Store(_))));
}

#[test]
fn an_input_that_is_invalid_already_may_stay_so() {
    let mut messages = conversation(10).as_array().unwrap().clone();
    messages.insert(1, json!({"role": "tool", "tool_call_id": "nobody", "content": "lost"}));
    let input = bytes(&Value::Array(messages));
    let same =
        compress(Compressor::builder().target(CompressionTarget::Tokens(1 << 20)), &input).unwrap();
    assert_eq!(same.bytes, input);
    assert!(same.report.warnings[0].starts_with("its provider would refuse the input"));
    compress(Compressor::builder().target(CompressionTarget::Ratio(2.0)), &input).unwrap();
}

#[test]
fn only_recordings_change_their_format() {
    let builder = || Compressor::builder().output_format(Format::Anthropic);
    let error = compress(builder(), b"[]").unwrap_err();
    assert!(matches!(error, Error::Conversion { from: Format::OpenAi, .. }), "{error}");
    let recording = r#"{"history":[{"role":"user","content":"hi"}],"trajectory":[]}"#;
    let compressed = compress(builder(), recording.as_bytes()).unwrap();
    assert_eq!(compressed.report.format, "swe-agent");
    let body: Value = serde_json::from_slice(&compressed.bytes).unwrap();
    assert_eq!(body["messages"][0]["role"], "user");
    let error = compress(Compressor::builder(), b"{\"messages\":[").unwrap_err();
    assert!(matches!(error, Error::Input(_)), "{error}");
}
