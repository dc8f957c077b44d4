//! Clients: one request at a time on a connection that stays as long as the server lets it.
//!
//! Invariant: an answer that is none, or that a proxy made up, ends the run. Used by `main`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::Fault;
use super::talk::Talk;

/// A connection.
pub(super) struct Client {
    sender: SendRequest<Full<Bytes>>,
    to: SocketAddr,
}

/// An answer, and when it came.
pub(super) struct Timed {
    /// From the first byte of the request to the first of the answer's body.
    pub(super) first: Duration,
    /// The same to its last.
    pub(super) whole: Duration,
    pub(super) bytes: Bytes,
}

impl Client {
    pub(super) async fn new(to: SocketAddr) -> Result<Self, Fault> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, to })
    }

    /// Sends a body and takes the answer in.
    pub(super) async fn ask(&mut self, body: Bytes) -> Result<Timed, Fault> {
        // Some servers end what others' turns leave idle for seconds.
        if self.sender.is_closed() {
            *self = Self::new(self.to).await?;
        }
        let request = Request::post("/v1/messages")
            .header("host", self.to.to_string())
            .header("content-type", "application/json")
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", "sk-ant-none")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let started = Instant::now();
        let answer = self.sender.send_request(request).await?;
        if !answer.status().is_success() || answer.headers().contains_key("x-epitome-skip") {
            return Err(format!("answered {} {:?}", answer.status(), answer.headers()).into());
        }
        let (mut body, mut bytes, mut first) = (answer.into_body(), BytesMut::new(), None);
        while let Some(frame) = body.frame().await {
            if let Some(data) = frame?.data_ref() {
                first.get_or_insert_with(|| started.elapsed());
                bytes.extend_from_slice(data);
            }
        }
        let whole = started.elapsed();
        Ok(Timed { first: first.unwrap_or(whole), whole, bytes: bytes.freeze() })
    }
}

/// What goes on on one connection.
type Line = (Client, Talk);

/// Has all connections send so many requests, and gives them back with the time of each request.
pub(super) async fn burst(
    crowd: Vec<Line>,
    requests: usize,
) -> Result<(Vec<Line>, Vec<Duration>), Fault> {
    let mut running = JoinSet::new();
    for (mut client, mut talk) in crowd {
        running.spawn(async move {
            let mut times = Vec::with_capacity(requests);
            for _ in 0..requests {
                times.push(client.ask(talk.next(false)).await?.whole);
            }
            Ok::<_, Fault>(((client, talk), times))
        });
    }
    let (mut crowd, mut all) = (Vec::new(), Vec::new());
    while let Some(done) = running.join_next().await {
        let (line, times) = done??;
        crowd.push(line);
        all.extend(times);
    }
    Ok((crowd, all))
}
