//! The decisions of a live conversation, turn by turn: what is new, which epoch is in force, what
//! is made smaller on arrival, and whether it is time to compress.
//!
//! Invariant: pure functions of keys, records and sizes. Called by the host's session, in the
//! order of the modules below.

mod identity;
mod lineage;
mod reconcile;

pub use identity::{Claim, Evidence, Identity, identify, is_drawn};
pub use lineage::{ActiveCompaction, CompactionLineage, EpochGround, epoch_of, touched};
pub use reconcile::{HistoryMatch, reconcile};
