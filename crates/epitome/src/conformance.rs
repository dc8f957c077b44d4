//! What a part of the host's own promises, as rules that its tests can run.
//!
//! Invariant: a rule says what is wrong without a panic. Called by hosts.

/// The rules of a store: `conformance::store::run_all(MyLog::default)` in a test of the host.
pub use epitome_store::conformance as store;
