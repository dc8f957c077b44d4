//! Digests of searches: hits by file or folder, with the first of each kind; lists of files by
//! folder.
//!
//! Invariant: a shown hit keeps its line number and its words; every path is shown, or its folder
//! with a count. Hosts register [`Search`] by name.

mod found;
mod outlines;

use epitome_plugin::text::shape;
use epitome_plugin::{About, Digest, Digested, Failed, Plugin};

/// Digests hits of searches and lists of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search;

impl Plugin for Search {
    fn about(&self) -> About {
        About::new("search", "1")
            .with_doc("hits of searches and lists of files, by file or folder")
            .with_digest()
    }

    fn digest(&self, job: &Digest<'_>) -> Result<Option<Digested>, Failed> {
        if shape::reads_file(job) {
            return Ok(None);
        }
        let found = found::Found::read(job.text);
        Ok(if found.is_one() { found.digest(job) } else { None })
    }
}
