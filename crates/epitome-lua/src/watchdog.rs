//! The watchdog: a thread that rings where a call may have used up its time.
//!
//! Invariant: the running policy looks at nothing but its timer until that rings. A call that was
//! kept waiting for the processor goes on, and is rung again. The thread sleeps while nothing runs.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::call_timer::CallTimer;

/// The least time between two rings, so that a call without time to lose is not rung all the time.
const PAUSE: Duration = Duration::from_millis(1);

/// One watchdog thread, which ends with this value.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shared: Arc<WatchdogShared>,
}

#[derive(Debug, Default)]
struct WatchdogShared {
    state: Mutex<WatchdogState>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct WatchdogState {
    calls: Vec<WatchedCall>,
    next: u64,
    /// When the thread looks again by itself; it must be woken for anything earlier.
    looks: Option<Instant>,
    ended: bool,
}

#[derive(Debug)]
struct WatchedCall {
    number: u64,
    /// When it is rung next.
    rings: Instant,
    /// How long after that it is rung again.
    pause: Duration,
    timer: Arc<CallTimer>,
}

impl Watchdog {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the system has no thread to give.
    pub(crate) fn start() -> std::io::Result<Self> {
        let shared = Arc::new(WatchdogShared::default());
        let thread = Arc::clone(&shared);
        thread::Builder::new().name("policy-watchdog".to_owned()).spawn(move || thread.run())?;
        Ok(Self { shared })
    }

    /// Watches a call that begins now on this thread: its timer rings when the time may be over,
    /// until the guard falls.
    pub(crate) fn watch(&self, timer: &Arc<CallTimer>, time: Duration) -> Watched<'_> {
        timer.start(time);
        let number = self.shared.add(time, Arc::clone(timer));
        Watched { dog: self, timer: Arc::clone(timer), number }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.woken.notify_all();
    }
}

/// A call that is watched.
#[derive(Debug)]
pub(crate) struct Watched<'d> {
    dog: &'d Watchdog,
    timer: Arc<CallTimer>,
    number: u64,
}

impl Watched<'_> {
    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.timer.is_over()
    }

    /// Runs something that is not the call's own time.
    pub(crate) fn paused<T>(&mut self, other: impl FnOnce() -> T) -> T {
        self.dog.shared.remove(self.number);
        let result = self.timer.paused(other);
        self.number = self.dog.shared.add(self.timer.left(), Arc::clone(&self.timer));
        result
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.dog.shared.remove(self.number);
    }
}

impl WatchdogShared {
    fn state(&self) -> MutexGuard<'_, WatchdogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, time: Duration, timer: Arc<CallTimer>) -> u64 {
        let rings = now() + time;
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.calls.push(WatchedCall { number, rings, pause: (time / 4).max(PAUSE), timer });
        let late = state.looks.is_none_or(|looks| rings < looks);
        drop(state);
        if late {
            self.woken.notify_all();
        }
        number
    }

    fn remove(&self, number: u64) {
        self.state().calls.retain(|call| call.number != number);
    }

    /// The thread. It looks at the earliest ring it knew of, even where that call has ended
    /// since: so calls that come and go do not have to wake it.
    fn run(&self) {
        let mut state = self.state();
        while !state.ended {
            let time = now();
            for call in state.calls.iter_mut().filter(|call| call.rings <= time) {
                call.timer.ring();
                call.rings = time + call.pause;
            }
            state.looks = state.calls.iter().map(|call| call.rings).min();
            state = match state.looks {
                None => self.woken.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(looks) => {
                    let rest = looks.saturating_duration_since(time);
                    let woken = self.woken.wait_timeout(state, rest);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a deadline is a clock's; no policy sees it")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works until the call is over.
    fn ends(call: &Watched<'_>) {
        while !call.is_over() {
            std::hint::black_box([0_u8; 64]);
        }
    }

    #[test]
    fn a_call_that_works_too_long_is_over() {
        let dog = Watchdog::start().unwrap();
        let [short, long] = [(); 2].map(|()| Arc::new(CallTimer::default()));
        let slow = dog.watch(&long, Duration::from_secs(3600));
        let fast = dog.watch(&short, Duration::from_millis(5));
        ends(&fast);
        assert!(!slow.is_over());
    }

    #[test]
    fn a_call_that_waited_is_rung_again() {
        let dog = Watchdog::start().unwrap();
        let timer = Arc::new(CallTimer::default());
        let call = dog.watch(&timer, Duration::from_millis(5));
        thread::sleep(Duration::from_millis(20));
        assert!(!call.is_over(), "it has not had the processor");
        ends(&call);
    }

    #[test]
    fn an_ended_call_is_forgotten() {
        let dog = Watchdog::start().unwrap();
        let timer = Arc::new(CallTimer::default());
        drop(dog.watch(&timer, Duration::from_millis(2)));
        assert!(dog.shared.state().calls.is_empty());
    }

    #[test]
    fn a_call_that_is_paused_all_the_time_is_over() {
        let dog = Watchdog::start().unwrap();
        let timer = Arc::new(CallTimer::default());
        let mut call = dog.watch(&timer, Duration::from_millis(5));
        while !call.is_over() {
            call.paused(|| ());
        }
    }

    #[test]
    fn a_paused_call_is_not_watched() {
        let dog = Watchdog::start().unwrap();
        let timer = Arc::new(CallTimer::default());
        let mut call = dog.watch(&timer, Duration::from_secs(3600));
        call.paused(|| assert!(dog.shared.state().calls.is_empty()));
        assert_eq!(dog.shared.state().calls.len(), 1);
    }
}
