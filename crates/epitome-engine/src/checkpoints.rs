//! A checkpoint that stands in a prompt, as whoever plans and words the next one knows it.

use epitome_types::EntryId;
use epitome_types::hook::Standing;

/// A checkpoint in the prompt, with the entries that it stands for.
pub(crate) type KnownCheckpoint = (Vec<EntryId>, Standing);
