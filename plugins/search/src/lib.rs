//! Digests of searches: hits by file or folder, with the first of each kind; lists of files by
//! folder.
//!
//! Invariant: a shown hit keeps its line number and its words; every path is shown, or its folder
//! with a count. Hosts register [`SearchDigester`] by name.

mod outlines;
mod results;

use epitome_plugin::text::shape;
use epitome_plugin::{DigestInput, DigestOutput, Plugin, PluginFailure, PluginInfo};

/// Digests hits of searches and lists of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchDigester;

impl Plugin for SearchDigester {
    fn about(&self) -> PluginInfo {
        PluginInfo::new("search", "1")
            .with_doc("hits of searches and lists of files, by file or folder")
            .with_digest()
    }

    fn digest(&self, job: &DigestInput<'_>) -> Result<Option<DigestOutput>, PluginFailure> {
        if shape::reads_file(job) {
            return Ok(None);
        }
        let found = results::SearchResults::read(job.text);
        Ok(if found.is_one() { found.digest(job) } else { None })
    }
}
