//! A place among the messages of the result, and what stands there.
//!
//! Invariant: a message that was there is named by its place alone, a new one says all that there
//! is to it. Made by `order`, changed by `seats`, written by `layout`.

use std::borrow::Cow;

use epitome_types::Role;

/// One message of the result.
pub(super) enum OutputSlot<'e> {
    /// The message that stood at this place.
    Keep(usize),
    /// A new message.
    New {
        /// Its role.
        role: Role,
        /// Its texts, to be joined.
        texts: Vec<Cow<'e, str>>,
    },
}
