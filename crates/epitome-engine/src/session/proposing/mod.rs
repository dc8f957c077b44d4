//! A compression worked out, step by step: what it is made over, what a policy orders, how it is
//! worded, what comes of it, and whether that is worth it.
//!
//! Invariant: nothing is recorded here. What comes to nothing leaves an event behind, and the plan
//! of the policy behind the one whose plan it was. Called by the turn, and for drafts.

mod prepared;

use std::mem;
use std::ops::ControlFlow;

use epitome_kernel::{ChainRound, EpochGround, Thread, epoch_of};
use epitome_plan::{CompressOptions, PlannedCompression, frees_too_little};
use epitome_types::hook::{OpRequest, Orders};
use epitome_types::{
    Actor, Budget, BudgetUnit, Compaction, CompactionCause, EventKind, Op, Plan, SessionAction,
    SkipReason, Stage, TierCompression,
};

use self::prepared::{Ordered, Prepared};
use super::Session;
use super::events::TurnEvents;
use super::inputs;
use super::observe::ObservedTurn;
use super::proposal::{PolicyContext, Proposal};
use super::side_effect::PlanSideEffect;
use super::state::ConversationState;
use super::trigger::{DueCompression, DueWork};
use super::turn_context::{FullHistory, TurnContext};
use super::watermark::WatermarkMove;
use super::work_state;
use crate::background::WordedPlan;
use crate::error::Error;
use crate::facts::ThreadTexts;
use crate::kept_lines::{originals, with_facts};
use crate::model_summarizer::lines_unsaid;
use crate::plan_notes::PlanNotes;
use crate::planning::{AgedCheckpoints, PlanRequest, PlanResult};
use crate::policy_runner::PolicyRunner;

/// What is done of a compression that is proposed. One that comes to nothing is no progress; of
/// that it is told why.
const PROPOSED: [Stage; 4] =
    [Stage::Identification, Stage::Preparation, Stage::Summarisation, Stage::CheckpointCreation];

/// What a compression is made over, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Proposing<'a, 's> {
    pub(crate) session: &'a Session,
    pub(crate) ground: &'a TurnContext<'a, 's>,
    pub(crate) whole: &'a FullHistory<'a, 'a>,
    pub(crate) brief: &'a PolicyContext,
    pub(crate) due: DueCompression,
}

/// What is left of plans that came to nothing, for the one that is made in their place. What they
/// order beside changing the prompt is done.
#[derive(Default)]
struct AbandonedPlan {
    /// What the policies gave so far.
    round: ChainRound,
    /// The last policy whose plan it was.
    policy: Option<String>,
    /// Where the watermark moves, and who moves it.
    moved: Option<(WatermarkMove, Actor)>,
    /// Whether a restore point is made, where one of them said so.
    snapshot: Option<bool>,
}

impl<'a, 's> Proposing<'a, 's> {
    fn observed(&self) -> ObservedTurn<'a, 'a, 's> {
        ObservedTurn { ground: self.ground, brief: self.brief }
    }
}

impl Proposing<'_, '_> {
    /// What a compression that is due comes to, if it comes to something. Where a policy's plan
    /// does not, the policies behind it are asked; the last one's always does.
    ///
    /// # Errors
    ///
    /// [`Error::CannotFit`] where what cannot shrink exceeds a limit that is enforced.
    pub(crate) async fn proposal(
        self,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<Option<Proposal>, Error> {
        state.work.aside = PlanSideEffect::default();
        let mut passed = AbandonedPlan::default();
        loop {
            let attempt = self.attempt(&mut passed, state, events);
            if let ControlFlow::Break(proposal) = attempt.await? {
                return Ok(proposal);
            }
        }
    }

    /// The policies, with what they find in the messages that must stay.
    async fn finding(&self, thread: &Thread) -> PolicyRunner {
        with_facts(&self.brief.council, &self.brief.common, originals(thread)).await
    }

    /// The budgets that the kernel's own way tries to come to, the most wanted first.
    fn attempts(&self) -> Vec<Budget> {
        let bounds = [self.ground.floor(), self.brief.held.hard];
        self.due.attempts(bounds, self.ground.live.limit).map(in_tokens).collect()
    }

    /// What comes of it by the first policy behind those that were passed over.
    async fn attempt(
        &self,
        passed: &mut AbandonedPlan,
        state: &mut ConversationState,
        events: &mut TurnEvents,
    ) -> Result<ControlFlow<Option<Proposal>>, Error> {
        let guarded;
        let thread = self.thread(state);
        let texts = ThreadTexts(&thread);
        let summarizers = self.session.settings.writers.summarizers();
        let council = &self.finding(&thread).await;
        let planning =
            PlanRequest { council, ..self.planning(&thread, &texts, &summarizers, state)? };
        let Some(mut prepared) = self.prepared(planning, passed, state).await? else {
            return Ok(ControlFlow::Break(None));
        };
        // What it pins is in no plan of it.
        let (pins, held) = prepared.ordered.told.take_stays();
        let stays = !pins.is_empty() || !held.is_empty();
        self.session.grant_pins(self.observed(), Some(self.whole), pins, state, events);
        if stays {
            guarded = self.thread(state).with_rule(&held);
            prepared.planning.history.thread = &guarded;
        }
        let attempts = self.attempts();
        let variants = self.variants(&prepared, &attempts, state).await;
        let worth = self.worth_asking(&mut prepared, &variants, &attempts).await;
        let Some((planned, made)) = self.planned(&prepared, worth, &attempts).await else {
            return Ok(ControlFlow::Break(None));
        };
        let size = self.size();
        let (refused, came_to) = match &planned {
            PlanResult::Made(it) => (self.refusal(it, &prepared.ordered), Some(it.size[1])),
            _ => (None, None),
        };
        let told = [&*prepared.ordered.told.happened, &made.happened];
        told_of(told, refused.is_some()).for_each(|one| events.add([size; 2], one.clone()));
        let skip = match planned {
            PlanResult::Passed => {
                passed.moved = prepared.ordered.moved;
                return Ok(ControlFlow::Continue(()));
            }
            PlanResult::Made(compressed) => match refused {
                None => {
                    let proposal = self.accepted(prepared, *compressed, made, passed.snapshot);
                    if proposal.as_ref().is_some_and(|it| !it.rewords) {
                        PROPOSED.into_iter().for_each(|stage| events.stage([size; 2], stage));
                    }
                    return Ok(ControlFlow::Break(proposal));
                }
                // The window forces it; that it brings little is no news.
                Some(SkipReason::Stalled) if self.due.forced => {
                    return Ok(ControlFlow::Break(None));
                }
                Some(skip) => skip,
            },
            PlanResult::Skipped(skip) => skip,
            PlanResult::CannotFit { budget, floor }
                if self.due.forced && self.ground.live.enforced =>
            {
                return Err(Error::CannotFit { budget, floor });
            }
            PlanResult::CannotFit { .. } => SkipReason::NothingToCompress,
            PlanResult::Refused(error) => {
                let cause = error.to_string();
                let remedy = "the conversation goes on as it was; please report this".to_owned();
                let stage = Stage::Validation;
                events.add([size, size], EventKind::CompressionError { stage, cause, remedy });
                return Ok(ControlFlow::Break(None));
            }
        };
        state.meter.stalled(size, came_to);
        self.skip(state, events, skip);
        if let Some((moved, by)) = prepared.ordered.moved {
            events.add([size, size], moved.event());
            state.work.doing.push((moved.act(), by));
        }
        Ok(ControlFlow::Break(None))
    }

    /// Tells that no compression is made: by an event, and where somebody asked for one in the session.
    fn skip(&self, state: &mut ConversationState, events: &mut TurnEvents, reason: SkipReason) {
        events.add([self.size(); 2], EventKind::CompressionSkipped { reason });
        let met = state.work.doing.iter().find(|(act, _)| *act == SessionAction::Met);
        if let Some((_, by)) = met.filter(|_| self.due.is_asked_for) {
            let by = by.clone();
            state.work.doing.push((SessionAction::Unmet { reason }, by));
        }
    }

    /// Tokens of the prompt as the records have it sent.
    fn size(&self) -> u64 {
        self.ground.size()[1]
    }

    /// The variants that models are asked for words of. What must pay is made without them first: nobody
    /// is asked for words that would be thrown away, and where none of the variants pays, nobody is asked
    /// at all.
    async fn worth_asking<'p>(
        &self,
        prepared: &mut Prepared<'p>,
        variants: &'p [CompressOptions],
        attempts: &[Budget],
    ) -> &'p [CompressOptions] {
        let models = mem::take(&mut prepared.planning.writers.models);
        let must_pay = self.due.worth < u64::MAX && self.due.work == DueWork::Compress;
        if models.is_empty() || !must_pay {
            prepared.planning.writers.models = models;
            return variants;
        }
        for (at, options) in variants.iter().enumerate() {
            let mut told = PlanNotes::default();
            let orders = &prepared.ordered.orders;
            let planned = prepared.planning.make(orders, options, attempts, &mut told).await;
            let refusal = match &planned {
                PlanResult::Made(made) => self.refusal(made, &prepared.ordered),
                _ => None,
            };
            if refusal != Some(SkipReason::NotWorth) {
                prepared.planning.writers.models = models;
                return &variants[at..];
            }
        }
        variants
    }

    /// What is made of it, and what else that said. Where there is no room for all of the state,
    /// what no prompt may lack stays of it. `None` where words of models have no room.
    async fn planned<'p>(
        &self,
        prepared: &Prepared<'p>,
        variants: &'p [CompressOptions],
        attempts: &[Budget],
    ) -> Option<(PlanResult<'p>, PlanNotes)> {
        let Prepared { planning, ordered, .. } = prepared;
        let mut last = (PlanResult::Skipped(SkipReason::NotNeeded), PlanNotes::default());
        for options in variants {
            let mut told = PlanNotes::default();
            let planned = match self.due.work {
                DueWork::Reword => {
                    let mut made = planning.resumed(options).await?;
                    planning.credit(&mut made, &options.policy, &AgedCheckpoints::default());
                    PlanResult::Made(made)
                }
                _ => planning.make(&ordered.orders, options, attempts, &mut told).await,
            };
            let is_short = match &planned {
                PlanResult::Made(made) => {
                    self.refusal(made, ordered).is_some()
                        || lacks_summary(&made.plan, &ordered.orders)
                }
                PlanResult::CannotFit { .. } | PlanResult::Passed => true,
                _ => false,
            };
            last = (planned, told);
            if !is_short {
                break;
            }
        }
        Some(last)
    }

    /// Why a compression is not applied.
    fn refusal(
        &self,
        compressed: &PlannedCompression<'_>,
        ordered: &Ordered,
    ) -> Option<SkipReason> {
        let ends_task = ordered.moved.as_ref().is_some_and(|(moved, _)| moved.is_called());
        let options = &self.session.settings.profile.options.compress;
        let (before, after) = (self.size(), compressed.size[1]);
        match () {
            () if self.due.work == DueWork::Reword => None,
            () if after >= before => Some(SkipReason::NotSmaller),
            () if after > self.due.worth && !ends_task => Some(SkipReason::NotWorth),
            () if self.due.cause == CompactionCause::Soft
                && frees_too_little(before, after, options.minimum_gain) =>
            {
                Some(SkipReason::Stalled)
            }
            () => None,
        }
    }

    /// What is proposed of it, if the records can say so.
    fn accepted(
        &self,
        prepared: Prepared<'_>,
        compressed: PlannedCompression<'_>,
        made: PlanNotes,
        snapshot: Option<bool>,
    ) -> Option<Proposal> {
        let Self { session, ground, whole, brief, due } = *self;
        let Prepared { planning, ordered, options, words, older, goals_until } = prepared;
        let Ordered { orders, moved, .. } = ordered;
        let mark = moved.as_ref().map(|(moved, _)| [moved.place(); 2]);
        let told = work_state::told(&compressed.plan, &ground.tail.came, older);
        let tells = [mark, told, goals_until.map(|last| [last; 2])].into_iter().flatten();
        let tells = tells.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]);
        let (in_force, number) = (whole.in_force.as_ref(), ground.standing.compressions + 1);
        let keys = &ground.incoming.keys;
        let cause = due.cause;
        let over = EpochGround { keys, tells, parent: in_force, number, cause };
        let mut epoch = epoch_of(&compressed.plan, &over)?;
        epoch.outcome.tokens = [self.size(), compressed.size[1]];
        let mut epoch = match in_force.filter(|_| due.work == DueWork::Reword) {
            Some(in_force) => in_other_words(epoch, in_force.epoch),
            None => epoch,
        };
        let views = [whole.view(), &compressed.view];
        let moved = moved.map(|(it, by)| (it.taking(views, epoch.outcome.tokens), by));
        let truncated = inputs::truncated(&compressed.plan, &planning, &ground.tail.tokens);
        let late = session.late(ground, &planning, &orders, &compressed, &options);
        let standing = words.standing.within(&compressed.plan);
        let draft = words.draft.unwrap_or_default().within(&compressed.plan);
        let confidence = [standing.confidence(), draft.confidence(), made.confidence];
        let confidence = confidence.into_iter().flatten().reduce(f64::min);
        let keep = &planning.council.rules.keep;
        epoch.outcome.must_keep = Session::kept_facts(ground, &compressed, keep);
        epoch.outcome.confidence = epoch.outcome.must_keep.share().min(confidence.unwrap_or(1.0));
        let mut proposal = session.proposal(ground, compressed, epoch, snapshot);
        (proposal.moved, proposal.written, proposal.late) = (moved, made.written, late);
        proposal.written.extend([&standing, &draft].into_iter().flat_map(WordedPlan::words));
        let before = in_force.map(|it| it.plan()).unwrap_or_default();
        proposal.written.iter_mut().for_each(|words| *words = lines_unsaid(words, &before));
        proposal.beside.extend(standing.events());
        (proposal.target, proposal.rewords) = (due.aimed(&orders), due.work == DueWork::Reword);
        if !proposal.rewords {
            proposal.beside.splice(0..0, kinds(&proposal.epoch, brief, &orders));
            proposal.beside.extend(truncated);
        }
        Some(proposal)
    }
}

fn in_tokens(most: u64) -> Budget {
    Budget { unit: BudgetUnit::Tokens, most }
}

/// What a compression is besides: by the class of its window, by whoever wanted it, by its reach
/// (RULES 59).
fn kinds(epoch: &Compaction, brief: &PolicyContext, orders: &Orders) -> Vec<EventKind> {
    let id = || epoch.id.short();
    let classed = || TierCompression { compaction: id(), strategy: brief.budgets.strategy.clone() };
    let class = brief.common.class.and_then(|class| EventKind::for_tier(class, classed()));
    let own = epoch.cause != CompactionCause::Manual;
    let own = own.then(|| EventKind::AutoSummaryCreated { compaction: id(), cause: epoch.cause });
    let over = orders.ops.iter().any(|order| matches!(order, OpRequest::Rollover(_)));
    let over = over.then(|| EventKind::RolloverComplete { compaction: id() });
    class.into_iter().chain(own).chain(over).collect()
}

/// Whether talk was to be summed up, and leaves with nothing that stands for it.
fn lacks_summary(plan: &Plan, orders: &Orders) -> bool {
    let sums_up = |order: &OpRequest| {
        matches!(
            order,
            OpRequest::Fit(_)
                | OpRequest::Summarize(_)
                | OpRequest::Merge(_)
                | OpRequest::SummarizeUser(_)
                | OpRequest::Rollover(_)
        )
    };
    let drops = plan.ops.iter().any(|op| matches!(op, Op::Drop { .. }));
    drops
        && orders.ops.iter().any(sums_up)
        && !plan.ops.iter().any(|op| matches!(op, Op::Summarize(_)))
}

/// The same compression in other words: nothing is counted as one more.
fn in_other_words(epoch: Compaction, of: &Compaction) -> Compaction {
    Compaction { parent: of.parent, number: of.number, cause: of.cause, ..epoch }
}

/// What happened while a compression was ordered and made. What a policy warns of about it is false where
/// it is not made.
fn told_of([ordered, made]: [&[EventKind]; 2], refused: bool) -> impl Iterator<Item = &EventKind> {
    let is_warning = |one: &EventKind| matches!(one, EventKind::PolicyWarning { .. });
    ordered.iter().filter(move |one| !(refused && is_warning(one))).chain(made)
}
