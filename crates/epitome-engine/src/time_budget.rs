//! How long a compression waits for models.
//!
//! Invariant: whatever models do, all that is asked of them for one compression ends in time; the
//! clock is the session's. Read before each question.

use std::time::{Duration, SystemTime};

use epitome_admin::clock::Clock;

/// What is left of the time for models.
pub(crate) struct ModelTimeBudget {
    clock: Clock,
    began: Option<SystemTime>,
    most: Duration,
}

impl ModelTimeBudget {
    /// So much time, from now on.
    pub(crate) fn new(clock: &Clock, most: Duration) -> Self {
        let began = now(clock);
        Self { clock: clock.clone(), began, most }
    }

    /// All of it.
    pub(crate) fn most(&self) -> Duration {
        self.most
    }

    /// What is left; all of it where the clock tells no time.
    pub(crate) fn left(&self) -> Duration {
        let passed = now(&self.clock).zip(self.began);
        let passed = passed.and_then(|(now, began)| now.duration_since(began).ok());
        self.most.saturating_sub(passed.unwrap_or_default())
    }
}

fn now(clock: &Clock) -> Option<SystemTime> {
    humantime::parse_rfc3339_weak(&clock()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn time_passes_by_the_clock() {
        let time = Arc::new(Mutex::new("2026-01-01T00:00:00Z".to_owned()));
        let told = time.clone();
        let clock: Clock = Arc::new(move || told.lock().unwrap().clone());
        let patience = ModelTimeBudget::new(&clock, Duration::from_secs(60));
        let check = |now: &str, left: u64| {
            *time.lock().unwrap() = now.to_owned();
            assert_eq!(patience.left(), Duration::from_secs(left), "{now}");
        };
        check("2026-01-01T00:00:00Z", 60);
        check("2026-01-01T00:00:45Z", 15);
        check("2026-01-01T00:02:00Z", 0);
        check("2025-12-31T23:59:00Z", 60);
        check("soon", 60);
    }
}
