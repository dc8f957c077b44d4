//! Digests of single texts: what stands where a text of the recent part is too large.
//!
//! Invariant: each text is asked for once in each size, and where there is no good answer its cut
//! stays. Called by `Run`, between a draft and its summary.

use std::collections::BTreeMap;

use epitome_kernel::types::{How, PartId, Passage, Summary};

use crate::cut::{Cut, Cutter};
use crate::draft::Draft;
use epitome_kernel::Measure;

/// The digests of one run.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    /// By part and by the most it may take; `None` where the cut stays.
    known: BTreeMap<(PartId, u64), Option<Digest>>,
    stopped: bool,
}

/// A digest with its marker.
#[derive(Debug)]
pub(crate) struct Digest {
    with: String,
    size: u64,
    left: Vec<Passage>,
}

impl Digest {
    /// A summary as the digest of a part, where it says something and is as small as it should be.
    pub(crate) fn of(
        summary: Summary,
        part: PartId,
        most: u64,
        cutter: Cutter<'_>,
    ) -> Option<Self> {
        let text = Some(summary.text.trim()).filter(|text| !text.is_empty())?;
        let with = cutter.digested(part, text)?;
        let size = cutter.sizes.gauge().size(&with);
        (size <= most).then_some(Self { with, size, left: summary.left })
    }
}

impl Digests {
    /// The first cut of a draft in whose place a digest is wanted.
    pub(crate) fn wanted<'d>(&self, draft: &'d Draft) -> Option<&'d Cut> {
        let open = |cut: &&Cut| cut.digest && !self.known.contains_key(&(cut.part, cut.most));
        draft.cuts.iter().find(open).filter(|_| !self.stopped)
    }

    /// Keeps the digest of a part, or that there is none.
    pub(crate) fn keep(&mut self, wanted: (PartId, u64), digest: Option<Digest>) {
        self.known.insert(wanted, digest);
    }

    /// From now on none is wanted.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Puts the digests that are known in the place of their cuts, where there is room for them.
    pub(crate) fn put(&self, draft: &mut Draft) {
        for cut in draft.cuts.iter_mut().filter(|cut| cut.digest && cut.how == How::Cut) {
            let Some(Some(digest)) = self.known.get(&(cut.part, cut.most)) else { continue };
            // A digest may be larger than the cut that it was asked for in place of.
            let Some(left) = (draft.left + cut.size).checked_sub(digest.size) else { continue };
            draft.left = left;
            cut.how = How::Digest;
            cut.with.clone_from(&digest.with);
            cut.left.clone_from(&digest.left);
            cut.size = digest.size;
        }
    }
}
