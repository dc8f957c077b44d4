//! An answer that is heard before it is passed on: an error, or a count.
//!
//! Invariant: what is heard is bounded, in size and in time, and can be passed on as it came. Called
//! by `call`.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use epitome::OverflowSignatures;
use epitome_types::ContextOverflow;
use http::Response;
use http::response::Parts;
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// Errors are not larger; what is goes on unread.
const LARGEST: usize = 256 << 10;
/// How long the body of an error may take.
const LONGEST: Duration = Duration::from_secs(10);

/// An answer, heard as far as it went.
pub(crate) struct RelayedResponse {
    pub(crate) head: Parts,
    /// What was heard.
    pub(crate) before: VecDeque<Bytes>,
    /// What was not.
    pub(crate) rest: Incoming,
    /// All of it, where that was heard.
    pub(crate) whole: Option<Bytes>,
    /// What it says about a prompt that is too long.
    pub(crate) overflow: Option<ContextOverflow>,
}

/// Hears an answer out.
pub(crate) async fn hear(
    answer: Response<Incoming>,
    signatures: &OverflowSignatures,
) -> RelayedResponse {
    let (head, mut rest) = answer.into_parts();
    let mut before = VecDeque::new();
    let mut size = 0;
    let reading = async {
        while let Some(Ok(frame)) = rest.frame().await {
            if let Ok(data) = frame.into_data() {
                size += data.len();
                before.push_back(data);
            }
            if size > LARGEST {
                return false;
            }
        }
        true
    };
    let read = tokio::time::timeout(LONGEST, reading).await.unwrap_or(false);
    let whole = read.then(|| {
        let mut whole = BytesMut::with_capacity(size);
        before.iter().for_each(|data| whole.extend_from_slice(data));
        whole.freeze()
    });
    let overflow = whole
        .as_ref()
        .filter(|_| !head.status.is_success())
        .and_then(|whole| signatures.overflow(head.status.as_u16(), whole));
    RelayedResponse { head, before, rest, whole, overflow }
}
