//! The HTTP proxy that compresses what clients send, and breaks nothing.
//!
//! Invariant: nothing here decides about a conversation; that is the facade's. What cannot be
//! compressed goes out as it came, and says why.

mod route;
