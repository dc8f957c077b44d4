//! What a store on disk promises.
//!
//! Invariant: it is a choice of the user's, and known whether or not there is such a store in the
//! program. Read where a store is opened.

/// How much survives a power cut. The crash of a process never costs anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The file stays sound; the newest records may be missing.
    #[default]
    Normal,
    /// Everything that was acknowledged, at the price of waiting for the disk every time.
    Full,
}
