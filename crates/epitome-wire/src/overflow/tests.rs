//! What each provider and server says, and what is something else.

use proptest::prelude::*;

use super::*;

/// A figure that is not said is 0.
#[track_caller]
fn check(status: u16, body: &str, limit: u64, size: u64) {
    let said = |figure| (figure != 0).then_some(figure);
    let expected = ContextOverflow { limit: said(limit), size: said(size) };
    assert_eq!(overflow(status, body.as_bytes()), Some(expected), "{body}");
}

#[track_caller]
fn check_other(status: u16, body: &str) {
    assert_eq!(overflow(status, body.as_bytes()), None, "{body}");
}

fn openai(message: &str) -> String {
    format!(
        r#"{{"error":{{"message":"{message}","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}}}"#
    )
}

#[test]
fn anthropic() {
    let error = |kind: &str, message: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
    };
    let invalid = |message: &str| error("invalid_request_error", message);
    check(400, &invalid("prompt is too long: 213462 tokens > 200000 maximum"), 200_000, 213_462);
    check(
        400,
        &invalid(r"prompt is too long: 213462 tokens \u003e 200000 maximum"),
        200_000,
        213_462,
    );
    let both = "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length or `max_tokens` and try again";
    check(400, &invalid(both), 200_000, 211_333);
    check(413, &error("request_too_large", "Request exceeds the maximum size"), 0, 0);
    let most = "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x";
    check_other(400, &invalid(most));
    let image = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes";
    check_other(400, &invalid(image));
    check_other(413, &error("invalid_request_error", "image exceeds 5 MB maximum"));
    let rate = "This request would exceed your organization's rate limit of 30,000 input tokens per minute";
    check_other(429, &error("rate_limit_error", rate));
    check_other(400, &error("rate_limit_error", rate));
    check_other(529, &error("overloaded_error", "Overloaded"));
    check_other(401, &invalid("prompt is too long: 213462 tokens > 200000 maximum"));
}

#[test]
fn openai_and_those_who_speak_like_it() {
    let at = "This model's maximum context length is";
    check(
        400,
        &openai(&format!(
            "{at} 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages."
        )),
        4097,
        4294,
    );
    check(
        400,
        &openai(&format!(
            "{at} 4096 tokens. However, you requested 4118 tokens (3118 in the messages, 1000 in the completion). Please reduce the length of the messages or completion."
        )),
        4096,
        4118,
    );
    check(
        400,
        &openai(&format!(
            "{at} 8191 tokens, however you requested 10346 tokens (10341 in your prompt; 5 for the completion). Please reduce your prompt; or completion length."
        )),
        8191,
        10_346,
    );
    check(
        400,
        &openai(&format!(
            "{at} 16385 tokens. However, you requested 17000 tokens (15000 in the messages, 1000 in the functions, and 1000 in the completion)."
        )),
        16_385,
        17_000,
    );
    check(
        400,
        &openai(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 284013 tokens. Please reduce the length of the messages.",
        ),
        272_000,
        284_013,
    );
    check(
        400,
        &openai(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
        0,
        0,
    );
    check(400, r#"{"error":{"message":"too much","code":"context_length_exceeded"}}"#, 0, 0);
    // The answer alone fills the window: no prompt is short enough.
    check_other(400, &openai(&format!("{at} 4096 tokens. However, you requested 5118 tokens (118 in the messages, 5000 in the completion).")).replace("context_length_exceeded", "x"));
    check_other(
        400,
        r#"{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}"#,
    );
    check_other(
        429,
        r#"{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}}"#,
    );
    // Groq says so with another status.
    check_other(
        413,
        r#"{"error":{"message":"Request too large for model `llama` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9482, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
    );
    check(
        400,
        r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        0,
        0,
    );
    // OpenRouter, with what it routes to in its own words, JSON within JSON.
    check(
        400,
        &openai(
            r#"This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically."#,
        ),
        32_768,
        42_832,
    );
    check(
        400,
        &openai(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (128956 of text input, 2000 of tool input, 8000 in the output).",
        ),
        131_072,
        138_956,
    );
    check_other(
        400,
        &openai(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output).",
        ),
    );
    check(
        400,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"message\":\"prompt is too long: 209303 tokens \\u003e 200000 maximum\"}}","provider_name":"Anthropic"}}}"#,
        200_000,
        209_303,
    );
}

#[test]
fn servers_of_ones_own() {
    // llama-server, now and before.
    check(
        400,
        r#"{"error":{"code":400,"message":"request (3031 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":3031,"n_ctx":2048}}"#,
        2048,
        3031,
    );
    check(
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":3031,"n_ctx":2048}}"#,
        2048,
        3031,
    );
    check(
        500,
        r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}"#,
        0,
        0,
    );
    // vLLM.
    let vllm = |message: &str| {
        format!(
            r#"{{"object":"error","message":"{message}","type":"BadRequestError","param":null,"code":400}}"#
        )
    };
    check(
        400,
        &vllm(
            "This model's maximum context length is 8192 tokens. However, your request has 8195 input tokens. Please reduce the length of the input messages. None",
        ),
        8192,
        8195,
    );
    check(
        400,
        &vllm(
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 5000 input tokens (4096 > 8192 - 5000). None",
        ),
        8192,
        9096,
    );
    check_other(
        400,
        &vllm(
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 9 input tokens (8192 > 8192 - 9). None",
        ),
    );
    check(
        400,
        &vllm(
            "This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens and your prompt contains at least 5000 input tokens, for a total of at least 9096 tokens.",
        ),
        8192,
        9096,
    );
    check(
        400,
        &vllm(
            "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller.",
        ),
        16_384,
        21_535,
    );
    check(
        400,
        &vllm(
            "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
        ),
        4096,
        25_938,
    );
    // sglang.
    check(
        400,
        r#"{"object":"error","message":"The input (61709 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400}"#,
        40_960,
        61_709,
    );
    check(
        400,
        &vllm(
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 8000 tokens from the input messages and 1000 tokens for the completion.",
        ),
        8192,
        9000,
    );
    check(
        400,
        &vllm("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."),
        59_862,
        160_062,
    );
    // LM Studio.
    check(
        400,
        r#"{"error":"Trying to keep the first 14538 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough."}"#,
        2048,
        14_538,
    );
    check(
        400,
        r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}"#,
        4096,
        13_055,
    );
    check(
        400,
        r#"{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}"#,
        7424,
        15_028,
    );
    // Text Generation Inference.
    check(
        422,
        r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 6204 `inputs` tokens and 2047 `max_new_tokens`","error_type":"validation"}"#,
        8192,
        8251,
    );
    check(
        422,
        r#"{"error":"Input validation error: `inputs` must have less than 4095 tokens. Given: 5000","error_type":"validation"}"#,
        4095,
        5000,
    );
    // Ollama.
    check(400, r#"{"error":"the input length exceeds the context length"}"#, 0, 0);
    check(400, r#"{"error":"prompt too long; exceeded max context length by 1532 tokens"}"#, 0, 0);
    check_other(404, r#"{"error":"model 'x' not found"}"#);
}

#[test]
fn other_providers() {
    check(
        400,
        r#"[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        1_048_576,
        1_200_293,
    );
    check(
        400,
        r#"{"error":{"message":"{\n  \"error\": {\n    \"message\": \"The input token count (132478) exceeds the maximum number of tokens allowed (131072).\"\n  }\n}\n","code":400}}"#,
        131_072,
        132_478,
    );
    check(400, r#"{"message":"Input is too long for requested model."}"#, 0, 0);
    check(
        400,
        r#"{"message":"The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum"}"#,
        200_000,
        200_049,
    );
    check(
        400,
        r#"{"message":"Too many input tokens. Max input tokens: 8192, request input token count: 9000 "}"#,
        8192,
        9000,
    );
    check(
        400,
        r#"{"object":"error","message":"Prompt contains 40230 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
        32_768,
        40_230,
    );
    check(
        400,
        r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}"#,
        262_144,
        269_030,
    );
    check(400, r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#, 0, 0);
    check(
        400,
        r#"{"code":"x","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
        131_072,
        537_812,
    );
    check(
        400,
        r#"{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#,
        128_000,
        140_000,
    );
    check(
        400,
        r#"{"error":{"message":"Range of input length should be [1, 30720]","code":"invalid_parameter_error"}}"#,
        30_720,
        0,
    );
    check(413, "", 0, 0);
    check_other(400, "");
    check_other(400, r#"{"error":{"message":"Invalid schema for function"}}"#);
    check_other(500, r#"{"error":{"message":"internal"}}"#);
    check_other(200, r#"{"error":{"message":"prompt is too long"}}"#);
}

proptest! {
    #[test]
    fn no_body_makes_it_fail(
        status in 400u16..530,
        bytes in proptest::collection::vec(any::<u8>(), 0..128),
        text in r#"(prompt is too long: |\\|\\u00|"|[0-9]{1,24}| tokens|>|é|n_keep \(|maximum context length is ){0,12}"#,
    ) {
        prop_assert!(overflow(200, &bytes).is_none());
        let _ = overflow(status, &bytes);
        let _ = overflow(status, text.as_bytes());
    }
}
