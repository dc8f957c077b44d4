//! Listens, serves each connection, and stops without breaking what runs.
//!
//! Invariant: the number of connections is bounded, and that of requests that are served at once. A
//! connection has a place among those only while a request of its is answered, so heads that come
//! slowly or never hold up nobody; nor do bodies, which give their places up to those that wait. Called by whoever wants a proxy.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::app::{App, now};
use crate::arrivals::Arrivals;
use crate::handler::handle;
use crate::ledger::{FigureSaver, UsageLedger};
use crate::lobby::{Lobby, Seat};
use crate::settings::{ProxyError, ProxyLimits, ProxySettings};
use crate::shared_page::{PageStand, taken_over};
use crate::stream::Outflow;
#[cfg(feature = "otel")]
use crate::telemetry::Telemetry;

/// How long a listener rests that cannot accept, which is when there are too many files.
const REST: Duration = Duration::from_millis(50);

/// How often a request that waits for a place asks for one that is held for nothing.
const ASKING: Duration = Duration::from_millis(100);

/// How much is read of a connection at a time, in bytes, and the largest head. What is larger than
/// a processor's nearer cache is slower to copy, and each connection keeps as much.
const READ: usize = 128 << 10;

/// The proxy.
#[derive(Debug)]
pub struct Proxy;

/// A proxy that runs, until it is stopped or dropped.
#[derive(Debug)]
pub struct RunningProxy {
    address: SocketAddr,
    /// Where the page stands that all proxies of the store share.
    page: Option<SocketAddr>,
    ledger: Arc<UsageLedger>,
    saver: Arc<FigureSaver>,
    #[cfg(feature = "otel")]
    telemetry: Option<Arc<Telemetry>>,
    /// How long streams that run may go on once it is told to stop.
    stop: watch::Sender<Option<Duration>>,
    accepting: JoinHandle<()>,
    /// Ends when nobody has work to finish.
    working: mpsc::Receiver<()>,
}

impl Proxy {
    /// Starts a proxy on the current runtime.
    ///
    /// # Errors
    ///
    /// When it would be open to everybody, has nowhere to send anything, or cannot listen; see
    /// [`ProxyError`].
    pub async fn bind(settings: ProxySettings) -> Result<RunningProxy, ProxyError> {
        let listen = settings.listen;
        if settings.access.tokens.is_none() && !listen.ip().is_loopback() {
            return Err(ProxyError::Open { address: listen });
        }
        if settings.upstreams.all().next().is_none() {
            return Err(ProxyError::NoUpstream);
        }
        let (working, done) = mpsc::channel(1);
        let app = Arc::new(App::new(settings, working)?);
        let at = |source| ProxyError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(at)?;
        let address = listener.local_addr().map_err(at)?;
        let (stop, stopped) = watch::channel(None);
        let page = shared_page(&app, &stopped).await;
        let (ledger, saver) = (Arc::clone(&app.ledger), Arc::clone(&app.saver));
        #[cfg(feature = "otel")]
        let telemetry = app.telemetry.clone();
        let accepting = tokio::spawn(accept(listener, address, app, stopped));
        Ok(RunningProxy {
            address,
            page,
            ledger,
            saver,
            #[cfg(feature = "otel")]
            telemetry,
            stop,
            accepting,
            working: done,
        })
    }
}

impl RunningProxy {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page for people stands.
    pub fn page_address(&self) -> SocketAddr {
        self.page.unwrap_or(self.address)
    }

    /// What it did so far.
    pub fn figures(&self) -> &Arc<UsageLedger> {
        &self.ledger
    }

    /// Takes no more requests, lets those that run finish for so long, and writes down what is left
    /// to write.
    pub async fn stop(mut self, within: Duration) {
        self.stop.send_replace(Some(within));
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the proxy had ended before it was stopped");
        }
        // What is recorded of an answer that has ended takes a moment; nothing new comes.
        self.working.recv().await;
        // A model may have been asked for a summary since the last request.
        let saver = self.saver;
        if let Err(error) = tokio::task::spawn_blocking(move || saver.save(now())).await {
            tracing::error!(%error, "the last figures are not kept");
        }
        #[cfg(feature = "otel")]
        if let Some(telemetry) = self.telemetry
            && let Err(error) = tokio::task::spawn_blocking(move || telemetry.stop()).await
        {
            tracing::error!(%error, "the last spans are not exported");
        }
    }
}

/// Stands at the address of the page that all proxies of the store share, now or once it is free.
async fn shared_page(
    app: &Arc<App>,
    stopped: &watch::Receiver<Option<Duration>>,
) -> Option<SocketAddr> {
    let shared = app.settings.own.shared.as_ref()?;
    let page = app.settings.own.page.as_ref()?;
    let stand = shared.stand(page).await?;
    let (app, mut stopped) = (Arc::clone(app), stopped.clone());
    match stand {
        PageStand::Here(listener, address) => {
            tokio::spawn(accept(listener, address, app, stopped));
            Some(address)
        }
        PageStand::Elsewhere(address) => {
            tokio::spawn(async move {
                let listener = tokio::select! {
                    listener = taken_over(address) => listener,
                    _ = stopped.changed() => return,
                };
                accept(listener, address, app, stopped).await;
            });
            Some(address)
        }
    }
}

/// Accepts connections until it is told to stop, then waits for those that run.
async fn accept(
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    mut stopped: watch::Receiver<Option<Duration>>,
) {
    let graceful = GracefulShutdown::new();
    let ProxyLimits { connections, waiting, .. } = app.settings.limits;
    let open = Arc::new(Semaphore::new(connections.saturating_add(waiting)));
    let hall = Hall {
        places: Arc::new(Semaphore::new(connections)),
        arrivals: Arc::default(),
        address,
        app,
    };
    let lobby = Lobby::new(waiting);
    let mut served = JoinSet::new();
    loop {
        let connected = tokio::select! {
            connected = Arc::clone(&open).acquire_owned() => connected,
            _ = stopped.changed() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => break,
            Some(_) = served.join_next() => continue,
        };
        match accepted {
            Ok((stream, _)) => {
                let seat = lobby.seat();
                let connection = graceful.watch(serve(&hall, stream, &seat));
                let task = served.spawn(async move {
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection ended");
                    }
                    drop(connected);
                });
                seat.served_by(task);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                // Where too many files are open, those go on which nothing is asked.
                lobby.thin_out();
                tokio::time::sleep(REST).await;
            }
        }
    }
    drop(listener);
    // A page that is open would hold up the end.
    if let Some(page) = &hall.app.settings.own.page {
        page.close();
    }
    let within = (*stopped.borrow()).unwrap_or_default();
    if tokio::time::timeout(within, graceful.shutdown()).await.is_err() {
        tracing::warn!(seconds = within.as_secs(), "streams that still run are cut off");
    }
    served.shutdown().await;
}

/// Where requests are answered.
#[derive(Clone)]
struct Hall {
    app: Arc<App>,
    address: SocketAddr,
    /// So many at once.
    places: Arc<Semaphore>,
    /// The bodies of those that are not whole.
    arrivals: Arc<Arrivals>,
}

impl Hall {
    /// A place, once there is one.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let mut place = pin!(Arc::clone(&self.places).acquire_owned());
        loop {
            match tokio::time::timeout(ASKING, &mut place).await {
                Ok(place) => return place.ok(),
                Err(_) => self.arrivals.close_one(),
            }
        }
    }
}

/// The body of an answer, with the place of its request.
struct Served {
    body: Outflow,
    seat: Arc<Seat>,
    /// Held until the last byte has gone out; nobody closes the places.
    _place: Option<OwnedSemaphorePermit>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.seat.sit();
    }
}

impl Body for Served {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// One connection.
fn serve(
    hall: &Hall,
    stream: TcpStream,
    seat: &Arc<Seat>,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send + 'static {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps small packets back");
    }
    let service = {
        let (hall, seat) = (hall.clone(), Arc::clone(seat));
        service_fn(move |request| {
            let (hall, seat) = (hall.clone(), Arc::clone(&seat));
            seat.rise();
            async move {
                let place = hall.place().await;
                let request = request.map(|body| hall.arrivals.body(body, &seat));
                let answer: Response<Outflow> = handle(hall.app, hall.address, request).await;
                let answer = answer.map(|body| Served { body, seat, _place: place });
                Ok::<_, std::convert::Infallible>(answer)
            }
        })
    };
    http1::Builder::new()
        // An upstream's date goes on.
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .header_read_timeout(hall.app.settings.deadlines.head)
        .max_buf_size(READ)
        .serve_connection(TokioIo::new(stream), service)
}
