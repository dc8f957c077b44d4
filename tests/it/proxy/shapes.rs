//! The shapes of requests that real clients send: what nobody shrinks goes through byte for byte,
//! whatever members it has.

use epitome_upstream::Script;
use serde_json::{Value, json};

use super::faults::eventually;
use super::http::Ask;
use super::serving::Serving;

/// Requests as clients write them: the client, the path, the body.
const SHAPES: [(&str, &str, &str); 7] = [
    (
        "a coding agent's first turn: a system message in the middle, adaptive thinking",
        "/v1/messages?beta=true",
        r#"{"model":"claude-opus-4-8","messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\n# currentDate\nToday's date is 2026-11-21.\n</system-reminder>"},{"type":"text","text":"Read calc.py and tell me the bug","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":"Available agent types for the Agent tool:\n- claude: Catch-all."}],"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.197.6c5; cc_entrypoint=sdk-cli;"},{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"Read","description":"Reads","input_schema":{"type":"object","properties":{}}}],"metadata":{"user_id":"{\"device_id\":\"00\",\"account_uuid\":\"\",\"session_id\":\"00000000-0000-4000-8000-000000000001\"}"},"max_tokens":64000,"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"high"},"stream":true}"#,
    ),
    (
        "after a compaction: texts beside blocks, users in a row",
        "/v1/messages?beta=true",
        r#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":[{"type":"text","text":"This session is being continued from a previous conversation that ran out of context."}]},{"role":"assistant","content":[{"type":"text","text":"Mock reply 1."}]},{"role":"user","content":"<system-reminder>\nCalled the Read tool\n</system-reminder>"},{"role":"user","content":[{"type":"text","text":"<local-command-stdout>Compacted</local-command-stdout>\n"}]},{"role":"assistant","content":[{"type":"text","text":"No response requested."}]},{"role":"user","content":[{"type":"text","text":"after compact","cache_control":{"type":"ephemeral"}}]}],"max_tokens":32000,"thinking":{"budget_tokens":31999,"type":"enabled"}}"#,
    ),
    (
        "markers at the top, too, with a lifetime",
        "/v1/messages",
        r#"{"max_tokens":64000,"messages":[{"role":"user","content":"hi"}],"model":"claude-sonnet-4-5","cache_control":{"type":"ephemeral","ttl":"5m"},"system":[{"type":"text","text":"You are terse.","cache_control":{"type":"ephemeral","ttl":"5m"}}],"tools":[{"name":"ls","input_schema":{"type":"object","properties":{}},"eager_input_streaming":true}]}"#,
    ),
    (
        "odd numbers and members that nobody knows",
        "/v1/messages",
        r#"{ "model" : "m", "max_tokens":1000, "temperature":2.50,"seed":12345678901234567890123, "x_new":{"b":[1.0,-0.0,1E+2],"a":"\u00e9\/\ud83d\ude00"},"messages":[ {"role":"user","content":[{"type":"text","text":"caf\u00e9 \/ 2.50","x_own":{"z":1,"a":2.10}}],"x_seen":1.10} ] }"#,
    ),
    (
        "items with ids, developer messages, metadata as text",
        "/v1/responses",
        r#"{"model":"mock-1","stream":true,"input":[{"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"You are a coding agent."}]},{"type":"message","id":"msg_2","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/srv/demo</cwd>\n</environment_context>"}]},{"type":"message","id":"msg_3","role":"user","content":[{"type":"input_text","text":"read a.txt"}]},{"type":"function_call","id":"fc_1","name":"exec_command","arguments":"{\"cmd\":\"cat a.txt\"}","call_id":"call_mock1"},{"type":"function_call_output","id":"fco_1","call_id":"call_mock1","output":"Chunk ID: 16bcbc\nOutput:\nhello\n"}],"tools":[{"type":"function","name":"exec_command","strict":false,"parameters":{"type":"object"}},{"type":"web_search","external_web_access":true}],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"00000000-0000-4000-8000-000000000003","client_metadata":{"x-codex-window-id":"0:0"}}"#,
    ),
    (
        "chat with pairs of examples and an empty turn of calls",
        "/v1/chat/completions",
        r#"{"messages":[{"role":"system","content":"Act as an expert."},{"role":"user","content":"Change the greeting"},{"role":"assistant","content":"Ok."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"read","arguments":"{\"filePath\": \"a.txt\"}"}}]},{"role":"tool","tool_call_id":"call_2","content":"<path>a.txt</path>"}],"model":"mock-1","stream":true,"temperature":0,"stream_options":{"include_usage":true},"tool_choice":"auto"}"#,
    ),
    (
        "a chat without `stream`, which streams",
        "/api/chat",
        r#"{"model":"mock-1","messages":[{"role":"user","content":"hi","images":["aGk="]}],"tools":[],"options":{"num_ctx":8192,"temperature":0.50},"keep_alive":"5m","think":false}"#,
    ),
];

#[test]
fn what_nobody_shrinks_goes_through_byte_for_byte() {
    let serving = Serving::start(Script::default(), &[]);
    for (what, path, body) in SHAPES {
        let ask = Ask::post(path, body)
            .header("anthropic-version", "2023-06-01")
            .header("anthropic-beta", "claude-code-20250219,mid-conversation-system-2026-04-07")
            .header("x-stainless-lang", "js")
            .header("user-agent", "tester/1.0 (x)");
        let answer = serving.send(ask);
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        assert_eq!(answer.header("x-epitome-skip"), None, "{what}");
        assert!(answer.whole && answer.header("request-id").is_some(), "{what}");
        let arrived = serving.last();
        assert_eq!(String::from_utf8_lossy(&arrived.raw), body, "{what}");
        assert_eq!(arrived.path, path, "{what}");
        for (name, value) in [
            ("anthropic-beta", "claude-code-20250219,mid-conversation-system-2026-04-07"),
            ("x-stainless-lang", "js"),
            ("user-agent", "tester/1.0 (x)"),
            ("content-type", "application/json"),
        ] {
            assert_eq!(arrived.header(name), Some(value), "{what}");
        }
        assert_eq!(arrived.header("content-length"), Some(&*body.len().to_string()), "{what}");
    }
}

#[test]
fn what_is_shrunk_leaves_the_rest_byte_for_byte() {
    let serving = Serving::start(Script::default(), &[]);
    let log = super::agent::result_of("read_log", "7");
    let head = r#"{ "model":"claude-sonnet-4-5", "max_tokens":9, "seed":12345678901234567890123,"temperature":2.50, "messages":[{"role":"user","content":"caf\u00e9"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read_log","input":{"x":1.0,"big":12345678901234567890123}}] , "x_own":2.10},{"role":"user","content":[{"type":"tool_result","x_new":[1.50],"tool_use_id":"toolu_1","content":"#;
    let tail = r#","cache_control":{"type":"ephemeral"}},{"type":"text","text":"\u0041nd?"}]}],"x_last":{"b":1,"a":1e2}}"#;
    let body = format!("{head}{}{tail}", Value::from(log.as_str()));
    serving.send(Ask::post("/v1/messages", body.clone()));
    let arrived = serving.last();
    let arrived = String::from_utf8_lossy(&arrived.raw).into_owned();
    assert!(arrived.len() * 2 < body.len(), "{} of {} bytes", arrived.len(), body.len());
    assert!(arrived.starts_with(head), "{arrived}");
    assert!(arrived.ends_with(tail), "{arrived}");
    assert!(arrived.contains("FATAL w3 run 7 out of memory: killed pid 807"), "{arrived}");
}

#[test]
fn images_survive_beside_repeated_text() {
    let serving = Serving::start(Script::default(), &[]);
    let picture = "iVBORw0KGgo".repeat(4000);
    let log = super::agent::result_of("read_log", "7");
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}});
    let result = |id: &str, with_image: bool| {
        let mut content = vec![json!({"type": "text", "text": log})];
        if with_image {
            content.push(image.clone());
        }
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]})
    };
    let call = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read_log", "input": {}}]});
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Compare."}, call("a"), result("a", false), call("b"), result("b", true),
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": [{"type": "text", "text": log}, image.clone()]}]});
    serving.post("/v1/messages", &body);
    let sent = serving.last();
    let messages = sent.body["messages"].as_array().unwrap();
    let inner = messages[4]["content"][0]["content"].as_array().unwrap();
    assert!(inner.contains(&image), "the image of the second result is gone");
    assert!(messages[6]["content"].as_array().unwrap().contains(&image));
    assert_eq!(messages[6]["content"][0]["text"], log, "what a person gave is left alone");
}

#[test]
fn everything_else_passes_untouched() {
    let serving = Serving::start(Script::default(), &[]);
    for (method, path, body) in [
        ("GET", "/v1/models", ""),
        ("GET", "/api/tags", ""),
        ("GET", "/api/version", ""),
        ("POST", "/api/show", r#"{"model":"m"}"#),
        ("POST", "/v1/embeddings?x=1&y=%20", "{ \"input\" : 2.50 }"),
        ("DELETE", "/v1/files/file-1", ""),
        ("PATCH", "/v1/files/anything", "\u{0}\u{1}not json"),
        ("OPTIONS", "/v1/messages", ""),
    ] {
        let mut ask = Ask::new(method, path).header("accept", "*/*");
        ask.body = body.into();
        let answer = serving.send(ask);
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
        let arrived = serving.upstream.records().pop().unwrap();
        assert_eq!((arrived.method.as_str(), arrived.path.as_str()), (method, path));
        assert_eq!(arrived.raw, body, "{method} {path}");
        if answer.header("x-echo-method").is_some() {
            assert_eq!(answer.text(), body, "{method} {path}");
        }
    }
}

/// RULES 6: the figure for the window may be wrong, so it goes out; marked and counted.
#[test]
fn what_cannot_shrink_below_its_limit_goes_out_marked() {
    let serving = Serving::start(Script::default(), &["--prompt-limit", "2000"]);
    let system = "Never touch the archive of the harbour office. ".repeat(400);
    for (asked, path) in ["/v1/messages", "/v1/chat/completions"].into_iter().enumerate() {
        let mut messages = vec![json!({"role": "user", "content": "Go on."})];
        let mut body = json!({"model": "m", "max_tokens": 64});
        match path {
            "/v1/messages" => body["system"] = json!(system),
            _ => messages.insert(0, json!({"role": "system", "content": system})),
        }
        body["messages"] = json!(messages);
        let answer = serving.post_one(path, &body);
        assert_eq!(answer.header("x-epitome-skip"), Some("oversized"), "{path}");
        assert_eq!(serving.last().body, body, "{path}");
        assert_eq!(serving.status()["all"]["skips"]["oversized"], asked + 1, "{path}");
    }
    eventually("larger than its limit", || serving.said().contains("larger than its limit"));
}
