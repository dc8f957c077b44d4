//! Conversations: what is sent for them, and what the client is told.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome::{Compressor, MemoryStore, Profile, SessionRouter, SqliteStore};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::lab::{Upstream, answer, ask, proxy, proxy_with, request};

fn messages(result: &str) -> String {
    let result = serde_json::to_string(result).unwrap();
    format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":99, "x":[1.50],"messages":[{{"role":"user","content":"What failed?"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"make"}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":{result}}}]}}]}}"#
    )
}

/// What the proxy and all below it write into a log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn log() -> String {
    log_of(4_000)
}

fn log_of(lines: usize) -> String {
    (0..lines).map(|line| format!("[{line:05}] compiled unit {line} without a warning\n")).collect()
}

#[tokio::test]
async fn a_large_result_is_made_smaller_and_the_client_is_told() {
    let upstream =
        Upstream::says(&[&answer("200 OK", "content-type: application/json", "{}")]).await;
    let proxy = proxy(&upstream).await;
    let body = messages(&log());
    let headers = "x-claude-code-session-id: s-1\naccept-encoding: gzip";
    let got = ask(&proxy, &request("POST /v1/messages?beta=true", headers, &body)).await;
    assert_eq!((got.status(), got.value("x-epitome-session")), (200, Some("s-1")));
    let (raw, sent) = got.value("x-epitome-tokens").unwrap().split_once('/').unwrap();
    assert!(raw.parse::<u64>().unwrap() > 2 * sent.parse::<u64>().unwrap(), "{raw} {sent}");
    assert_eq!(got.value("x-epitome-skip"), None);
    let seen = &upstream.seen()[0];
    assert!(seen.body.len() * 2 < body.len());
    assert!(String::from_utf8_lossy(&seen.body).contains(r#" "x":[1.50],"#));
    assert_eq!(seen.values("content-length"), [seen.body.len().to_string()]);
    assert_eq!(seen.values("accept-encoding"), ["identity"]);
    assert!(!seen.head.contains("x-epitome"));
    let books = proxy.figures().snapshot();
    assert_eq!((books.conversations.len(), books.all.requests), (1, 1));
}

#[tokio::test]
async fn a_compressed_body_goes_up_plain() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy(&upstream).await;
    let body = messages("ok");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body.as_bytes()).unwrap();
    let encoded = encoder.finish().unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-encoding: gzip\r\n\
         content-length: {}\r\n\r\n",
        encoded.len()
    );
    ask(&proxy, &[head.as_bytes(), &encoded].concat()).await;
    let seen = &upstream.seen()[0];
    assert_eq!(seen.body, body.as_bytes());
    assert!(seen.values("content-encoding").is_empty());
}

#[tokio::test]
async fn what_cannot_be_read_passes_as_it_came_and_says_so() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy(&upstream).await;
    for (headers, body) in [("", "{not json"), ("content-encoding: gzip", "{}"), ("", "{}")] {
        let got = ask(&proxy, &request("POST /v1/messages", headers, body)).await;
        assert_eq!(got.value("x-epitome-skip"), Some("unreadable"));
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(seen.body, body.as_bytes());
        assert_eq!(seen.values("content-encoding").len(), usize::from(!headers.is_empty()));
    }
}

#[tokio::test]
async fn what_the_provider_keeps_or_edits_itself_is_left_alone() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy(&upstream).await;
    let chained = r#"{"input":"go on","previous_response_id":"resp_1"}"#;
    let edits = messages(&log()).replacen(
        '{',
        r#"{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"#,
        1,
    );
    for (path, body, skip) in
        [("/v1/responses", chained, "chained"), ("/v1/messages", edits.as_str(), "provider-edits")]
    {
        let got = ask(&proxy, &request(&format!("POST {path}"), "", body)).await;
        assert_eq!(got.value("x-epitome-skip"), Some(skip));
        assert_eq!(upstream.seen().pop().unwrap().body, body.as_bytes());
    }
}

#[tokio::test]
async fn side_requests_are_not_recorded() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy(&upstream).await;
    let body = r#"{"max_tokens":1,"messages":[{"role":"user","content":"quota"}]}"#;
    let got = ask(&proxy, &request("POST /v1/messages", "", body)).await;
    assert_eq!((got.value("x-epitome-session"), got.value("x-epitome-skip")), (None, None));
    assert_eq!(upstream.seen()[0].body, body.as_bytes());
}

#[tokio::test]
async fn a_shadow_figures_and_sends_what_came() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy_with(&upstream, |settings| settings.shadow = true).await;
    let body = messages(&log());
    let got = ask(&proxy, &request("POST /v1/messages", "", &body)).await;
    let (raw, sent) = got.value("x-epitome-tokens").unwrap().split_once('/').unwrap();
    assert_ne!(raw, sent);
    assert_eq!(upstream.seen()[0].body, body.as_bytes());
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_sent_once_more_and_smaller() {
    let refused = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 30000 tokens > 20000 maximum"}}"#;
    let upstream =
        Upstream::says(&[&answer("400 Bad", "", refused), &answer("200 OK", "", "{}")]).await;
    let proxy = proxy(&upstream).await;
    let turn = |number: usize| {
        let text = format!("Step {number}: ").repeat(900);
        format!(
            r#"{{"role":"user","content":"{text}"}},{{"role":"assistant","content":"{text}"}},"#
        )
    };
    let turns: String = (0..10).map(turn).collect();
    let body = format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":99,"messages":[{turns}{{"role":"user","content":"Go on."}}]}}"#
    );
    let got = ask(&proxy, &request("POST /v1/messages", "", &body)).await;
    assert_eq!(got.status(), 200);
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].body.len() < seen[0].body.len());
}

#[tokio::test]
async fn an_overflow_that_stays_is_the_providers_error() {
    let refused = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 30 tokens > 20 maximum"}}"#;
    let upstream = Upstream::says(&[&answer("400 Bad", "", refused)]).await;
    let proxy = proxy(&upstream).await;
    let got = ask(&proxy, &request("POST /v1/messages", "", &messages("ok"))).await;
    assert_eq!((got.status(), got.body.as_str()), (400, refused));
    assert!(upstream.seen().len() <= 2);
}

#[tokio::test]
async fn a_count_is_of_what_would_be_sent() {
    let upstream = Upstream::says(&[
        &answer("200 OK", "content-type: application/json", "{}"),
        &answer("200 OK", "content-type: application/json", r#"{"input_tokens":7}"#),
    ])
    .await;
    let proxy = proxy(&upstream).await;
    let body = messages(&log());
    let own = "x-claude-code-session-id: s-1";
    ask(&proxy, &request("POST /v1/messages", own, &body)).await;
    let got = ask(&proxy, &request("POST /v1/messages/count_tokens", own, &body)).await;
    assert_eq!(got.body, r#"{"input_tokens":7}"#);
    let seen = upstream.seen();
    assert!(seen[0].body.len() * 2 < body.len());
    assert!(seen[0].body == seen[1].body, "{}", String::from_utf8_lossy(&seen[1].body));
    // The same words without proof that they are this conversation are another one's.
    ask(&proxy, &request("POST /v1/messages/count_tokens", "", &body)).await;
    assert!(upstream.seen()[2].body == body.as_bytes());
}

#[tokio::test]
async fn credentials_are_nowhere_but_upstream() {
    let log = Log::default();
    let written = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || written.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let upstream =
        Upstream::says(&[&answer("200 OK", "", "{}"), &answer("500 No", "", "{}")]).await;
    let dump = folder.path().join("dumps");
    let store = Arc::new(SqliteStore::open(&folder.path().join("epitome.db")).unwrap());
    let profile = Profile::default();
    let hub = SessionRouter::new(store, move || Compressor::builder().profile(profile.clone()));
    let proxy = proxy_with(&upstream, |settings| {
        settings.dump = Some(dump.clone());
        settings.hub = Arc::new(hub);
    })
    .await;
    let headers = "authorization: Bearer secret-1\nx-api-key: secret-2\ncookie: secret-3\n\
        x-goog-api-key: secret-4";
    for line in ["POST /v1/messages?key=secret-5", "POST /v1/messages", "GET /x?key=secret-6"] {
        ask(&proxy, &request(line, headers, &messages(&log_of(4_000)))).await;
    }
    ask(&proxy, &request("CONNECT a.b:1", headers, "")).await;
    proxy.stop(Duration::from_secs(20)).await;
    assert!(upstream.seen()[0].head.contains("secret-1"));
    assert!(upstream.seen()[0].head.contains("key=secret-5"));
    let mut files = vec![];
    for folder in [folder.path(), &*dump] {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.is_file()));
    }
    assert!(files.len() >= 7, "{files:?}");
    for path in files {
        let mut bytes = Vec::new();
        std::fs::File::options().read(true).open(&path).unwrap().read_to_end(&mut bytes).unwrap();
        let found = bytes.windows(7).any(|window| window == b"secret-");
        assert!(!found, "{}", path.display());
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("no tunnels"), "{log}");
    // Other tests of this program write into the same log, none of them a secret of these.
    assert!(!log.contains("secret-"), "{log}");
}

#[tokio::test]
async fn a_prompt_that_takes_too_long_is_done_without() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy_with(&upstream, |settings| settings.deadlines.prepare = Duration::ZERO).await;
    let body = messages(&log());
    let got = ask(&proxy, &request("POST /v1/messages", "", &body)).await;
    assert_eq!((got.status(), got.value("x-epitome-skip")), (200, Some("deadline")));
    assert_eq!(upstream.seen()[0].body, body.as_bytes());
}

#[tokio::test]
async fn a_fault_of_ours_is_done_without_and_told() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let profile = Profile::default();
    let first = AtomicBool::new(true);
    let broken = SessionRouter::new(Arc::new(MemoryStore::new()), move || {
        assert!(first.swap(false, Ordering::Relaxed), "a fault of ours");
        Compressor::builder().profile(profile.clone())
    });
    let proxy = proxy_with(&upstream, |settings| settings.hub = Arc::new(broken)).await;
    let body = messages(&log());
    for _ in 0..6 {
        let got = ask(&proxy, &request("POST /v1/messages", "", &body)).await;
        assert_eq!((got.status(), got.value("x-epitome-skip")), (200, Some("panicked")));
        assert_eq!(upstream.seen().pop().unwrap().body, body.as_bytes());
    }
    let books = proxy.figures().snapshot();
    assert!(books.all.troubles.alarms > 0);
}

#[tokio::test]
async fn usage_and_answer_are_learned_on_the_way() {
    let stream = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":11,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
        "\n\nevent: message_stop\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n",
    );
    let upstream =
        Upstream::says(&[&answer("200 OK", "content-type: text/event-stream", stream)]).await;
    let proxy = proxy(&upstream).await;
    let got = ask(&proxy, &request("POST /v1/messages", "", &messages("ok"))).await;
    assert_eq!(got.body, stream);
    let usage = proxy.figures().snapshot().all.usage;
    assert_eq!((usage.input, usage.cache_read, usage.cache_written), (11, 100, 20));
}
