//! Drift: that an agent does something else than it is there for, and how far that stops it.
//!
//! Invariant: plain data; policies answer with it, and events tell it to the host as it was
//! answered. Used by [`crate::hook`] and by events.

use serde::Deserialize;

use crate::shape::{table, words};

words! {
    /// How far something stops a conversation.
    pub enum Stop {
        /// It is said, and the conversation goes on.
        Soft = "soft",
        /// It is said; checks have decided how the conversation goes on.
        Gate = "gate",
        /// It is said, and the next request is compressed, where that pays or the window forces it.
        Hard = "hard",
    }
}

table! {
    /// An agent that does something else than it is there for.
    #[derive(Deserialize, PartialEq)]
    pub struct Drift {
        /// What shows it.
        pub trigger: String,
        /// What the conversation is for.
        pub intent: String,
        /// What was done.
        pub action: String,
    }
}
