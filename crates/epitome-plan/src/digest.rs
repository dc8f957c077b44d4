//! Digests of single texts: what stands where a text of the recent part is too large.
//!
//! Invariant: each text is asked for once in each size, and where there is no good answer its cut
//! stays. Called by `FitRun`, between a draft and its summary.

use std::collections::BTreeMap;

use epitome_kernel::types::{PartId, Passage, ReplaceMethod, Summary};

use crate::cut::{PartShortener, ShortenedPart};
use crate::draft::PlanDraft;
use epitome_kernel::TextMeasure;

/// The digests of one run.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    /// By part and by the most it may take; `None` where the cut stays.
    known: BTreeMap<(PartId, u64), Option<MarkedDigest>>,
    stopped: bool,
}

/// A digest with its marker.
#[derive(Debug)]
pub(crate) struct MarkedDigest {
    with: String,
    size: u64,
    left: Vec<Passage>,
}

impl MarkedDigest {
    /// A summary as the digest of a part, where it says something and is as small as it should be.
    pub(crate) fn of(
        summary: Summary,
        part: PartId,
        most: u64,
        cutter: PartShortener<'_>,
    ) -> Option<Self> {
        let text = Some(summary.text.trim()).filter(|text| !text.is_empty())?;
        let with = cutter.digested(part, text)?;
        let size = cutter.sizes.gauge().size(&with);
        (size <= most).then_some(Self { with, size, left: summary.left })
    }
}

impl Digests {
    /// The first cut of a draft in whose place a digest is wanted.
    pub(crate) fn wanted<'d>(&self, draft: &'d PlanDraft) -> Option<&'d ShortenedPart> {
        let open =
            |cut: &&ShortenedPart| cut.digest && !self.known.contains_key(&(cut.part, cut.most));
        draft.cuts.iter().find(open).filter(|_| !self.stopped)
    }

    /// Keeps the digest of a part, or that there is none.
    pub(crate) fn keep(&mut self, wanted: (PartId, u64), digest: Option<MarkedDigest>) {
        self.known.insert(wanted, digest);
    }

    /// From now on none is wanted.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Puts the digests that are known in the place of their cuts, where there is room for them.
    pub(crate) fn put(&self, draft: &mut PlanDraft) {
        for cut in draft.cuts.iter_mut().filter(|cut| cut.digest && cut.how == ReplaceMethod::Cut) {
            let Some(Some(digest)) = self.known.get(&(cut.part, cut.most)) else { continue };
            // A digest may be larger than the cut that it was asked for in place of.
            let Some(left) = (draft.left + cut.size).checked_sub(digest.size) else { continue };
            draft.left = left;
            cut.how = ReplaceMethod::Digest;
            cut.with.clone_from(&digest.with);
            cut.left.clone_from(&digest.left);
            cut.size = digest.size;
        }
    }
}
