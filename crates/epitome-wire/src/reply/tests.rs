//! What is learned of the answers of each provider, however they are cut into chunks.

use proptest::prelude::*;

use super::*;
use crate::message;

fn hear(format: Format, chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> ResponseInfo {
    let mut reply = ResponseParser::new(format);
    chunks.into_iter().for_each(|chunk| reply.hear(chunk.as_ref()));
    reply.end()
}

/// Figures in the order of `TokenUsage`.
fn counted(input: u64, cache_read: u64, cache_written: u64, output: u64) -> Option<TokenUsage> {
    Some(TokenUsage { input, cache_read, cache_written, output })
}

/// Checks what is learned of a body that came to its end, whole and byte by byte.
#[track_caller]
fn check(format: Format, body: &str, usage: Option<TokenUsage>, stop: &str, messages: &[&str]) {
    for size in [1, 7, body.len()] {
        let answer = hear(format, body.as_bytes().chunks(size));
        let said: Vec<_> = answer.messages.iter().map(|it| str::from_utf8(it).unwrap()).collect();
        assert_eq!(said, messages);
        assert_eq!((answer.usage, answer.stop.as_deref()), (usage, Some(stop)));
        assert_eq!((answer.complete, answer.error), (true, None));
    }
    for said in messages {
        assert!(message(said.as_bytes(), format).is_ok(), "{said}");
    }
}

/// Checks an answer that broke off or failed.
#[track_caller]
fn check_broken(format: Format, body: &str, error: Option<&str>, messages: &[&str]) {
    let answer = hear(format, [body]);
    let said: Vec<_> = answer.messages.iter().map(|it| str::from_utf8(it).unwrap()).collect();
    assert_eq!((answer.complete, answer.error.as_deref()), (false, error), "{body}");
    assert_eq!(said, messages);
}

fn events(events: &[&str]) -> String {
    events.iter().map(|data| format!("event: x\ndata: {data}\n\n")).collect()
}

#[test]
fn the_model_is_who_the_answer_says_that_it_is() {
    let check = |format, body: &str, model: Option<&str>| {
        for size in [1, body.len()] {
            let answer = hear(format, body.as_bytes().chunks(size));
            assert_eq!(answer.model.as_deref(), model, "{body}");
        }
    };
    let whole = r#"{"model":"m-2","content":[],"choices":[],"message":{"content":"a"}}"#;
    for format in [Format::Anthropic, Format::OpenAi, Format::Responses, Format::Ollama] {
        check(format, whole, Some("m-2"));
        check(format, r#"{"model":null}"#, None);
    }
    let start = events(&[r#"{"type":"message_start","message":{"model":"m-2"}}"#]);
    check(Format::Anthropic, &start, Some("m-2"));
    let chunks =
        events(&[r#"{"choices":[]}"#, r#"{"model":"m-2","choices":[]}"#, r#"{"model":"x"}"#]);
    check(Format::OpenAi, &chunks, Some("m-2"));
    let done = events(&[r#"{"type":"response.completed","response":{"model":"m-2"}}"#]);
    check(Format::Responses, &done, Some("m-2"));
}

const MESSAGES: [&str; 17] = [
    r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"cache_creation_input_tokens":40,"cache_read_input_tokens":500,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig="}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":null}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"caf\u00e9\n"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\"x\""}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"n":1.0}}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"f\": 2.5"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"0}"}}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"u","name":"Ls","input":{}}}"#,
    r#"{"type":"content_block_start","index":4,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"x":1e2}]}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":77}}"#,
    r#"{"type":"message_stop"}"#,
];

#[test]
fn anthropic() {
    let said = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"sig="},{"type":"text","text":"café\n\"x\"","citations":[{"n":1.0}]},{"type":"tool_use","id":"t","name":"Read","input":{"f": 2.50}},{"type":"tool_use","id":"u","name":"Ls","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"x":1e2}]}]}"#;
    let usage = counted(3, 500, 40, 77);
    check(Format::Anthropic, &events(&MESSAGES), usage, "tool_use", &[said]);
    let whole = r#" {"type":"message","role":"assistant","content":[ {"type":"text","text":"caf\u00e9","x":1.0} ],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":7}}"#;
    let said = r#"{"role":"assistant","content":[ {"type":"text","text":"caf\u00e9","x":1.0} ]}"#;
    check(Format::Anthropic, whole, counted(3, 0, 0, 7), "end_turn", &[said]);

    let compacted = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null,"encrypted_content":"x"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"So \"far\"."}}"#,
        MESSAGES[15],
        MESSAGES[16],
    ];
    let said = r#"{"role":"assistant","content":[{"type":"compaction","content":"So \"far\".","encrypted_content":"x"}]}"#;
    check(Format::Anthropic, &events(&compacted), counted(0, 0, 0, 77), "tool_use", &[said]);

    let left_out = r#"{"type":"message_start","message":{"id":"m","input_transformations":[{"reason":"prefix_binding_mismatch"},{}]}}"#;
    assert_eq!(hear(Format::Anthropic, [events(&[left_out])]).transformed, 2);

    let kept = |creation: &str| {
        let usage = format!(r#"{{"cache_creation_input_tokens":50{creation}}}"#);
        let start = format!(r#"{{"type":"message_start","message":{{"id":"m","usage":{usage}}}}}"#);
        let info = hear(Format::Anthropic, [events(&[&start, MESSAGES[15], MESSAGES[16]])]);
        let whole = format!(r#"{{"type":"message","content":[],"usage":{usage}}}"#);
        assert_eq!(hear(Format::Anthropic, [whole]).written_for_hour, info.written_for_hour);
        info.written_for_hour
    };
    assert_eq!(kept(""), None);
    let split =
        r#","cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":20}"#;
    assert_eq!(kept(split), Some(20));

    let cut = events(&MESSAGES[..12]);
    let said = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"sig="},{"type":"text","text":"café\n\"x\"","citations":[{"n":1.0}]},{"type":"tool_use","id":"t","name":"Read","input":{}}]}"#;
    check_broken(Format::Anthropic, &cut, None, &[said]);
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    check_broken(Format::Anthropic, error, Some(error), &[]);
    check_broken(Format::Anthropic, &events(&[MESSAGES[0], error]), Some(error), &[]);
    check_broken(Format::Anthropic, "", None, &[]);
    check_broken(Format::Anthropic, "<html>busy</html>", None, &[]);
    check_broken(Format::Anthropic, &whole[..90], None, &[]);
}

#[test]
fn openai() {
    let stream = events(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"other"}},{"index":0,"delta":{"content":"Hi"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":" you"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":64}}}"#,
        "[DONE]",
    ]);
    let said = r#"{"role":"assistant","content":"Hi you","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}"#;
    check(Format::OpenAi, &stream, counted(36, 64, 0, 9), "tool_calls", &[said]);
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"x","refusal":null,"n":1.0},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#;
    let said = r#"{"role":"assistant","content":"x","refusal":null,"n":1.0}"#;
    check(Format::OpenAi, whole, counted(10, 0, 0, 2), "stop", &[said]);
    let kimi = events(&[
        r#"{"choices":[{"delta":{"content":"k"},"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":1,"cached_tokens":4}}]}"#,
    ]);
    let said = r#"{"role":"assistant","content":"k"}"#;
    check(Format::OpenAi, &kimi, counted(1, 4, 0, 1), "stop", &[said]);
    let thinking = events(&[
        r#"{"choices":[{"delta":{"reasoning_content":"Let me "}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"see.","reasoning_details":[{"text":"a"}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"Yes.","reasoning_content":null,"reasoning_details":[{"data":"b"}]},"finish_reason":"stop"}]}"#,
    ]);
    let said = r#"{"role":"assistant","content":"Yes.","reasoning_content":"Let me see.","reasoning_details":[{"text":"a"},{"data":"b"}]}"#;
    check(Format::OpenAi, &thinking, None, "stop", &[said]);
    let refused = events(&[r#"{"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}"#]);
    let said = r#"{"role":"assistant","content":null,"refusal":"No."}"#;
    check(Format::OpenAi, &refused, None, "stop", &[said]);
    let error = r#"{"error":{"message":"boom"}}"#;
    check_broken(Format::OpenAi, &events(&[error]), Some(error), &[]);
    check_broken(Format::OpenAi, error, Some(error), &[]);
    check_broken(Format::OpenAi, r#"{"object":"list"}"#, None, &[]);
}

#[test]
fn responses() {
    let call =
        r#"{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{\"p\":2.50}"}"#;
    let text = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]}]}"#;
    let done = |place: u32, item: &str| {
        format!(r#"{{"type":"response.output_item.done","output_index":{place},"item":{item}}}"#)
    };
    let usage = r#""usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":32},"output_tokens":8}"#;
    let completed = format!(
        r#"{{"type":"response.completed","response":{{"status":"completed","output":[{text}],{usage}}}}}"#
    );
    let (first, second) = (done(0, text), done(1, call));
    let added =
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}"#;
    let stream = events(&[
        r#"{"type":"response.created","response":{"status":"in_progress","output":[]}}"#,
        added,
        &second,
        &first,
        &completed,
    ]);
    check(Format::Responses, &stream, counted(18, 32, 0, 8), "completed", &[text, call]);
    let bare = events(&[&completed]);
    check(Format::Responses, &bare, counted(18, 32, 0, 8), "completed", &[text]);
    let whole = format!(
        r#"{{"status":"incomplete","error":null,"incomplete_details":{{"reason":"max_output_tokens"}},"output":[{call},{text}],{usage}}}"#
    );
    check(Format::Responses, &whole, counted(18, 32, 0, 8), "max_output_tokens", &[call, text]);
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"m"}}}"#;
    let error = r#"{"code":"context_length_exceeded","message":"m"}"#;
    check_broken(Format::Responses, &events(&[&first, failed]), Some(error), &[text]);
    assert!(crate::overflow(400, error.as_bytes()).is_some());
    check_broken(Format::Responses, &events(&[&first]), None, &[text]);
}

#[test]
fn ollama() {
    let stream = [
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"He"},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"y"},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"w","arguments":{"c":2.50}}}]},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":298}"#,
    ];
    let said = r#"{"role":"assistant","content":"Hey","thinking":"hm","tool_calls":[{"function":{"name":"w","arguments":{"c":2.50}}}]}"#;
    check(Format::Ollama, &(stream.join("\n") + "\n"), counted(26, 0, 0, 298), "stop", &[said]);
    let said = r#"{"role":"assistant","content":"x"}"#;
    let whole = r#"{"message":{"role":"assistant","content":"x"},"done":true,"done_reason":"stop","prompt_eval_count":2}"#;
    check(Format::Ollama, whole, counted(2, 0, 0, 0), "stop", &[said]);
    check_broken(
        Format::Ollama,
        &stream[..2].join("\n"),
        None,
        &[r#"{"role":"assistant","content":"He","thinking":"hm"}"#],
    );
    let error = r#"{"error":"model not found"}"#;
    check_broken(Format::Ollama, error, Some(error), &[]);
}

#[test]
fn what_is_counted_is_known_while_it_streams() {
    let mut reply = ResponseParser::new(Format::Anthropic);
    assert_eq!(reply.usage(), None);
    reply.hear(events(&MESSAGES[..1]).as_bytes());
    assert_eq!(reply.usage(), counted(3, 500, 40, 1));
}

#[test]
fn an_answer_that_is_too_long_is_not_kept_but_counted() {
    let piece = format!(
        r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"text_delta","text":"{}"}}}}"#,
        "x".repeat(100_000)
    );
    let piece = events(&[&piece]);
    let mut reply = ResponseParser::new(Format::Anthropic);
    reply.hear(events(&MESSAGES[..7]).as_bytes());
    for _ in 0..60 {
        reply.hear(piece.as_bytes());
        assert!(reply.notes.room <= MOST_ANSWER);
    }
    // A line without end is passed over as well.
    reply.hear(b"data: ");
    (0..40).for_each(|_| reply.hear(&vec![b'y'; 100_000]));
    reply.hear(format!("\n\n{}", events(&MESSAGES[15..])).as_bytes());
    let answer = reply.end();
    assert_eq!((answer.usage, answer.complete), (counted(3, 500, 40, 77), true));
    assert!(answer.messages.is_empty());

    let answer = hear(Format::OpenAi, std::iter::repeat_n(vec![b'{'; 1_000_000], 10));
    assert_eq!(answer, ResponseInfo::default());
}

/// Bodies to cut and to damage.
fn bodies() -> Vec<String> {
    let ollama = r#"{"message":{"content":"x","tool_calls":[{"function":{}},3]},"done":true,"eval_count":1}"#;
    let openai = r#"{"choices":[{"delta":{"content":"é","tool_calls":[{"index":7,"id":"a","function":{"name":"f","arguments":"{"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#;
    let responses = r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message"}],"usage":{"input_tokens":1}}}"#;
    let done = r#"{"type":"response.output_item.done","item":{"type":"reasoning"}}"#;
    vec![
        events(&MESSAGES),
        events(&[openai, openai, "[DONE]"]),
        events(&[done, done, responses]),
        format!("{ollama}\r\n{ollama}\n"),
        format!(
            r#"{{"content":[],"output":[{{}}],"status":"completed","choices":[{{"message":{{}}}}],"x":{openai}}}"#
        ),
    ]
}

proptest! {
    #[test]
    fn chunks_make_no_difference_and_no_bytes_make_it_fail(
        body in proptest::sample::select(bodies()),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
        sizes in proptest::collection::vec(1usize..40, 1..20),
    ) {
        let mut bytes = body.into_bytes();
        for (at, byte) in hits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        for format in Format::PROVIDERS {
            let at_once = hear(format, [&bytes]);
            let mut rest = bytes.as_slice();
            let mut sizes = sizes.iter().cycle();
            let chunks = std::iter::from_fn(|| {
                let (chunk, behind) = rest.split_at(rest.len().min(*sizes.next()?));
                rest = behind;
                (!chunk.is_empty()).then_some(chunk)
            });
            prop_assert_eq!(&hear(format, chunks), &at_once);
            for said in &at_once.messages {
                prop_assert!(crate::json::parse(str::from_utf8(said).unwrap()).is_ok());
            }
        }
    }

    #[test]
    fn noise_makes_no_difference_either(bytes in proptest::collection::vec(any::<u8>(), 0..200), size in 1usize..9) {
        for format in Format::PROVIDERS {
            prop_assert_eq!(hear(format, bytes.chunks(size)), hear(format, [&bytes]));
        }
    }
}

#[test]
fn whoever_reads_along_hears_what_is_said_and_no_thoughts() {
    let body = events(&MESSAGES);
    for size in [1, 7, body.len()] {
        let mut reply = ResponseParser::aloud(Format::Anthropic);
        let mut said = String::new();
        for chunk in body.as_bytes().chunks(size) {
            reply.hear(chunk);
            said += &reply.said();
        }
        assert_eq!(said, "café\n\"x\"");
    }
    let mut silent = ResponseParser::new(Format::Anthropic);
    silent.hear(body.as_bytes());
    assert_eq!(silent.said(), "");
}
