//! What digests of texts are made with.
//!
//! Invariant: pure functions of their arguments; what is not the text's own is written in `[… ]`.
//! Called by plugins.

pub mod kind;
pub mod outline;
pub mod rows;
pub mod shape;
pub mod tape;
