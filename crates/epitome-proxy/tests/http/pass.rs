//! What passes through, and who sees what.

use crate::lab::{Upstream, answer, ask, proxy, proxy_with, request};

#[tokio::test]
async fn other_paths_and_methods_pass_untouched() {
    let upstream = Upstream::says(&[&answer(
        "207 Multi",
        "x-a: 1\nx-a: 2\nx-hop: 1\nconnection: x-hop",
        "ab",
    )])
    .await;
    let proxy = proxy(&upstream).await;
    let got = ask(
        &proxy,
        &request(
            "PATCH /v1/files/7?x=%20y&x=2",
            "x-b: 1\nX-B: 2\nte: trailers\nauthorization: Bearer k",
            "{}",
        ),
    )
    .await;
    assert_eq!((got.status(), got.body.as_str()), (207, "ab"));
    assert!(got.head.contains("x-a: 1\r\nx-a: 2") && !got.head.contains("x-hop"), "{}", got.head);
    let seen = &upstream.seen()[0];
    assert_eq!(seen.first_line(), "PATCH /v1/files/7?x=%20y&x=2 HTTP/1.1");
    assert_eq!(seen.body, b"{}");
    assert_eq!(seen.values("x-b"), ["1", "2"]);
    assert_eq!(seen.values("host"), [upstream.address.to_string()]);
    assert_eq!(seen.values("authorization"), ["Bearer k"]);
    assert!(seen.values("te").is_empty() && seen.values("connection").is_empty(), "{}", seen.head);

    let got = ask(&proxy, &request("HEAD /to/anthropic/v1/x", "", "")).await;
    assert_eq!((got.status(), got.body.as_str()), (207, ""));
    assert_eq!(got.value("content-length"), Some("2"));
    let head = &upstream.seen()[1];
    assert_eq!((head.first_line(), head.body.len()), ("HEAD /v1/x HTTP/1.1", 0));
    assert!(head.values("content-length").is_empty());
}

#[tokio::test]
async fn a_body_in_chunks_passes_too() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "")]).await;
    let proxy = proxy(&upstream).await;
    let chunked = b"POST /v1/files HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(ask(&proxy, chunked).await.status(), 200);
    assert!(upstream.seen()[0].body.ends_with(b"3\r\nabc\r\n0\r\n\r\n"));
}

#[tokio::test]
async fn credentials_go_to_the_upstream_of_their_api_alone() {
    let (one, other) =
        (Upstream::says(&[&answer("200 OK", "", "{}")]).await, Upstream::says(&[""]).await);
    let proxy = proxy_with(&one, |settings| {
        settings.upstreams.openai = Some(format!("http://{}", other.address).parse().unwrap());
    })
    .await;
    let headers = "x-api-key: secret\nanthropic-version: 2023-06-01";
    ask(&proxy, &request("GET /v1/models", headers, "")).await;
    ask(&proxy, &request("POST /v1/messages", headers, r#"{"messages":[]}"#)).await;
    assert_eq!((one.seen().len(), other.seen().len()), (2, 0));
    let got = ask(&proxy, &request("GET /api/tags", "", "")).await;
    assert_eq!(got.status(), 404);
    assert_eq!(
        got.body,
        r#"{"error":"no upstream is set for ollama, where GET /api/tags belongs: start with `--ollama-upstream URL`"}"#
    );
}

#[tokio::test]
async fn signed_requests_are_left_alone() {
    let upstream = Upstream::says(&[&answer("200 OK", "", "{}")]).await;
    let proxy = proxy(&upstream).await;
    let headers = "authorization: AWS4-HMAC-SHA256 Credential=a\naccept-encoding: gzip";
    let body = r#" {"messages":[]}"#;
    let got = ask(&proxy, &request("POST /v1/messages", headers, body)).await;
    assert_eq!(got.value("x-epitome-skip"), Some("signed"));
    let seen = &upstream.seen()[0];
    assert_eq!(seen.body, body.as_bytes());
    assert_eq!(seen.values("accept-encoding"), ["gzip"]);
}
