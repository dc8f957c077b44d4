//! A scripted provider: it refuses what real ones refuse, streams, fails on purpose, simulates the
//! prefix cache, and records all that arrives.
//!
//! Invariant: it shares no code with the program, so it can bear witness about it. Tests start it
//! in process with [`Upstream::start`]; scripts start the binary and drive it through `/__script`
//! and `/__log`.
//!
//! ```
//! use epitome_upstream::{Call, Script, Upstream};
//!
//! let call = Call::new("read_file", serde_json::json!({"path": "log-{turn}.txt"}));
//! let upstream = Upstream::start(Script::agent(3, vec![call]))?;
//! assert!(upstream.url().starts_with("http://127.0.0.1:"));
//! assert!(upstream.records().is_empty());
//! # std::io::Result::Ok(())
//! ```

mod api;
mod body;
mod cache;
mod canon;
mod log;
mod refusal;
mod reply;
mod rules;
mod script;
mod server;
mod state;
mod template;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use crate::cache::Usage;
pub use crate::log::{Ended, Record};
pub use crate::script::{Call, Fault, Script, Turn};
use crate::state::State;

/// A provider that runs until it is dropped.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Starts on a free port of this machine, in a thread of its own.
    ///
    /// # Errors
    ///
    /// When no port or no thread can be had.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), script)
    }

    /// Starts at an address.
    ///
    /// # Errors
    ///
    /// When the address is taken, or no thread can be had.
    pub fn start_at(address: SocketAddr, script: Script) -> io::Result<Self> {
        let state = Arc::new(State::default());
        state.follow(script);
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("upstream".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, shared) => {}
                    _ = stopped => {}
                }
            });
            // Requests that hang would keep the runtime for ever.
            runtime.shutdown_background();
        })?;
        Ok(Self { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Follows another script from now on; the cache and what was signed stay.
    pub fn follow(&self, script: Script) {
        self.state.follow(script);
    }

    /// All requests so far.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.state.records()
    }

    /// Those that asked for an answer of the model.
    #[must_use]
    pub fn prompts(&self) -> Vec<Record> {
        let mut records = self.records();
        records.retain(Record::is_prompt);
        records
    }

    /// Forgets the requests so far.
    pub fn clear(&self) {
        self.state.clear();
    }

    /// Waits until it is stopped from outside, which never happens by itself.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn accept(listener: std::net::TcpListener, state: Arc<State>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(|request| server::serve(Arc::clone(&state), request));
            let served = http1::Builder::new();
            // A connection that breaks is the business of whoever broke it.
            drop(served.serve_connection(TokioIo::new(stream), service).await);
        });
    }
}
