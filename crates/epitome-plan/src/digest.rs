//! Digests of single texts: what stands where a text of the recent part is too large.
//!
//! Invariant: each text is asked for once in each size, and where there is no good answer its cut
//! stays. Called by the ladder, between a draft and its summary.

use std::collections::BTreeMap;

use epitome_kernel::types::{PartId, ReplaceMethod};

use crate::cut::ShortenedPart;

/// The digests of one compression.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    /// By part and by the most it may take; `None` where the cut stays.
    known: BTreeMap<(PartId, u64), Option<ShortenedPart>>,
    stopped: bool,
}

impl Digests {
    /// The cuts in whose place digests are wanted.
    pub(crate) fn wanted<'d>(
        &self,
        cuts: &'d [ShortenedPart],
    ) -> impl Iterator<Item = &'d ShortenedPart> {
        let open = |cut: &&ShortenedPart| cut.digest && !self.known.contains_key(&key(cut));
        cuts.iter().filter(move |cut| !self.stopped && open(cut))
    }

    /// Keeps the digest of a part in `most`, or that there is none.
    pub(crate) fn keep(&mut self, part: PartId, most: u64, digest: Option<ShortenedPart>) {
        self.known.insert((part, most), digest);
    }

    /// From now on none is wanted.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Puts the digests that are known in the place of their cuts, where there is room for them:
    /// `left` beside the draft. Returns what is left then.
    pub(crate) fn put(&self, cuts: &mut [ShortenedPart], mut left: u64) -> u64 {
        for cut in cuts.iter_mut().filter(|cut| cut.digest && cut.how == ReplaceMethod::Cut) {
            let Some(Some(digest)) = self.known.get(&key(cut)) else { continue };
            // A digest may be larger than the cut that it was asked for in place of.
            let Some(rest) = (left + cut.size).checked_sub(digest.size) else { continue };
            left = rest;
            cut.clone_from(digest);
        }
        left
    }
}

fn key(cut: &ShortenedPart) -> (PartId, u64) {
    (cut.part, cut.most)
}
