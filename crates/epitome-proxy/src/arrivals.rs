//! Bodies that have not come to their end.
//!
//! Invariant: a request whose client owes bytes of its body holds no place that another needs for
//! longer than [`GRACE`]. Nothing ends where there are places for all. Used by `server`.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::Instant;

use crate::lobby::Seat;

/// The least that comes of a body in a second, in bytes, once its pauses are over: one that drips
/// would hold the place of its request for days.
pub(crate) const LEAST: u64 = 8 << 10;

/// How long a client may owe bytes while another waits for its place.
const GRACE: Duration = Duration::from_secs(1);

/// The bodies that are on their way, by since when their clients owe bytes.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(Mutex<OwingClients>);

#[derive(Debug, Default)]
struct OwingClients {
    next: u64,
    owing: BTreeMap<(Instant, u64), Arc<Seat>>,
}

/// A body on its way in.
#[derive(Debug)]
pub(crate) struct ArrivingBody {
    from: Incoming,
    /// None once all of it is there.
    owed: Option<OwedBytes>,
}

/// That a client owes bytes, until it is dropped.
#[derive(Debug)]
struct OwedBytes {
    arrivals: Arc<Arrivals>,
    /// What came is paid for until here, at the least rate.
    key: (Instant, u64),
}

impl Arrivals {
    /// The body of a request that is asked at a seat.
    pub(crate) fn body(self: &Arc<Self>, from: Incoming, seat: &Arc<Seat>) -> ArrivingBody {
        let owed = (!from.is_end_stream()).then(|| {
            let mut arriving = self.locked();
            arriving.next += 1;
            let key = (Instant::now(), arriving.next);
            arriving.owing.insert(key, Arc::clone(seat));
            OwedBytes { arrivals: Arc::clone(self), key }
        });
        ArrivingBody { from, owed }
    }

    /// Closes the connection that has owed bytes for longest, where that is for longer than the
    /// grace.
    pub(crate) fn close_one(&self) {
        let mut arriving = self.locked();
        let first = arriving.owing.first_entry();
        if let Some(first) = first.filter(|first| first.key().0.elapsed() > GRACE) {
            let seat = first.remove();
            drop(arriving);
            tracing::warn!("a request whose body does not come gave its place to another");
            seat.close();
        }
    }

    /// Each change under this lock is whole, so a panic elsewhere leaves what it guards sound.
    fn locked(&self) -> MutexGuard<'_, OwingClients> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwedBytes {
    /// So many bytes came.
    fn paid(&mut self, bytes: usize) {
        let mut arriving = self.arrivals.locked();
        // What is not there any more is about to end.
        let Some(seat) = arriving.owing.remove(&self.key) else { return };
        let time = Duration::from_nanos(bytes as u64 * (1_000_000_000 / LEAST));
        self.key.0 += time;
        arriving.owing.insert(self.key, seat);
    }
}

impl Drop for OwedBytes {
    fn drop(&mut self) {
        let seat = self.arrivals.locked().owing.remove(&self.key);
        // What ends with a seat takes a lock of its own.
        drop(seat);
    }
}

impl Body for ArrivingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.from).poll_frame(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(frame))) if !this.from.is_end_stream() => {
                if let (Some(owed), Some(data)) = (&mut this.owed, frame.data_ref()) {
                    owed.paid(data.len());
                }
            }
            Poll::Ready(_) => this.owed = None,
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.from.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.from.size_hint()
    }
}
