//! The machine's clock.
//!
//! Invariant: the only place of the command that asks what time it is.

use std::time::{Instant, SystemTime};

use epitome::calendar_time;

use crate::fault::CliError;

/// The present moment.
#[expect(clippy::disallowed_methods, reason = "the command owns the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How long ago that was, in milliseconds.
pub(crate) fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

/// Checks that the machine's clock stands between 1970 and 9999: HTTP can state no other time, and the
/// library that speaks it would end every connection.
///
/// # Errors
///
/// Where it does not.
#[expect(clippy::disallowed_methods, reason = "the clock itself is asked")]
pub(crate) fn check_is_set() -> Result<(), CliError> {
    let time = SystemTime::now();
    if calendar_time(time) == time {
        return Ok(());
    }
    Err(CliError::unavailable(
        "the machine's clock stands before 1970 or after 9999, and no request can be answered with \
         such a time; set the clock, then start again",
    ))
}
