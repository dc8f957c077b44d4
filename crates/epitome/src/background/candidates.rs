//! What models wrote, and which checkpoints it can stand for.
//!
//! Invariant: a candidate stands in the place of an extract of the very same messages, at the same
//! level, and is no larger than that. Written by the task, read by compressions.

use epitome_kernel::{Gauge, Measure};
use epitome_plan::Texts;
use epitome_types::{Chain, Checkpoint, EntryKey, Happened, Level, Op, Plan};

use super::Background;

/// What a summary stands for, and the room that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The messages.
    covered: Chain,
    level: Level,
    /// Tokens of the extract's words.
    most: u64,
}

/// What a model wrote and policies took.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) text: String,
    pub(crate) model: String,
    /// How far it can be relied on, where a policy said so.
    pub(crate) confidence: Option<f64>,
}

/// A plan with the words of models in it.
#[derive(Default)]
pub(crate) struct Worded {
    pub(crate) plan: Plan,
    /// Those words, and in what way a checkpoint changed with them.
    pub(crate) used: Vec<(Candidate, Happened)>,
}

impl Key {
    /// That of an extract; `None` where it is none, or cannot be told from what opens it.
    pub(crate) fn of(
        one: &Checkpoint,
        texts: &Texts,
        gauge: &Gauge<'_>,
        keys: &[EntryKey],
    ) -> Option<Self> {
        let (_, words) = texts.parted(one).filter(|_| one.model.is_none())?;
        let covered: Option<Vec<_>> =
            one.covers.iter().map(|id| keys.get(id.index()).copied()).collect();
        let covered = Chain::of(&covered?);
        Some(Self { covered, level: one.level, most: gauge.size(words) })
    }

    /// How detailed it is.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// The room.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }
}

/// A plan with all that models wrote in the background for its checkpoints.
pub(crate) fn worded(
    mut plan: Plan,
    background: &Background,
    texts: &Texts,
    gauge: &Gauge<'_>,
    keys: &[EntryKey],
) -> Worded {
    let mut used = Vec::new();
    for op in &mut plan.ops {
        let Op::Summarize(one) = op else { continue };
        let found = Key::of(one, texts, gauge, keys).and_then(|key| background.find(&key));
        let (Some(candidate), Some((label, _))) = (found, texts.parted(one)) else { continue };
        let text = format!("{label}{}", candidate.text.trim());
        let (before, after) = (gauge.message(&one.text), gauge.message(&text));
        if after > before {
            continue;
        }
        (one.text, one.model) = (text, Some(candidate.model.clone()));
        let (checkpoint, levels) = (one.id.short(), [one.level.number(); 2]);
        let saved = before - after;
        used.push((candidate, Happened::CheckpointAged { checkpoint, levels, saved }));
    }
    Worded { plan, used }
}

impl Worded {
    /// What stands in a plan of it.
    pub(crate) fn within(self, plan: &Plan) -> Self {
        let mut used = self.used;
        used.retain(|(candidate, _)| {
            plan.ops.iter().any(|op| match op {
                Op::Summarize(one) => one.text.ends_with(candidate.text.trim()),
                _ => false,
            })
        });
        Self { used, ..self }
    }

    /// What models wrote.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        self.used.iter().map(|(one, _)| one.text.clone())
    }

    /// What happened to checkpoints that stood there with other words.
    pub(crate) fn events(&self) -> impl Iterator<Item = Happened> {
        self.used.iter().map(|(_, event)| event.clone())
    }

    /// How far a plan can be relied on: as far as the least of what models wrote of it.
    pub(crate) fn confidence(&self) -> Option<f64> {
        self.used.iter().filter_map(|(one, _)| one.confidence).reduce(f64::min)
    }
}
