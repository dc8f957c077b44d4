//! A session as one store gives it to another.
//!
//! Invariant: facts and records as they were recorded; what could not be read is missing, and never
//! made up. Read from the store on disk, taken up by the one in memory.

use std::collections::BTreeMap;

use epitome_kernel::types::{
    Acted, Chain, EntryKey, Mark, MeterReading, Recorded, Rewrite, SessionInfo,
};
use epitome_kernel::{Answered, Said};

/// All that is needed to go on with a session where it stands. What was done to it is beside the place
/// that it had come to then.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionCopy {
    pub(crate) info: SessionInfo,
    pub(crate) opened: u32,
    pub(crate) meter: MeterReading,
    /// The messages on the way to its newest one.
    pub(crate) said: Vec<Said>,
    pub(crate) rewrites: Vec<Rewrite>,
    pub(crate) epochs: Vec<(Chain, Recorded)>,
    pub(crate) acts: Vec<(Chain, Acted)>,
    pub(crate) marks: Vec<(Chain, Mark)>,
    pub(crate) memos: BTreeMap<String, String>,
    /// The newest answer, where nobody went on from it yet.
    pub(crate) answer: Option<Answered>,
    /// What was erased in its scope.
    pub(crate) erased: Vec<EntryKey>,
}
