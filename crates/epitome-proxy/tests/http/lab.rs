//! A proxy in this process between a client and an upstream that are both plain sockets, so that
//! every byte of either side is the test's own.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome::{Compressor, MemoryStore, Profile, SessionRouter};
use epitome_proxy::{Proxy, ProxySettings, RunningProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as an upstream saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The values of a header, in order.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let found = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned()).collect()
    }

    pub(crate) fn first_line(&self) -> &str {
        self.head.lines().next().unwrap()
    }
}

/// A piece of an upstream's answer.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Wait(Duration),
    /// Until the other side hangs up, which is then told.
    Gone(Arc<tokio::sync::Notify>),
}

/// An upstream that answers each request with the next of its answers, then with the last again,
/// and closes the connection after it.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    pub(crate) async fn start(answers: Vec<Vec<Piece>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, answers.clone(), Arc::clone(&log)));
            }
        });
        Self { address, seen }
    }

    pub(crate) async fn says(answers: &[&str]) -> Self {
        let piece = |answer: &&str| vec![Piece::Bytes(answer.as_bytes().to_vec())];
        Self::start(answers.iter().map(piece).collect()).await
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, answers: Vec<Vec<Piece>>, log: Arc<Mutex<Vec<Seen>>>) {
    let Some(seen) = read(&mut stream).await else { return };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(seen);
        log.len()
    };
    for piece in answers[(number - 1).min(answers.len() - 1)].clone() {
        match piece {
            Piece::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Piece::Wait(time) => tokio::time::sleep(time).await,
            Piece::Gone(told) => {
                while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                told.notify_one();
            }
        }
    }
}

/// Reads one message with a length or in chunks; the chunks stay as they are.
async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 16 << 10];
        let size = stream.read(&mut part).await.ok()?;
        if size == 0 {
            return None;
        }
        bytes.extend_from_slice(&part[..size]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let seen = Seen { head, body: bytes[end + 4..].to_vec() };
        let whole = match seen.values("content-length").first() {
            Some(size) => seen.body.len() >= size.parse().unwrap(),
            None if seen.values("transfer-encoding").is_empty() => true,
            None => seen.body.ends_with(b"0\r\n\r\n"),
        };
        if whole {
            return Some(seen);
        }
    }
}

/// The settings of a proxy before these upstreams; all requests go to the only one.
pub(crate) fn settings() -> ProxySettings {
    let profile = Profile::default();
    let hub = SessionRouter::new(Arc::new(MemoryStore::new()), move || {
        Compressor::builder().profile(profile.clone())
    });
    let mut settings = ProxySettings::new(Arc::new(hub));
    settings.listen = "127.0.0.1:0".parse().unwrap();
    settings
}

pub(crate) async fn proxy(upstream: &Upstream) -> RunningProxy {
    proxy_with(upstream, |_| {}).await
}

pub(crate) async fn proxy_with(
    upstream: &Upstream,
    change: impl FnOnce(&mut ProxySettings),
) -> RunningProxy {
    let mut settings = settings();
    settings.upstreams.anthropic = Some(format!("http://{}", upstream.address).parse().unwrap());
    change(&mut settings);
    Proxy::bind(settings).await.unwrap()
}

/// An answer as a client got it: head, and body without its chunks.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| *found == name).map(|(_, value)| value).next()
    }
}

/// Opens a connection to a proxy and sends these bytes.
pub(crate) async fn open(proxy: &RunningProxy, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// Sends a request and reads the answer to its end.
pub(crate) async fn ask(proxy: &RunningProxy, request: &[u8]) -> Got {
    let mut stream = open(proxy, request).await;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    got(&bytes)
}

pub(crate) fn got(bytes: &[u8]) -> Got {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    Got { head: head.to_owned(), body }
}

pub(crate) fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
        if size == 0 {
            break;
        }
    }
    whole
}

/// The bytes of a request that closes its connection.
pub(crate) fn request(line: &str, headers: &str, body: &str) -> Vec<u8> {
    let mut text = format!("{line} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n");
    for header in headers.lines().map(str::trim).filter(|header| !header.is_empty()) {
        write!(text, "{header}\r\n").unwrap();
    }
    if !body.is_empty() {
        write!(text, "content-length: {}\r\n", body.len()).unwrap();
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// The bytes of an answer with a length.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for header in headers.lines().map(str::trim).filter(|header| !header.is_empty()) {
        write!(text, "{header}\r\n").unwrap();
    }
    format!("{text}\r\n{body}")
}
