//! What a journal records beside the messages: compressions, rewrites on arrival, marks.
//!
//! Invariant: a record never changes, and it is addressed by what it covers, never by the name of
//! a session (HOUSE 3.4). All else that is shown of a session is derived from records.

use serde::{Deserialize, Serialize};

use crate::{Chain, ContentId, EntryKey, How, Plan};

/// The id of an epoch: a hash over all of it.
pub type EpochId = ContentId;

/// The run of entries that an epoch rewrites: from the first entry it touches to the last one,
/// untouched entries between them included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Covered {
    /// The key of the first entry.
    pub first: EntryKey,
    /// How many entries.
    pub len: u32,
    /// The chain of their keys.
    pub chain: Chain,
}

/// Why a compression was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It pays: the window is filling, and what a smaller prompt saves outweighs the rewrite.
    Soft,
    /// The window forces it.
    Hard,
    /// The user asked for it.
    Manual,
}

/// One compression, as an immutable record.
///
/// It is complete: its plan says what the whole covered run is sent as, whatever earlier epochs
/// said of it. So exactly one epoch is in force for a history, and taking it back leaves its
/// parent in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// Its id.
    pub id: EpochId,
    /// The epoch that was in force before.
    pub parent: Option<EpochId>,
    /// The run that it rewrites.
    pub covered: Covered,
    /// What the run is sent as; its entry ids count from the first covered entry.
    pub plan: Plan,
    /// Why it was made.
    pub cause: Cause,
    /// Which compression of its history it is, counted from 1 (SPEC 3.4).
    pub number: u32,
    /// Tokens of the prompt before and after.
    pub tokens: [u64; 2],
    /// The share of must-keep facts that are still in the prompt, 0 to 1.
    pub confidence: f64,
    /// The profile and the hash of its effective options.
    pub profile: String,
    /// The hash of the profile's effective options.
    pub config: String,
    /// When it was made, ISO 8601.
    pub at: String,
}

/// A tool result that was made smaller before it was first sent (HOUSE 3.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Rewrite {
    /// The entry that holds it.
    pub key: EntryKey,
    /// The part, by its place in the entry.
    pub part: u32,
    /// What is sent in its place.
    pub with: String,
    /// In which way it is smaller.
    pub how: How,
    /// The address of the original text.
    pub original: ContentId,
    /// The tool that returned it.
    pub tool: String,
    /// Tokens of the part before and after.
    pub tokens: [u64; 2],
}

/// Something that was done by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// An epoch is taken back, and its run held: it is not compressed again unless the user or the
    /// window says so.
    Undo(EpochId),
    /// An undo is taken back, and the hold with it.
    Redo(EpochId),
    /// An entry is pinned.
    Pin(EntryKey),
    /// An entry is not pinned any longer.
    Unpin(EntryKey),
}

/// An epoch, and whether it was taken back.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The epoch.
    pub epoch: Epoch,
    /// Whether it was taken back.
    pub undone: bool,
}
