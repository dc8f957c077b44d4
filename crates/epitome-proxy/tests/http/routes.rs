//! Who is asked, and who may ask: addresses, names, tokens, and connections that say nothing.

use std::time::Duration;

use epitome_proxy::{PathToken, UpstreamApi};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::lab::{Upstream, answer, ask, got, open, proxy, proxy_with, request};

const ASKED: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

/// A path that an upstream of ours does not have, and what its client looks for in an error.
const STRAYS: [(&str, &str, &str); 9] = [
    ("POST /v1beta/models/g:streamGenerateContent?alt=sse", "x-goog-api-key: k", "NOT_FOUND"),
    ("POST /v1/projects/p/locations/l/publishers/google/models/g:generateContent", "", "NOT_FOUND"),
    ("POST /v1internal:streamGenerateContent", "authorization: Bearer k", "NOT_FOUND"),
    ("POST /openai/deployments/d/chat/completions?api-version=1", "api-key: k", "azure.com"),
    ("POST /openai/v1/chat/completions", "authorization: Bearer k", "azure.com"),
    ("POST /model/anthropic.claude/invoke", "authorization: Bearer k", r#"{"message":"#),
    (
        "POST /anthropic/v1/messages",
        "x-api-key: k",
        r#"{"type":"error","error":{"type":"not_found_error""#,
    ),
    ("POST /api/v1/chat/completions", "authorization: Bearer k", "openrouter.ai"),
    ("PATCH /v1/anything", "", r#"{"error":{"message":"`PATCH /v1/anything` is not known here"#),
];

#[tokio::test]
async fn what_no_upstream_was_chosen_for_reaches_none() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let url = || Some(format!("http://{}", upstream.address).parse().unwrap());
    let proxy = proxy_with(&upstream, |settings| {
        (settings.upstreams.openai, settings.upstreams.ollama) = (url(), url());
    })
    .await;
    for (line, headers, word) in STRAYS {
        let got = ask(&proxy, &request(line, headers, ASKED)).await;
        assert_eq!(got.status(), 404, "{line}: {}", got.body);
        assert!(got.body.contains(word), "{line}: {}", got.body);
        assert!(got.body.contains("nothing was sent on"), "{line}: {}", got.body);
    }
    // What clients ask when they start is answered here.
    for line in ["HEAD /", "GET /", "HEAD /to/anthropic", "HEAD /to/openai/"] {
        let got = ask(&proxy, &request(line, "x-api-key: k", "")).await;
        assert_eq!(got.status(), 200, "{line}");
        assert_eq!(got.body.is_empty(), line.starts_with("HEAD"), "{line}");
    }
    assert!(upstream.seen().is_empty());
}

#[tokio::test]
async fn each_address_leads_to_its_own_upstream() {
    let said = answer("200 OK", "", "{}");
    let all = [
        Upstream::says(&[&said]).await,
        Upstream::says(&[&said]).await,
        Upstream::says(&[&said]).await,
    ];
    let [anthropic, openai, ollama] = &all;
    let url = |upstream: &Upstream| Some(format!("http://{}", upstream.address).parse().unwrap());
    let proxy = proxy_with(anthropic, |settings| {
        (settings.upstreams.openai, settings.upstreams.ollama) = (url(openai), url(ollama));
        settings.upstreams.defaults = [UpstreamApi::Anthropic, UpstreamApi::OpenAi].into();
    })
    .await;
    let posted =
        async |path: &str| ask(&proxy, &request(&format!("POST {path}"), "", ASKED)).await.status();
    for name in ["anthropic", "openai", "ollama"] {
        for path in ["/v1/chat/completions", "/v1/messages", "/x/y"] {
            assert_eq!(posted(&format!("/to/{name}{path}")).await, 200, "{name} {path}");
        }
    }
    for upstream in &all {
        let seen = upstream.seen();
        let paths: Vec<_> = seen.iter().map(|seen| seen.first_line().to_owned()).collect();
        let posts = ["/v1/chat/completions", "/v1/messages", "/x/y"]
            .map(|path| format!("POST {path} HTTP/1.1"));
        assert_eq!(paths.iter().filter(|path| posts.contains(path)).count(), 3, "{paths:?}");
    }
    // At the bare address the one that was chosen has what several may be meant by.
    let before = openai.seen().len() + anthropic.seen().len();
    assert_eq!(posted("/v1/chat/completions").await, 200);
    assert_eq!(posted("/v1/messages").await, 200);
    assert_eq!(openai.seen().len() + anthropic.seen().len(), before);
}

#[tokio::test]
async fn nobody_is_asked_where_nobody_was_chosen() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let url = || Some(format!("http://{}", upstream.address).parse().unwrap());
    let proxy = proxy_with(&upstream, |settings| {
        (settings.upstreams.openai, settings.upstreams.ollama) = (url(), url());
        settings.upstreams.defaults =
            [UpstreamApi::Anthropic, UpstreamApi::OpenAi, UpstreamApi::Ollama].into();
    })
    .await;
    for line in ["POST /v1/chat/completions", "POST /v1/responses", "GET /v1/models"] {
        let got = ask(&proxy, &request(line, "authorization: Bearer k", ASKED)).await;
        assert_eq!(got.status(), 404, "{line}");
        assert!(got.body.contains("/to/openai or /to/ollama"), "{}", got.body);
    }
    assert!(upstream.seen().is_empty());
    let got = ask(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    assert_eq!((got.status(), upstream.seen().len()), (200, 1));
}

#[tokio::test]
async fn no_web_page_gets_in_anywhere() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy(&upstream).await;
    for line in [
        "POST /v1/messages",
        "POST /v1/chat/completions",
        "GET /v1/models",
        "GET /to/anthropic/v1/models",
        "HEAD /",
        "GET /status",
        "GET /metrics",
        "POST /mcp",
        "POST /unknown",
    ] {
        let mine = request(line, "content-type: text/plain", ASKED);
        let mine = String::from_utf8(mine).unwrap();
        for foreign in [
            mine.replace("host: 127.0.0.1", "host: evil.example"),
            mine.replace("host: 127.0.0.1\r\n", ""),
            mine.replace("content-type", "origin: http://evil.example\r\ncontent-type"),
            mine.replace("content-type", "origin: null\r\ncontent-type"),
            mine.replace("content-type", "sec-fetch-site: cross-site\r\ncontent-type"),
        ] {
            let got = ask(&proxy, foreign.as_bytes()).await;
            assert!([400, 403].contains(&got.status()), "{foreign}: {}", got.head);
        }
    }
    assert!(upstream.seen().is_empty());
    let own = request("POST /v1/messages", "origin: http://localhost:3000", ASKED);
    assert_eq!(ask(&proxy, &own).await.status(), 200);
}

#[tokio::test]
async fn only_the_address_that_it_was_given_leads_a_client_in() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy_with(&upstream, |settings| {
        settings.access.path_token = Some(PathToken::new("0123456789abcdef"));
    })
    .await;
    let status = async |line: &str| ask(&proxy, &request(line, "", ASKED)).await.status();
    for path in ["/v1/messages", "/to/anthropic/v1/messages", "/0123/v1/messages", "/mcp", "/"] {
        assert_eq!(status(&format!("POST {path}")).await, 403, "{path}");
    }
    assert_eq!(status("GET /status").await, 403);
    assert!(upstream.seen().is_empty());
    assert_eq!(status("GET /0123456789abcdef/status").await, 200);
    assert_eq!(status("HEAD /0123456789abcdef/to/anthropic").await, 200);
    assert_eq!(status("POST /0123456789abcdef/to/anthropic/v1/messages?beta=true").await, 200);
    let seen = upstream.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].first_line(), "POST /v1/messages?beta=true HTTP/1.1");
    assert!(!seen[0].head.contains("0123456789abcdef"));
}

#[tokio::test]
async fn heads_that_never_end_hold_no_place() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy_with(&upstream, |settings| {
        (settings.limits.connections, settings.limits.waiting) = (1, 4);
        settings.deadlines.head = Duration::from_secs(3_600);
    })
    .await;
    let half = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n";
    let mut slow = Vec::new();
    for _ in 0..6 {
        slow.push(open(&proxy, half).await);
        // Nor does one that was answered before and begins another.
        let mut used = open(&proxy, b"HEAD / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await;
        let mut part = [0; 512];
        assert!(used.read(&mut part).await.unwrap() > 0);
        used.write_all(half).await.unwrap();
        slow.push(used);
    }
    let asked = request("POST /v1/messages", "", ASKED);
    assert_eq!(ask(&proxy, &asked).await.status(), 200);
    // The newest of them are still there, and are served once they are done.
    let mut last = slow.pop().unwrap();
    last.write_all(b"content-length: 2\r\nconnection: close\r\n\r\n{}").await.unwrap();
    let mut bytes = Vec::new();
    last.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(got(&bytes).status(), 200);
    let mut first = slow.remove(0);
    let ended = first.read(&mut [0; 1]).await;
    assert!(matches!(ended, Ok(0) | Err(_)), "the oldest was closed");
}

#[tokio::test]
async fn bodies_that_never_come_give_their_places_to_others() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy_with(&upstream, |settings| {
        settings.limits.connections = 3;
        settings.deadlines.body = Duration::from_secs(3_600);
    })
    .await;
    let half = |to: &str| {
        format!("POST {to} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 500\r\n\r\n{{")
    };
    let mut slow = Vec::new();
    // A conversation is taken in whole, and what is not known goes through as it comes.
    for to in ["/v1/messages", "/v1/messages", "/v1/files", "/v1/files", "/v1/messages"] {
        slow.push(open(&proxy, half(to).as_bytes()).await);
    }
    let asked = request("POST /v1/messages", "", ASKED);
    let answered = tokio::time::timeout(Duration::from_secs(60), ask(&proxy, &asked)).await;
    assert_eq!(answered.expect("the places are held for an hour").status(), 200);
    // Those that nobody needs the places of go on.
    let mut last = slow.pop().unwrap();
    last.write_all(&[b' '; 498]).await.unwrap();
    last.write_all(b"}").await.unwrap();
    let mut part = [0; 512];
    let read = last.read(&mut part).await.unwrap();
    assert!(part[..read].starts_with(b"HTTP/1.1 200"), "{:?}", &part[..read]);
    let ended = slow.remove(0).read(&mut [0; 1]).await;
    assert!(matches!(ended, Ok(0) | Err(_)), "the oldest was closed");
}
