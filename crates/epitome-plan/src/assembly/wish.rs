//! What is to be worded, and what becomes of it with the words or without.
//!
//! Invariant: what is worded is smaller than what stands in its place, or that stays. Called by
//! the machine between its steps.

use epitome_kernel::TextMeasure;
use epitome_kernel::types::{
    Checkpoint, CheckpointLevel, ContentId, EntryId, EventKind, Op, PartId, ReplaceMethod, Summary,
};

use super::PlanAssembly;
use crate::cut::ShortenedPart;

/// Something that is to be worded.
#[derive(Clone, Debug)]
pub(super) struct WordingRequest {
    pub(super) what: WordingPurpose,
    /// The most that it may take, the frame of its message included.
    pub(super) most: u64,
    /// What it takes the place of: the size of that, and the ops, which come back without words.
    pub(super) before: u64,
    pub(super) was: Vec<Op>,
}

/// What the words are for.
#[derive(Clone, Debug)]
pub(super) enum WordingPurpose {
    Checkpoint { id: ContentId, covers: Vec<EntryId>, level: CheckpointLevel },
    Digest(PartId),
}

impl WordingRequest {
    /// The most that it may take and be a gain.
    pub(super) fn limit(&self) -> u64 {
        self.most.min(self.before.saturating_sub(1))
    }

    /// The entries that leave for it.
    pub(super) fn covers(&self) -> &[EntryId] {
        match &self.what {
            WordingPurpose::Checkpoint { covers, .. } => covers,
            WordingPurpose::Digest(_) => &[],
        }
    }

    /// Whether it is for the checkpoint of this id, or of one that begins like this.
    pub(super) fn is_called(&self, name: &str) -> bool {
        matches!(&self.what, WordingPurpose::Checkpoint { id, .. } if is_called(*id, name))
    }

    /// The checkpoints in whose place it stands.
    fn replaced(&self) -> impl Iterator<Item = &Checkpoint> {
        self.was.iter().filter_map(|op| match op {
            Op::Summarize(one) => Some(one),
            _ => None,
        })
    }
}

/// Whether a checkpoint is meant by a name: its id or the beginning of it.
pub(super) fn is_called(id: ContentId, name: &str) -> bool {
    !name.is_empty() && id.to_string().starts_with(name)
}

impl PlanAssembly<'_> {
    fn label(&self, wish: &WordingRequest) -> String {
        match &wish.what {
            WordingPurpose::Checkpoint { id, covers, .. } => {
                let texts = &self.options.texts;
                texts.opening(*id, covers.len(), wish.most, self.tokens.gauge())
            }
            WordingPurpose::Digest(_) => String::new(),
        }
    }

    /// Words as they will stand there, and their size.
    fn worded(&self, wish: &WordingRequest, words: &str) -> Option<(String, u64)> {
        let gauge = self.tokens.gauge();
        match wish.what {
            WordingPurpose::Checkpoint { .. } => {
                let text = self.label(wish) + words.trim();
                let size = gauge.message(&text);
                Some((text, size))
            }
            WordingPurpose::Digest(part) => {
                let text = self.cutter().digested(part, words.trim())?;
                let size = gauge.size(&text);
                Some((text, size))
            }
        }
    }

    /// By how much words are too large.
    pub(super) fn over(&self, wish: &WordingRequest, words: &str) -> u64 {
        self.worded(wish, words).map_or(0, |(_, size)| size.saturating_sub(wish.limit()))
    }

    /// The most that the words alone may take.
    pub(super) fn room(&self, wish: &WordingRequest) -> u64 {
        match wish.what {
            WordingPurpose::Checkpoint { .. } => {
                wish.limit().saturating_sub(self.tokens.gauge().message(&self.label(wish)))
            }
            WordingPurpose::Digest(part) => self.cutter().digest_room(part, wish.limit()),
        }
    }

    /// Takes the words for the first wish, or that there are none.
    pub(super) fn fulfil(&mut self, words: Option<Summary>) {
        self.turn_to(0);
        let Some(wish) = self.wishes.pop_front() else { return };
        let Some(summary) = words else { return self.leave(wish) };
        let Some((text, size)) = self.worded(&wish, &summary.text) else { return self.leave(wish) };
        match wish.what {
            WordingPurpose::Checkpoint { id, ref covers, level } => {
                self.events.extend(happened(&wish, id, level, size));
                if !summary.left.is_empty() {
                    self.told_of.extend(covers);
                    self.left.extend(summary.left);
                }
                let covers = covers.clone();
                let (stand, model) = (self.options.stand, summary.model.clone());
                self.ops.push(Op::Summarize(Checkpoint { id, covers, text, level, stand, model }));
            }
            WordingPurpose::Digest(part) => self.cuts.push(ShortenedPart {
                part,
                with: text,
                how: ReplaceMethod::Digest,
                size,
                most: wish.most,
                digest: false,
                left: summary.left,
            }),
        }
    }

    /// Nothing was said: what stood there stays. A checkpoint that cannot be said in fewer words
    /// has aged none the less, and a text without a digest is cut.
    fn leave(&mut self, wish: WordingRequest) {
        match wish.what {
            WordingPurpose::Checkpoint { id: aged, level: to, .. } => {
                self.standing.extend(wish.was.into_iter().map(|op| match op {
                    Op::Summarize(one) if one.id == aged => {
                        Op::Summarize(Checkpoint { level: to, ..one })
                    }
                    op => op,
                }));
            }
            WordingPurpose::Digest(part) => self.cut(part, wish.most, ReplaceMethod::Cut, wish.was),
        }
    }

    /// Cuts a part; `was` is what stands in its place, and stays where it cannot be cut.
    pub(super) fn cut(&mut self, part: PartId, most: u64, how: ReplaceMethod, was: Vec<Op>) {
        match self.cutter().cut(part, most) {
            Some(cut) => self.cuts.push(ShortenedPart { how, ..cut }),
            None => self.standing.extend(was),
        }
    }
}

/// What happened to the checkpoints in whose place a new one stands.
fn happened(
    wish: &WordingRequest,
    id: ContentId,
    level: CheckpointLevel,
    size: u64,
) -> Option<EventKind> {
    let (checkpoint, saved) = (id.short(), wish.before.saturating_sub(size));
    let replaced: Vec<_> = wish.replaced().collect();
    match replaced[..] {
        [one] if one.id == id => {
            let levels = [one.level.number(), level.number()];
            Some(EventKind::CheckpointAged { checkpoint, levels, saved })
        }
        [] | [_] => None,
        _ => {
            let merged = replaced.iter().map(|one| one.id.short()).collect();
            Some(EventKind::CheckpointMerged { checkpoint, merged, saved })
        }
    }
}
