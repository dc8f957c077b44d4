//! Our own pages: what was done, as people and programs are told.

use epitome_proxy::RunningProxy;
use serde_json::{Value, json};

use crate::lab::{Got, Upstream, answer, ask, proxy, request};

/// Asks for a page under the name of this machine.
async fn page(proxy: &RunningProxy, path: &str, accept: &str) -> Got {
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {}\r\naccept: {accept}\r\nconnection: close\r\n\r\n",
        proxy.address()
    );
    ask(proxy, head.as_bytes()).await
}

/// A proxy after a conversation with a large result, to which the provider said what it counted.
async fn used() -> RunningProxy {
    let log: String =
        (0..4_000).map(|line| format!("[{line:05}] compiled unit {line} cleanly\n")).collect();
    let call =
        json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}});
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": log});
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": [
        {"role": "user", "content": "What failed?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]});
    let said = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "Nothing."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": 3_000, "output_tokens": 4}});
    let said = answer("200 OK", "content-type: application/json", &said.to_string());
    let upstream = Upstream::says(&[&said]).await;
    let proxy = proxy(&upstream).await;
    let headers = "x-claude-code-session-id: s-1\ncontent-type: application/json";
    let got = ask(&proxy, &request("POST /v1/messages", headers, &body.to_string())).await;
    assert_eq!(got.status(), 200, "{}", got.head);
    // What was learned of an answer is put down when its last byte has gone out.
    for _ in 0..200 {
        if proxy.figures().snapshot().all.requests > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    proxy
}

#[tokio::test]
async fn programs_are_told_what_the_provider_counted_and_what_was_saved() {
    let proxy = used().await;
    for (path, accept) in [("/status", "application/json"), ("/status.json", "*/*")] {
        let got = page(&proxy, path, accept).await;
        assert_eq!((got.status(), got.value("content-type")), (200, Some("application/json")));
        let told: Value = serde_json::from_str(&got.body).unwrap();
        let session = &told["sessions"][0];
        assert_eq!(session["session"], "s-1");
        let provider = json!({"answers": 1, "input": 10, "cache_read": 200,
            "cache_written": 3_000, "output": 4});
        assert_eq!(session["provider"], provider);
        let [raw, sent] = ["raw", "sent"].map(|side| session["tokens"][side].as_u64().unwrap());
        assert!(raw > 2 * sent && sent > 0, "{raw} {sent}");
        assert!(session["net"]["share"].as_f64().unwrap() > 0.5, "{session}");
    }
}

#[tokio::test]
async fn people_are_shown_a_page_that_needs_nothing_else() {
    let proxy = used().await;
    let got = page(&proxy, "/status", "text/html,*/*").await;
    assert_eq!(got.value("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(got.value("cache-control"), Some("no-store"));
    let policy = got.value("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(got.body.contains("s-1") && got.body.contains("claude-sonnet-4-5"), "{}", got.body);
}

#[tokio::test]
async fn a_scraper_gets_the_figures() {
    let proxy = used().await;
    let got = page(&proxy, "/metrics", "*/*").await;
    assert!(got.value("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    for line in [
        "epitome_requests_total{api=\"anthropic\",status=\"200\"} 1",
        "epitome_provider_tokens_total{kind=\"cache_written\"} 3000",
        "epitome_arrivals_total 1",
    ] {
        assert!(got.body.lines().any(|found| found == line), "no {line} in {}", got.body);
    }
}
