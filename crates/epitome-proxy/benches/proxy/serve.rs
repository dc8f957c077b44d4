//! What is measured: a provider, and what stands in front of it.
//!
//! Invariant: it says where it listens, and ends when its input does. Called by `main` in a process
//! of its own.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use epitome::{Compressor, Profile, SessionRouter, SqliteStore};
use epitome_proxy::{Proxy, ProxySettings};
use http::uri::Authority;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::Fault;

/// What the provider says.
const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":140000,"output_tokens":2}}"#;
/// Events of an answer in pieces.
const EVENTS: u32 = 50;

/// Where there is a free port.
const ANYWHERE: &str = "127.0.0.1:0";

/// An answer.
enum Down {
    /// That is handed through.
    Through(Incoming),
    /// That is there.
    Whole(Option<Bytes>),
    /// That comes in pieces, of which so many are out.
    Events(u32),
}

impl Body for Down {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let next = match self.get_mut() {
            Down::Through(body) => return Pin::new(body).poll_frame(context),
            Down::Whole(bytes) => bytes.take(),
            Down::Events(out) => (*out < EVENTS).then(|| {
                *out += 1;
                format!(
                    "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
                     \"delta\":{{\"type\":\"text_delta\",\"text\":\"piece {out} \"}}}}\n\n"
                )
                .into()
            }),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Down::Through(body) => body.size_hint(),
            Down::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Down::Events(_) => SizeHint::default(),
        }
    }
}

/// Serves until the input ends.
pub(super) async fn serve(what: &str, rest: &[String]) -> Result<(), Fault> {
    let address = || rest.first().ok_or("no address").map(String::as_str);
    match what {
        "provider" => listen(address()?, provide).await,
        "stream" => {
            let pass = Pass::new(address()?)?;
            listen(ANYWHERE, move |request| pass.clone().streamed(request)).await
        }
        "buffer" => {
            let pass = Pass::new(address()?)?;
            listen(ANYWHERE, move |request| pass.clone().buffered(request)).await
        }
        "epitome" => epitome(address()?, rest.get(1).ok_or("no store")?).await,
        other => Err(format!("{other} cannot be served").into()),
    }
}

/// Says where it listens, and waits for the end.
async fn until_the_end(address: SocketAddr) -> Result<(), Fault> {
    println!("{address}");
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await?;
    Ok(())
}

async fn epitome(upstream: &str, store: &str) -> Result<(), Fault> {
    let store = Arc::new(SqliteStore::open(std::path::Path::new(store))?);
    let profile = Profile::default();
    let hub = SessionRouter::new(store, move || Compressor::builder().profile(profile.clone()));
    let mut settings = ProxySettings::new(Arc::new(hub));
    settings.listen = ANYWHERE.parse()?;
    settings.upstreams.anthropic = Some(format!("http://{upstream}").parse()?);
    // The first requests of a crowd are all long and new, on a machine that others use too.
    settings.deadlines.prepare = Duration::from_secs(120);
    let running = Proxy::bind(settings).await?;
    until_the_end(running.address()).await?;
    running.stop(Duration::ZERO).await;
    Ok(())
}

/// A server of one function.
async fn listen<F>(
    at: &str,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) -> Result<(), Fault>
where
    F: Future<Output = Result<Response<Down>, Fault>> + Send + 'static,
{
    let listener = TcpListener::bind(at).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                stream.set_nodelay(true)?;
                let service = service_fn(answer);
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).await?;
                Ok::<_, Fault>(())
            });
        }
    });
    until_the_end(address).await
}

/// A provider that takes a body in and answers at once: in one piece, or in 50 events where the
/// body says `"stream":true` at its end.
async fn provide(request: Request<Incoming>) -> Result<Response<Down>, Fault> {
    let mut body = request.into_body();
    let mut last = Bytes::new();
    while let Some(frame) = body.frame().await {
        last = frame?.into_data().unwrap_or_default();
    }
    let (kind, body) = match last.ends_with(br#""stream":true}"#) {
        true => ("text/event-stream", Down::Events(0)),
        false => ("application/json", Down::Whole(Some(Bytes::from_static(ANSWER.as_bytes())))),
    };
    Ok(Response::builder().header("content-type", kind).body(body)?)
}

/// Hands requests through.
#[derive(Clone)]
struct Pass {
    client: Client<HttpConnector, Either<Incoming, Full<Bytes>>>,
    upstream: Authority,
}

impl Pass {
    fn new(upstream: &str) -> Result<Self, Fault> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, upstream: upstream.parse()? })
    }

    /// Frame by frame.
    async fn streamed(self, request: Request<Incoming>) -> Result<Response<Down>, Fault> {
        self.sent(request.map(Either::Left)).await
    }

    /// Once all of it is there.
    async fn buffered(self, request: Request<Incoming>) -> Result<Response<Down>, Fault> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        self.sent(Request::from_parts(head, Either::Right(Full::new(body)))).await
    }

    async fn sent(
        self,
        mut request: Request<Either<Incoming, Full<Bytes>>>,
    ) -> Result<Response<Down>, Fault> {
        let path = request.uri().path_and_query().ok_or("no path")?.clone();
        *request.uri_mut() =
            Uri::builder().scheme("http").authority(self.upstream).path_and_query(path).build()?;
        Ok(self.client.request(request).await?.map(Down::Through))
    }
}
