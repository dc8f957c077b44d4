//! A page of a command, served on this machine while the command runs.
//!
//! Invariant: it listens on a loopback address alone; who may look is the page's own to say. Called by
//! whoever wants one; it ends when it is dropped.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use epitome_page::TrialPage;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::cockpit::stream as event_stream;
use crate::stream::Outflow;

/// The most connections at a time: a browser has six.
const CONNECTIONS: usize = 64;

/// How long a browser may take to say what it wants.
const HEAD: Duration = Duration::from_secs(30);

/// A page that waits for browsers.
#[derive(Debug)]
pub struct LocalPage {
    listener: TcpListener,
    address: SocketAddr,
}

impl LocalPage {
    /// Takes a free port of this machine.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub async fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it stands.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves a page until this is dropped.
    pub async fn serve(self, page: Arc<TrialPage>) {
        let (port, places) = (self.address.port(), Arc::new(Semaphore::new(CONNECTIONS)));
        let mut served = JoinSet::new();
        loop {
            // Nobody closes the places.
            let place = Arc::clone(&places).acquire_owned().await;
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = served.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    let page = Arc::clone(&page);
                    served.spawn(async move {
                        connection(stream, page, port).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

/// One connection.
async fn connection(stream: TcpStream, page: Arc<TrialPage>, port: u16) {
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let (head, _) = request.into_parts();
        // What comes with a request is not read: nothing is done for any.
        let answer = match page.events(port, &head) {
            Some(events) => event_stream(events),
            None => {
                let request = http::Request::from_parts(head, ());
                page.answer(port, &request).map(Outflow::whole)
            }
        };
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended");
    }
}
