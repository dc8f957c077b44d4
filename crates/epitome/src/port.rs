//! The port of a store of the host's own: where a live conversation is recorded.
//!
//! [`Archive`] is what [`Builder::session`](crate::Builder::session) takes; it is a [`Journal`], which
//! records what is said and decided, and a [`Store`], which keeps what left prompts and finds it again.
//! What a host has to write are the methods without a body, about 100 lines: `examples/embed-minimal`
//! is one. A [`Memory`](crate::Memory) shows all of them.

pub use epitome_kernel::{
    AnswerClue, Answered, Batch, Beginning, Blob, Clue, Commit, Departure, Epochs, Excerpt, Holder,
    Journal, Met, News, Onward, Said, SessionOf, Store, StoreError, Turn,
};
pub use epitome_store::Archive;
