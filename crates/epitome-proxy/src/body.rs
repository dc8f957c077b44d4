//! Bodies on their way up: taken in whole within bounds, or passed on frame by frame.
//!
//! Invariant: what is held of one request is at most its bound, however much is announced, and a
//! body that is only passed on is never copied. Called by `call`.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::arrivals::{ArrivingBody, LEAST};

/// How long what is thrown away of a body that is too large may go on.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an upstream is sent.
#[derive(Debug)]
pub(crate) enum Sending {
    /// All of it, until it is handed over.
    Whole(Option<Bytes>),
    /// As it comes.
    Streamed(ArrivingBody),
}

impl Sending {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Sending::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl Body for Sending {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Sending::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Sending::Streamed(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Sending::Whole(bytes) => bytes.is_none(),
            Sending::Streamed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Sending::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Sending::Streamed(body) => body.size_hint(),
        }
    }
}

/// Why a body was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untaken {
    /// It is larger than the bound.
    TooLarge,
    /// Nothing, or next to nothing, came for too long.
    Hung,
    /// It broke off.
    Broken,
}

/// Takes in a whole body of at most `most` bytes that never pauses for longer than `within`, and no
/// longer than that in all beside the time that its bytes take at the least rate.
pub(crate) async fn take(
    mut body: ArrivingBody,
    most: usize,
    within: Duration,
) -> Result<Bytes, Untaken> {
    let taken = take_in(&mut body, most, within).await;
    if taken == Err(Untaken::TooLarge) {
        // A client that is still sending would not see the answer if the connection were closed.
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        if tokio::time::timeout(PATIENCE, rest).await.is_err() {
            tracing::debug!("a body that is too large goes on for too long");
        }
    }
    taken
}

async fn take_in(body: &mut ArrivingBody, most: usize, within: Duration) -> Result<Bytes, Untaken> {
    let announced =
        body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    if announced.is_some_and(|size| size > most) {
        return Err(Untaken::TooLarge);
    }
    let (began, mut came) = (Instant::now(), 0);
    let mut next = async || loop {
        let all = within + Duration::from_secs(came / LEAST);
        let end = (Instant::now() + within).min(began + all);
        match tokio::time::timeout_at(end, body.frame()).await {
            Err(_) => return Err(Untaken::Hung),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(Untaken::Broken),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    came += data.len() as u64;
                    return Ok(Some(data));
                }
                Err(_trailers) => {}
            },
        }
    };
    let Some(first) = next().await? else { return Ok(Bytes::new()) };
    if announced == Some(first.len()) {
        return Ok(first);
    }
    // Memory that is asked for and never written is none; what is announced is within the bound.
    let mut whole = BytesMut::with_capacity(announced.unwrap_or(first.len() * 2));
    let mut more = Some(first);
    while let Some(data) = more {
        if whole.len() + data.len() > most {
            return Err(Untaken::TooLarge);
        }
        whole.extend_from_slice(&data);
        more = next().await?;
    }
    Ok(whole.freeze())
}
