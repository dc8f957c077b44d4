//! The watchdog: a thread that raises a flag where a call takes too long.
//!
//! Invariant: the running policy looks at nothing but its flag; the clock is read at the beginning
//! and the end of a call only. The thread sleeps while nothing runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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
    deadline: Instant,
    flag: Arc<AtomicBool>,
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

    /// Watches a call: its flag is down now and rises when the time is over, until the guard falls.
    pub(crate) fn watch(&self, flag: &Arc<AtomicBool>, time: Duration) -> Watched<'_> {
        flag.store(false, Ordering::Relaxed);
        let started = now();
        let number = self.shared.add(started + time, Arc::clone(flag));
        Watched { dog: self, flag: Arc::clone(flag), number, deadline: started + time }
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
    flag: Arc<AtomicBool>,
    number: u64,
    deadline: Instant,
}

impl Watched<'_> {
    /// Whether the time is over.
    pub(crate) fn over(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Runs something that is not the call's own time.
    pub(crate) fn paused<T>(&mut self, other: impl FnOnce() -> T) -> T {
        let before = now();
        self.dog.shared.remove(self.number);
        let result = other();
        self.deadline += now() - before;
        if !self.over() {
            self.number = self.dog.shared.add(self.deadline, Arc::clone(&self.flag));
        }
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

    fn add(&self, deadline: Instant, flag: Arc<AtomicBool>) -> u64 {
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.calls.push(WatchedCall { number, deadline, flag });
        let late = state.looks.is_none_or(|looks| deadline < looks);
        drop(state);
        if late {
            self.woken.notify_all();
        }
        number
    }

    fn remove(&self, number: u64) {
        self.state().calls.retain(|call| call.number != number);
    }

    /// The thread. It looks at the earliest deadline it knew of, even where that call has ended
    /// since: so calls that come and go do not have to wake it.
    fn run(&self) {
        let mut state = self.state();
        while !state.ended {
            let time = now();
            state.calls.retain(|call| {
                let over = call.deadline <= time;
                if over {
                    call.flag.store(true, Ordering::Relaxed);
                }
                !over
            });
            state.looks = state.calls.iter().map(|call| call.deadline).min();
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

    fn rises(flag: &AtomicBool) -> bool {
        (0..2000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            flag.load(Ordering::Relaxed)
        })
    }

    #[test]
    fn a_flag_rises_when_the_time_is_over() {
        let dog = Watchdog::start().unwrap();
        let [short, long] = [(); 2].map(|()| Arc::new(AtomicBool::new(true)));
        let slow = dog.watch(&long, Duration::from_secs(3600));
        let fast = dog.watch(&short, Duration::from_millis(5));
        assert!(rises(&short) && fast.over());
        assert!(!slow.over());
    }

    #[test]
    fn an_ended_call_is_forgotten() {
        let dog = Watchdog::start().unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        drop(dog.watch(&flag, Duration::from_millis(2)));
        assert!(dog.shared.state().calls.is_empty());
    }

    #[test]
    fn other_time_does_not_count() {
        let dog = Watchdog::start().unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let mut call = dog.watch(&flag, Duration::from_secs(3600));
        let before = call.deadline;
        call.paused(|| {
            assert!(dog.shared.state().calls.is_empty());
            thread::sleep(Duration::from_millis(2));
        });
        assert!(call.deadline >= before + Duration::from_millis(2));
        assert_eq!(dog.shared.state().calls.len(), 1);
    }
}
