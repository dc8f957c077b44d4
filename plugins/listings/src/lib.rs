//! Digests listings of files: folders with counts, their largest entries and those that stand out.
//!
//! What `ls`, `find`, `tree` and `du` print says much again on every line: the path of the folder,
//! an owner, a mode. The digest says it once for each folder and names what is in it, like names
//! folded; where not all names fit, those stay that the call asked for, that differ from the others
//! and that are largest. What the program said beside them, such as errors, stays as it is.
//!
//! Invariant: each entry is shown or counted with its folder; what is not the listing's own stands
//! in `[… ]`.

mod fold;
mod listing;

use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

use listing::Listing;

/// What the digest calls itself.
const KIND: &str = "listing";

/// Digests listings of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListingDigester;

impl Plugin for ListingDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("listings", "1")
            .with_doc("listings of files: folders with counts, the largest entries and odd ones")
            .with_digest()
            .with_option("whole", fold::WHOLE, "tokens up to which all names of a listing are said")
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        if shape::reads_file(job) {
            return Ok(None);
        }
        Ok(Listing::read(job.text).and_then(|listing| fold::digest(job, &listing)))
    }
}
