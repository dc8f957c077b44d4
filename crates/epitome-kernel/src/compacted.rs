//! Where a conversation begins again: with what its provider made of all that was said before.
//!
//! Invariant: the provider shows its model that block and what follows it, and nothing before it but
//! the system prompt (RULES 125). Called by whoever reads, measures or changes a conversation.

use std::ops::Range;

use epitome_types::{Entry, Part, PartBody, Role};

/// Whether an entry holds what its provider made of the conversation before it.
pub fn is_compacted(entry: &Entry) -> bool {
    let is_it = |part: &Part| match &part.body {
        PartBody::Opaque(block) => block.compacts && part.within.is_none(),
        _ => false,
    };
    entry.parts.iter().any(is_it)
}

/// The entries that the model is shown no longer. System prompts among them it is shown all the same.
pub(crate) fn unshown(entries: &[Entry]) -> Range<usize> {
    0..entries.iter().rposition(is_compacted).unwrap_or(0)
}

/// Whether the model is shown an entry whatever was made of those before it.
pub(crate) fn is_prompt(entry: &Entry) -> bool {
    entry.role == Role::System && !is_compacted(entry)
}
