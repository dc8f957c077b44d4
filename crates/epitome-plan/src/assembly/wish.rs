//! What is to be worded, and what becomes of it with the words or without.
//!
//! Invariant: what is worded is smaller than what stands in its place, or that stays. Called by
//! the machine between its steps.

use epitome_kernel::Measure;
use epitome_kernel::types::{
    Checkpoint, ContentId, EntryId, Happened, How, Level, Op, PartId, Summary,
};

use super::Assembly;
use crate::cut::Cut;

/// Something that is to be worded.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) what: What,
    /// The most that it may take, the frame of its message included.
    pub(super) most: u64,
    /// What it takes the place of: the size of that, and the ops, which come back without words.
    pub(super) before: u64,
    pub(super) was: Vec<Op>,
}

/// What the words are for.
#[derive(Clone, Debug)]
pub(super) enum What {
    Checkpoint { id: ContentId, covers: Vec<EntryId>, level: Level },
    Digest(PartId),
}

impl Wish {
    /// The most that it may take and be a gain.
    pub(super) fn limit(&self) -> u64 {
        self.most.min(self.before.saturating_sub(1))
    }

    /// The entries that leave for it.
    pub(super) fn covers(&self) -> &[EntryId] {
        match &self.what {
            What::Checkpoint { covers, .. } => covers,
            What::Digest(_) => &[],
        }
    }

    /// Whether it is for the checkpoint of this id, or of one that begins like this.
    pub(super) fn is_called(&self, name: &str) -> bool {
        matches!(&self.what, What::Checkpoint { id, .. } if is_called(*id, name))
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

impl Assembly<'_> {
    fn label(&self, wish: &Wish) -> String {
        match &wish.what {
            What::Checkpoint { id, covers, .. } => {
                let texts = &self.options.texts;
                texts.opening(*id, covers.len(), wish.most, self.tokens.gauge())
            }
            What::Digest(_) => String::new(),
        }
    }

    /// Words as they will stand there, and their size.
    fn worded(&self, wish: &Wish, words: &str) -> Option<(String, u64)> {
        let gauge = self.tokens.gauge();
        match wish.what {
            What::Checkpoint { .. } => {
                let text = self.label(wish) + words.trim();
                let size = gauge.message(&text);
                Some((text, size))
            }
            What::Digest(part) => {
                let text = self.cutter().digested(part, words.trim())?;
                let size = gauge.size(&text);
                Some((text, size))
            }
        }
    }

    /// By how much words are too large.
    pub(super) fn over(&self, wish: &Wish, words: &str) -> u64 {
        self.worded(wish, words).map_or(0, |(_, size)| size.saturating_sub(wish.limit()))
    }

    /// The most that the words alone may take.
    pub(super) fn room(&self, wish: &Wish) -> u64 {
        match wish.what {
            What::Checkpoint { .. } => {
                wish.limit().saturating_sub(self.tokens.gauge().message(&self.label(wish)))
            }
            What::Digest(part) => self.cutter().digest_room(part, wish.limit()),
        }
    }

    /// Takes the words for the first wish, or that there are none.
    pub(super) fn fulfil(&mut self, words: Option<Summary>) {
        self.turn_to(0);
        let Some(wish) = self.wishes.pop_front() else { return };
        let Some(summary) = words else { return self.leave(wish) };
        let Some((text, size)) = self.worded(&wish, &summary.text) else { return self.leave(wish) };
        match wish.what {
            What::Checkpoint { id, ref covers, level } => {
                self.events.extend(happened(&wish, id, level, size));
                if !summary.left.is_empty() {
                    self.told_of.extend(covers);
                    self.left.extend(summary.left);
                }
                let covers = covers.clone();
                let (stand, model) = (self.options.stand, summary.model.clone());
                self.ops.push(Op::Summarize(Checkpoint { id, covers, text, level, stand, model }));
            }
            What::Digest(part) => self.cuts.push(Cut {
                part,
                with: text,
                how: How::Digest,
                size,
                most: wish.most,
                digest: false,
                left: summary.left,
            }),
        }
    }

    /// Nothing was said: what stood there stays. A checkpoint that cannot be said in fewer words
    /// has aged none the less, and a text without a digest is cut.
    fn leave(&mut self, wish: Wish) {
        match wish.what {
            What::Checkpoint { id: aged, level: to, .. } => {
                self.standing.extend(wish.was.into_iter().map(|op| match op {
                    Op::Summarize(one) if one.id == aged => {
                        Op::Summarize(Checkpoint { level: to, ..one })
                    }
                    op => op,
                }));
            }
            What::Digest(part) => self.cut(part, wish.most, How::Cut, wish.was),
        }
    }

    /// Cuts a part; `was` is what stands in its place, and stays where it cannot be cut.
    pub(super) fn cut(&mut self, part: PartId, most: u64, how: How, was: Vec<Op>) {
        match self.cutter().cut(part, most) {
            Some(cut) => self.cuts.push(Cut { how, ..cut }),
            None => self.standing.extend(was),
        }
    }
}

/// What happened to the checkpoints in whose place a new one stands.
fn happened(wish: &Wish, id: ContentId, level: Level, size: u64) -> Option<Happened> {
    let (checkpoint, saved) = (id.short(), wish.before.saturating_sub(size));
    let replaced: Vec<_> = wish.replaced().collect();
    match replaced[..] {
        [one] if one.id == id => {
            let levels = [one.level.number(), level.number()];
            Some(Happened::CheckpointAged { checkpoint, levels, saved })
        }
        [] | [_] => None,
        _ => {
            let merged = replaced.iter().map(|one| one.id.short()).collect();
            Some(Happened::CheckpointMerged { checkpoint, merged, saved })
        }
    }
}
