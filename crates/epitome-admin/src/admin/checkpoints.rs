//! The checkpoints of a session: what stands in its prompt for what left, each as a record.
//!
//! Invariant: worked out of the records, and nothing of it is a model's claim: what a record lists was
//! said or done in the messages that its checkpoint stands for, and names them.

use epitome_config::BUDGET_VOCABULARY;
use epitome_count::{CachedCounter, for_model};
use epitome_kernel::{ActiveCompaction, SizeGauge, ThreadSizes};
use epitome_plan::MarkerWords;
use epitome_types::hook::Standing;
use epitome_types::{BudgetUnit, Checkpoint, Entry, EntryId, Op};
use serde::Serialize;

use super::checkpoint_items::{CheckpointItem, items};
use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;

/// A checkpoint of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckpointInfo {
    /// Its id: `epitome recall` with it brings back what it stands for.
    pub id: String,
    /// How detailed it is: 3, 2, 1, and 0 for merged.
    pub level: u8,
    /// The number of the compression that made it.
    pub number: u32,
    /// How many compressions were made since.
    pub age: u32,
    /// What it stands for.
    pub covers: CoveredEntries,
    /// Its sizes.
    pub tokens: CheckpointTokens,
    /// When it was made, ISO 8601.
    pub created: String,
    /// How it came to what it is: as it was made, and each time it was written anew.
    pub steps: Vec<CheckpointStep>,
    /// The model that wrote it; none where it was written without one.
    pub model: Option<String>,
    /// What the model reads.
    pub text: String,
    /// What was said and done in what it stands for.
    pub items: Vec<CheckpointItem>,
}

/// The messages that a checkpoint stands for. Pinned ones between them stay where they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoveredEntries {
    /// The first.
    pub first: String,
    /// The last.
    pub last: String,
    /// How many.
    pub messages: usize,
    /// When the first was said, ISO 8601, where that is known.
    pub from: Option<String>,
    /// When the last was said.
    pub until: Option<String>,
}

/// The sizes of a checkpoint, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointTokens {
    /// What it stands for.
    pub original: u64,
    /// As it was made.
    pub first: u64,
    /// As it is sent.
    pub now: u64,
}

/// A time at which a checkpoint was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointStep {
    /// The number of the compression.
    pub number: u32,
    /// When, ISO 8601.
    pub at: String,
    /// The level that it came to.
    pub level: u8,
    /// Its tokens then.
    pub tokens: u64,
    /// What the model read.
    #[serde(skip)]
    pub text: String,
}

impl CheckpointInfo {
    /// The same as it was last sent at a level: its text and its size then.
    ///
    /// # Errors
    ///
    /// [`AdminError::NoLevel`] where it never was at that level; no model is asked for one.
    pub fn at_level(mut self, level: u8) -> Result<Self, AdminError> {
        let Some(at) = self.steps.iter().rposition(|step| step.level == level) else {
            let levels = self.steps.iter().map(|step| step.level).collect();
            return Err(AdminError::NoLevel { id: self.id, level, levels });
        };
        let step = &self.steps[at];
        (self.level, self.tokens.now) = (step.level, step.tokens);
        self.text.clone_from(&step.text);
        Ok(self)
    }
}

impl SessionAdmin {
    /// The checkpoints that are in force, oldest first.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::history`].
    pub fn checkpoints(&self, session: Option<&str>) -> Result<Vec<CheckpointInfo>, AdminError> {
        self.checkpoints_of(&self.history(session)?)
    }

    /// The checkpoint with this id, or a beginning of it that no other has.
    ///
    /// # Errors
    ///
    /// [`AdminError::NoCheckpoint`], and as [`SessionAdmin::history`].
    pub fn checkpoint(
        &self,
        session: Option<&str>,
        named: &str,
    ) -> Result<CheckpointInfo, AdminError> {
        let history = self.history(session)?;
        let mut all = self.checkpoints_of(&history)?;
        let known: Vec<_> = all.iter().map(|one| one.id.clone()).collect();
        let begins = |one: &CheckpointInfo| !named.is_empty() && one.id.starts_with(named);
        match all.iter().filter(|one| begins(one)).count() {
            1 => Ok(all.swap_remove(all.iter().position(begins).unwrap_or_default())),
            found => Err(AdminError::NoCheckpoint {
                named: named.to_owned(),
                session: history.info.name,
                is_ambiguous: found > 1,
                known,
            }),
        }
    }

    pub(super) fn checkpoints_of(
        &self,
        history: &SessionHistory,
    ) -> Result<Vec<CheckpointInfo>, AdminError> {
        let said = history.entries(&*self.journal, &self.scope)?;
        let thread = self.thread(history, &said)?;
        let Some(in_force) = history.lineage().in_force(&thread, history.keys()) else {
            return Ok(Vec::new());
        };
        let model = history.info.model.as_deref().unwrap_or(BUDGET_VOCABULARY);
        let counter = CachedCounter::new(for_model(model));
        let gauge = SizeGauge { counter: &counter, unit: BudgetUnit::Tokens };
        let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
        let reader = CheckpointReader {
            history,
            said: &said,
            in_force: &in_force,
            gauge: &gauge,
            words: self.profile.rules.markers.words(),
        };
        let mut all = history.lineage().checkpoints(&in_force, &sizes);
        all.sort_by_key(|(checkpoint, _)| checkpoint.covers.last().copied());
        Ok(all
            .into_iter()
            .map(|(checkpoint, standing)| reader.read(checkpoint, standing))
            .collect())
    }
}

/// Everything that is needed to describe a checkpoint.
struct CheckpointReader<'a> {
    history: &'a SessionHistory,
    said: &'a [Entry],
    in_force: &'a ActiveCompaction<'a, 'a>,
    gauge: &'a SizeGauge<'a>,
    /// The words that markers begin with.
    words: MarkerWords,
}

impl CheckpointReader<'_> {
    fn read(&self, checkpoint: Checkpoint, standing: Standing) -> CheckpointInfo {
        let steps = self.steps(&checkpoint);
        let first = steps.first().map_or(standing.tokens, |step| step.tokens);
        let at = |id: Option<&EntryId>| self.said.get(id?.index())?.at.clone();
        let named = |id: Option<&EntryId>| id.map(ToString::to_string).unwrap_or_default();
        let (from, until) = (checkpoint.covers.first(), checkpoint.covers.last());
        let covered: Vec<_> = checkpoint
            .covers
            .iter()
            .filter_map(|id| Some((*id, self.said.get(id.index())?)))
            .collect();
        CheckpointInfo {
            id: standing.id,
            level: standing.level,
            number: standing.number,
            age: standing.age,
            covers: CoveredEntries {
                first: named(from),
                last: named(until),
                messages: checkpoint.covers.len(),
                from: at(from),
                until: at(until),
            },
            tokens: CheckpointTokens { original: standing.original, first, now: standing.tokens },
            created: standing.created,
            steps,
            model: checkpoint.model,
            text: checkpoint.text,
            items: items(&covered, &self.words),
        }
    }

    /// The compressions in which it was written, oldest first.
    fn steps(&self, checkpoint: &Checkpoint) -> Vec<CheckpointStep> {
        let way = self.history.way_to(Some(self.in_force.epoch.id));
        let epochs = self.history.epochs().iter().map(|recorded| &recorded.epoch);
        let mut steps: Vec<CheckpointStep> = Vec::new();
        for epoch in epochs.filter(|epoch| way.contains(&epoch.id)) {
            let is_it = |op: &&Op| matches!(op, Op::Summarize(one) if one.id == checkpoint.id);
            let Some(Op::Summarize(one)) = epoch.plan.ops.iter().find(is_it) else { continue };
            let is_same =
                |step: &CheckpointStep| step.text == one.text && step.level == one.level.number();
            if steps.last().is_some_and(is_same) {
                continue;
            }
            let (number, at, level) = (epoch.number, epoch.at.clone(), one.level.number());
            let (tokens, text) = (self.gauge.message(&one.text), one.text.clone());
            steps.push(CheckpointStep { number, at, level, tokens, text });
        }
        steps
    }
}
