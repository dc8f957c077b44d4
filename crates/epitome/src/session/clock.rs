//! The time of day, as records state it.
//!
//! Invariant: the only clock of the facade, and a host may bring its own.

use std::sync::Arc;
use std::time::SystemTime;

/// Says what time it is, in ISO 8601.
pub type Clock = Arc<dyn Fn() -> String + Send + Sync>;

/// The time of the machine, in UTC.
#[expect(clippy::disallowed_methods, reason = "this is the clock that others are given")]
pub fn system_time() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
