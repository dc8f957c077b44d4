//! The threads that talk with a server, so that whoever asks may be in any runtime, or in none.
//!
//! Invariant: what nobody waits for any more is not begun. Called by the log.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use epitome_kernel::StoreError;
use epitome_store::UNREACHABLE;

use crate::address::PostgresAddress;
use crate::deadline::Deadline;
use crate::lane::Lane;

/// How many statements are under way at the same time. More of them win nothing where writers are many,
/// and take connections from other processes.
const LANES: usize = 4;

/// Something to be done over a connection.
type LaneJob = Box<dyn FnOnce(&mut Lane) + Send>;

/// The lanes to one database.
pub(crate) struct Lanes {
    jobs: Sender<LaneJob>,
    address: PostgresAddress,
    /// How long a call waits, in milliseconds.
    patience: AtomicU64,
}

impl Lanes {
    /// Begins the threads; nothing is connected before something is asked.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] where the system has no thread left.
    pub(crate) fn new(address: PostgresAddress, patience: Duration) -> Result<Self, StoreError> {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 1..=LANES {
            let (waiting, mut lane) = (Arc::clone(&waiting), Lane::new(address.clone()));
            let named = thread::Builder::new().name(format!("postgres-{number}"));
            let begun = named.spawn(move || {
                while let Some(job) = next(&waiting) {
                    job(&mut lane);
                }
            });
            begun.map_err(|error| StoreError::Broken {
                path: address.to_string(),
                what: "cannot be opened",
                cause: error.to_string(),
            })?;
        }
        let lanes = Self { jobs, address, patience: AtomicU64::default() };
        lanes.wait_at_most(patience);
        Ok(lanes)
    }

    /// The address.
    pub(crate) fn address(&self) -> &PostgresAddress {
        &self.address
    }

    /// How long calls wait from now on.
    pub(crate) fn wait_at_most(&self, patience: Duration) {
        let patience = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self.patience.store(patience, Ordering::Relaxed);
    }

    /// Does something over a connection, and waits for what comes of it.
    ///
    /// # Errors
    ///
    /// What the work fails with; [`StoreError::Broken`] where it takes longer than anybody waits.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Lane, Deadline) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let patience = Duration::from_millis(self.patience.load(Ordering::Relaxed));
        let until = Deadline::within(patience);
        let (done, answer) = sync_channel(1);
        let given_up = Arc::new(AtomicBool::new(false));
        let is_unwanted = Arc::clone(&given_up);
        let job: LaneJob = Box::new(move |lane| {
            if !is_unwanted.load(Ordering::Acquire) {
                // Whoever waited may be gone by now; the server has it, or refused it.
                drop(done.send(work(lane, until)));
            }
        });
        if self.jobs.send(job).is_err() {
            return Err(self.silent("its threads have ended"));
        }
        // A lane that waits for a connection gives up by itself, just before.
        match answer.recv_timeout(patience + Duration::from_millis(500)) {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout) => {
                given_up.store(true, Ordering::Release);
                Err(self.silent("the server does not answer"))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.silent("its thread has ended")),
        }
    }

    fn silent(&self, cause: &str) -> StoreError {
        let (path, what) = (self.address.to_string(), UNREACHABLE);
        StoreError::Broken { path, what, cause: cause.to_owned() }
    }
}

/// The next job; none once nobody is left who could ask.
fn next(waiting: &Mutex<Receiver<LaneJob>>) -> Option<LaneJob> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
