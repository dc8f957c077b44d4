//! What was erased and is sent again by a client that still holds it.
//!
//! Invariant: past the door nobody reads what such a message says: neither a policy nor a summariser,
//! a record or a file. It goes to the provider as it came, since plans name messages and no plan says
//! it. A message is known by what it says, so whoever says the very same again, anywhere in the scope,
//! says what was erased. Called where the entries of a turn are made.

use epitome_types::{Entry, PartBody};

use epitome_admin::admin::TOMBSTONE;

/// Takes out what an entry says. What it is, what it calls and what it answers stay, since its
/// neighbours depend on that.
pub(super) fn forget(entry: &mut Entry) {
    for part in &mut entry.parts {
        part.known_as = None;
        part.files = Box::default();
        match &mut part.body {
            PartBody::Text(text) | PartBody::Thinking(text) => TOMBSTONE.clone_into(text),
            PartBody::Result(result) => TOMBSTONE.clone_into(&mut result.text),
            PartBody::Call(call) => "{}".clone_into(&mut call.arguments),
            PartBody::Opaque(block) => {
                block.text.clear();
                (block.data, block.title) = (0..0, None);
            }
            PartBody::Image(_) => {}
        }
    }
}
