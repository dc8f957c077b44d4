//! What the model saw against what happened.
//!
//! Invariant: worked out of the records by the same rules as a request, so that it names all that
//! the next prompt is without, and nothing else.

use epitome_config::BUDGET_VOCABULARY;
use epitome_count::{CachedCounter, for_model};
use epitome_kernel::{
    ActiveCompaction, SizeGauge, StoreError, Thread, ThreadSizes, TokenCounter, View, rewrite,
};
use epitome_types::{
    ArrivalRewrite, BudgetUnit, Compaction, ContentId, Entry, EntryId, FactCounts, HookAuthor, Op,
    Part, PartId, ReplaceMethod,
};
use serde::Serialize;

use super::{SessionAdmin, SessionHistory};
use crate::error::AdminError;
use crate::names::{CallTools, opening, words};

/// So many characters are quoted of what was there and of what stands there.
const QUOTED: usize = 160;
/// The hooks that answered, as reports name them.
const PLAN: &str = "plan";
const TOOL_RESULT: &str = "tool_result";

/// What the model saw of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionDiff {
    /// The session.
    pub session: String,
    /// The epoch in force.
    pub epoch: Option<String>,
    /// Its messages.
    pub messages: usize,
    /// Tokens of all messages, and of what is sent in their place.
    pub tokens: [u64; 2],
    /// How many of the facts that should survive were still sent when the epoch was made.
    pub must_keep: Option<FactCounts>,
    /// What is not sent as it was said.
    pub cuts: Vec<DiffEdit>,
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffEdit {
    /// What: `summarize`, `drop`, `strip`, `insert`, `state`, or how a text was made smaller.
    pub how: &'static str,
    /// What was there.
    pub entries: Vec<DiffEntry>,
    /// Tokens before and after.
    pub tokens: [u64; 2],
    /// The beginning of what stands there now.
    pub now: Option<String>,
    /// The policy that asked for it.
    pub policy: String,
    /// The hook that answered.
    pub hook: String,
    /// The line of its `policy.lua` where that hook begins, where it has lines.
    pub line: Option<u32>,
    /// Why.
    pub reason: String,
    /// The epoch that did it; none did what was done on arrival.
    pub epoch: Option<String>,
    /// `epitome recall` with this id brings all of it back.
    pub recall: Option<String>,
}

/// An entry that is not sent as it was said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffEntry {
    /// Its place.
    pub entry: String,
    /// What it is.
    pub name: String,
    /// When it was said, ISO 8601.
    pub at: Option<String>,
    /// Tokens of what was there.
    pub tokens: u64,
    /// The beginning of it.
    pub text: String,
    /// `epitome recall` with this id brings it back, unless it says nothing or was erased.
    pub recall: Option<String>,
}

impl SessionAdmin {
    /// What the model saw of a session, against what happened.
    ///
    /// # Errors
    ///
    /// When there is no such session, or the journal cannot be read.
    pub fn diff(&self, name: Option<&str>) -> Result<SessionDiff, AdminError> {
        let history = self.history(name)?;
        let said = history.entries(&*self.journal, &self.scope)?;
        let rewrites = self.placed_rewrites(&history)?;
        let thread = thread(&history, &said, &rewrites);
        let in_force = history.lineage().in_force(&thread, history.keys());

        let model = history.info.model.as_deref().unwrap_or(BUDGET_VOCABULARY);
        let counter = CachedCounter::new(for_model(model));
        let gauge = SizeGauge { counter: &counter, unit: BudgetUnit::Tokens };
        let sizes = ThreadSizes::measure(thread.entries(), gauge, 0);
        let mut names = CallTools::default();
        said.iter().for_each(|entry| names.learn(entry));
        let desk = DiffContext {
            history: &history,
            said: &said,
            thread: &thread,
            rewrites: &rewrites,
            names,
            sizes,
            counter: &counter,
        };

        let view = in_force.as_ref().map(|it| &it.view);
        let mut cuts = desk.arrivals(view, self.profile.name());
        cuts.extend(in_force.iter().flat_map(|it| desk.epoch(it)));
        cuts.sort_by_key(|cut| cut.0);
        let all = history.messages.iter().map(|message| message.tokens).sum();
        let size = view.map_or(desk.sizes.total(), |view| view.size(&desk.sizes));
        Ok(SessionDiff {
            session: history.info.name.clone(),
            epoch: in_force.as_ref().map(|it| it.epoch.id.short()),
            messages: said.len(),
            tokens: [all, size],
            must_keep: in_force.as_ref().map(|it| it.epoch.outcome.must_keep),
            cuts: cuts.into_iter().map(|(_, cut)| cut).collect(),
        })
    }
}

impl SessionAdmin {
    /// A history as it is sent before any compression.
    pub(super) fn thread(
        &self,
        history: &SessionHistory,
        said: &[Entry],
    ) -> Result<Thread, StoreError> {
        Ok(thread(history, said, &self.placed_rewrites(history)?))
    }

    /// What was made smaller on arrival, each with its place.
    fn placed_rewrites(
        &self,
        history: &SessionHistory,
    ) -> Result<Vec<(PartId, ArrivalRewrite)>, StoreError> {
        let name = &history.info.name;
        Ok(placed(history, self.journal.rewrites(&self.scope, name, history.keys())?))
    }
}

fn thread(
    history: &SessionHistory,
    said: &[Entry],
    rewrites: &[(PartId, ArrivalRewrite)],
) -> Thread {
    let mut sent = said.to_vec();
    for (part, made) in rewrites {
        if let Some(entry) = sent.get_mut(part.entry.index()) {
            rewrite(entry, *part, &made.with);
        }
    }
    Thread::new(sent, &history.pinned())
}

/// Where the rewrites stand in a history: a message may be said in it more than once.
fn placed(
    history: &SessionHistory,
    rewrites: Vec<ArrivalRewrite>,
) -> Vec<(PartId, ArrivalRewrite)> {
    let of = |rewrite: ArrivalRewrite| {
        let places = (0..).zip(history.keys()).filter(|(_, key)| **key == rewrite.key);
        let parts = places.map(|(place, _)| PartId { entry: EntryId(place), part: rewrite.part });
        parts.map(|part| (part, rewrite.clone())).collect::<Vec<_>>()
    };
    rewrites.into_iter().flat_map(of).collect()
}

/// Everything that is needed to describe a cut.
struct DiffContext<'a> {
    history: &'a SessionHistory,
    said: &'a [Entry],
    /// The history as it is sent before any epoch.
    thread: &'a Thread,
    rewrites: &'a [(PartId, ArrivalRewrite)],
    names: CallTools,
    /// Of the thread.
    sizes: ThreadSizes<'a>,
    counter: &'a dyn TokenCounter,
}

impl DiffContext<'_> {
    /// What was made smaller on arrival and is sent so, each with its place.
    fn arrivals(&self, view: Option<&View<'_>>, policy: &str) -> Vec<(PartId, DiffEdit)> {
        let here = |part: PartId| {
            view.is_none_or(|view| view.keeps(part.entry) && !view.changes_part(part))
        };
        // With what comes back nothing is cut.
        let is_cut = |made: &ArrivalRewrite| made.how != ReplaceMethod::Append;
        let standing = self.rewrites.iter().filter(|(part, made)| here(*part) && is_cut(made));
        let cut = |(part, rewrite): &(PartId, ArrivalRewrite)| {
            let recall = rewrite.original.short();
            let cut = DiffEdit {
                how: how(rewrite.how),
                entries: self.part(*part, rewrite.tokens[0], recall.clone()),
                tokens: rewrite.tokens,
                now: Some(opening(&rewrite.with, QUOTED)),
                policy: policy.to_owned(),
                hook: TOOL_RESULT.to_owned(),
                line: None,
                reason: "a large result, made smaller before it was first sent".to_owned(),
                epoch: None,
                recall: Some(recall),
            };
            (*part, cut)
        };
        standing.map(cut).collect()
    }

    /// What an epoch does, each with its place. One that was recorded before it was said who ordered
    /// what names its profile.
    fn epoch(&self, in_force: &ActiveCompaction<'_, '_>) -> Vec<(PartId, DiffEdit)> {
        let ActiveCompaction { epoch, start, .. } = in_force;
        let moved = |id: EntryId| EntryId(id.0 + *start as u32);
        let credits = epoch.credits.iter().map(Some).chain(std::iter::repeat(None));
        let cuts = epoch.plan.ops.iter().zip(credits).map(|(op, credit)| {
            let (place, cut) = self.op(op, epoch, moved);
            let Some(HookAuthor { policy, hook, line }) = credit.cloned() else {
                return (place, cut);
            };
            (place, DiffEdit { policy, hook, line, ..cut })
        });
        cuts.collect()
    }

    fn op(
        &self,
        op: &Op,
        epoch: &Compaction,
        moved: impl Fn(EntryId) -> EntryId,
    ) -> (PartId, DiffEdit) {
        let mut cut = DiffEdit {
            how: "drop",
            entries: Vec::new(),
            tokens: [0, 0],
            now: None,
            policy: epoch.profile.clone(),
            hook: PLAN.to_owned(),
            line: None,
            reason: epoch.plan.reason.clone(),
            epoch: Some(epoch.id.short()),
            recall: None,
        };
        match op {
            Op::Replace { part, with, how: way } => {
                let part = PartId { entry: moved(part.entry), ..*part };
                let came = self.rewrites.iter().find(|(other, _)| *other == part);
                let text = self.at(part).and_then(Part::original).unwrap_or_default();
                let before = came.map_or_else(|| self.sizes.part(part), |(_, it)| it.tokens[0]);
                let id = came.map_or_else(|| ContentId::for_text(text), |(_, it)| it.original);
                cut.how = how(*way);
                cut.entries = self.part(part, before, id.short());
                cut.tokens = [before, self.counter.count(with)];
                cut.now = Some(opening(with, QUOTED));
                cut.recall = Some(id.short());
                return (part, cut);
            }
            Op::Strip { parts } => {
                cut.how = "strip";
                let here = |part: &PartId| PartId { entry: moved(part.entry), ..*part };
                let parts: Vec<_> = parts.iter().map(here).collect();
                let parts = parts.chunk_by(|one, next| one.entry == next.entry);
                cut.entries = parts.filter_map(|parts| self.stripped(parts)).collect();
            }
            Op::Unbind { replies } => {
                cut.how = "unbind";
                cut.tokens[0] = replies.iter().map(|it| self.thoughts(moved(it.entry))).sum();
                let first = replies.first().map_or(EntryId(0), |reply| moved(reply.entry));
                return (PartId { entry: first, part: u32::MAX }, cut);
            }
            Op::Drop { entries } => {
                cut.entries = entries.iter().filter_map(|&id| self.entry(moved(id))).collect();
            }
            Op::State { after, text } | Op::Insert { after, text, .. } => {
                cut.how = if matches!(op, Op::State { .. }) { "state" } else { "insert" };
                cut.tokens[1] = self.counter.count(text) + self.counter.message();
                cut.now = Some(opening(text, QUOTED));
                let place = after.map_or(EntryId(0), &moved);
                return (PartId { entry: place, part: u32::MAX }, cut);
            }
            Op::Summarize(checkpoint) => {
                cut.how = "summarize";
                let covered = checkpoint.covers.iter();
                cut.entries = covered.filter_map(|&id| self.entry(moved(id))).collect();
                cut.tokens[1] = self.counter.count(&checkpoint.text) + self.counter.message();
                cut.now = Some(opening(&checkpoint.text, QUOTED));
                cut.recall = Some(checkpoint.id.short());
            }
        }
        cut.tokens[0] = cut.entries.iter().map(|entry| entry.tokens).sum();
        if let [entry] = cut.entries.as_slice() {
            cut.recall = cut.recall.or_else(|| entry.recall.clone());
        }
        let first = match op {
            Op::Drop { entries } => entries.first(),
            Op::Summarize(checkpoint) => checkpoint.covers.first(),
            Op::Strip { parts } => parts.first().map(|part| &part.entry),
            _ => None,
        };
        let entry = first.map_or(EntryId(0), |&id| moved(id));
        (PartId { entry, part: 0 }, cut)
    }

    fn at(&self, part: PartId) -> Option<&Part> {
        self.said.get(part.entry.index())?.parts.get(part.part as usize)
    }

    /// Tokens of the reasoning of an entry.
    fn thoughts(&self, id: EntryId) -> u64 {
        let said = self.said.get(id.index());
        let thoughts = said.into_iter().flat_map(|entry| entry.thoughts());
        thoughts.map(|part| self.sizes.part(PartId { entry: id, ..part })).sum()
    }

    /// A whole entry that is gone.
    fn entry(&self, id: EntryId) -> Option<DiffEntry> {
        let (entry, message) =
            self.said.get(id.index()).zip(self.history.messages.get(id.index()))?;
        let original = self.rewrites.iter().find(|(part, _)| part.entry == id);
        let text = original.map_or(message.text, |(_, rewrite)| rewrite.original);
        let there = !message.erased && !entry.readable().is_empty();
        Some(DiffEntry {
            entry: id.to_string(),
            name: self.names.of(entry),
            at: entry.at.clone(),
            tokens: message.tokens,
            text: words(entry, QUOTED),
            recall: there.then(|| text.short()),
        })
    }

    /// An entry of which parts left.
    fn stripped(&self, parts: &[PartId]) -> Option<DiffEntry> {
        let gone = parts.iter().flat_map(|&part| self.thread.with_inner(part));
        let tokens = gone.map(|part| self.sizes.part(part)).sum();
        Some(DiffEntry { tokens, ..self.entry(parts.first()?.entry)? })
    }

    /// An entry of which a part is smaller.
    fn part(&self, part: PartId, tokens: u64, recall: String) -> Vec<DiffEntry> {
        let text = self.at(part).and_then(Part::original).unwrap_or_default();
        let text = opening(text, QUOTED);
        let of = |entry| DiffEntry { tokens, text, recall: Some(recall), ..entry };
        self.entry(part.entry).map(of).into_iter().collect()
    }
}

/// In what way something was made smaller, in a word.
pub(super) fn how(how: ReplaceMethod) -> &'static str {
    match how {
        ReplaceMethod::Digest => "digest",
        ReplaceMethod::Offload => "offload",
        ReplaceMethod::Mask => "mask",
        ReplaceMethod::TruncateInput => "truncate_input",
        ReplaceMethod::Cut => "cut",
        ReplaceMethod::Append => "append",
    }
}
