//! What is refused, by whom, and in whose words.

use std::io::Write;
use std::time::Duration;

use epitome_proxy::{AccessToken, Proxy, ProxyError};
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::lab::{Upstream, answer, ask, open, proxy, proxy_with, request, settings};

const ASKED: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn a_body_over_the_bound_is_413_in_the_clients_protocol() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy_with(&upstream, |settings| settings.limits.body = 20).await;
    let got = ask(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    assert_eq!(got.status(), 413);
    assert!(got.body.starts_with(r#"{"type":"error","error":{"type":"request_too_large""#));
    let got = ask(&proxy, &request("POST /v1/responses", "", ASKED)).await;
    assert!(got.body.starts_with(r#"{"error":{"message":"the body of the request is larger"#));
    // A client that first sends all of its body still gets its answer.
    let long = "x".repeat(8 << 20);
    assert_eq!(ask(&proxy, &request("POST /v1/messages", "", &long)).await.status(), 413);
    assert!(upstream.seen().is_empty());
    let books = proxy.figures().snapshot();
    assert_eq!(books.requests.values().sum::<u64>(), 3);
}

#[tokio::test]
async fn a_bomb_is_413_too() {
    let upstream = Upstream::says(&[""]).await;
    let proxy = proxy_with(&upstream, |settings| settings.limits.decoded = 1 << 20).await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b' '; 8 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        bomb.len()
    );
    let got = ask(&proxy, &[head.as_bytes(), &bomb].concat()).await;
    assert_eq!(got.status(), 413);
    assert!(got.body.contains("larger than the 1048576 bytes"), "{}", got.body);
    assert!(upstream.seen().is_empty());
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_502_with_a_remedy() {
    let proxy = {
        let upstream = Upstream::says(&[""]).await;
        proxy_with(&upstream, |settings| {
            settings.upstreams.anthropic = Some("http://127.0.0.1:1/".parse().unwrap());
        })
        .await
    };
    let got = ask(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    assert_eq!(got.status(), 502);
    assert_eq!(
        got.body,
        "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"the upstream \
         http://127.0.0.1:1 cannot be reached: Connection refused (os error 111); check that it \
         runs and that `--anthropic-upstream` names it\"}}"
    );
}

#[tokio::test]
async fn an_upstream_that_hangs_up_before_it_answers_is_502() {
    let upstream = Upstream::start(vec![vec![]]).await;
    let proxy = proxy(&upstream).await;
    let got = ask(&proxy, &request("POST /api/chat", "", ASKED)).await;
    assert_eq!(got.status(), 502);
    assert!(got.body.contains("hung up before it answered"), "{}", got.body);
}

#[tokio::test]
async fn errors_of_the_upstream_pass_as_they_are_or_in_the_clients_protocol() {
    let own = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let other = r#"{"error":{"code":400,"message":"bad","type":"invalid_request_error"}}"#;
    let upstream = Upstream::says(&[
        &answer("529 Overloaded", "retry-after: 1", own),
        &answer("429 Too Many", "content-encoding: identity", "slow down"),
        &answer("400 Bad", "", other),
    ])
    .await;
    let proxy = proxy(&upstream).await;
    let sent = request("POST /v1/messages", "", ASKED);
    let got = ask(&proxy, &sent).await;
    assert_eq!((got.status(), got.body.as_str()), (529, own));
    assert_eq!(got.value("retry-after"), Some("1"));
    let got = ask(&proxy, &sent).await;
    assert_eq!(got.status(), 429);
    assert!(got.body.contains("rate_limit_error") && got.body.contains("slow down"));
    assert_eq!(got.value("content-type"), Some("application/json"));
    let got = ask(&proxy, &sent).await;
    let translated = r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}"#;
    assert_eq!((got.status(), got.body.as_str()), (400, translated));
    assert_eq!(upstream.seen().len(), 3);
}

#[tokio::test]
async fn websockets_and_tunnels_are_not_opened() {
    let upstream = Upstream::says(&[""]).await;
    let proxy = proxy(&upstream).await;
    let got = ask(&proxy, &request("GET /v1/realtime", "upgrade: websocket", "")).await;
    assert_eq!(got.status(), 426);
    assert_eq!(ask(&proxy, &request("CONNECT a.b:443", "", "")).await.status(), 501);
    let elsewhere = request("GET http://127.0.0.1:9/v1/models", "", "");
    assert_eq!(ask(&proxy, &elsewhere).await.status(), 501);
    assert_eq!(ask(&proxy, &request("OPTIONS *", "", "")).await.status(), 404);
    assert!(upstream.seen().is_empty());
}

#[tokio::test]
async fn a_token_lets_in_and_goes_no_further() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let tokens = AccessToken::read("anna 0123456789abcdef").unwrap();
    let proxy = proxy_with(&upstream, |settings| settings.access.tokens = Some(tokens)).await;
    let asked = |headers: &str| request("GET /v1/models", headers, "");
    let got = ask(&proxy, &asked("authorization: Bearer wrong")).await;
    assert_eq!((got.status(), got.value("www-authenticate")), (401, Some("Bearer")));
    assert!(upstream.seen().is_empty());
    ask(&proxy, &asked("authorization: Bearer 0123456789abcdef\nx-api-key: k")).await;
    ask(&proxy, &asked("authorization: Bearer own\nx-epitome-token: 0123456789abcdef")).await;
    let seen = upstream.seen();
    assert!(seen[0].values("authorization").is_empty());
    assert_eq!(seen[0].values("x-api-key"), ["k"]);
    assert_eq!(seen[1].values("authorization"), ["Bearer own"]);
    assert!(seen.iter().all(|seen| !seen.head.contains("0123456789abcdef")));
}

#[tokio::test]
async fn a_head_or_body_that_never_ends_costs_a_bounded_time() {
    let upstream = Upstream::says(&[""]).await;
    // Each has but one short bound, so that the other request meets its own alone.
    let short = Duration::from_millis(100);
    let of_heads = proxy_with(&upstream, |settings| settings.deadlines.head = short).await;
    let of_bodies = proxy_with(&upstream, |settings| settings.deadlines.body = short).await;
    let mut half = open(&of_heads, b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n").await;
    let mut rest = Vec::new();
    half.read_to_end(&mut rest).await.unwrap();
    let got = ask(
        &of_bodies,
        b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{",
    )
    .await;
    assert_eq!(got.status(), 408);
    assert!(got.body.contains("stopped in the middle"), "{}", got.body);
}

#[tokio::test]
async fn a_body_that_drips_holds_its_place_for_a_bounded_time() {
    let upstream = Upstream::says(&[""]).await;
    let short = Duration::from_millis(300);
    let proxy = proxy_with(&upstream, |settings| settings.deadlines.body = short).await;
    let head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 100000\r\n\r\n";
    let (mut from, mut to) = open(&proxy, head).await.into_split();
    // Each pause is within the bound; all of them would take hours.
    let drips = tokio::spawn(async move {
        for _ in 0..1000 {
            if to.write_all(b"{").await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut answer = Vec::new();
    from.read_to_end(&mut answer).await.ok();
    drips.abort();
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let mut open = settings();
    open.listen = "0.0.0.0:0".parse().unwrap();
    assert!(matches!(Proxy::bind(open).await.unwrap_err(), ProxyError::Open { .. }));
    assert!(matches!(Proxy::bind(settings()).await.unwrap_err(), ProxyError::NoUpstream));
    let upstream = Upstream::says(&[""]).await;
    let taken = proxy(&upstream).await;
    let mut second = settings();
    second.listen = taken.address();
    second.upstreams.openai = Some("http://127.0.0.1:1".parse().unwrap());
    let error = Proxy::bind(second).await.unwrap_err();
    assert!(error.to_string().contains(&taken.address().to_string()), "{error}");
}
