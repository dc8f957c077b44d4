//! Recordings held to a window that is made to measure: a share of each one's own size.
//!
//! Invariant: as in a scan, each replay has a store of its own. Called where a profile is tuned or
//! checked.

use std::sync::Arc;

use epitome::{MemoryStore, WindowSetting};

use crate::replay::played;
use crate::{Recording, Replay, ReplayError, ReplaySetup, ReplayTotals};

/// Replays a recording under a limit of this share of the tokens of its largest request.
///
/// # Errors
///
/// As a replay.
pub fn at_share(
    recording: &Recording,
    setup: &ReplaySetup,
    share: f64,
) -> Result<ReplayTotals, ReplayError> {
    let store = || Arc::new(MemoryStore::new());
    let size = Replay::new(recording, setup, store(), None)?.tokens();
    let setup =
        ReplaySetup { window: WindowSetting::Limit((size as f64 * share) as u64), ..setup.clone() };
    played(Replay::new(recording, &setup, store(), None)?)
}
