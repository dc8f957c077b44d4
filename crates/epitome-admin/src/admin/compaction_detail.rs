//! A compression opened: what stood there, what stands there now, and which facts that kept.
//!
//! Invariant: worked out of the record and the messages up to the turn that it was made in, by the
//! same rules as a request; whether it was taken back since changes nothing of it.

use epitome_extract::kept_and_lost;
use epitome_kernel::CompactionLineage;
use epitome_types::{
    ArrivalRewrite, Compaction, ContentId, Entry, EntryId, FactReport, HookAuthor, Op, Part,
    PartId, RecordedCompaction,
};

use super::{SessionAdmin, SessionTimeline, TimelineCompaction, diff};
use crate::error::AdminError;
use crate::names::CallTools;

/// A compression opened.
#[derive(Clone, Debug)]
pub struct CompactionDetail {
    /// The session, with its turns.
    pub timeline: SessionTimeline,
    /// The compression, by its place among those of the line.
    pub place: usize,
    /// What it does, in the order of the messages.
    pub steps: Vec<CompactionEdit>,
    /// The facts that it kept, and those that stood in no prompt behind it; none where it is of
    /// another branch.
    pub facts: Option<FactReport>,
}

/// One thing that a compression does.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionEdit {
    /// What: `summarize`, `drop`, `strip`, `insert`, `state`, or how a text was made smaller.
    pub how: &'static str,
    /// What was there.
    pub sources: Vec<EditSource>,
    /// What stands there now, where anything does.
    pub now: Option<String>,
    /// The model that wrote it; none where it was written without one.
    pub model: Option<String>,
    /// Who ordered it, where that is recorded.
    pub author: Option<HookAuthor>,
    /// The id that `recall` brings all of it back by.
    pub recall: Option<String>,
}

/// A text that was there.
#[derive(Clone, Debug, PartialEq)]
pub struct EditSource {
    /// The place of its entry.
    pub entry: usize,
    /// What it is: `user`, `read_file result`.
    pub name: String,
    /// Tokens of the whole message, as it came.
    pub tokens: u64,
    /// The text.
    pub text: String,
}

impl CompactionDetail {
    /// The compression.
    #[must_use]
    pub fn compaction(&self) -> &TimelineCompaction {
        &self.timeline.compactions[self.place]
    }
}

impl SessionAdmin {
    /// The compression of a session whose id begins so.
    ///
    /// # Errors
    ///
    /// [`AdminError::NoCheckpoint`] where there is none or several; as [`SessionAdmin::session`].
    pub fn compaction(
        &self,
        session: Option<&str>,
        named: &str,
    ) -> Result<CompactionDetail, AdminError> {
        let timeline = self.timeline(session)?;
        let ids: Vec<_> =
            timeline.compactions.iter().map(|it| it.recorded.epoch.id.to_string()).collect();
        let mut begin = (0..ids.len()).filter(|at| named.len() >= 4 && ids[*at].starts_with(named));
        let (Some(place), None) = (begin.next(), begin.next()) else {
            return Err(AdminError::NoCheckpoint {
                named: named.to_owned(),
                session: timeline.history.info.name.clone(),
                is_ambiguous: ids.iter().any(|id| id.starts_with(named)),
                known: ids,
            });
        };
        let it = &timeline.compactions[place];
        let Some(start) = it.start else {
            return Ok(CompactionDetail { timeline, place, steps: Vec::new(), facts: None });
        };
        let epoch = it.recorded.epoch.clone();
        let end = timeline.turns.get(it.turn).map_or(0, |turn| turn.entries.end);
        let end = end.max(start + epoch.covered.len as usize);
        let name = &timeline.history.info.name;
        let said = self.journal.history(&self.scope, name, timeline.history.info.head, 0, end)?;
        let said = crate::decode::decode(&timeline.history.info.format, &said)?;
        let facts = self.facts(&timeline, &said, &epoch)?;
        let mut names = CallTools::default();
        said.iter().for_each(|entry| names.learn(entry));
        let reader = EditReader { timeline: &timeline, said: &said, names, start };
        let authors = epoch.credits.iter().map(Some).chain(std::iter::repeat(None));
        let mut steps: Vec<_> = epoch
            .plan
            .ops
            .iter()
            .zip(authors)
            .map(|(op, author)| reader.step(op, author))
            .collect();
        steps.sort_by_key(|step| step.sources.first().map_or(usize::MAX, |source| source.entry));
        Ok(CompactionDetail { steps, place, facts, timeline })
    }

    /// The facts of what was said until then, and whether the prompt kept them.
    fn facts(
        &self,
        timeline: &SessionTimeline,
        said: &[Entry],
        epoch: &Compaction,
    ) -> Result<Option<FactReport>, AdminError> {
        let keys = timeline.history.keys().get(..said.len()).unwrap_or_default();
        let thread = self.thread(&timeline.history, said)?;
        let alone = RecordedCompaction::from(epoch.clone());
        let alone = CompactionLineage::new(vec![alone]);
        let prompt = alone.in_force(&thread, keys).map(|it| it.view.entries());
        let Some(prompt) = prompt else { return Ok(None) };
        // Where its policies cannot be loaded, what the profile names is told all the same.
        let keep =
            self.profile.keep_in(said, &self.counter(timeline.history.info.model.as_deref()));
        let keep = keep.unwrap_or_else(|_| self.profile.keep().clone());
        let [said, prompt] = [said, &prompt[..]].map(|all| all.iter().collect::<Vec<_>>());
        Ok(Some(kept_and_lost(&said, &prompt, &[], &[], &keep)))
    }

    /// What a message was sent as by its newest prompt, and who made it so: nothing where it goes as
    /// it came.
    ///
    /// # Errors
    ///
    /// As [`SessionAdmin::session`].
    pub fn edits_of_entry(
        &self,
        session: Option<&str>,
        entry: EntryId,
    ) -> Result<(Vec<ArrivalRewrite>, Vec<CompactionEdit>), AdminError> {
        let history = self.history(session)?;
        let Some(message) = history.message(entry) else { return Ok(<_>::default()) };
        let arrivals = self.journal.rewrites(&self.scope, &history.info.name, &[message.key])?;
        let Some(id) = history.in_force().map(|epoch| epoch.id.to_string()) else {
            return Ok((arrivals, Vec::new()));
        };
        let mut steps = self.compaction(session, &id)?.steps;
        steps.retain(|step| step.sources.iter().any(|source| source.entry == entry.index()));
        Ok((arrivals, steps))
    }
}

/// What is needed to describe what a compression does.
struct EditReader<'a> {
    timeline: &'a SessionTimeline,
    said: &'a [Entry],
    names: CallTools,
    /// Where the covered run begins.
    start: usize,
}

impl EditReader<'_> {
    fn step(&self, op: &Op, author: Option<&HookAuthor>) -> CompactionEdit {
        let mut step = CompactionEdit {
            how: "drop",
            sources: Vec::new(),
            now: None,
            model: None,
            author: author.cloned(),
            recall: None,
        };
        match op {
            Op::Replace { part, with, how } => {
                step.how = diff::how(*how);
                let text = self.part(*part).and_then(Part::original).unwrap_or_default();
                step.recall = Some(ContentId::for_text(text).short());
                step.sources = self.source(part.entry, Some(text)).into_iter().collect();
                step.now = Some(with.clone());
            }
            Op::Drop { entries } => {
                step.sources = entries.iter().filter_map(|id| self.source(*id, None)).collect();
            }
            Op::Strip { parts } => {
                step.how = "strip";
                let text = |part: &PartId| {
                    let text = self.part(*part).and_then(Part::original).unwrap_or_default();
                    self.source(part.entry, Some(text))
                };
                step.sources = parts.iter().filter_map(text).collect();
            }
            Op::Unbind { replies } => {
                step.how = "unbind";
                let sources = replies.iter().filter_map(|it| self.source(it.entry, Some("")));
                step.sources = sources.collect();
            }
            Op::Insert { text, .. } => (step.how, step.now) = ("insert", Some(text.clone())),
            Op::State { text, .. } => (step.how, step.now) = ("state", Some(text.clone())),
            Op::Summarize(checkpoint) => {
                step.how = "summarize";
                let covers = checkpoint.covers.iter();
                step.sources = covers.filter_map(|id| self.source(*id, None)).collect();
                step.now = Some(checkpoint.text.clone());
                step.model.clone_from(&checkpoint.model);
                step.recall = Some(checkpoint.id.short());
            }
        }
        step
    }

    fn part(&self, part: PartId) -> Option<&Part> {
        let entry = self.said.get(self.start + part.entry.index())?;
        entry.parts.get(part.part as usize)
    }

    fn source(&self, id: EntryId, text: Option<&str>) -> Option<EditSource> {
        let entry = self.start + id.index();
        let said = self.said.get(entry)?;
        Some(EditSource {
            entry,
            name: self.names.of(said),
            tokens: self.timeline.history.messages.get(entry)?.tokens,
            text: text.map_or_else(|| said.readable().into_owned(), str::to_owned),
        })
    }
}
