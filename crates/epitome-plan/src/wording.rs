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
use crate::eviction::address_of;
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
    /// One that stands for all of it, or two around a message that stays.
    pub(crate) ops: Vec<Op>,
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

    /// The same with twice the room, where a checkpoint that ages finds no words in less: as small as it
    /// can be said is nearer to what was asked for than as large as it is. What is new, and what several
    /// become, stays as it is instead.
    pub(crate) fn with_more_room(mut self, ground: &PlanGround<'_>) -> Result<Self, Self> {
        let WordingPurpose::Checkpoint { id, covers, .. } = &self.what else { return Err(self) };
        let ages = matches!(&*self.was, [Op::Summarize(one)] if one.id == *id);
        let label = ground.gauge().message(&self.label(*id, covers, ground));
        let most = self.most.max(label).saturating_mul(2);
        if !ages || most >= self.before {
            return Err(self);
        }
        self.most = most;
        Ok(self)
    }

    /// The most that the words alone may take.
    pub(crate) fn room(&self, ground: &PlanGround<'_>) -> u64 {
        match &self.what {
            WordingPurpose::Checkpoint { id, covers, .. } => {
                let sides = ground.thread.typed().and_then(|typed| self.sides(typed, ground));
                let labels = match sides {
                    Some([before, behind]) => [before, behind]
                        .map(|it| {
                            ground.gauge().message(&self.label(address(it, ground), it, ground))
                        })
                        .iter()
                        .sum(),
                    None => ground.gauge().message(&self.label(*id, covers, ground)),
                };
                self.limit().saturating_sub(labels)
            }
            WordingPurpose::Digest(part) => ground.cutter().digest_room(*part, self.limit()),
        }
    }

    /// By how much words are too large where they will stand.
    pub(crate) fn over(&self, words: &Summary, ground: &PlanGround<'_>) -> u64 {
        let size = match &self.what {
            WordingPurpose::Checkpoint { .. } => {
                let size = |one: PlacedWords| match one.is_gain {
                    true => ground.gauge().message(&one.text),
                    false => ground.sizes.sum(one.covers),
                };
                self.placed(words, ground).into_iter().map(size).sum()
            }
            WordingPurpose::Digest(part) => {
                let digest = ground.cutter().digested(*part, words.text.trim());
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
        let WordingPurpose::Checkpoint { level: wished, .. } = &self.what else {
            return None;
        };
        let level = level.min(*wished);
        let placed = self.placed(&words, ground).into_iter().filter(|one| one.is_gain);
        let placed: Vec<_> = placed
            .map(|PlacedWords { id, covers, text, .. }| Checkpoint {
                id,
                covers,
                text,
                level,
                stand: ground.options.stand,
                model: words.model.clone(),
            })
            .collect();
        let is_covered = |passage: &Passage| {
            placed.iter().any(|one| one.covers.binary_search(&passage.entry).is_ok())
        };
        let left = words.left.into_iter().filter(is_covered).collect();
        let event = placed.first().and_then(|one| self.event(one, ground));
        let ops = placed.into_iter().map(Op::Summarize).collect();
        Some(WordedCheckpoint { ops, left, event, wish: self })
    }

    /// The words of a checkpoint where they will stand: what came before a message that stays and what
    /// came behind it stand on its two sides, and where the words of one are no gain, what they are of
    /// stays.
    fn placed(&self, words: &Summary, ground: &PlanGround<'_>) -> Vec<PlacedWords> {
        let WordingPurpose::Checkpoint { id, covers, .. } = &self.what else { return Vec::new() };
        let words_of = |id, covers: &[EntryId], said: &str| {
            let text = self.label(id, covers, ground) + said;
            let is_gain = ground.gauge().message(&text) < ground.sizes.sum(covers.iter().copied());
            PlacedWords { id, covers: covers.to_vec(), text, is_gain }
        };
        let passed = words.sides().filter(|(_, before, _)| !before.is_empty());
        let sides = passed.and_then(|(entry, before, behind)| {
            Some(self.sides(entry, ground)?.into_iter().zip([before, behind]))
        });
        let placed: Vec<_> = sides
            .into_iter()
            .flatten()
            .map(|(covers, said)| words_of(address(covers, ground), covers, said))
            .collect();
        let may_stay = |id: &EntryId| !ground.thread.exchange_of(*id).broken;
        let stays = |one: &PlacedWords| one.covers.iter().all(may_stay);
        let is_gain = placed.iter().any(|one| one.is_gain);
        match is_gain && placed.iter().all(|one| one.is_gain || stays(one)) {
            true => placed,
            false => {
                vec![PlacedWords { is_gain: true, ..words_of(*id, covers, words.text.trim()) }]
            }
        }
    }

    /// What it covers before a message and behind it, where that is both; none where it takes the place
    /// of a checkpoint, or where all checkpoints stand at the front.
    fn sides<'s>(&'s self, entry: EntryId, ground: &PlanGround<'_>) -> Option<[&'s [EntryId]; 2]> {
        let covers = self.covers();
        let (before, behind) = covers.split_at(covers.partition_point(|id| *id < entry));
        let is_new = self.was.is_empty() && !ground.options.stand.front;
        let is_passed = !before.is_empty() && !behind.is_empty() && behind[0] != entry;
        (is_new && is_passed).then_some([before, behind])
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
        let room = self.most * covers.len() as u64 / self.covers().len().max(1) as u64;
        let opening = texts.opening(id, covers.len(), room, ground.gauge());
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

/// Words of a checkpoint, with its label.
struct PlacedWords {
    id: ContentId,
    covers: Vec<EntryId>,
    text: String,
    /// Whether they are smaller than what they stand for.
    is_gain: bool,
}

/// The address of what entries said.
pub(crate) fn address(covers: &[EntryId], ground: &PlanGround<'_>) -> ContentId {
    address_of(ground.thread, covers, ground.options.texts.line_chars)
}

/// Whether a checkpoint is meant by a name: its id or the beginning of it.
pub(crate) fn is_called(id: ContentId, name: &str) -> bool {
    !name.is_empty() && id.to_string().starts_with(name)
}
