//! The wordings.
//!
//! Invariant: in small letters and without quotes; of those that fit the same text the one with
//! more figures stands first.

/// What providers and servers say. See `pattern::find` for the signs.
pub(super) const SIGNATURES: &[&str] = &[
    // Anthropic, also behind Bedrock and Vertex.
    "prompt is too long: {size} tokens > {limit} maximum",
    "input length and max_tokens exceed context limit: {size} + {room} > {limit}",
    // vLLM, before the wordings that it shares with OpenAI.
    "is too large: {room}. this models maximum context length is {limit} tokens and your request has {size} input tokens",
    "maximum context length is {limit} tokens. however, you requested {room} output tokens and your prompt contains at least {size} input tokens",
    "maximum context length is {limit} tokens. however, you requested {room} output tokens and your prompt contains {size} input tokens",
    "maximum context length is {limit} tokens…your request has {size} input tokens",
    "prompt (length {size}) is longer than the maximum model length of {limit}",
    "prompt (total length {size}) is too long to fit into the model (context length {limit}",
    // OpenAI, Azure, DeepSeek, and OpenRouter for what it routes to.
    "maximum context length is {limit} tokens…requested {} tokens ({size} in the messages, {size} in the functions, and {room} in the completion",
    "maximum context length is {limit} tokens…requested {} tokens ({size} in the messages, {room} in the completion",
    "maximum context length is {limit} tokens…requested {} tokens ({size} in your prompt; {room} for the completion",
    "maximum context length is {limit} tokens…requested about {} tokens ({size} of text input, {size} of tool input, {room} in the output",
    "maximum context length is {limit} tokens…requested about {} tokens ({size} of text input, {room} in the output",
    "maximum context length is {limit} tokens…requested about {size} tokens",
    "maximum context length is {limit} tokens…requested {size} tokens",
    "maximum context length is {limit} tokens…resulted in {size} tokens",
    "input tokens exceed the configured limit of {limit} tokens…resulted in {size} tokens",
    "input tokens exceed the configured limit",
    "exceeds the context window",
    // llama-server, in newer and older words, with its figures beside them.
    "request ({size} tokens) exceeds the available context size ({limit} tokens",
    "exceeds the available context size…n_prompt_tokens:{size},n_ctx:{limit}",
    "exceeds the available context size…n_prompt_tokens:{size}, n_ctx:{limit}",
    "exceeds the available context size",
    "exceed_context_size_error",
    // LM Studio.
    "trying to keep the first {size} tokens when context the overflows…context length of only {limit} tokens",
    "n_keep: {size}>= n_ctx: {limit}",
    "n_keep ({size}) >= n_ctx ({limit}",
    "tokens to keep from the initial prompt is greater than the context length",
    // sglang.
    "input ({size} tokens) is longer than the models context length ({limit} tokens",
    "input length ({size} tokens) exceeds the maximum allowed length ({limit} tokens",
    "exceeds the models maximum context length of {limit} tokens. you requested a total of {} tokens: {size} tokens from the input messages and {room} tokens for the completion",
    "exceeds the models maximum context length of {limit}",
    // Text Generation Inference, Together.
    "inputs tokens + max_new_tokens must be <= {limit}. given: {size} inputs tokens and {room} max_new_tokens",
    "inputs must have less than {limit} tokens. given: {size}",
    // Ollama, which mostly cuts without a word.
    "input length exceeds the context length",
    "input exceeds maximum context length",
    "prompt too long; exceeded",
    // Gemini and Vertex.
    "input token count ({size}) exceeds the maximum number of tokens allowed ({limit}",
    "input token count is {size} but model only supports up to {limit}",
    "input token count exceeds the maximum",
    // Bedrock.
    "too many input tokens. max input tokens: {limit}, request input token count: {size}",
    "input is too long for requested model",
    // Others, each by its own words: Mistral, Kimi, GLM, Groq, xAI, Copilot, Qwen, MiniMax,
    // Fireworks, Cohere.
    "prompt contains {size} tokens…too large for model with {limit} maximum context length",
    "exceeded model token limit: {limit} (requested: {size}",
    "exceeded model token limit",
    "prompt exceeds max length",
    "reduce the length of the messages",
    "maximum prompt length is {limit} but the request contains {size} tokens",
    "prompt token count of {size} exceeds the limit of {limit}",
    "range of input length should be [1, {limit}]",
    "context window exceeds limit",
    "prompt is too long: {size}, model maximum context length: {limit}",
    "tokens in the prompt cannot exceed {limit} - received {size}",
    // What is left where the figures are missing.
    "prompt is too long",
    "maximum context length is {limit}",
    "maximum context length",
    "context_length_exceeded",
    "context length exceeded",
    "request_too_large",
    "request exceeds the maximum size",
];
