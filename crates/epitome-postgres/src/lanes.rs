//! The threads that talk with a server, so that whoever asks may be in any runtime, or in none.
//!
//! Invariant: what nobody waits for any more is not begun. Called by the log.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use epitome_kernel::StoreError;
use epitome_store::UNREACHABLE;

use crate::address::PostgresAddress;
use crate::deadline::Deadline;
use crate::lane::{IdleConnections, Lane};

/// How many statements are under way at the same time, and how many connections a process has at most.
/// More of them win nothing where writers are many, and take connections from other processes.
const LANES: usize = 4;

/// So many lanes at most wait for an answer that nobody else waits for any more, beside those that work.
const HELD_UP: usize = 12;

/// Something to be done over a connection; says whether the lane goes on with others.
type LaneJob = Box<dyn FnOnce(&mut Lane) -> bool + Send>;

/// What lanes take their jobs from.
type WaitingJobs = Arc<Mutex<Receiver<LaneJob>>>;

/// The lanes to one database.
pub(crate) struct Lanes {
    jobs: Sender<LaneJob>,
    waiting: WaitingJobs,
    idle: IdleConnections,
    address: PostgresAddress,
    /// How long a call waits, in milliseconds.
    patience: AtomicU64,
    /// How many lanes wait for what nobody else waits for.
    held_up: Arc<AtomicUsize>,
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
        let (patience_in_ms, held_up) = <_>::default();
        let idle = IdleConnections::default();
        let lanes = Self { jobs, waiting, idle, address, patience: patience_in_ms, held_up };
        lanes.wait_at_most(patience);
        for _ in 0..LANES {
            lanes.begin_lane().map_err(|error| StoreError::Broken {
                path: lanes.address.to_string(),
                what: "cannot be opened",
                cause: error.to_string(),
            })?;
        }
        Ok(lanes)
    }

    /// Begins a thread that does one job after the other.
    fn begin_lane(&self) -> io::Result<()> {
        let (waiting, idle) = (Arc::clone(&self.waiting), Arc::clone(&self.idle));
        let mut lane = Lane::new(self.address.clone(), idle);
        let named = thread::Builder::new().name("postgres".to_owned());
        let begun = named.spawn(move || {
            while let Some(job) = next(&waiting) {
                if !job(&mut lane) {
                    break;
                }
            }
        });
        begun.map(drop)
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
        let errand = Arc::new(Errand::default());
        let (own, held_up) = (Arc::clone(&errand), Arc::clone(&self.held_up));
        let job: LaneJob = Box::new(move |lane| {
            if !own.begin() {
                return true;
            }
            let outcome = work(lane, until);
            lane.rest();
            // Whoever waited may be gone by now; the server has it, or refused it.
            drop(done.send(outcome));
            let was_replaced = own.is_replaced();
            if was_replaced {
                held_up.fetch_sub(1, Ordering::AcqRel);
            }
            !was_replaced
        });
        if self.jobs.send(job).is_err() {
            return Err(self.silent("its threads have ended"));
        }
        // A lane that waits for a connection gives up by itself, just before.
        match answer.recv_timeout(patience + Duration::from_millis(500)) {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout) => {
                self.leave(&errand);
                Err(self.silent("the server does not answer"))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.silent("its thread has ended")),
        }
    }

    /// Gives up on what was asked. A lane that waits for its answer may do so for as long as whatever is
    /// between it and the server keeps silent: another one takes its place, and it ends once it is free.
    fn leave(&self, errand: &Errand) {
        let mut state = errand.state();
        match *state {
            ErrandState::Waiting => *state = ErrandState::Left,
            ErrandState::Begun if self.has_another_lane() => *state = ErrandState::Replaced,
            _ => {}
        }
    }

    /// Begins a lane in the place of one that is held up, unless too many are.
    fn has_another_lane(&self) -> bool {
        let one_more = |held: usize| (held < HELD_UP).then_some(held + 1);
        let counted = self.held_up.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        let begun = counted.is_ok() && self.begin_lane().is_ok();
        if counted.is_ok() && !begun {
            self.held_up.fetch_sub(1, Ordering::AcqRel);
        }
        begun
    }

    fn silent(&self, cause: &str) -> StoreError {
        let (path, what) = (self.address.to_string(), UNREACHABLE);
        StoreError::Broken { path, what, cause: cause.to_owned() }
    }
}

/// Something that was asked, between whoever waits for it and the lane that does it.
#[derive(Default)]
struct Errand(Mutex<ErrandState>);

/// How far it is.
#[derive(Clone, Copy, Default, PartialEq)]
enum ErrandState {
    /// No lane was free yet.
    #[default]
    Waiting,
    /// Nobody waits for it, and it is not begun.
    Left,
    /// A lane is at it.
    Begun,
    /// Nobody waits for it, and another lane has taken the place of the one that is at it.
    Replaced,
}

impl Errand {
    fn state(&self) -> MutexGuard<'_, ErrandState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a lane begin it; says whether anybody waits for it still.
    fn begin(&self) -> bool {
        let mut state = self.state();
        let is_wanted = *state == ErrandState::Waiting;
        if is_wanted {
            *state = ErrandState::Begun;
        }
        is_wanted
    }

    fn is_replaced(&self) -> bool {
        *self.state() == ErrandState::Replaced
    }
}

/// The next job; none once nobody is left who could ask.
fn next(waiting: &WaitingJobs) -> Option<LaneJob> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
