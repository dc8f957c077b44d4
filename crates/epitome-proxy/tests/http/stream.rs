//! Answers that come piece by piece.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::lab::{Piece, Upstream, ask, got, open, proxy, request};

const ASKED: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
    transfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> Piece {
    Piece::Bytes(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

fn bytes(text: &str) -> Piece {
    Piece::Bytes(text.as_bytes().to_vec())
}

#[tokio::test]
async fn each_chunk_is_relayed_as_it_comes() {
    let gone = Arc::new(Notify::new());
    let pieces = vec![bytes(HEAD), chunk(": ping\n\n"), Piece::Gone(Arc::clone(&gone))];
    let upstream = Upstream::start(vec![pieces]).await;
    let proxy = proxy(&upstream).await;
    let mut client = open(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    let mut read = Vec::new();
    while !read.ends_with(b": ping\n\n\r\n") {
        let size = timeout(Duration::from_secs(20), client.read_buf(&mut read)).await.unwrap();
        assert_ne!(size.unwrap(), 0, "the stream ended");
    }
    // A client that goes away ends the request to the upstream.
    drop(client);
    timeout(Duration::from_secs(20), gone.notified()).await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_wait_for_the_head_ends_the_request_too() {
    let gone = Arc::new(Notify::new());
    let upstream = Upstream::start(vec![vec![Piece::Gone(Arc::clone(&gone))]]).await;
    let proxy = proxy(&upstream).await;
    let client = open(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    while upstream.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    timeout(Duration::from_secs(20), gone.notified()).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_event() {
    let begun = "event: message_start\ndata: {}\n\n";
    for (path, begun, last) in [
        (
            "/v1/messages",
            begun,
            "\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"",
        ),
        ("/v1/messages", "event: x\ndata: {", "data: {\n\nevent: error\ndata: "),
        ("/v1/chat/completions", begun, "\n\ndata: {\"error\":{\"message\":\"the upstream"),
        ("/v1/responses", begun, "\n\nevent: response.failed\ndata: "),
    ] {
        let upstream = Upstream::start(vec![vec![bytes(HEAD), chunk(begun)]]).await;
        let proxy = proxy(&upstream).await;
        let got = ask(&proxy, &request(&format!("POST {path}"), "", ASKED)).await;
        assert!(got.body.starts_with(begun) && got.body.contains(last), "{path}: {}", got.body);
        assert!(got.body.ends_with("\n\n"));
    }
}

#[tokio::test]
async fn an_answer_with_a_length_that_breaks_off_is_cut_off() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
    let upstream = Upstream::start(vec![vec![bytes(head)]]).await;
    let proxy = proxy(&upstream).await;
    let mut client = open(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    let mut read = Vec::new();
    let ended = client.read_to_end(&mut read).await;
    assert!(ended.is_err() || got(&read).body.len() < 99);
}

#[tokio::test]
async fn stopping_lets_streams_finish_and_takes_nothing_new() {
    let pause = Piece::Wait(Duration::from_millis(300));
    let pieces =
        vec![bytes(HEAD), chunk("data: 1\n\n"), pause, chunk("data: 2\n\n"), bytes("0\r\n\r\n")];
    let upstream = Upstream::start(vec![pieces]).await;
    let proxy = proxy(&upstream).await;
    let mut client = open(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    let mut read = vec![0; 12];
    client.read_exact(&mut read).await.unwrap();
    let address = proxy.address();
    let ledger = Arc::clone(proxy.figures());
    proxy.stop(Duration::from_secs(20)).await;
    client.read_to_end(&mut read).await.unwrap();
    assert!(got(&read).body.ends_with("data: 2\n\n"));
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    assert_eq!(ledger.snapshot().requests.values().sum::<u64>(), 1);
}

#[tokio::test]
async fn stopping_is_bounded() {
    let gone = Arc::new(Notify::new());
    let pieces = vec![bytes(HEAD), chunk("data: 1\n\n"), Piece::Gone(gone)];
    let upstream = Upstream::start(vec![pieces]).await;
    let proxy = proxy(&upstream).await;
    let mut client = open(&proxy, &request("POST /v1/messages", "", ASKED)).await;
    client.read_exact(&mut [0; 12]).await.unwrap();
    timeout(Duration::from_secs(20), proxy.stop(Duration::from_millis(50))).await.unwrap();
}
