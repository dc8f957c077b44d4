//! What a policy may use.
//!
//! Invariant: every call of a policy ends by one of these. Set by the host; the defaults are meant
//! for everybody.

use std::time::Duration;

/// How long a policy may run and how much it may hold. Times are of the processor, so that a busy
/// machine ends no call that a quiet one would not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LuaLimits {
    /// The longest that one call of a hook may take, without what `ep.next` takes.
    pub call: Duration,
    /// The longest that loading a policy may take.
    pub load: Duration,
    /// The longest that one of a policy's own tests may take.
    pub test: Duration,
    /// The longest that the tests may take together before a changed policy is taken; those that
    /// are left then are not run.
    pub tests: Duration,
    /// The most that one virtual machine may hold, in bytes.
    pub memory: usize,
    /// How many overruns of one generation are borne.
    pub overruns: u32,
    /// How many idle virtual machines of a generation are kept.
    pub idle: usize,
}

impl Default for LuaLimits {
    fn default() -> Self {
        Self {
            call: Duration::from_millis(500),
            load: Duration::from_secs(2),
            test: Duration::from_secs(2),
            tests: Duration::from_millis(200),
            memory: 64 << 20,
            overruns: 3,
            idle: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
