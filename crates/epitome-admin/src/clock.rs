//! The time of day, as records state it.
//!
//! Invariant: the only clock of the library, and a host may bring its own.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Says what time it is, in ISO 8601.
pub type Clock = Arc<dyn Fn() -> String + Send + Sync>;

/// The last millisecond whose year has four digits, since 1970.
const LAST: u64 = 253_402_300_799_999;

/// The time of the machine, in UTC.
#[expect(clippy::disallowed_methods, reason = "this is the clock that others are given")]
pub fn system_time() -> String {
    humantime::format_rfc3339_millis(calendar_time(SystemTime::now())).to_string()
}

/// The nearest moment that records can state: from 1970 to 9999. A machine whose clock was never set
/// goes on with that.
pub fn calendar_time(time: SystemTime) -> SystemTime {
    let last = SystemTime::UNIX_EPOCH + Duration::from_millis(LAST);
    time.clamp(SystemTime::UNIX_EPOCH, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_of_a_machine_can_be_stated() {
        let check = |time: Option<SystemTime>, expected: &str| {
            let time = calendar_time(time.unwrap());
            assert_eq!(humantime::format_rfc3339_millis(time).to_string(), expected);
        };
        let (start, year) = (SystemTime::UNIX_EPOCH, Duration::from_secs(31_557_600));
        check(start.checked_sub(year), "1970-01-01T00:00:00.000Z");
        check(start.checked_sub(year * 3000), "1970-01-01T00:00:00.000Z");
        check(start.checked_add(Duration::from_millis(1)), "1970-01-01T00:00:00.001Z");
        check(start.checked_add(year * 8100), "9999-12-31T23:59:59.999Z");
        check(start.checked_add(year * 80_000), "9999-12-31T23:59:59.999Z");
    }
}
