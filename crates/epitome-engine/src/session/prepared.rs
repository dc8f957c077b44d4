//! What models write in the background for a session: of what was compressed without them, and of
//! what the next compression will come to.
//!
//! Invariant: none of it is waited for, and none of it changes a prompt that its provider has
//! cached. Words of models come in with a compression, or where rewriting the prompt costs nothing.
//! Called by the turn and by the compression.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use epitome_plan::{CompressOptions, PlannedCompression, RequestEnvelope};
use epitome_types::hook::{Common, OpRequest, Orders};
use epitome_types::{CompactionCause, CompactionId, EntryId, Goals, Op, Plan, SummaryStyle};

use super::Session;
use super::events::TurnEvents;
use super::proposal::{PendingSummaries, PolicyContext};
use super::proposing::Proposing;
use super::state::ConversationState;
use super::trigger::{DueCompression, DueWork, brings_reply};
use super::turn_context::{FullHistory, TurnContext};
use crate::background::{
    BackgroundWorker, ExtractKeys, PreparedCompression, SummaryKey, SummaryTask, SummaryTasks,
    WordedPlan, WriterManner, worded,
};
use crate::model_summarizer::KnownWords;
use crate::plan_wording::{GivenOrders, shaped};
use crate::planning::PlanRequest;
use crate::policy_runner::PolicyRunner;

impl Session {
    /// Tells what came of it since the last request.
    pub(super) fn hear(&mut self, size: u64, events: &mut TurnEvents) {
        let told = self.background.as_mut().map(BackgroundWorker::told).unwrap_or_default();
        told.iter().for_each(|one| events.add([size; 2], one.clone()));
    }

    /// The request is done: what was told is heard.
    pub(super) fn heard(&mut self) {
        self.background.iter_mut().for_each(BackgroundWorker::heard);
    }

    /// Has models write nothing while the model of the conversation answers.
    pub(crate) fn hold(&mut self, model: &str) {
        self.background.iter_mut().for_each(|background| background.hold(model));
    }

    /// Has them go on.
    pub(crate) fn release(&mut self) {
        self.background.iter_mut().for_each(BackgroundWorker::release);
    }

    /// Takes what models answered of what policies asked about messages.
    pub(super) fn take_answers(&mut self, state: &mut ConversationState) {
        let answered = self.background.as_mut().map(BackgroundWorker::answered);
        state.work.answered = answered.unwrap_or_default().to_vec();
    }

    /// Puts what policies ask about messages to the models.
    pub(super) fn wonder(&mut self, brief: &PolicyContext, state: &mut ConversationState) {
        let questions = mem::take(&mut state.work.asking);
        if questions.is_empty() {
            return;
        }
        let council = self.beside(&brief.council);
        if let (Some(background), Some(council)) = (&mut self.background, council) {
            background.wonder(council, questions);
        }
    }

    /// Whether models write in the background, so that no plan waits for them.
    pub(super) fn defers(&self) -> bool {
        self.background.is_some()
    }

    /// That words of models take the place of extracts, where there are any and rewriting the
    /// prompt costs nothing.
    pub(super) fn rewording(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
    ) -> Option<DueCompression> {
        let costs = ground.prices.write > ground.prices.read;
        let is_free = ground.cold || !costs || self.next.unsent;
        let background = self.background.as_ref().filter(|_| is_free)?;
        let is_there = background.has_words_for(ground.standing.epoch);
        let is_ours = is_there && !ground.source.scan.continued;
        let (cause, target) = (CompactionCause::Soft, brief.held.hard);
        is_ours.then_some(DueCompression {
            cause,
            target,
            worth: u64::MAX,
            forced: false,
            relief: None,
            lines: None,
            holds: true,
            is_asked_for: false,
            work: DueWork::Reword,
        })
    }

    /// Whether a compression that can wait does, until models have written its summaries: for some turns,
    /// as long as the prompt is not too near the limit.
    pub(super) fn waits(&mut self, ground: &TurnContext<'_, '_>, due: DueCompression) -> bool {
        let terms = &self.settings.profile.options.summaries.ahead;
        let ([_, size], limit) = (ground.size(), ground.live.limit as f64);
        let can_wait = due.cause == CompactionCause::Soft && !due.forced;
        let has_room = size as f64 <= limit * terms.wait_most;
        let Some(background) = self.background.as_mut().filter(|_| can_wait && has_room) else {
            return false;
        };
        background.waits(terms.wait_turns, brings_reply(ground))
    }

    /// Whether a compression is worked out now that models are asked of in advance: the prompt is
    /// large enough, and none was, or what it would leave has grown too large.
    pub(super) fn drafts_now(
        &self,
        ground: &TurnContext<'_, '_>,
        brief: &PolicyContext,
        state: &ConversationState,
        due: Option<DueCompression>,
    ) -> bool {
        let Some(background) = &self.background else { return false };
        let ([_, size], held) = (ground.size(), &brief.held);
        let ahead = brief.budgets.ahead.map_or(held.soft, |ahead| ahead.min(held.soft));
        let share = self.settings.profile.options.compress.minimum_gain;
        let is_idle = due.is_none() && !background.is_busy() && !ground.source.scan.continued;
        if !is_idle || size < ahead || !background.next.is_rested(size, share) {
            return false;
        }
        match background.next.draft().filter(|draft| draft.stands(ground, state)) {
            Some(draft) => draft.size(size) > held.target.midpoint(held.hard),
            None => true,
        }
    }

    /// Looks after what models write: of what stands in the prompt, and of what will.
    pub(super) async fn look_ahead(
        &mut self,
        ground: &TurnContext<'_, '_>,
        whole: &FullHistory<'_, '_>,
        brief: &PolicyContext,
        state: &ConversationState,
        drafts: bool,
    ) {
        let Some(background) = &self.background else { return };
        if !background.knows(ground.standing.epoch) {
            self.take_stock(ground, whole, brief, state).await;
        } else if drafts {
            self.draft(ground, whole, brief, state).await;
        }
    }

    /// Works one out, and has models asked for its summaries.
    async fn draft(
        &mut self,
        ground: &TurnContext<'_, '_>,
        whole: &FullHistory<'_, '_>,
        brief: &PolicyContext,
        state: &ConversationState,
    ) {
        let [_, size] = ground.size();
        let Some(council) = self.beside(&brief.council) else { return };
        let (common, budgets) = (brief.common.clone(), brief.budgets.clone());
        let brief = PolicyContext { council, common, held: brief.held, budgets };
        let (cause, target) = (CompactionCause::Soft, brief.held.target);
        let due = DueCompression {
            cause,
            target,
            worth: u64::MAX,
            forced: false,
            relief: None,
            lines: None,
            holds: true,
            is_asked_for: false,
            work: DueWork::Draft,
        };
        // Whatever it would do besides is done with the compression itself.
        let (mut state, mut unheard) = (state.clone(), TurnEvents::new(ground.name, String::new()));
        let proposing = Proposing { session: self, ground, whole, brief: &brief, due };
        let proposal = Box::pin(proposing.proposal(&mut state, &mut unheard)).await;
        let Some(background) = &mut self.background else { return };
        let late = proposal.ok().flatten().and_then(|proposal| proposal.late);
        let is_steady = |late: &PendingSummaries| late.assignment.orders.ops.iter().all(is_steady);
        let Some(late) = late else { return background.next.rest(size) };
        background.next.asked();
        if !is_steady(&late) {
            // The plan will be another one; what is written of its messages stands in that, too.
            background.next.rest(size);
            return self.take_on(late.assignment);
        }
        let messages = reach(&late.plan);
        let last = messages.saturating_sub(1);
        let draft = PreparedCompression {
            messages,
            head: ground.incoming.chains.get(last).copied().unwrap_or_default(),
            plan: late.plan,
            orders: late.assignment.orders.clone(),
            parent: ground.standing.epoch,
            pins: state.history.pins.clone(),
            tokens: late.tokens,
        };
        background.next.drafted(draft);
        self.take_on(late.assignment);
    }

    /// What models wrote does not fit in the place of what stands in this prompt.
    pub(super) fn unfit(&mut self, epoch: Option<CompactionId>) {
        if let (Some(background), Some(epoch)) = (&mut self.background, epoch) {
            background.stands(epoch, Vec::new());
        }
    }

    /// A compression was applied: what it was made without is asked for.
    pub(super) fn applied(&mut self, epoch: Option<CompactionId>, late: Option<PendingSummaries>) {
        let (Some(background), Some(epoch)) = (&mut self.background, epoch) else { return };
        let errands = late.iter().flat_map(|late| &late.assignment.errands);
        let whole = errands.filter(|errand| errand.is_whole);
        background.stands(epoch, whole.map(|errand| errand.key).collect());
        background.next.begin_anew();
        late.into_iter().for_each(|late| self.take_on(late.assignment));
    }

    /// Has models write these.
    fn take_on(&mut self, assignment: SummaryTasks) {
        let Some(background) = &mut self.background else { return };
        let mut keys = background.standing().to_vec();
        keys.extend(assignment.errands.iter().map(|errand| errand.key));
        background.keep(&keys);
        background.take_on(assignment);
    }

    /// What models may write of a compression, in place of what was written without them.
    pub(super) fn late(
        &self,
        ground: &TurnContext<'_, '_>,
        planning: &PlanRequest<'_, '_>,
        orders: &Orders,
        compressed: &PlannedCompression<'_>,
        options: &CompressOptions,
    ) -> Option<PendingSummaries> {
        if !self.defers() {
            return None;
        }
        let mut plan = compressed.plan.clone();
        self.redaction().plan(&mut plan);
        let gauge = *ground.tail.tokens.gauge();
        let keys = &ground.incoming.keys;
        let (known, ask_from) =
            (&planning.writers.known[..], planning.writers.terms.summaries.ahead.ask_from);
        let with = ExtractKeys { texts: &options.texts, gauge: &gauge, keys, known, ask_from };
        let errands = SummaryTask::all_of(&plan, planning.history.thread, &compressed.view, with);
        if errands.is_empty() {
            return None;
        }
        let (common, goals) = (planning.common, planning.goals.clone());
        let assignment = SummaryTasks {
            orders: orders.clone(),
            checkpoints: planning.standing.checkpoints.clone(),
            underway: planning.writers.underway.clone(),
            ..self.assigned(planning.council, common, goals, options.style, errands)?
        };
        Some(PendingSummaries { plan, tokens: compressed.size, assignment })
    }

    /// The words of models in a plan that holds extracts.
    pub(super) fn with_words(
        &self,
        plan: Plan,
        ground: &TurnContext<'_, '_>,
        options: &CompressOptions,
    ) -> WordedPlan {
        let gauge = ground.tail.tokens.gauge();
        match &self.background {
            Some(background) => {
                let find = |key: &SummaryKey| background.find(key);
                worded(plan, find, &options.texts, gauge, &ground.incoming.keys)
            }
            None => WordedPlan { plan, used: Vec::new() },
        }
    }

    /// What models wrote of a history: what stands in a plan in their words, and what may yet.
    pub(super) fn known_words(
        &self,
        standing: &Plan,
        ground: &TurnContext<'_, '_>,
        options: &CompressOptions,
    ) -> Vec<KnownWords> {
        let background = self.background.as_ref();
        let written = background.map(|it| it.known_words(&ground.incoming.keys));
        let mut known = written.unwrap_or_default();
        let covers = known.iter().flat_map(|words| &words.covers);
        let written: BTreeSet<EntryId> = covers.copied().collect();
        // What was written before this process, of all that its checkpoint stands for.
        known.extend(standing.ops.iter().filter_map(|op| {
            let Op::Summarize(one) = op else { return None };
            let is_new = one.covers.iter().all(|id| !written.contains(id));
            let model = one.model.clone().filter(|_| is_new)?;
            let (_, words) = options.texts.parted(one)?;
            Some(KnownWords { covers: one.covers.clone(), text: words.to_owned(), model })
        }));
        known
    }

    /// What was drafted for a compression like the one that is ordered, where it still stands.
    pub(super) fn drafted_plan(
        &self,
        ground: &TurnContext<'_, '_>,
        due: DueCompression,
        orders: &Orders,
        state: &ConversationState,
    ) -> Option<Plan> {
        if due.work != DueWork::Compress {
            return None;
        }
        let draft = self.background.as_ref()?.next.draft()?;
        let ordered = |orders: &Orders| {
            let ops = orders.ops.iter().filter(|op| !op.is_aside());
            ops.map(mem::discriminant).collect::<Vec<_>>()
        };
        let is_alike = ordered(&draft.orders) == ordered(orders);
        (is_alike && draft.stands(ground, state)).then(|| draft.plan.clone())
    }

    /// Finds out which extracts stand in a prompt that was compressed elsewhere or before, and has
    /// models write what they were to write.
    async fn take_stock(
        &mut self,
        ground: &TurnContext<'_, '_>,
        whole: &FullHistory<'_, '_>,
        brief: &PolicyContext,
        state: &ConversationState,
    ) {
        let epoch = ground.standing.epoch;
        let (Some(epoch), Some(in_force)) = (epoch, &whole.in_force) else { return };
        let options = self.settings.profile.compress(self.back(), RequestEnvelope::default());
        let none = GivenOrders { orders: &Orders::default(), policy: None };
        let (council, common) = (&brief.council, &brief.common);
        let options = shaped(options, self.back(), council, common, none).await;
        let gauge = *ground.tail.tokens.gauge();
        let thread = ground.tail.to_sum_up(&state.history.pinned(0), &state.history);
        let keys = &ground.incoming.keys;
        let plan = in_force.plan();
        let known = &self.known_words(&plan, ground, &options)[..];
        let ask_from = self.settings.profile.options.summaries.ahead.ask_from;
        let with = ExtractKeys { texts: &options.texts, gauge: &gauge, keys, known, ask_from };
        let errands = SummaryTask::all_of(&plan, &thread, &in_force.view, with);
        let wanted = errands.iter().filter(|errand| errand.is_whole);
        let wanted = wanted.map(|errand| errand.key).collect();
        let Some(background) = &mut self.background else { return };
        background.stands(epoch, wanted);
        if errands.is_empty() || background.is_busy() {
            return;
        }
        let goals = state.acts.as_ref().map(|acts| acts.goals.clone()).unwrap_or_default();
        let assignment = self.assigned(council, common, goals, options.style, errands);
        assignment.into_iter().for_each(|one| self.take_on(one));
    }

    /// An assignment that nothing else is known of.
    fn assigned(
        &self,
        council: &PolicyRunner,
        common: &Common,
        goals: Goals,
        style: SummaryStyle,
        errands: Vec<SummaryTask>,
    ) -> Option<SummaryTasks> {
        Some(SummaryTasks {
            counter: Arc::clone(&council.counter),
            council: self.beside(council)?,
            common: common.clone(),
            orders: Orders::default(),
            goals,
            checkpoints: Vec::new(),
            manner: WriterManner {
                inner: Arc::clone(&self.settings.writers.summarizers[0]),
                terms: self.settings.profile.options.clone(),
                style,
                clock: self.settings.clock.clone(),
                within: self.settings.patience(),
            },
            underway: None,
            errands,
        })
    }

    /// The policies with what they noted so far; what they note here nobody sees.
    fn beside(&self, council: &PolicyRunner) -> Option<PolicyRunner> {
        // Where they cannot be loaded the next request says so.
        let beside = self.settings.council(&council.counter, council.chain.memos()).ok()?;
        let (patience, models) = (Arc::clone(&council.patience), council.models.clone());
        Some(PolicyRunner { patience, models, ..beside })
    }
}

impl PreparedCompression {
    /// Whether the history goes on from what it was made of.
    fn stands(&self, ground: &TurnContext<'_, '_>, state: &ConversationState) -> bool {
        let chains = &ground.incoming.chains;
        let head = self.messages.checked_sub(1).and_then(|last| chains.get(last));
        head == Some(&self.head)
            && self.parent == ground.standing.epoch
            && self.pins == state.history.pins
    }

    /// What it would leave of a prompt of this size.
    fn size(&self, now: u64) -> u64 {
        let [before, after] = self.tokens;
        (now + after).saturating_sub(before)
    }
}

/// How many messages there are up to the last one that a plan touches.
fn reach(plan: &Plan) -> usize {
    let last = plan.ops.iter().filter_map(|op| match op {
        Op::Replace { part, .. } => Some(part.entry),
        Op::Drop { entries } => entries.last().copied(),
        Op::Strip { parts } => parts.last().map(|part| part.entry),
        Op::Insert { after, .. } | Op::State { after, .. } => *after,
        Op::Summarize(checkpoint) => checkpoint.covers.last().copied(),
        Op::Unbind { .. } => None,
    });
    last.max().map_or(0, |last| last.index() + 1)
}

/// Whether an order means the same messages, whenever it is carried out.
fn is_steady(order: &OpRequest) -> bool {
    !matches!(order, OpRequest::ClearTools(_) | OpRequest::Rollover(_))
}
