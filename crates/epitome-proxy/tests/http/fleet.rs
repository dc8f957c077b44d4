//! Several proxies before one store: each goes by what the others recorded.

use std::sync::Arc;
use std::time::Duration;

use epitome::port::{
    AppendOutcome, BlobQuery, Erasure, KeyQuery, LineTail, LogBatch, LogRecord, PieceQuery,
    RecordLog, SearchPiece, StoredBlob,
};
use epitome::{
    Compressor, MemoryLog, Profile, RecordStore, SessionAdmin, SessionRouter, StoreError,
};
use epitome_proxy::RunningProxy;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::lab::{Upstream, answer, ask, open, proxy_with, request};

/// A log that takes its time to write.
#[derive(Debug, Default)]
struct SlowLog(MemoryLog);

impl RecordLog for SlowLog {
    fn append(&self, scope: &str, batch: LogBatch) -> Result<AppendOutcome, StoreError> {
        std::thread::sleep(Duration::from_millis(100));
        self.0.append(scope, batch)
    }

    fn read(&self, scope: &str, tails: &[LineTail<'_>]) -> Result<Vec<Vec<LogRecord>>, StoreError> {
        self.0.read(scope, tails)
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        self.0.scopes()
    }

    fn lines(&self, scope: &str) -> Result<Vec<String>, StoreError> {
        self.0.lines(scope)
    }

    fn find(&self, scope: &str, keys: &[KeyQuery]) -> Result<Vec<Vec<String>>, StoreError> {
        self.0.find(scope, keys)
    }

    fn blobs(&self, scope: &str, query: &BlobQuery<'_>) -> Result<Vec<StoredBlob>, StoreError> {
        self.0.blobs(scope, query)
    }

    fn pieces(&self, scope: &str, query: &PieceQuery<'_>) -> Result<Vec<SearchPiece>, StoreError> {
        self.0.pieces(scope, query)
    }

    fn all_pieces(&self, scope: &str, line: &str) -> Result<Vec<SearchPiece>, StoreError> {
        self.0.all_pieces(scope, line)
    }

    fn erase(&self, scope: &str, line: &str, what: &Erasure) -> Result<(), StoreError> {
        self.0.erase(scope, line, what)
    }
}

type SharedLog = Arc<SlowLog>;

async fn proxy_of(log: &SharedLog, upstream: &Upstream) -> RunningProxy {
    let store = Arc::new(RecordStore::over(Arc::clone(log)));
    let hub = SessionRouter::new(store, Compressor::builder);
    let openai = format!("http://{}", upstream.address).parse().unwrap();
    proxy_with(upstream, |settings| {
        settings.hub = Arc::new(hub);
        settings.upstreams.openai = Some(openai);
    })
    .await
}

/// Reads an answer until its last word was said, as clients of streams do.
async fn read_until(proxy: &RunningProxy, asked: &[u8], last: &str) {
    let (mut client, mut read) = (open(proxy, asked).await, Vec::new());
    while !String::from_utf8_lossy(&read).contains(last) {
        let size = timeout(Duration::from_secs(20), client.read_buf(&mut read)).await.unwrap();
        assert_ne!(size.unwrap(), 0, "the stream ended");
    }
}

/// Its first answer is all that proves that a request goes on from a conversation, and whoever has it asks
/// another proxy at once.
#[tokio::test]
async fn a_conversation_changes_its_proxy_with_its_second_request() {
    let anthropic = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"role":"assistant","content":[]}}"#,
        "\n\nevent: content_block_start\n",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So."}}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        "\n\nevent: message_stop\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n",
    );
    let openai = concat!(
        r#"data: {"choices":[{"delta":{"role":"assistant","content":"So."},"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n"
    );
    let whole =
        r#"{"choices":[{"message":{"role":"assistant","content":"So."},"finish_reason":"stop"}]}"#;
    let stream = "content-type: text/event-stream";
    for (path, kind, said, last) in [
        ("/v1/messages", stream, anthropic, "message_stop\"}"),
        ("/v1/chat/completions", stream, openai, "[DONE]"),
        ("/v1/chat/completions", "content-type: application/json", whole, "\"stop\"}]}"),
    ] {
        let upstream = Upstream::says(&[&answer("200 OK", kind, said)]).await;
        let log = SharedLog::default();
        let proxies = [proxy_of(&log, &upstream).await, proxy_of(&log, &upstream).await];
        let opening = r#"{"role":"user","content":"Why?"}"#;
        let body = |more: &str| format!(r#"{{"model":"m","messages":[{opening}{more}]}}"#);
        let line = format!("POST {path}");
        read_until(&proxies[0], &request(&line, "", &body("")), last).await;
        let more = r#",{"role":"assistant","content":"So."},{"role":"user","content":"And then?"}"#;
        ask(&proxies[1], &request(&line, "", &body(more))).await;
        let keeper =
            SessionAdmin::new(Arc::new(RecordStore::over(Arc::clone(&log))), Profile::default());
        let sessions = keeper.journal().sessions(keeper.scope(), 0, 9, false).unwrap();
        let turns: Vec<_> = sessions.iter().map(|it| it.figures.turns).collect();
        assert_eq!(turns, [2], "{path}, {kind}");
    }
}

/// Its client gave up before the answer began; what was made for it is in force.
#[tokio::test]
async fn a_request_whose_client_went_away_is_in_the_figures() {
    let gone = Arc::new(tokio::sync::Notify::new());
    let upstream = Upstream::start(vec![vec![crate::lab::Piece::Gone(Arc::clone(&gone))]]).await;
    let proxy = proxy_of(&SharedLog::default(), &upstream).await;
    let asked = r#"{"model":"m","messages":[{"role":"user","content":"Why?"}]}"#;
    let client = open(&proxy, &request("POST /v1/messages", "", asked)).await;
    while upstream.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    timeout(Duration::from_secs(20), gone.notified()).await.unwrap();
    let requests = || proxy.figures().snapshot().all.requests;
    let counted = async {
        while requests() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), counted).await.unwrap();
    assert_eq!(proxy.figures().snapshot().all.troubles.errors.get(&0), Some(&1));
}
