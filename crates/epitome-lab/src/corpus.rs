//! Recordings held to a window that is made to measure: a share of each one's own size.
//!
//! Invariant: as in a scan, each replay has a store of its own. Called where a profile is tuned or
//! checked.

use std::sync::Arc;

use epitome::{Memory, Window};

use crate::replay::played;
use crate::{Figures, Recording, Replay, ReplayError, Setup};

/// Replays a recording under a limit of this share of the tokens of its largest request.
///
/// # Errors
///
/// As a replay.
pub fn at_share(recording: &Recording, setup: &Setup, share: f64) -> Result<Figures, ReplayError> {
    let store = || Arc::new(Memory::new());
    let size = Replay::new(recording, setup, store(), None)?.tokens();
    let setup = Setup { window: Window::Limit((size as f64 * share) as u64), ..setup.clone() };
    played(Replay::new(recording, &setup, store(), None)?)
}
