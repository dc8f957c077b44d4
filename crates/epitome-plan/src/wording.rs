//! What is to be worded, and how its words are measured.
//!
//! Invariant: what is worded is smaller than what stands in its place, or that stays. Wished for by
//! orders and by drafts, worded by the planner.

use epitome_kernel::TextMeasure;
use epitome_kernel::types::{
    Checkpoint, CheckpointLevel, ContentId, EntryId, EventKind, Op, PartId, Passage, ReplaceMethod,
    Summary,
};

use crate::cut::ShortenedPart;
use crate::files;
use crate::ground::PlanGround;
use crate::ops::checkpoints;

/// Something that is to be worded.
#[derive(Clone, Debug)]
pub(crate) struct WordingRequest {
    pub(crate) what: WordingPurpose,
    /// The most that it may take, the frame of its message included.
    pub(crate) most: u64,
    /// What it takes the place of: the size of that, and the ops, which come back without words.
    pub(crate) before: u64,
    pub(crate) was: Vec<Op>,
}

/// What the words are for.
#[derive(Clone, Debug)]
pub(crate) enum WordingPurpose {
    Checkpoint { id: ContentId, covers: Vec<EntryId>, level: CheckpointLevel },
    Digest(PartId),
}

/// A checkpoint that has its words.
#[derive(Debug)]
pub(crate) struct WordedCheckpoint {
    /// What it was wished for.
    pub(crate) wish: WordingRequest,
    pub(crate) op: Op,
    /// The pieces for search that its summarizer cut.
    pub(crate) left: Vec<Passage>,
    /// What happened to checkpoints that stood in its place.
    pub(crate) event: Option<EventKind>,
}

impl WordingRequest {
    /// The most that it may take and be a gain.
    pub(crate) fn limit(&self) -> u64 {
        self.most.min(self.before.saturating_sub(1))
    }

    /// The entries that leave for it.
    pub(crate) fn covers(&self) -> &[EntryId] {
        match &self.what {
            WordingPurpose::Checkpoint { covers, .. } => covers,
            WordingPurpose::Digest(_) => &[],
        }
    }

    /// Whether it is for the checkpoint of this id, or of one that begins like this.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        matches!(&self.what, WordingPurpose::Checkpoint { id, .. } if is_called(*id, name))
    }

    /// The most that the words alone may take.
    pub(crate) fn room(&self, ground: &PlanGround<'_>) -> u64 {
        match &self.what {
            WordingPurpose::Checkpoint { id, covers, .. } => {
                let label = self.label(*id, covers, ground);
                self.limit().saturating_sub(ground.gauge().message(&label))
            }
            WordingPurpose::Digest(part) => ground.cutter().digest_room(*part, self.limit()),
        }
    }

    /// By how much words are too large where they will stand.
    pub(crate) fn over(&self, words: &str, ground: &PlanGround<'_>) -> u64 {
        let size = match &self.what {
            WordingPurpose::Checkpoint { id, covers, .. } => {
                let label = self.label(*id, covers, ground);
                ground.gauge().message(&(label + words.trim()))
            }
            WordingPurpose::Digest(part) => {
                let digest = ground.cutter().digested(*part, words.trim());
                digest.map_or(0, |text| ground.gauge().size(&text))
            }
        };
        size.saturating_sub(self.limit())
    }

    /// The checkpoint with its words; `level` is the most that it counts as. A digest is none.
    pub(crate) fn checkpoint(
        self,
        words: Summary,
        level: CheckpointLevel,
        ground: &PlanGround<'_>,
    ) -> Option<WordedCheckpoint> {
        let WordingPurpose::Checkpoint { id, covers, level: wished } = &self.what else {
            return None;
        };
        let text = self.label(*id, covers, ground) + words.text.trim();
        let one = Checkpoint {
            id: *id,
            covers: covers.clone(),
            text,
            level: level.min(*wished),
            stand: ground.options.stand,
            model: words.model,
        };
        let event = self.event(&one, ground);
        Some(WordedCheckpoint { op: Op::Summarize(one), left: words.left, event, wish: self })
    }

    /// A part with its digest.
    pub(crate) fn digest(
        &self,
        part: PartId,
        words: Summary,
        ground: &PlanGround<'_>,
    ) -> Option<ShortenedPart> {
        let with = ground.cutter().digested(part, words.text.trim())?;
        let (how, size) = (ReplaceMethod::Digest, ground.gauge().size(&with));
        let cut = ShortenedPart::new(part, with, how, size, self.most);
        Some(ShortenedPart { left: words.left.into(), ..cut })
    }

    /// The line that opens a checkpoint.
    fn label(&self, id: ContentId, covers: &[EntryId], ground: &PlanGround<'_>) -> String {
        let texts = &ground.options.texts;
        let opening = texts.opening(id, covers.len(), self.most, ground.gauge());
        opening + &files::named(ground.thread, covers)
    }

    /// What happens to the checkpoints in whose place a new one stands.
    fn event(&self, new: &Checkpoint, ground: &PlanGround<'_>) -> Option<EventKind> {
        let replaced: Vec<_> = checkpoints(&self.was).collect();
        let checkpoint = new.id.short();
        let saved = || self.before.saturating_sub(ground.gauge().message(&new.text));
        match replaced[..] {
            [one] if one.id == new.id => {
                let levels = [one.level.number(), new.level.number()];
                Some(EventKind::CheckpointAged { checkpoint, levels, saved: saved() })
            }
            [] | [_] => None,
            _ => {
                let merged = replaced.iter().map(|one| one.id.short()).collect();
                Some(EventKind::CheckpointMerged { checkpoint, merged, saved: saved() })
            }
        }
    }
}

/// Whether a checkpoint is meant by a name: its id or the beginning of it.
pub(crate) fn is_called(id: ContentId, name: &str) -> bool {
    !name.is_empty() && id.to_string().starts_with(name)
}
