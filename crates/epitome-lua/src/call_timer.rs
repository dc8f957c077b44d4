//! How much processor time a call has left.
//!
//! Invariant: a call ends by what it has used of its thread's processor time, so that a busy machine
//! ends none that would have been done in time on a quiet one. The clock is read at the beginning
//! and the end of a call, and where the watchdog rings.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// Nothing is to be looked at.
const QUIET: u8 = 0;
/// The watchdog asks the call to read its clock.
const RUNG: u8 = 1;
/// The call has used up its time.
const OVER: u8 = 2;

/// The timer that a virtual machine looks at while it runs.
///
/// All but [`CallTimer::ring`] belong to the thread of the call.
#[derive(Debug, Default)]
pub(crate) struct CallTimer {
    state: AtomicU8,
    /// The processor time of the call's thread at which the call is over, in nanoseconds.
    end: AtomicU64,
}

impl CallTimer {
    /// Begins a call that may use this much processor time.
    pub(crate) fn start(&self, time: Duration) {
        self.state.store(QUIET, Ordering::Relaxed);
        self.end.store(nanoseconds(thread_time() + time), Ordering::Relaxed);
    }

    /// Asks the call to read its clock. Called by the watchdog, from its own thread.
    pub(crate) fn ring(&self) {
        // One that is over stays so.
        self.state.fetch_max(RUNG, Ordering::Relaxed);
    }

    /// Whether the call has used up its time. Costs one load where nothing has rung.
    pub(crate) fn is_over(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            QUIET => false,
            RUNG => {
                let over = nanoseconds(thread_time()) >= self.end.load(Ordering::Relaxed);
                self.state.store(if over { OVER } else { QUIET }, Ordering::Relaxed);
                over
            }
            _ => true,
        }
    }

    /// The processor time that the call has left.
    pub(crate) fn left(&self) -> Duration {
        Duration::from_nanos(self.end.load(Ordering::Relaxed)).saturating_sub(thread_time())
    }

    /// Runs something on the thread of the call whose time is not the call's own. It may come back
    /// into the machine, which has all the time that it wants meanwhile.
    pub(crate) fn paused<T>(&self, other: impl FnOnce() -> T) -> T {
        let before = thread_time();
        let end = self.end.swap(u64::MAX, Ordering::Relaxed);
        let result = other();
        let others = thread_time().saturating_sub(before);
        self.end.store(end.saturating_add(nanoseconds(others)), Ordering::Relaxed);
        result
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The processor time that this thread has used.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Where the system tells no thread's time, the clock on the wall stands for it.
#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "a bound is a clock's; no policy sees it")]
fn thread_time() -> Duration {
    static STARTED: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    STARTED.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the processor for this long.
    fn work(time: Duration) {
        let end = thread_time() + time;
        while thread_time() < end {
            std::hint::black_box([0_u8; 64]);
        }
    }

    #[test]
    fn a_call_ends_by_what_it_has_used() {
        let timer = CallTimer::default();
        timer.start(Duration::from_millis(2));
        work(Duration::from_millis(3));
        assert!(!timer.is_over(), "nothing has rung");
        timer.ring();
        assert!(timer.is_over());
        timer.ring();
        assert!(timer.is_over(), "what is over stays so");
    }

    #[test]
    fn time_without_the_processor_does_not_count() {
        let timer = CallTimer::default();
        timer.start(Duration::from_millis(20));
        std::thread::sleep(Duration::from_millis(30));
        timer.ring();
        assert!(!timer.is_over());
    }

    #[test]
    fn what_others_use_does_not_count() {
        let timer = CallTimer::default();
        timer.start(Duration::from_millis(2));
        timer.paused(|| work(Duration::from_millis(3)));
        timer.ring();
        assert!(!timer.is_over());
    }

    #[test]
    fn a_new_call_has_its_own_time() {
        let timer = CallTimer::default();
        timer.start(Duration::ZERO);
        timer.ring();
        assert!(timer.is_over());
        timer.start(Duration::from_secs(3600));
        timer.ring();
        assert!(!timer.is_over());
    }
}
